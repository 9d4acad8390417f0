import { expect, test } from 'bun:test';

import { percentile, sinceThen } from '../../scripts/histogram.ts';

test('what came since then, over processes and labels', () => {
  const then = [
    new Map([
      ['take 0.01', 1],
      ['take +Inf', 2],
    ]),
    new Map<string, number>(),
  ];
  const now = [
    new Map([
      ['take 0.01', 4],
      ['take +Inf', 5],
      ['begin 0.01', 1],
      ['begin +Inf', 1],
    ]),
    new Map([
      ['take 0.01', 0],
      ['take +Inf', 1],
    ]),
  ];
  expect([...sinceThen(now, then)]).toEqual([
    [0.01, 4],
    [Infinity, 5],
  ]);
});

test('a percentile lies within the bucket that has it, and never above the last bound', () => {
  const buckets = new Map([
    [0.01, 90],
    [0.02, 99],
    [0.05, 100],
    [Infinity, 100],
  ]);
  expect(percentile(buckets, 0.99)).toBeCloseTo(0.02);
  expect(percentile(buckets, 0.45)).toBeCloseTo(0.005);
  expect(percentile(buckets, 0.995)).toBeCloseTo(0.035);
  expect(
    percentile(
      new Map([
        [0.01, 1],
        [Infinity, 2],
      ]),
      0.99,
    ),
  ).toBe(0.01);
  expect(percentile(new Map([[Infinity, 0]]), 0.99)).toBe(0);
});
