/**
 * The dashboard in a real browser: signing in, reading a hostile captured mail, acting, signing out. No script of
 * the mail runs, and the browser sends requests to the appliance only.
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
    // Requests that the policy blocks are reported too, with that reason; any other reason means it was sent.
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
    expect(await page.getByRole('alert').textContent()).toContain('password or the code is wrong');
    await page.getByLabel('Dashboard password').fill(rig.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
  }, 60_000);

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
    // The style of the mail is applied: it looks as it will for the recipient.
    const colour = await frame
      .locator('#hello')
      .evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).color);
    expect(colour).toBe('rgb(1, 2, 3)');
    await frame.locator('#steal').click();
    await frame.locator('#top').click();
    expect(page.url()).toBe(`${rig.url}/inbox/1`);
    expect(dialogs).toEqual([]);
  }, 60_000);

  test('shows mails from adapters with the parts they really have', async () => {
    const mail = { from: 'Shop <shop@sender.example>', to: 'someone@receiver.example' };
    await rig.send({ ...mail, subject: 'Only text', text: 'Thank you.', html: '', headers: [] });
    await rig.send({
      ...mail,
      subject: 'Only html',
      html: '<p id="thanks">Thank you.</p>',
      text: '',
      reply_to: 'help@sender.example',
      headers: {
        'Reply-To': 'help@sender.example',
        'Message-ID': '<order.7@sender.example>',
        Date: 'Thu, 01 Jan 1970 00:00:00 +0000',
      },
    });
    await page.goto(`${rig.url}/inbox`);
    await page.getByRole('link', { name: /Only text/ }).click();
    await page.getByRole('link', { name: 'Text', exact: true }).waitFor();
    expect((await page.locator('pre').first().textContent())?.trim()).toBe('Thank you.');
    expect(await page.locator('iframe').count()).toBe(0);

    await page.goto(`${rig.url}/inbox`);
    await page.getByRole('link', { name: /Only html/ }).click();
    const shown = page.frameLocator('iframe').locator('#thanks');
    await shown.waitFor();
    expect(await shown.textContent()).toBe('Thank you.');
    await page.getByRole('link', { name: 'Source', exact: true }).click();
    const head = (await page.locator('pre').textContent()) ?? '';
    expect(head.match(/^(?:Reply-To|Message-ID): .*$/gm)).toEqual([
      'Reply-To: help@sender.example',
      'Message-ID: <order.7@sender.example>',
    ]);
    expect(head).not.toMatch(/^Date: .*1970/m);
  }, 60_000);

  test('submits forms, and has no access after signing out', async () => {
    await page.goto(`${rig.url}${rig.account}/keys`);
    await page.getByLabel('Name', { exact: true }).fill('From the browser');
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('main code').textContent()).toStartWith('pr_live_');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Dashboard password').waitFor();
    await page.goto(`${rig.url}/queue`);
    await page.getByLabel('Dashboard password').waitFor();
    expect([foreign, faults]).toEqual([[], []]);
  }, 60_000);
});
