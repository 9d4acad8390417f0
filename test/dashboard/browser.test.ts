/**
 * The dashboard in a real browser: signing in, reading a hostile captured mail, acting, signing out. No script of
 * the mail runs, and the browser asks nobody but the appliance.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Browser, chromium, type Page } from 'playwright-core';

import { describeWith, PROGRAMS } from '../rig/programs.ts';
import { type DashboardRig, startDashboardRig } from './dashboard-rig.ts';

describeWith(['chromium'], 'the dashboard in a browser', () => {
  let rig: DashboardRig;
  let browser: Browser;
  let page: Page;
  const foreign: string[] = [];
  const dialogs: string[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    rig = await startDashboardRig();
    browser = await chromium.launch({
      executablePath: PROGRAMS.chromium.file,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    });
    page = await browser.newPage();
    const isForeign = (url: string): boolean =>
      !url.startsWith(rig.rig.url) && !url.startsWith('data:');
    page.on('response', (answer) => {
      if (isForeign(answer.url())) foreign.push(answer.url());
    });
    // What the policy stops is announced as well, and fails for that reason; any other reason means it went out.
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText;
      if (isForeign(request.url()) && reason !== 'csp') foreign.push(`${reason} ${request.url()}`);
    });
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => faults.push(error.message));
  }, 30_000);
  afterAll(async () => {
    await browser.close();
    await rig.stop();
  });

  test('signs in with the password and nothing else', async () => {
    await page.goto(rig.url);
    await page.getByLabel('Dashboard password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('not the password');
    await page.getByLabel('Dashboard password').fill(rig.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
  }, 20_000);

  test('shows a hostile mail without running or loading anything of it', async () => {
    await rig.send({
      from: 'news@sender.example',
      to: 'someone@receiver.example',
      subject: '<script>alert("subject")</script>Read me',
      html:
        '<p id="hello">Hello there</p><script>alert("script")</script>' +
        '<img src="https://tracker.example/pixel.png" onerror="alert(1)">' +
        '<iframe src="https://tracker.example/frame"></iframe>' +
        '<style>@import "https://tracker.example/style.css"; p { color: rgb(1, 2, 3) }</style>' +
        '<form action="https://tracker.example/form" method="post"><button id="steal">Go</button></form>' +
        '<a href="https://tracker.example/top" target="_top" id="top">Away</a>',
      text: 'Hello there',
    });
    await page.getByRole('link', { name: 'Inbox' }).click();
    await page.getByRole('link', { name: /Read me/ }).click();
    const frame = page.frameLocator('iframe');
    expect(await frame.locator('#hello').textContent()).toBe('Hello there');
    // The mail's own style is applied: it looks as it will.
    const colour = await frame
      .locator('#hello')
      .evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).color);
    expect(colour).toBe('rgb(1, 2, 3)');
    await frame.locator('#steal').click();
    await frame.locator('#top').click();
    expect(page.url()).toBe(`${rig.url}/inbox/1`);
    expect(dialogs).toEqual([]);
  }, 20_000);

  test('acts by its forms, and a signed-out browser is out', async () => {
    await page.goto(`${rig.url}${rig.account}/keys`);
    await page.getByLabel('Name').fill('From the browser');
    await page.getByRole('button', { name: 'Make key' }).click();
    expect(await page.locator('main code').textContent()).toStartWith('pr_live_');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Dashboard password').waitFor();
    await page.goto(`${rig.url}/queue`);
    await page.getByLabel('Dashboard password').waitFor();
    expect([foreign, faults]).toEqual([[], []]);
  }, 20_000);
});
