/** The request log: each filter, and one request in full. */
import { expect } from 'bun:test';

import { DOMAIN, send } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useLogs(walker: Walker): Promise<void> {
  const { page, ground, tag } = walker;
  const { appliance } = ground;
  const made = await appliance.json([
    'key',
    'create',
    '--account',
    'default',
    '--name',
    `Logs ${tag}`,
    '--permission',
    'full_access',
  ]);
  const headers = { authorization: `Bearer ${String(made['token'])}` };
  const body = { from: `a@${DOMAIN}`, to: 'nobody', subject: `Refused ${tag}`, text: 't' };
  expect((await appliance.api('POST', '/emails', body, headers)).status).toBe(422);
  expect((await appliance.api('GET', '/domains', undefined, headers)).status).toBe(200);
  await send(ground, `Logged ${tag}`);
  await walker.menu('API keys');
  await walker.follow(`Logs ${tag}`);
  // The log is written a moment after the request.
  while (!(await walker.text('GET /domains').isVisible())) await page.reload();
  await walker.lists('GET /domains', 'POST /emails');
  await walker.filter({ Status: '4xx: refused' });
  await walker.lists('POST /emails');
  await walker.filter({ Status: 'any', Method: 'GET' });
  await walker.lists('GET /domains');
  await walker.filter({ Method: 'any', Path: 'emails' });
  await walker.lists('POST /emails');
  const today = new Date().toISOString().slice(0, 10);
  await walker.filter({ 'From (UTC)': '2020-01-01', 'To (UTC)': '2020-01-02' });
  await walker.says('No request matches.');
  await walker.filter({ 'To (UTC)': today });
  await walker.lists('POST /emails');
  expect(new URL(page.url()).searchParams.get('to')).toBe(today);
  await walker.follow('POST /emails');
  await walker.heading('POST /emails');
  await walker.says(new RegExp(`"subject": "Refused ${tag}"`));
  expect(await page.locator('main').textContent()).toContain('422');
  await walker.copied('Copy the request id');
}
