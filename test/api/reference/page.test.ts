/**
 * The pages of the reference: every operation and guide in every language from this host alone, snippets that call what
 * the libraries have, and what a browser and axe-core see of them on a desktop and on a phone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { Resend } from 'resend';

import { GUIDES } from '../../../src/api/reference/guides.ts';
import { LANGUAGES } from '../../../src/api/reference/snippets.ts';
import { serveApi } from '../../../src/api/serve.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';
import { describeWith, PROGRAMS } from '../../rig/programs.ts';
import { openBench, type Bench } from '../bench.ts';

/** The first bytes of any page. */
const BYTES_MAX = 100_000;

let bench: Bench;
let slugs: string[];

beforeAll(async () => {
  bench = await openBench();
  const { text } = await bench.ask({ path: '/docs' });
  slugs = [
    ...new Set(Array.from(text.matchAll(/href="\/docs\/([a-z-]+)"/g), ([, one = '']) => one)),
  ];
});
afterAll(() => bench.close());

const pathsIn = (language: string): string[] => [
  `/docs/overview/${language}`,
  ...slugs.map((slug) => `/docs/${slug}/${language}`),
];

test('there is a page for each guide and each group', () => {
  for (const { slug } of GUIDES) expect(slugs).toContain(slug);
  for (const slug of ['emails', 'domains', 'api-keys', 'webhooks', 'suppressions', 'webhook-calls'])
    expect(slugs).toContain(slug);
});

