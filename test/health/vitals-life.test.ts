/** The life of the vitals: what they say of the program from the first moment, and what runs between start and stop. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';

import { VERSION } from '../../src/base/version.ts';
import { HostCheck } from '../../src/health/host-check.ts';
import { LoopWatch } from '../../src/health/loop-watch.ts';
import { Vitals } from '../../src/health/vitals.ts';
import { openFixture } from '../flow/fixture.ts';

afterEach(() => mock.restore());

test('the program is named with its version, its commit and its Bun', async () => {
  const fixture = await openFixture();
  const text = await new Vitals(fixture.ctx).render();
  const line = text.split('\n').find((one) => one.startsWith('postrider_build_info{'));
  expect(line).toEndWith('} 1');
  const labels = line?.match(/\w+="[^"]*"/g)?.toSorted();
  expect(labels).toEqual(
    Object.entries(VERSION)
      .map(([name, value]) => `${name}="${value}"`)
      .toSorted(),
  );
  await fixture.close();
});

test('the host check and the watch over the loop begin and end together', async () => {
  const done: string[] = [];
  const note = (what: string) => (): void => void done.push(what);
  spyOn(HostCheck.prototype, 'start').mockImplementation(note('check begins'));
  spyOn(HostCheck.prototype, 'stop').mockImplementation(note('check ends'));
  spyOn(LoopWatch.prototype, 'start').mockImplementation(note('watch begins'));
  spyOn(LoopWatch.prototype, 'stop').mockImplementation(note('watch ends'));
  const fixture = await openFixture();
  const vitals = new Vitals(fixture.ctx);
  expect(done).toEqual([]);
  vitals.start();
  expect(done.splice(0).toSorted()).toEqual(['check begins', 'watch begins']);
  vitals.stop();
  expect(done.toSorted()).toEqual(['check ends', 'watch ends']);
  await fixture.close();
});

test('the wait for a slow store ends with its answer, and leaves no timer', async () => {
  const fixture = await openFixture();
  const { ctx, clock } = fixture;
  const before = clock.pending().length;
  await new Vitals(ctx).render();
  expect(clock.pending()).toHaveLength(before);
  await fixture.close();
});

test('the start of the process is told in seconds, however late it is asked', async () => {
  const fixture = await openFixture();
  spyOn(process, 'uptime').mockReturnValue(5_000.4);
  const now = spyOn(Date, 'now').mockReturnValue(1_768_478_400_000);
  const vitals = new Vitals(fixture.ctx);
  now.mockRestore();
  expect((await vitals.render()).split('\n')).toContain('process_start_time_seconds 1768473399');
  await fixture.close();
});
