/** The verdict on a soak, over made-up runs: it sees what grows and ignores what only fluctuates. */
import { expect, test } from 'bun:test';

import { assess } from '../../scripts/soak-verdict.ts';
import type { Sample } from '../../scripts/soak-verdict.ts';

/** Thirty intervals of 10,000 messages, in which memory swings by 4 MiB and some descriptors come and go. */
function run(change: (sample: Sample, at: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: 30 }, (_, at) => {
    const swing = [0, 2, 4, 1, 3][at % 5] ?? 0;
    const sample: Sample = {
      sent: at * 10_000,
      rssMib: 150 + swing,
      descriptors: 60 + swing,
      walMib: 4 + swing,
      lagCount: at * 1_000,
      lagWithin: at * 999,
      cpuSeconds: at * 8,
    };
    return { ...sample, ...change(sample, at) };
  });
}

const failedOf = (samples: Sample[]): string[] =>
  assess(samples)
    .filter(({ isPassed }) => isPassed === false)
    .map(({ what }) => what);

test('what only breathes passes', () => {
  const verdicts = assess(run(() => ({})));
  expect(verdicts.map(({ isPassed }) => isPassed)).toEqual([true, true, true, true, true]);
});

test.each([
  ['memory', (one: Sample) => ({ rssMib: one.rssMib + one.sent / 50_000 })],
  ['descriptors', (one: Sample, at: number) => ({ descriptors: one.descriptors + at / 2 })],
  ['WAL', (one: Sample) => ({ walMib: one.walMib + one.sent / 50_000 })],
  ['lag of the main thread', (one: Sample) => ({ lagWithin: one.lagCount * 0.98 })],
  ['CPU', (_: Sample, at: number) => ({ cpuSeconds: at * 8 + at ** 2 / 10 })],
])('%s that grows fails, and nothing else with it', (what, change) => {
  expect(failedOf(run(change))).toEqual([what]);
});

test('a little more memory than the figure fails, a little less passes', () => {
  const growing = (mibPer100k: number) => (one: Sample) => ({
    rssMib: one.rssMib + (one.sent / 100_000) * mibPer100k,
  });
  expect(failedOf(run(growing(1.3)))).toEqual(['memory']);
  expect(failedOf(run(growing(0.6)))).toEqual([]);
});

test('a run that is too short is not decided, rather than passed', () => {
  const short = assess(run((one) => ({ sent: one.sent / 10 })));
  expect(short[0]).toMatchObject({ what: 'memory', isPassed: null });
  expect(assess(run(() => ({})).slice(0, 3)).map(({ isPassed }) => isPassed)).toEqual([null]);
});
