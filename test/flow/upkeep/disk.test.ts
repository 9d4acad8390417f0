/** The disk watch: a measurement sets what sends see, a failed one changes nothing. */
import { expect, test } from 'bun:test';
import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

import { Periodic } from '../../../src/base/periodic.ts';
import type { Context } from '../../../src/flow/context.ts';
import { DiskWatch } from '../../../src/flow/upkeep/disk.ts';
import { describeWith } from '../../rig/programs.ts';
import { makeSmallDisk } from '../../rig/small-disk.ts';
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
  const gauge = async (): Promise<string | undefined> =>
    /^postrider_disk_low (\d)$/m.exec(await ctx.metrics.render())?.[1];
  ctx.metrics.isDiskLow.set(1);
  await watch.runNow();
  expect(await gauge()).toBe('0');
  await watch.runNow();
  expect(ctx.disk.isLow).toBe(false);
  ctx.disk.refuseWhileLow();
  expect(fixture.logged.map(({ event }) => event)).toEqual(['disk_recovered', 'disk_reserve_made']);
  const [recovered, made] = fixture.logged;
  // The reserve is made after the measurement.
  expect(recovered).toMatchObject({ level: 'info', kept_bytes: 0 });
  expect(Number(recovered?.['free_bytes'])).toBeGreaterThan(0);
  expect(Number(made?.['kept_bytes'])).toBeGreaterThan(0);
  await fixture.close();
});

test('while the disk cannot be measured the last measurement counts', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  ctx.disk.isLow = true;
  await watchOn(ctx, `${fixture.dir}/gone`).runNow();
  expect(ctx.disk.isLow).toBe(true);
  expect(fixture.logged).toMatchObject([{ event: 'disk_unknown', level: 'error' }]);
  expect(fixture.logged[0]?.['hint']).toBe(
    `The free space under ${fixture.dir}/gone cannot be measured; look at its disk and its permissions.`,
  );
  const job = new DiskWatch(ctx);
  expect([job.firstMs, job.everyMs()]).toEqual([2_000, 2_000]);
  await fixture.close();
});

/** The watch of an appliance whose data lie at `dataDir`. */
function watchOn(ctx: Context, dataDir: string): Periodic {
  const startup = { ...ctx.config.startup, dataDir };
  return new Periodic(ctx, new DiskWatch({ ...ctx, config: { ...ctx.config, startup } }));
}

describeWith(['mount', 'small disk'], 'the reserve file', () => {
  test('is made, its use and its return are said once each, and it counts as free', async () => {
    const fixture = await openFixture();
    const disk = makeSmallDisk(32 * 1024 * 1024);
    try {
      const { ctx } = fixture;
      const watch = watchOn(ctx, disk.path);
      await watch.runNow();
      const file = join(disk.path, 'disk.reserve');
      const whole = statSync(file).size;
      await watch.runNow();
      expect(ctx.disk.last).toMatchObject({ keptBytes: whole });
      expect(whole).toBe(Math.floor((ctx.disk.last?.reserveBytes ?? 0) / 2));
      // With what is kept there is just the limit free, or one page less.
      disk.fill(Math.ceil(whole / 4096) * 4096);
      await watch.runNow();
      expect(ctx.disk.isLow).toBe(false);
      disk.clear();
      disk.fill(Math.floor(whole / 4096) * 4096);
      await watch.runNow();
      expect(ctx.disk.isLow).toBe(true);
      disk.clear();
      disk.fill();
      truncateSync(file, whole - 4096);
      await watch.runNow();
      await watch.runNow();
      disk.clear();
      await watch.runNow();
      await watch.runNow();
      const kept = { kept_bytes: whole };
      expect(fixture.logged).toMatchObject([
        { event: 'disk_reserve_made', level: 'info', ...kept },
        {
          event: 'disk_low',
          level: 'error',
          free_bytes: whole - (whole % 4096),
          ...kept,
          hint: `Sends are refused. Free space under ${disk.path}; sends are accepted again by themselves.`,
        },
        {
          event: 'disk_reserve_used',
          level: 'error',
          kept_bytes: whole - 4096,
          hint: `The disk is full: only outcomes of what was begun are still written. Free space under ${disk.path}.`,
        },
        {
          event: 'disk_recovered',
          level: 'info',
          free_bytes: expect.any(Number),
          kept_bytes: whole - 4096,
        },
        { event: 'disk_reserve_made', level: 'info', ...kept },
      ]);
    } finally {
      disk.unmount();
      await fixture.close();
    }
  });

  test('whose use was told is told of again when it was whole in between', async () => {
    const fixture = await openFixture();
    const disk = makeSmallDisk(32 * 1024 * 1024);
    try {
      const watch = watchOn(fixture.ctx, disk.path);
      await watch.runNow();
      for (let time = 0; time < 2; time += 1) {
        disk.fill();
        truncateSync(join(disk.path, 'disk.reserve'), 4096);
        await watch.runNow();
        disk.clear();
        await watch.runNow();
      }
      const of = /^disk_reserve/;
      expect(fixture.logged.map(({ event }) => String(event)).filter((e) => of.test(e))).toEqual([
        'disk_reserve_made',
        'disk_reserve_used',
        'disk_reserve_made',
        'disk_reserve_used',
        'disk_reserve_made',
      ]);
    } finally {
      disk.unmount();
      await fixture.close();
    }
  });

  test('that cannot be written is said once, and keeps nothing from being measured', async () => {
    const fixture = await openFixture();
    const disk = makeSmallDisk(32 * 1024 * 1024);
    try {
      const { ctx } = fixture;
      const watch = watchOn(ctx, disk.path);
      const file = join(disk.path, 'disk.reserve');
      mkdirSync(file);
      await watch.runNow();
      await watch.runNow();
      expect(ctx.disk.last?.totalBytes).toBe(32 * 1024 * 1024);
      rmSync(file, { recursive: true });
      await watch.runNow();
      // Whole again, and gone again: that is told anew.
      rmSync(file);
      mkdirSync(file);
      await watch.runNow();
      expect(fixture.logged).toMatchObject([
        {
          event: 'disk_reserve_failed',
          level: 'warn',
          error: expect.anything(),
          hint: `Nothing is kept back for a full disk. Let the service write disk.reserve in ${disk.path}.`,
        },
        { event: 'disk_reserve_made' },
        { event: 'disk_reserve_failed' },
      ]);
    } finally {
      disk.unmount();
      await fixture.close();
    }
  });
});
