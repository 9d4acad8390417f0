/**
 * The dashboard of the compiled binary as a new operator uses it, in Chromium: from the page that was asked for to the
 * first delivered email, lists that answer in place and update themselves, and every page once more without scripts. Each
 * part in use is `dashboard-walks.test.ts`.
 *
 * Throughout: no request to another host, nothing that a Content-Security-Policy had to forbid, no fault of a script.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

import { BinaryAppliance } from '../rig/binary.ts';
import { pagesOf, signedIn, type DashboardSession } from '../rig/dashboard-pages.ts';
import { startNames, type Names } from '../rig/names.ts';
import { describeWith, PROGRAMS } from '../rig/programs.ts';
import { saysCopied, Watch } from './dashboard-walks/walker.ts';

const TIMEOUT_MS = 120_000;

interface DnsRecord {
  type: 'TXT' | 'CNAME';
  name: string;
  value: string;
}

describeWith(['chromium'], 'the dashboard as an operator uses it', () => {
  let names: Names;
  let appliance: BinaryAppliance;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let watch: Watch;

  /** A page on which everything that must not happen is written down. */
  function watched(inside: BrowserContext): Promise<Page> {
    watch.over(inside);
    return inside.newPage();
  }

  async function send(subject: string): Promise<void> {
    const answer = await appliance.api('POST', '/emails', {
      from: 'Shop <shop@walk.example>',
      to: 'someone@receiver.example',
      subject,
      html: '<p>Thank you.</p>',
      text: 'Thank you.',
      tags: [{ name: 'kind', value: 'receipt' }],
    });
    expect(answer.status).toBe(200);
  }

  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

  beforeAll(async () => {
    names = await startNames();
    appliance = await BinaryAppliance.start({
      config: `[delivery]\nmode = "capture"\n[dns]\nservers = ["${names.listen.host}:${names.listen.port}"]`,
    });
    watch = new Watch(appliance);
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    page = await watched(context);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await browser.close();
    await appliance.stop();
    await names.stop();
    expect(watch.wrong).toEqual([]);
  });

  test(
    'sign-in opens the page that was asked for',
    async () => {
      await page.goto(`${appliance.url}/dashboard/queue?domain=receiver.example`);
      await page.getByLabel(/password/i).fill(appliance.made.admin_password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await heading('Queue').waitFor();
      expect(page.url()).toContain('/dashboard/queue?domain=receiver.example');
      const here = page.locator('nav.menu a[aria-current="page"]');
      expect(await here.allTextContents()).toEqual(['Queue']);
    },
    TIMEOUT_MS,
  );

  test(
    'the checklist leads from nothing to the first delivered email',
    async () => {
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await page.getByRole('link', { name: 'Add the domain you send from' }).click();
      await heading('Domains').waitFor();
      const { records } = (await appliance.json(['domain', 'add', 'walk.example'])) as unknown as {
        records: DnsRecord[];
      };
      for (const { type, name, value } of records) names.set(name, type, [value]);
      await page.goto(`${appliance.url}/dashboard`);
      await page.getByRole('link', { name: 'Publish its DNS records' }).click();
      await heading('walk.example').waitFor();
      await page.getByRole('button', { name: /Check now/ }).click();
      await page.locator('main').getByText('verified').first().waitFor();

      await page.goto(`${appliance.url}/dashboard`);
      await page.getByRole('link', { name: 'Send the first email and see it arrive' }).click();
      await page.getByLabel('To', { exact: true }).fill('me@receiver.example');
      await page.getByRole('button', { name: 'Send a test email' }).click();
      await heading('Test email from walk.example').waitFor();
      // The page updates itself: nobody reloads it.
      await page.getByText('Delivered.', { exact: true }).waitFor();
      await page.getByText('250 captured').waitFor();

      await page.goto(`${appliance.url}/dashboard`);
      await page.getByText('What became of recipients').waitFor();
      expect(await page.locator('.checklist').count()).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'a list answers while one types, and updates itself without losing what is typed',
    async () => {
      await send('Order 1');
      await page.getByRole('link', { name: 'Emails', exact: true }).click();
      await page.getByRole('link', { name: 'Order 1' }).waitFor();
      await page.evaluate('window.isTheSamePage = true');
      await page.getByLabel('Subject, sender or recipient').pressSequentially('order');
      // A list of fewer letters may come first.
      await page.waitForURL(/[?&]q=order(?:&|$)/);
      await page.getByRole('link', { name: /Test email/ }).waitFor({ state: 'detached' });

      const answered = page.waitForResponse((response) => response.url().includes('to=someone%40'));
      await page.getByLabel('Recipient', { exact: true }).pressSequentially('someone@');
      await (await answered).finished();
      // From here on only the page's own update can show it.
      await send('Order 2');
      await page.getByRole('link', { name: 'Order 2' }).waitFor();
      expect(await page.getByLabel('Recipient', { exact: true }).inputValue()).toBe('someone@');
      expect(await page.evaluate('document.activeElement.name')).toBe('to');
      expect(await page.evaluate('window.isTheSamePage')).toBe(true);
    },
    TIMEOUT_MS,
  );

  test(
    'an email shows its content in tabs, its id can be copied, and the keys lead on',
    async () => {
      await page.getByRole('link', { name: 'Order 2' }).click();
      await heading('Order 2').waitFor();
      await page.evaluate('window.isTheSamePage = true');
      await page.getByRole('link', { name: 'Phone' }).click();
      await page.locator('iframe.phone').waitFor();
      await page.getByRole('link', { name: 'Source' }).click();
      await page.getByText('Subject: Order 2').waitFor();
      expect(await page.evaluate('window.isTheSamePage')).toBe(true);
      const copy = page.getByRole('button', { name: 'Copy the id' });
      await Promise.all([saysCopied(page, 'Copy the id'), copy.click()]);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download it' }).click(),
      ]);
      expect(saved.suggestedFilename()).toEndWith('.eml');
      const utc = page.locator('main time').first();
      expect(await utc.getAttribute('title')).toEndWith(' UTC');
      await page.keyboard.press('n');
      await heading('Order 1').waitFor();
      await page.getByText('Send again', { exact: true }).click();
      await page.getByRole('button', { name: 'Send it again' }).click();
      await page.getByText('Accepted. What happens to it is shown below.').waitFor();
    },
    TIMEOUT_MS,
  );

  test(
    'a halt stands on every page until sending is resumed',
    async () => {
      await page.goto(`${appliance.url}/dashboard/halt`);
      await page.getByLabel('Reason').fill('The wrong list');
      await page.getByRole('button', { name: 'Halt all sending' }).click();
      await page.getByRole('link', { name: 'Domains' }).click();
      await heading('Domains').waitFor();
      await page.getByText('The wrong list').waitFor();
      await page.getByRole('button', { name: 'Resume sending' }).click();
      await page.getByText('Sending resumed.').waitFor();
      expect(await page.getByText('The wrong list').count()).toBe(0);
    },
    TIMEOUT_MS,
  );

  describeEachPage(() => ({ appliance, browser, watched }));
});

