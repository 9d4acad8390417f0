/** Settings: the host check now, the config in force, a backup, the kill switch and its banner. */
import { expect } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { DOMAIN } from './mail.ts';
import type { Walker } from './walker.ts';

export async function useSettings(walker: Walker): Promise<void> {
  const { page, ground } = walker;
  await walker.menu('Settings');
  await walker.press('Check now');
  await walker.says('The host was checked. What was found is shown below.');
  await walker.follow('Show what is in force');
  await walker.heading('Config');
  await walker.row('delivery.mode').getByText('capture').waitFor();
  await page.locator('p.up a').click();

  const folder = join(ground.appliance.made.data_dir, 'backups');
  const before = existsSync(folder) ? readdirSync(folder).length : 0;
  await walker.confirm('Make a backup', 'Make a backup');
  await walker.becomes(/postrider-[\dTZ]+\.backup/);
  expect(readdirSync(folder).length).toBe(before + 1);

  await walker.confirm('Halt all sending', 'Halt all sending', {
    before: (form) =>
      walker.fill('Reason (shown to senders)', `The wrong list, ${walker.tag}`, form),
  });
  await walker.says('Sending halted: new sends are refused and deliveries are paused.');
  const body = { from: `a@${DOMAIN}`, to: 'b@receiver.example', subject: 's', text: 't' };
  expect((await ground.appliance.api('POST', '/emails', body)).status).toBe(503);
  await walker.menu('Domains');
  await walker.says(`The wrong list, ${walker.tag}`);
  await walker.menu('Settings');
  await walker.press('Resume sending', walker.card('Kill switch'));
  await walker.says('Sending resumed.');
  expect(await page.getByText(`The wrong list, ${walker.tag}`).count()).toBe(0);
  expect((await ground.appliance.api('POST', '/emails', body)).status).toBe(200);
}
