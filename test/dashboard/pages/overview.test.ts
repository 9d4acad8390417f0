/**
 * The overview: the checklist ticks itself and goes with the first delivered email; charts have their numbers as tables;
 * a test email from any verified domain.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { chart } from '../../../src/dashboard/frame/chart.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';
import { textOf } from '../page-text.ts';

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

/** Titles of the checklist's steps that are ticked, and of those that are open. */
function stepsIn(page: string): { done: string[]; open: string[] } {
  const titles = (kind: string): string[] =>
    Array.from(
      page.matchAll(new RegExp(`<li class="${kind}">.*?<a href="[^"]*">([^<]*)</a>`, 'gs')),
      ([, title]) => title ?? '',
    );
  return { done: titles('done'), open: titles('open') };
}

test('the checklist ticks what is there, and goes with the first delivered email', async () => {
  const before = stepsIn((await rig.visit('')).text);
  expect(before.done).toContain('Publish its DNS records');
  expect(before.done).toContain('Have an API key');
  expect(before.open).toContain('Send the first email and see it arrive');
  expect(before.open).toContain('Add a webhook (if you want one)');

  const sent = await rig.submit('/test-email', {
    domain: /<option value="([^"]*)"/.exec((await rig.visit('/test-email')).text)?.[1] ?? '',
    to: 'me@receiver.example',
  });
  const path = sent.headers.get('location')?.replace('/dashboard', '').split('?')[0] ?? '';
  for (;;) {
    if ((await rig.visit(path)).text.includes('email.delivered')) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const after = (await rig.visit('')).text;
  expect(stepsIn(after)).toEqual({ done: [], open: [] });
  expect(after).toMatch(/Delivered <b>1<\/b>/);
});

test('each period has its columns, and a wrong one is the first', async () => {
  for (const [query, columns] of [
    ['', 24],
    ['?period=7d', 28],
    ['?period=30d', 30],
    ['?period=constructor', 24],
  ] as const) {
    const { text } = await rig.visit(`/${query}`);
    const [first = ''] = /<figure class="chart">.*?<\/figure>/s.exec(text) ?? [];
    expect([query, first.split('<title>').length - 1]).toEqual([query, columns]);
  }
});

test('an account alone has its own numbers', async () => {
  expect((await rig.submit('/accounts', { name: 'quiet', plan: 'unlimited' })).status).toBe(303);
  const accounts = await rig.rig.appliance.ctx.store.accounts();
  const quiet = accounts.find(({ name }) => name === 'quiet');
  const { text } = await rig.visit(`?account=${quiet?.id}`);
  expect(text).toMatch(/Delivered <b>0<\/b>/);
  // Another period is shown of the same account.
  for (const period of ['24h', '7d', '30d'])
    expect(text).toMatch(new RegExp(`\\?period=${period}&(?:amp;)?account=${quiet?.id}"`));
  expect((await rig.visit('?account=none')).text).toMatch(/Delivered <b>1<\/b>/);
});

test('a refused test email keeps its address and says why', async () => {
  const answer = await rig.submit('/test-email', { domain: 'none', to: 'me@receiver.example' });
  expect(answer.status).toBe(422);
  expect(answer.text).toContain('Choose a verified domain.');
  expect(answer.text).toContain('value="me@receiver.example"');
});

test('a chart stacks its columns below its top, with every number in its table', () => {
  const text = chart({
    title: 'Things',
    over: 'Day',
    columns: ['Monday', 'Tuesday'],
    ticks: ['M', 'T'],
    series: [
      { key: 'delivered', label: 'Good', values: [30, 0] },
      { key: 'bounced', label: 'Bad', values: [12, 0] },
    ],
    words: String,
    lines: [{ value: 45, label: 'too many', tone: 'bad' }],
  }).toString();
  const bars = Array.from(
    text.matchAll(/class="bar-\w+"\s+x="\d+"\s+y="([\d.]+)"\s+width="8"\s+height="([\d.]+)"/g),
  );
  // The top is 50: 30 of 50 fill 60 of the 100 units, 12 stand on them.
  expect(bars.map(([, y, height]) => [Number(y), Number(height)])).toEqual([
    [40, 60],
    [16, 24],
  ]);
  expect(text).toContain('class="line-bad"');
  expect(text).toMatch(
    /<td data-label="Day" *>Monday<\/td><td data-label="Good" *>30<\/td><td data-label="Bad" *>12<\/td>/,
  );
  expect(text).not.toContain('<td data-label="Day" >Tuesday');
});

test('what waits is counted, and halting is offered until it is done', async () => {
  const shown = async (): Promise<string> => (await rig.visit('')).text;
  const tile = (page: string, label: string): string =>
    textOf(new RegExp(`tile-label"\\s*>(?:<a[^>]*>)?${label}.*?</li>`, 's').exec(page)?.[0] ?? '');
  const page = await shown();
  expect(tile(page, 'Waiting')).toEndWith('Waiting 0 recipients');
  expect(tile(page, 'Webhooks')).toEndWith('Webhooks 0 calls pending');
  expect(tile(page, 'Mode')).toEndWith('Mode capture nothing leaves the machine');
  expect(page).not.toContain('asked to slow down');
  expect(page).toContain('href="/dashboard/halt"');
  await rig.submit('/halt', { reason: 'Leak.' });
  const halted = await shown();
  expect(halted).not.toContain('href="/dashboard/halt"');
  expect(halted).toContain('action="/dashboard/resume"');
  await rig.submit('/resume');
  expect(await shown()).toContain('href="/dashboard/halt"');
});
