/** The config that everybody holds: nobody changes a value of it, neither of the first one nor of the next. */
import { expect, test } from 'bun:test';

import { ConfigHolder } from '../../src/appliance/config-holder.ts';
import { parseConfig } from '../../src/base/config-file.ts';

test('both parts are frozen to the last table, also after a reload', () => {
  const config = parseConfig('hostname = "mail.rig.test"\n', 'rig');
  const holder = new ConfigHolder({ startup: config.startup, live: config.live });
  const isFrozen = (): boolean[] =>
    [holder.startup, holder.startup.delivery, holder.live, holder.live.limits].map((part) =>
      Object.isFrozen(part),
    );
  expect(isFrozen()).toEqual([true, true, true, true]);
  const { live } = config;
  holder.replaceLive({ ...live, limits: { ...live.limits, recipients: 7 } });
  expect(holder.live.limits.recipients).toBe(7);
  expect(isFrozen()).toEqual([true, true, true, true]);
});
