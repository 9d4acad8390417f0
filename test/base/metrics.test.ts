/** The Prometheus text format, read by a parser of the test's own; promtool reads it in the appliance suite. */
import { expect, test } from 'bun:test';

import { Family, Metrics } from '../../src/base/metrics.ts';

test('a histogram cumulates its buckets and counts what is above the last bound', () => {
  const family = new Family('wait_seconds', 'histogram', 'Waiting.', [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) family.observe(value, { kind: 'a' });
  expect(family.render().split('\n')).toEqual([
    '# HELP wait_seconds Waiting.',
    '# TYPE wait_seconds histogram',
    'wait_seconds_bucket{kind="a",le="0.1"} 2',
    'wait_seconds_bucket{kind="a",le="1"} 3',
    'wait_seconds_bucket{kind="a",le="+Inf"} 4',
    'wait_seconds_sum{kind="a"} 7.65',
    'wait_seconds_count{kind="a"} 4',
  ]);
});

test('labels are escaped', () => {
  const family = new Family('things', 'counter', 'Things.');
  family.add({ name: 'a"b\\c\nd' });
  family.add({ name: 'a"b\\c\nd' }, 2);
  expect(family.render().split('\n')[2]).toBe('things{name="a\\"b\\\\c\\nd"} 3');
});

test('a family stops growing at its bound, and keeps counting what it has', () => {
  const family = new Family('things', 'counter', 'Things.');
  for (let n = 0; n < 5000; n += 1) family.add({ n: String(n) });
  family.add({ n: '0' });
  const lines = family.render().split('\n');
  expect(lines.length).toBeLessThan(1100);
  expect(lines).toContain('things{n="0"} 2');
});

test('cleared gauges forget label sets that are gone', () => {
  const family = new Family('depth', 'gauge', 'Depth.');
  family.set({ kind: 'a' }, 1);
  family.clear();
  family.set({ kind: 'b' }, 2);
  expect(family.render()).not.toContain('kind="a"');
});

test('every family of the appliance is rendered with help and type, once', () => {
  const text = new Metrics().render();
  const types = text.match(/^# TYPE \S+/gm) ?? [];
  expect(types.length).toBeGreaterThan(15);
  expect(new Set(types).size).toBe(types.length);
});
