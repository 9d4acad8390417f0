/**
 * Every page of the dashboard as axe-core sees it, in light and dark, on a desktop and on a phone: no critical and no
 * serious finding. No page is wider than its window, no table than its page, at any of the five widths. And each opens
 * in few bytes and requests, without moving what one reads, and its scripts keep no processor busy.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

import { type Appliance, startAppliance } from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { resetAdminPassword } from '../../src/flow/people/operators.ts';
import { pagesOf, signedIn, type NamedPage } from '../rig/dashboard-pages.ts';
import { fillMonth } from '../rig/month.ts';
import { PageLoads, scriptRuns } from '../rig/page-load.ts';
import { describeWith, PROGRAMS } from '../rig/programs.ts';
import { type RspamdStub, startRspamdStub } from '../rig/rspamd-stub.ts';

const HEIGHT = 900;
/** A scheme and a width each: every colour and every layout is checked. */
const LOOKS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'dark', width: 390 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 1440 },
] as const;
const WIDTHS = [390, 768, 900, 1200, 1440];

/** Up to 0.1 Core Web Vitals call it good; half of that leaves some for other fonts. */
const MOST_SHIFT = 0.05;
const MOST_BYTES = 100_000;
/** The page, the style sheet, the icon, two scripts, and the frame with an email's HTML. */
const MOST_REQUESTS = 6;
/** Milliseconds from which a task is long (W3C Long Tasks). */
const LONG_TASK_MS = 50;

describeWith(['chromium'], 'every page of the dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-accessible-'));
  let rspamd: RspamdStub;
  let appliance: Appliance;
  let browser: Browser;
  let page: Page;
  let pages: NamedPage[];
  let url: string;

  beforeAll(async () => {
    rspamd = await startRspamdStub();
    const config = join(folder, 'postrider.toml');
    writeFileSync(
      config,
      `hostname = "mail.rig.test"\ndata_dir = "${join(folder, 'data')}"\n[http]\nlisten = "127.0.0.1:0"\n[delivery]\nmode = "capture"\n[inbox]\nrspamd_url = "${rspamd.url}"\n`,
    );
    await fillMonth({ config, now: Date.now(), messages: 150, seed: 7 });
    const log = createLog(
      () => undefined,
      () => Date.now(),
    );
    appliance = await startAppliance(loadConfig(config), { clock: systemClock, log });
    url = appliance.addresses.http;
    const session = await signedIn(url, await resetAdminPassword(appliance.ctx));
    // The newest email is captured by the queue, which nothing else waits for.
    while (!/\/inbox\/\d/.test(await session.read('/dashboard/inbox'))) await Bun.sleep(50);
    pages = (await pagesOf(session)).filter(({ path }) => path.startsWith('/dashboard'));
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    const context = await browser.newContext();
    await context.addCookies([session.cookie]);
    page = await context.newPage();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await appliance.stop();
    await rspamd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Serious and critical findings of the open page, each with the first element it is about. */
  async function findings(): Promise<string[]> {
    await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`);
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run(document, { iframes: false, resultTypes: ['violations'] })`,
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes[0]?.html.slice(0, 200)}`);
  }

  /** Pages that are wider than their window, and tables that are wider than their page, once `change` has been made. */
  async function tooWide(change: () => Promise<unknown>): Promise<string[]> {
    const wide: string[] = [];
    for (const { name, path } of pages) {
      await page.goto(url + path);
      await change();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: HEIGHT });
        const over = await page.evaluate<number>(
          'document.documentElement.scrollWidth - innerWidth',
        );
        if (over > 0) wide.push(`${name} ${width}: ${over} px`);
        const tables = await page.evaluate<number[]>(
          `[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)`,
        );
        const most = Math.max(0, ...tables);
        if (most > 0) wide.push(`${name} ${width}: a table by ${most} px`);
      }
    }
    return wide;
  }

  test('has names: the walk found them', () => {
    const names = pages.map(({ name }) => name);
    for (const name of [
      'overview',
      'emails',
      'emails-one',
      'domains-one',
      'webhooks-one',
      'logs-one',
      'test-email',
      'inbox-spam',
      'halt',
    ]) {
      expect(names).toContain(name);
    }
  });

  test('has no serious finding, in light and dark, wide and narrow', async () => {
    const found: string[] = [];
    for (const { name, path } of pages) {
      await page.goto(url + path);
      for (const { colorScheme, width } of LOOKS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: HEIGHT });
        const all = await findings();
        found.push(...all.map((finding) => `${name} ${colorScheme} ${width}: ${finding}`));
      }
    }
    expect(found).toEqual([]);
  }, 600_000);

  test('signing in has none either', async () => {
    const context = await browser.newContext({ colorScheme: 'dark' });
    const signedOut = page;
    page = await context.newPage();
    await page.goto(`${url}/dashboard`);
    expect(await findings()).toEqual([]);
    await context.close();
    page = signedOut;
  }, 60_000);

  test('is no wider than its window, and no table than its page: nothing is cut off', async () => {
    expect(await tooWide(async () => undefined)).toEqual([]);
  }, 300_000);

  test('nor is it with the longest address in each row', async () => {
    const address = `${'m'.repeat(64)}@${`${'w'.repeat(61)}.`.repeat(3)}example`;
    const lengthen = `[...document.querySelectorAll('td.col-title, td > .address')].forEach((one) => { (one.querySelector('a') ?? one).textContent = '${address}'; })`;
    expect(await tooWide(() => page.evaluate(lengthen))).toEqual([]);
  }, 300_000);

  test('opens in few bytes and requests, without moving, and runs no long script', async () => {
    const session = await page.context().cookies();
    const found: string[] = [];
    const runs = await scriptRuns(browser, url, async () => {
      for (const width of [1440, 390]) {
        const context = await browser.newContext({ viewport: { width, height: HEIGHT } });
        await context.addCookies(session);
        const loads = await PageLoads.in(context, '/enhance.js');
        for (const { name, path } of [...pages, { name: 'docs', path: '/docs' }]) {
          const { shift, bytes, requests } = await loads.of(url + path);
          if (shift > MOST_SHIFT) found.push(`${name} ${width}: moves by ${shift}`);
          if (bytes > MOST_BYTES) found.push(`${name} ${width}: ${bytes} bytes`);
          if (requests.length > MOST_REQUESTS)
            found.push(`${name} ${width}: ${requests.join(' ')}`);
        }
        await context.close();
      }
    });
    expect(found).toEqual([]);
    // The two scripts of each page, at least.
    expect(runs.length).toBeGreaterThan(4 * pages.length - 1);
    expect(runs[0]).toBeLessThan(LONG_TASK_MS);
  }, 300_000);
});
