/**
 * What the script of the pages promises, in a real browser: the last page asked for is shown whatever order answers come
 * in, and an update takes nothing from whoever reads, opens or types.
 */
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'bun:test';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { describeWith, PROGRAMS } from '../../rig/programs.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

const TIMEOUT_MS = 60_000;
/** Of the queue and the lists of emails, with some time for the answer. */
const LIVE_MS = 6_000;

describeWith(['chromium'], 'the script of the dashboard', () => {
  let rig: DashboardRig;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    rig = await startDashboardRig();
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    for (const email of ['slow@receiver.example', 'quick@receiver.example']) {
      await addSuppression(rig.rig.appliance.ctx, rig.rig.account, { email });
    }
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser.close();
    await rig.stop();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    const [name = '', value = ''] = rig.cookie.split('=');
    await context.addCookies([{ name, value, url: rig.rig.url }]);
    page = await context.newPage();
  }, TIMEOUT_MS);
  afterEach(() => context.close());

  const open = (path: string) => page.goto(`${rig.rig.url}${path}`);
  const addresses = () => page.locator('tbody tr td:first-child').allTextContents();

  test(
    'an answer that comes late does not replace the page that was asked for after it',
    async () => {
      const release = Promise.withResolvers<void>();
      await page.route(/q=slow/, async (route) => {
        await release.promise;
        await route.continue();
      });
      await open(`/dashboard${rig.account}/suppressions`);
      const field = page.getByRole('searchbox');
      const isAsked = page.waitForRequest(/q=slow/);
      await field.fill('slow');
      await isAsked;
      await field.fill('quick');
      await page
        .getByRole('cell', { name: 'slow@receiver.example' })
        .waitFor({ state: 'detached' });
      expect((await addresses()).map((text) => text.trim())).toEqual(['quick@receiver.example']);
      const late = page.waitForResponse(/q=slow/);
      release.resolve();
      await (await late).finished();
      // What the page does with it is done a task later.
      for (let tasks = 0; tasks < 5; tasks += 1) {
        await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
      }
      expect((await addresses()).map((text) => text.trim())).toEqual(['quick@receiver.example']);
      expect(new URL(page.url()).searchParams.get('q')).toBe('quick');
    },
    TIMEOUT_MS,
  );

  test(
    'a notice is said once: its words are not in the address any more',
    async () => {
      await open('/dashboard/settings?done=host_checked&count=1&tab=x');
      await page.getByRole('status').first().waitFor();
      expect(new URL(page.url()).search).toBe('?tab=x');
      await page.reload();
      expect(await page.getByRole('status').count()).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'an update leaves open what was opened, and a search as it was typed; a page that nobody sees is not fetched',
    async () => {
      await rig.send({
        from: 'a@sender.example',
        to: 'b@receiver.example',
        subject: 'One',
        text: 'x',
      });
      await page.clock.install();
      await open('/dashboard/inbox');
      await page.getByText('Delete all', { exact: true }).click();
      await page.getByRole('searchbox').pressSequentially('O');
      const updated = page.waitForResponse((response) => response.url().includes('q=O'));
      await page.clock.runFor(300);
      await (await updated).finished();

      await rig.send({
        from: 'a@sender.example',
        to: 'b@receiver.example',
        subject: 'Other',
        text: 'x',
      });
      await page.clock.runFor(LIVE_MS);
      await page.getByRole('link', { name: 'Other' }).waitFor();
      expect(await page.getByRole('button', { name: 'Delete all messages' }).isVisible()).toBe(
        true,
      );
      expect(await page.getByRole('searchbox').inputValue()).toBe('O');

      await page.evaluate("Object.defineProperty(document, 'hidden', { value: true })");
      let fetched = 0;
      page.on('request', () => (fetched += 1));
      await page.clock.runFor(10 * LIVE_MS);
      expect(fetched).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'a session that has ended shows the sign-in page with the next update',
    async () => {
      await page.clock.install();
      await open('/dashboard/queue');
      await context.clearCookies();
      await page.clock.runFor(LIVE_MS);
      await page.getByLabel('Dashboard password').waitFor();
    },
    TIMEOUT_MS,
  );

  test(
    'keys act on the page, and are letters where one types',
    async () => {
      await open(`/dashboard${rig.account}/suppressions`);
      await page.keyboard.press('/');
      const focused = () => page.evaluate<string>('document.activeElement.name ?? ""');
      expect(await focused()).toBe('q');
      await page.keyboard.type('n/p');
      expect(await page.getByRole('searchbox').inputValue()).toBe('n/p');
      expect(await focused()).toBe('q');
    },
    TIMEOUT_MS,
  );
});
