/**
 * Pictures of every page of the dashboard and of `/docs`, light and dark, 390, 768 and 1440 pixels wide: of a server with
 * a month of mail, of a new one (`new-…`), which then captures a few emails (`inbox…`), with the spam score of a real
 * rspamd where there is one, and the nodes of three that share a PostgreSQL database (`nodes…`).
 *
 * Builds when needed, fills a throw-away data directory (`test/rig/month.ts`), starts the binary in an internet on
 * loopback and writes PNG files, whole pages, to `dist/screenshots` or the folder that is named; `--only A,B` takes the
 * pages whose name contains one of these words, `--schemes` and `--widths` some of the looks, `--window` only what a
 * window shows. Says which page or table is wider than its
 * window, which broke a rule of its Content-Security-Policy, and how long each took. Nothing leaves the machine;
 * everything but the pictures is removed.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

import { BINARY, BinaryAppliance } from '../test/rig/binary.ts';
import {
  pagesOf,
  signedIn,
  type DashboardSession,
  type NamedPage,
} from '../test/rig/dashboard-pages.ts';
import { PostgresServer } from '../test/rig/postgres.ts';
import { fillMonth } from '../test/rig/month.ts';
import { startMonthInternet, type MonthInternet } from '../test/rig/month-internet.ts';
import { isInstalled, PROGRAMS } from '../test/rig/programs.ts';
import { type Rspamd, startRspamd } from '../test/rig/rspamd.ts';
import { startWorld } from '../test/rig/world.ts';
import { showcase } from '../test/rig/showcase-emails.ts';
import { build } from './build.ts';
import { scriptOptions } from './options.ts';

const MESSAGES = 5_000;
const SEED = 20_261_122;
const SCHEMES = ['light', 'dark'] as const;
const WIDTHS = '390,768,1440';
const HEIGHT = 900;
/** What Chromium draws in one piece. */
const MOST_HEIGHT = 16_000;
const HOSTNAME = 'mail.rig.test';
/** Pages that the month cannot miss: an email of each kind, and what waits. */
const EXPECTED = ['email-bounced', 'email-delivery_delayed', 'queue-one', 'webhooks-one'];
/** Of a new server: what has an empty state. */
const NEW_PAGES =
  /^(?:overview|queue|inbox|emails|domains|webhooks|suppressions|keys|logs|usage|audit)$/;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

interface Shots {
  browser: Browser;
  folder: string;
  only: readonly string[];
  schemes: readonly (typeof SCHEMES)[number][];
  widths: readonly number[];
  isWhole: boolean;
}

/** Every page in each scheme and width. `before`: what is done first each time. */
async function shootAll(
  shots: Shots,
  session: DashboardSession,
  all: readonly NamedPage[],
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { browser, folder, only, schemes, widths, isWhole } = shots;
  const pages = all.filter(({ name }) => only.some((word) => name.includes(word)));
  if (pages.length === 0) return;
  for (const colorScheme of schemes) {
    for (const width of widths) {
      await before();
      const viewport = { width, height: HEIGHT };
      const context = await browser.newContext({ colorScheme, viewport, timezoneId: 'UTC' });
      for (const { name, path } of pages) {
        if (name === 'sign-in') await context.clearCookies();
        else await context.addCookies([session.cookie]);
        const file = join(folder, `${name}-${colorScheme}-${width}.png`);
        await shoot(context, session.url + path, file, isWhole);
      }
      await context.close();
    }
  }
}

async function shoot(
  context: BrowserContext,
  url: string,
  file: string,
  isWhole: boolean,
): Promise<void> {
  const page = await context.newPage();
  page.on('console', (message) => {
    // What a shown email must not load is blocked in its own frame.
    const isOurs = !/\/(?:inbox|emails)\/[^/]+\/html/.test(message.location().url);
    if (message.type() === 'error' && isOurs) say(`${file}: ${message.text()}`);
  });
  const beganAt = performance.now();
  await page.goto(url);
  const ms = Math.round(performance.now() - beganAt);
  const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  if (over > 0) say(`${file}: ${over} px wider than its window`);
  const cut = await page.evaluate<number>(
    `Math.max(0, ...[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth))`,
  );
  if (cut > 0) say(`${file}: a table is ${cut} px wider than its page`);
  if (isWhole) {
    // A window as high as the page: a frame that is out of sight is not drawn.
    const height = await page.evaluate<number>('document.documentElement.scrollHeight');
    const width = page.viewportSize()?.width ?? HEIGHT;
    await page.setViewportSize({ width, height: Math.min(height, MOST_HEIGHT) });
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
  }
  await page.screenshot({ path: file });
  await page.close();
  say(`${file} ${ms} ms`);
}