describe.each(LANGUAGES.map(([name]) => name))('in %s', (language) => {
  test('every page is there, small, and loads nothing from another host', async () => {
    for (const path of pathsIn(language)) {
      const { status, headers, text } = await bench.ask({ path });
      expect([path, status, headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      const policy = headers.get('content-security-policy') ?? '';
      expect([policy.includes("default-src 'none'"), /script-src|unsafe/.test(policy)]).toEqual([
        true,
        false,
      ]);
      expect([path, text.length < BYTES_MAX]).toEqual([path, true]);
      for (const [, url] of text.matchAll(/(?:src|href)="([^"]*)"/g)) {
        expect(url).toMatch(/^\/(?!\/)|^#/);
      }
      expect(text).not.toContain('undefined');
    }
  });

  test('every operation stands on its page with a summary and an example', async () => {
    const pages = await Promise.all(pathsIn(language).map((path) => bench.ask({ path })));
    const all = pages.map(({ text }) => text).join('');
    for (const { text } of ROUTES) {
      expect(all).toContain(`<section id="${text.id}"`);
      const section = all.slice(all.indexOf(`<section id="${text.id}"`));
      expect(section.slice(0, section.indexOf('</section>'))).toMatch(/<pre tabindex="0"/);
    }
  });
});

test.each(LANGUAGES.map(([name]) => name))(
  'the links of a page in %s lead to pages in it, and the choice shows which it is',
  async (language) => {
    const first = LANGUAGES[0][0];
    const at = (slug: string, one: string): string => {
      if (one === first) return slug === '' ? '/docs' : `/docs/${slug}`;
      return `/docs/${slug === '' ? 'overview' : slug}/${one}`;
    };
    /** Paths below /docs, each with what the link says of itself. */
    const linksIn = (text: string): [path: string, current: string][] =>
      Array.from(
        text.matchAll(/<a\s[^>]*?href="(\/docs[^"#]*)[^"]*"([^>]*)/g),
        ([, path = '', rest = '']) => [path, /aria-current="(\w+)"/.exec(rest)?.[1] ?? ''],
      );
    const known = ['', ...slugs].map((slug) => at(slug, language));
    for (const slug of ['', ...slugs]) {
      const { text } = await bench.ask({ path: at(slug, language) });
      const begin = text.indexOf('<nav class="languages"');
      const end = text.indexOf('</nav>', begin);
      expect(linksIn(text.slice(begin, end))).toEqual(
        LANGUAGES.map(([one]) => [at(slug, one), one === language ? 'true' : '']),
      );
      const others = linksIn(text.slice(0, begin) + text.slice(end));
      expect(others.filter(([path]) => !known.includes(path))).toEqual([]);
      const current = others.filter(([, is]) => is !== '');
      expect(current).toEqual(slug === '' ? [] : [[at(slug, language), 'page']]);
      expect(new Set(others.map(([path]) => path))).toEqual(new Set(known));
    }
  },
);

test('the examples for Node call methods that the library has', async () => {
  const resend = new Resend('re_any') as unknown as Record<string, Record<string, unknown>>;
  const pages = await Promise.all(slugs.map((slug) => bench.ask({ path: `/docs/${slug}` })));
  const calls = pages.flatMap(({ text }) =>
    Array.from(text.matchAll(/await resend\.(\w+)\.(\w+)\(/g), ([, object = '', verb = '']) => ({
      object,
      verb,
    })),
  );
  expect(calls.length).toBeGreaterThan(20);
  for (const { object, verb } of calls) {
    expect([object, verb, typeof resend[object]?.[verb]]).toEqual([object, verb, 'function']);
  }
});

test('a call has the verb of its operation', async () => {
  const pages = await Promise.all(pathsIn('node').map((path) => bench.ask({ path })));
  const verbs: Record<string, string> = {};
  for (const { text } of pages) {
    for (const section of text.split('<section id="').slice(1)) {
      const verb = /await resend\.\w+\.(\w+)\(/.exec(section)?.[1];
      if (verb !== undefined) verbs[section.slice(0, section.indexOf('"'))] = verb;
    }
  }
  const wanted = { list: 'list', get: 'get', remove: 'remove', revoke: 'remove', send: 'send' };
  for (const [id, verb] of Object.entries(verbs)) {
    const word = /^[a-z]+/.exec(id)?.[0] ?? '';
    if (word in wanted) expect([id, verb]).toEqual([id, wanted[word as keyof typeof wanted]]);
  }
  expect(Object.keys(verbs).filter((id) => /^(list|get)/.test(id)).length).toBeGreaterThan(8);
});

test('where a library has no call, the page says so and shows the request', async () => {
  const noteIn = async (language: string, id: string): Promise<string> => {
    const pages = await Promise.all(pathsIn(language).map((path) => bench.ask({ path })));
    const { text } = pages.find((page) => page.text.includes(`<section id="${id}"`)) ?? {
      text: '',
    };
    const section = text.slice(text.indexOf(`<section id="${id}"`));
    return (
      /<p class="soft">(The library [^<]*)</.exec(
        section.slice(0, section.indexOf('</section>')),
      )?.[1] ?? ''
    );
  };
  for (const [language] of LANGUAGES) {
    const none = { curl: '', java: 'The library for Java cannot be led to another address.' };
    const expected =
      language in none ? none[language as keyof typeof none] : 'The library has no method';
    const note = await noteIn(language, 'getUsage');
    expect([language, note.slice(0, expected.length), note === '']).toEqual([
      language,
      expected,
      expected === '',
    ]);
    if (language !== 'java')
      expect([language, await noteIn(language, 'sendEmail')]).toEqual([language, '']);
  }
});

test('the examples are called at the public address, and anything else is not found', async () => {
  const { text } = await bench.ask({ path: '/docs/emails/curl' });
  const base = bench.ctx.config.live.http.publicUrl;
  expect(text).toContain(`curl -X POST ${base}/emails`);
  for (const path of ['/docs/nothing', '/docs/emails/cobol', '/docs/emails/node/more']) {
    expect((await bench.ask({ path })).status).toBe(404);
  }
});

describeWith(['chromium'], 'in a browser', () => {
  let server: ReturnType<typeof serveApi>;
  let browser: Browser;
  let page: Page;
  let origin: string;
  const faults: string[] = [];

  beforeAll(async () => {
    server = serveApi(bench.api, { listen: { host: '127.0.0.1', port: 0 }, tls: null });
    origin = `http://127.0.0.1:${server.port}`;
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith(origin)) faults.push(request.url());
    });
    // The icon is the dashboard's, which this bench does not serve.
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) {
        faults.push(message.text());
      }
    });
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await server.stop(true);
  });

  test.each([
    ['light', 1440],
    ['dark', 390],
    ['light', 390],
    ['dark', 1440],
  ] as const)(
    '%s, %i pixels: nothing serious, nothing cut off',
    async (colorScheme, width) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const path of ['/docs', ...slugs.map((slug) => `/docs/${slug}`)]) {
        await page.goto(origin + path);
        await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`);
        const { violations } = await page.evaluate<AxeResults>(
          `axe.run(document, { resultTypes: ['violations'] })`,
        );
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
        expect([path, found]).toEqual([path, []]);
        const widths = 'document.documentElement.scrollWidth';
        expect([path, await page.evaluate<number>(widths)]).toEqual([path, width]);
      }
      expect(faults).toEqual([]);
    },
    120_000,
  );
});