/** What every page must hold to, with scripts and without. */
function describeEachPage(
  given: () => {
    appliance: BinaryAppliance;
    browser: Browser;
    watched: (inside: BrowserContext) => Promise<Page>;
  },
): void {
  test.each([true, false])(
    'every page opens with scripts: %j',
    async (javaScriptEnabled) => {
      const { appliance, browser, watched } = given();
      const session: DashboardSession = await signedIn(
        appliance.url,
        appliance.made.admin_password,
      );
      const context = await browser.newContext({ javaScriptEnabled });
      await context.addCookies([session.cookie]);
      const page = await watched(context);
      for (const { name, path } of await pagesOf(session)) {
        if (!path.startsWith('/dashboard')) continue;
        const answer = await page.goto(appliance.url + path);
        expect([name, answer?.status()]).toEqual([name, 200]);
        expect(await page.locator('h1').count()).toBe(1);
      }
      await context.close();
    },
    TIMEOUT_MS,
  );

  test(
    'without scripts lists are filtered, tabs open, and what cannot be undone asks first',
    async () => {
      const { appliance, browser, watched } = given();
      const session = await signedIn(appliance.url, appliance.made.admin_password);
      const context = await browser.newContext({ javaScriptEnabled: false });
      await context.addCookies([session.cookie]);
      const page = await watched(context);
      await page.goto(`${appliance.url}/dashboard`);
      await page.getByRole('link', { name: 'Emails', exact: true }).click();
      await page.getByLabel('Subject, sender or recipient').fill('order 2');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('link', { name: 'Order 2' }).click();
      expect(await page.locator('[data-copy]:visible').count()).toBe(0);
      expect(await page.locator('main time').first().textContent()).toEndWith(' UTC');
      await page.getByRole('link', { name: 'Headers' }).click();
      await page.getByRole('cell', { name: 'Message-ID', exact: true }).waitFor();
      await page.getByText('Send again', { exact: true }).click();
      await page.getByRole('button', { name: 'Send it again' }).click();
      await page.getByText('Accepted. What happens to it is shown below.').waitFor();
      await page.setViewportSize({ width: 390, height: 800 });
      await page.getByLabel('Show the menu').check();
      await page.getByRole('link', { name: 'Logs' }).click();
      await page.getByRole('heading', { level: 1, name: 'Logs' }).waitFor();
      await context.close();
    },
    TIMEOUT_MS,
  );
}