async function post(
  { url, cookie }: DashboardSession,
  path: string,
  fields: Record<string, string>,
): Promise<void> {
  const answer = await fetch(`${url}/dashboard${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `${cookie.name}=${cookie.value}`, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams(fields),
  });
  if (answer.status >= 400) throw new Error(`${path} was refused: ${await answer.text()}`);
}

/** Reads the page again and again until it says so. */
async function until(
  session: DashboardSession,
  path: string,
  isSo: (text: string) => boolean,
): Promise<void> {
  while (!isSo(await session.read(path))) await Bun.sleep(200);
}

async function monthPages(shots: Shots, internet: MonthInternet): Promise<void> {
  const appliance = await BinaryAppliance.create({ hostname: HOSTNAME, config: internet.config });
  try {
    say(`Filling ${MESSAGES} messages (seed ${SEED}) ...`);
    const { config } = appliance.made;
    const domains = await fillMonth({ config, now: Date.now(), messages: MESSAGES, seed: SEED });
    internet.publish(HOSTNAME, domains);
    await appliance.start();
    const session = await signedIn(appliance.url, appliance.made.admin_password);
    await post(session, '/operators', { name: 'bea@shop.example', role: 'admin', account: '' });
    await post(session, '/operators', { name: 'support', role: 'read_only', account: 'shop' });
    for (const account of ['shop', 'default', 'signals']) {
      const list = await session.read(`/dashboard/accounts/${account}/domains`);
      for (const [, id] of list.matchAll(/\/domains\/([0-9a-f-]{36})"/g)) {
        await post(session, `/accounts/${account}/domains/${id ?? ''}/verify`, {});
      }
    }
    await until(session, '/dashboard/settings', (text) => !text.includes('still running'));
    const pages = await pagesOf(session);
    const missing = EXPECTED.filter((wanted) => pages.every(({ name }) => name !== wanted));
    if (missing.length > 0) throw new Error(`the month has no ${missing.join(', ')}`);
    // A pause ends by itself: it is made anew each time, and doubles.
    await shootAll(shots, session, [...pages, ...SHAPES], async () => {
      await post(session, '/queue/retry', { domain: 'yahoo.com' });
      await until(session, '/dashboard/queue', (text) => text.includes('asked to slow down'));
    });
  } finally {
    await appliance.stop();
  }
}

/** Pages that no link leads to, or that are reached by what is entered. */
const SHAPES: readonly NamedPage[] = [
  { name: 'missing', path: '/dashboard/no-such-page' },
  { name: 'emails-filtered', path: '/dashboard/accounts/shop/emails?q=invoice&from=2026-01-01' },
  { name: 'emails-none', path: '/dashboard/accounts/shop/emails?q=nothing-like-this' },
  { name: 'docs-guide', path: '/docs/first-email' },
  { name: 'docs-webhooks', path: '/docs/webhooks/python' },
  { name: 'docs-operations', path: '/docs/domains' },
];

async function newPages(
  shots: Shots,
  internet: MonthInternet,
  rspamd: Rspamd | null,
): Promise<void> {
  const inbox = rspamd === null ? '' : `[inbox]\nrspamd_url = "${rspamd.url}"\n`;
  const config = inbox + internet.config.replace('[delivery]', '[delivery]\nmode = "capture"');
  const appliance = await BinaryAppliance.start({ hostname: HOSTNAME, config });
  try {
    const session = await signedIn(appliance.url, appliance.made.admin_password);
    await until(session, '/dashboard/settings', (text) => !text.includes('still running'));
    const fresh = (await pagesOf(session))
      .filter(({ name }) => NEW_PAGES.test(name))
      .map(({ name, path }) => ({ name: `new-${name}`, path }));
    await shootAll(shots, session, [...fresh, { name: 'sign-in', path: '/dashboard' }]);
    await showcase(appliance, internet.names);
    await until(session, '/dashboard/inbox', (text) => text.includes('inbox/3'));
    const inbox = (await pagesOf(session)).filter(({ name }) => name.startsWith('inbox'));
    await shootAll(shots, session, inbox);
  } finally {
    await appliance.stop();
  }
}

/** Of three nodes, before and after the host was checked and one was stopped where it is. */
async function nodesPages(shots: Shots): Promise<void> {
  if (!shots.only.some((word) => 'nodes-silent'.includes(word))) return;
  const server = await PostgresServer.start();
  const world = await startWorld({ store: await server.freshDatabase() });
  try {
    for (const name of ['node2', 'node3']) await world.join(name);
    const session = await signedIn(world.appliance.url, world.appliance.made.admin_password);
    const path = '/dashboard/nodes';
    await shootAll(shots, session, [{ name: 'nodes', path }]);
    await post(session, '/settings/check', {});
    const lost = await world.join('node4');
    lost.freeze();
    await until(session, path, (text) => text.includes('>silent<'));
    await shootAll(shots, session, [{ name: 'nodes-silent', path }]);
    lost.goOn();
  } finally {
    await world.stop();
    await server.stop();
  }
}

async function main(): Promise<void> {
  const text = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values, positionals } = scriptOptions({
    allowPositionals: true,
    options: {
      only: text(''),
      schemes: text(SCHEMES.join()),
      widths: text(WIDTHS),
      window: { type: 'boolean', default: false },
    },
  });
  const folder = positionals[0] ?? join(import.meta.dir, '../dist/screenshots');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(BINARY)) await build(BINARY, null);
  const internet = await startMonthInternet();
  const rspamd = isInstalled('rspamd') ? await startRspamd() : null;
  const browser = await chromium.launch({
    executablePath: PROGRAMS.chromium.file,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const shots: Shots = {
    browser,
    folder,
    only: values.only.split(','),
    schemes: SCHEMES.filter((scheme) => values.schemes.includes(scheme)),
    widths: values.widths.split(',').map(Number),
    isWhole: !values.window,
  };
  try {
    await newPages(shots, internet, rspamd);
    await nodesPages(shots);
    await monthPages(shots, internet);
  } finally {
    await browser.close();
    await rspamd?.stop();
    await internet.stop();
  }
}

await main();
