/**
 * Pictures of every page of the dashboard and of `/docs`, light and dark, 390 and 1440 pixels wide, with a month of mail.
 *
 * Builds when needed, fills a throw-away data directory (`test/rig/month.ts`), starts the binary in capture mode and
 * writes PNG files, whole pages, to `dist/screenshots` or the folder that is named; `--only A,B` takes the pages whose
 * name contains one of these words, `--window` only what a window shows. Says which page is wider than its window, which
 * broke a rule of its Content-Security-Policy, and how long each took. Nothing leaves the machine; everything but the
 * pictures is removed.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

import { BINARY, BinaryAppliance } from '../test/rig/binary.ts';
import { fillMonth } from '../test/rig/month.ts';
import { pagesOf, signedIn } from '../test/rig/dashboard-pages.ts';
import { PROGRAMS } from '../test/rig/programs.ts';
import { build } from './build.ts';

const MESSAGES = 5_000;
const SEED = 20_261_122;
const SCHEMES = ['light', 'dark'] as const;
const WIDTHS = [390, 1440];
const HEIGHT = 900;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const isWhole = !process.argv.includes('--window');

async function shoot(context: BrowserContext, url: string, file: string): Promise<void> {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error') say(`${file}: ${message.text()}`);
  });
  const beganAt = performance.now();
  await page.goto(url);
  const ms = Math.round(performance.now() - beganAt);
  const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  if (over > 0) say(`${file}: ${over} px wider than its window`);
  await page.screenshot({ path: file, fullPage: isWhole });
  await page.close();
  say(`${file} ${ms} ms`);
}

async function main(): Promise<void> {
  const words = process.argv.slice(2).filter((word) => word !== '--window');
  const at = words.indexOf('--only');
  const only = (at < 0 ? '' : (words.splice(at, 2)[1] ?? '')).split(',');
  const folder = words[0] ?? join(import.meta.dir, '../dist/screenshots');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(BINARY)) await build(BINARY, null);
  const appliance = await BinaryAppliance.create({ config: '[delivery]\nmode = "capture"' });
  const browser = await chromium.launch({
    executablePath: PROGRAMS.chromium.file,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  try {
    say(`Filling ${MESSAGES} messages (seed ${SEED}) ...`);
    await fillMonth({
      config: appliance.made.config,
      now: Date.now(),
      messages: MESSAGES,
      seed: SEED,
    });
    await appliance.start();
    const session = await signedIn(appliance.url, appliance.made.admin_password);
    const pages = (await pagesOf(session)).filter(({ name }) =>
      only.some((word) => name.includes(word)),
    );
    for (const colorScheme of SCHEMES) {
      for (const width of WIDTHS) {
        const viewport = { width, height: HEIGHT };
        const context = await browser.newContext({ colorScheme, viewport, timezoneId: 'UTC' });
        await context.addCookies([session.cookie]);
        for (const { name, path } of pages) {
          await shoot(
            context,
            appliance.url + path,
            join(folder, `${name}-${colorScheme}-${width}.png`),
          );
        }
        await context.close();
      }
    }
  } finally {
    await browser.close();
    await appliance.stop();
  }
}

await main();
