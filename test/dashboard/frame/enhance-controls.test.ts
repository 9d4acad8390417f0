/**
 * What the script of the pages adds to links, keys, times, texts to copy and forms, in a real browser: each works as
 * without it, and leaves to the browser what is the browser's.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { describeWith, PROGRAMS } from '../../rig/programs.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const TIMEOUT_MS = 60_000;
const TOKYO_MS = 9 * 3_600_000;

describeWith(['chromium'], 'with its script a page of the dashboard', () => {
  let rig: DashboardRig;
  let endpoint: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    rig = await startDashboardRig({ config: '[webhooks]\nallow_networks = ["192.0.2.0/24"]\n' });
    // Of what does not happen here: nothing is ever posted.
    const hook = { url: 'https://192.0.2.7/h', events: ['email.complained'] };
    endpoint = (await addEndpoint(rig.rig.appliance.ctx, rig.rig.account, hook)).endpoint.id;
    for (const subject of ['One', 'Two', 'Three']) {
      const html = `<p>${subject}</p>`;
      await rig.send({ from: 'a@sender.example', to: 'b@x.example', subject, html, text: 'x' });
    }
    await rig.rig.log.atLeast(3, ({ event }) => event === 'attempt');
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser.close();
    await rig.stop();
  });
  beforeEach(async () => {
    context = await browser.newContext({ timezoneId: 'Asia/Tokyo' });
    const [name = '', value = ''] = rig.cookie.split('=');
    await context.addCookies([{ name, value, url: rig.rig.url }]);
    page = await context.newPage();
  }, TIMEOUT_MS);
  afterEach(() => context.close());

  /** Opens a page, which is known again as long as it is not loaded anew. */
  async function open(path: string): Promise<void> {
    await page.goto(`${rig.url}${path}`);
    await page.evaluate('window.isSame = true');
  }
  const isSame = () => page.evaluate<boolean>('window.isSame === true');
  const address = (): string => new URL(page.url()).pathname + new URL(page.url()).search;
  const openTab = (name: string) =>
    page.locator('nav.tabs a[aria-current]', { hasText: name }).first().waitFor();

  test(
    'shows a tab without being left, and goes back to the one before',
    async () => {
      await open('/inbox/1?tab=source');
      const before = await page.evaluate<number>('history.length');
      await page.locator('nav.tabs a', { hasText: 'Text' }).click();
      await openTab('Text');
      expect([await isSame(), address()]).toEqual([true, '/dashboard/inbox/1?tab=text']);
      expect(await page.evaluate<number>('history.length')).toBe(before + 1);
      await page.goBack();
      await openTab('Source');
      expect(address()).toBe('/dashboard/inbox/1?tab=source');
    },
    TIMEOUT_MS,
  );

  test(
    'leaves clicks for a new tab or window to the browser',
    async () => {
      await open('/inbox/1');
      const taken = await page.evaluate<boolean[]>(`(() => {
        const taken = [];
        addEventListener('click', (event) => {
          taken.push(event.defaultPrevented);
          event.preventDefault();
        });
        const link = document.querySelector('nav.tabs a[data-swap]');
        const how = [{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { button: 1 }, {}];
        for (const one of how) {
          link.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...one }));
        }
        return taken;
      })()`);
      expect(taken).toEqual([false, false, false, false, true]);
    },
    TIMEOUT_MS,
  );

  test(
    'follows n and p to the next and the one before, and leaves keys of the browser to it',
    async () => {
      await open('/inbox/2');
      const followed = await page.evaluate<string[]>(`(() => {
        const followed = [];
        addEventListener('click', (event) => {
          followed.push(event.target.rel);
          event.preventDefault();
        });
        const press = (key, more) =>
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, ...more }));
        for (const key of ['n', 'p']) {
          for (const one of ['ctrlKey', 'metaKey', 'altKey']) press(key, { [one]: true });
        }
        press('n');
        press('p');
        press('x');
        return followed;
      })()`);
      expect(followed).toEqual(['next', 'prev']);
    },
    TIMEOUT_MS,
  );

  test(
    'says times in the zone of the reader, with UTC beside, also in what it fetches',
    async () => {
      await open('/inbox');
      const times = async () => {
        const all = await page.evaluate<[string, string, string][]>(
          `Array.from(document.querySelectorAll('main time'), (one) =>
            [one.dateTime, one.title, one.textContent])`,
        );
        const words = (atMs: number): string =>
          new Date(atMs).toISOString().slice(0, 19).replace('T', ' ');
        for (const [iso, title, shown] of all) {
          const at = Date.parse(iso);
          expect([title, shown]).toEqual([`${words(at)} UTC`, words(at + TOKYO_MS)]);
        }
        return all.length;
      };
      expect(await times()).toBe(3);
      await page.getByRole('searchbox').fill('Two');
      await page.getByRole('link', { name: 'Three' }).waitFor({ state: 'detached' });
      expect([await times(), await isSame()]).toEqual([1, true]);
    },
    TIMEOUT_MS,
  );

  test(
    'copies a text, or selects it where the browser has no clipboard, and says so for a moment',
    async () => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.clock.install();
      // Only the test passes time.
      await page.clock.pauseAt(Date.now() + 60_000);
      const copy = page.locator('[data-copy]').first();
      const said = async (words: string) => {
        await copy.click();
        await page.locator('[data-copy]', { hasText: words }).waitFor();
        await page.clock.runFor(1_600);
        await page
          .locator('[data-copy]', { hasText: /^\s*Copy\s*$/ })
          .first()
          .waitFor();
      };
      await open(`${rig.account}/webhooks/${endpoint}`);
      await said('Copied');
      expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(endpoint);
      await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await said('Selected');
      expect(await page.evaluate<string>('getSelection().toString()')).toBe(endpoint);
    },
    TIMEOUT_MS,
  );

  test(
    'asks once when a filter is sent while it is typed, without what is empty',
    async () => {
      await page.clock.install();
      // Only the test passes time.
      await page.clock.pauseAt(Date.now() + 60_000);
      await open(`${rig.account}/emails`);
      const asked: string[] = [];
      page.on('request', (request) => {
        if (request.headers()['x-live'] === '1') asked.push(new URL(request.url()).search);
      });
      const field = page.getByRole('searchbox');
      await field.pressSequentially('Two');
      await field.press('Enter');
      await page.getByRole('link', { name: 'Three' }).waitFor({ state: 'detached' });
      await page.clock.runFor(1_000);
      expect([asked, address(), await isSame()]).toEqual([
        ['?q=Two'],
        `/dashboard${rig.account}/emails?q=Two`,
        true,
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'keeps what was entered into a form through its updates',
    async () => {
      await page.clock.install();
      await open(`${rig.account}/webhooks/${endpoint}`);
      await page.locator('#replay-event_id').fill('an id');
      await page.locator('[name="events"][value="email.bounced"]').check();
      // The one that is typed in would be kept by the browser.
      await page.getByRole('link', { name: 'Edit' }).focus();
      const updated = page.waitForResponse((one) => one.url().includes(endpoint));
      await page.clock.runFor(11_000);
      await (await updated).finished();
      await page.clock.runFor(100);
      expect([
        await page.locator('#replay-event_id').inputValue(),
        await page.locator('[name="events"][value="email.bounced"]').isChecked(),
        await page.locator('[name="events"][value="email.complained"]').isChecked(),
        await isSame(),
      ]).toEqual(['an id', true, true, true]);
    },
    TIMEOUT_MS,
  );

  test(
    'stays as it is when an update fails, and opens what was asked for as a link does',
    async () => {
      await page.clock.install();
      await open('/inbox');
      await page.route(/\/inbox$/, (route) => route.fulfill({ status: 500, body: '<h1>No</h1>' }));
      const failed = page.waitForResponse((response) => response.status() === 500);
      await page.clock.runFor(4_000);
      await (await failed).finished();
      await page.getByRole('link', { name: 'Three' }).waitFor();
      expect(await isSame()).toBe(true);
      await open('/inbox/1');
      await page.route(/tab=text/, (route) =>
        route.fulfill({ status: 500, contentType: 'text/html', body: '<h1>Broken</h1>' }),
      );
      await page.locator('nav.tabs a', { hasText: 'Text' }).click();
      await page.getByRole('heading', { name: 'Broken' }).waitFor();
      expect([await isSame(), address()]).toEqual([false, '/dashboard/inbox/1?tab=text']);
    },
    TIMEOUT_MS,
  );
});
