/** The page of the server: host check now, a backup that opens, the kill switch, and a config without its secrets. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { statSync } from 'node:fs';

import { type Names, startNames } from '../../rig/names.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

let names: Names;
let rig: DashboardRig;
beforeAll(async () => {
  names = await startNames();
  const { host, port } = names.listen;
  const plans = '[[plans]]\nid = "starter"\nincluded_emails = 7\n';
  rig = await startDashboardRig({ config: `[dns]\nservers = ["${host}:${port}"]\n${plans}` });
});
afterAll(async () => {
  await rig.stop();
  await names.stop();
});

test('the host is checked at once', async () => {
  expect((await rig.visit('/settings')).text).toContain('The first check is still running.');
  const answer = await rig.submit('/settings/check');
  expect(answer.headers.get('location')).toEndWith('?done=host_checked');
  expect((await rig.visit('/settings')).text).toContain('Checked at');
});

test('a backup is written behind the page, for the service alone', async () => {
  await rig.submit('/settings/backup');
  for (;;) {
    const { text } = await rig.visit('/settings');
    const file = /<code>([^<]*\.backup)<\/code>/.exec(text)?.[1];
    if (file === undefined) {
      expect(text).toContain('data-live="2"');
      await Bun.sleep(20);
      continue;
    }
    expect(file).toStartWith(`${rig.rig.dataDir}/backups/postrider-2`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${rig.rig.dataDir}/backups`).mode & 0o777).toBe(0o700);
    return;
  }
});

test('the kill switch stands here too', async () => {
  expect((await rig.visit('/settings')).text).toContain('action="/dashboard/halt"');
  await rig.submit('/halt', { reason: 'test' });
  expect((await rig.visit('/settings')).text).toContain('action="/dashboard/resume"');
  await rig.submit('/resume');
});

test('the config is shown as the file spells it, with what a change needs', async () => {
  const { text } = await rig.visit('/settings/config');
  for (const words of ['delivery.mode', 'capture', 'plans[1].included_emails', 'a restart']) {
    expect(text).toContain(words);
  }
});
