/** The disk watch: a measurement sets what sends see, a failed one changes nothing. */
import { expect, test } from 'bun:test';

import { Periodic } from '../../../src/base/periodic.ts';
import { DiskWatch } from '../../../src/flow/upkeep/disk.ts';
import { openFixture, refusal } from '../fixture.ts';

test('a disk with enough free space lets sends through again, and says so once', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  // As after a measurement that found too little.
  ctx.disk.isLow = true;
  const error = await refusal(Promise.resolve().then(() => ctx.disk.refuseWhileLow()));
  expect([error.code, error.status, error.headers['Retry-After']]).toEqual([
    'platform_halted',
    503,
    '30',
  ]);
  const watch = new Periodic(ctx, new DiskWatch(ctx));
  await watch.runNow();
  await watch.runNow();
  expect(ctx.disk.isLow).toBe(false);
  ctx.disk.refuseWhileLow();
  expect(fixture.logged.map(({ event }) => event)).toEqual(['disk_recovered']);
  await fixture.close();
});

test('while the disk cannot be measured the last measurement counts', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  const startup = { ...ctx.config.startup, dataDir: `${fixture.dir}/gone` };
  ctx.disk.isLow = true;
  await new Periodic(ctx, new DiskWatch({ ...ctx, config: { ...ctx.config, startup } })).runNow();
  expect(ctx.disk.isLow).toBe(true);
  expect(fixture.logged).toMatchObject([{ event: 'disk_unknown', level: 'error' }]);
  expect(fixture.logged[0]?.['hint']).toContain('gone');
  await fixture.close();
});
