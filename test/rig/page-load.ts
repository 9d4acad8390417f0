/**
 * What a page costs the browser that opens it, in figures that do not swing with the machine: how far things move, bytes,
 * requests, and processor time of our scripts.
 *
 * Promises the worst order of events for what moves: the script that changes the page comes late, after the page was
 * painted if it may be painted without. Every page is loaded without a cache.
 */
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';

export interface PageLoad {
  /** Cumulative layout shift, as Core Web Vitals define it. */
  shift: number;
  /** Bytes over the network, headers too. */
  bytes: number;
  requests: string[];
}

/** How long a page that is read to its end has for its first paint. Nothing says that it waits for the script. */
const PAINT_MS = 100;
/** Keeps the sum of shifts that nobody caused by pressing something, and says when the script may come. */
const OBSERVE = `(() => {
  if (window !== top) return;
  window.shift = 0;
  const each = (type, use) => new PerformanceObserver((list) => list.getEntries().forEach(use)).observe({ type, buffered: true });
  each('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) window.shift += value; });
  each('paint', ({ name }) => { if (name === 'first-contentful-paint') window.mayCome(); });
  document.addEventListener('readystatechange', () => {
    if (document.readyState === 'interactive') setTimeout(() => window.mayCome(), ${PAINT_MS});
  });
})()`;
const TWO_FRAMES =
  'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
const BYTES = `['navigation', 'resource']
  .flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, { transferSize }) => sum + transferSize, 0)`;

const isUpdate = (request: Request): boolean => request.headers()['x-live'] === '1';

/** A page whose loads are measured. `script`: a part of the address of the script that comes late. */
export class PageLoads {
  readonly #page: Page;
  #mayCome = Promise.withResolvers<void>();

  private constructor(page: Page) {
    this.#page = page;
  }

  static async in(context: BrowserContext, script: string): Promise<PageLoads> {
    const page = await context.newPage();
    const loads = new PageLoads(page);
    await page.exposeFunction('mayCome', () => loads.#mayCome.resolve());
    await page.addInitScript(OBSERVE);
    // Where the page takes seconds to come it already asks what has changed, which is none of its load.
    await page.route('**', (route) =>
      isUpdate(route.request()) ? route.abort() : route.fallback(),
    );
    await page.route(
      (url) => url.pathname.includes(script),
      async (route) => {
        await loads.#mayCome.promise;
        await route.continue();
      },
    );
    return loads;
  }

  async of(url: string): Promise<PageLoad> {
    const page = this.#page;
    this.#mayCome = Promise.withResolvers();
    const requests: string[] = [];
    const note = (request: Request): void => {
      if (!isUpdate(request)) requests.push(request.url());
    };
    page.on('request', note);
    await page.goto(url);
    await page.evaluate(TWO_FRAMES);
    page.off('request', note);
    const shift = await page.evaluate<number>('window.shift');
    return { shift, bytes: await page.evaluate<number>(BYTES), requests };
  }
}

interface TraceEvent {
  name: string;
  /** Microseconds of the thread's processor time. */
  tdur?: number;
  args: { data?: { url?: string } };
}

const RUNS = new Set(['EvaluateScript', 'FunctionCall']);

/** Every run of a script below `url` while `work` goes on: milliseconds of processor time, longest first. */
export async function scriptRuns(
  browser: Browser,
  url: string,
  work: () => Promise<void>,
): Promise<number[]> {
  await browser.startTracing(undefined, { categories: ['devtools.timeline'] });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  return trace.traceEvents
    .filter(({ name, args }) => RUNS.has(name) && args.data?.url?.startsWith(url) === true)
    .map(({ tdur = Number.NaN }) => tdur / 1000)
    .toSorted((a, b) => b - a);
}
