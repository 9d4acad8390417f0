/** The table of the benchmarks over made-up figures: medians, least and most, ratios of runs, columns, JSON. */
import { expect, test } from 'bun:test';

import {
  caseRecord,
  numberText,
  ratioOf,
  rowsOf,
  spread,
  spreadText,
  tableOf,
} from '../../scripts/bench-table.ts';
import type { Sample } from '../../scripts/bench-table.ts';

/** A figure of the case `deliver`, one value for each run. */
function runs(figure: string, subject: string, values: number[]): Sample[] {
  return values.map((value, run) => ({ case: 'deliver', figure, subject, run, value }));
}

test('the median is the middle value, or the mean of the middle two', () => {
  expect(spread([9, 1, 4])).toEqual({ median: 4, min: 1, max: 9 });
  expect(spread([9, 1, 4, 6])).toEqual({ median: 5, min: 1, max: 9 });
  expect(spread([7])).toEqual({ median: 7, min: 7, max: 7 });
});

test('values are ordered as numbers, and the list itself stays as it is', () => {
  const values = [100, 20, 3];
  expect(spread(values)).toEqual({ median: 20, min: 3, max: 100 });
  expect(values).toEqual([100, 20, 3]);
});

test('nothing has no median', () => {
  expect(() => spread([])).toThrow('no run');
});

test('a ratio is that of runs, not of medians', () => {
  // Of the medians, 200 and 100, it would be 2.
  const ours = runs('rate', 'postrider', [100, 200, 400]);
  const theirs = runs('rate', 'peer', [100, 50, 400]);
  expect(ratioOf(ours, theirs)).toEqual({ median: 1, min: 1, max: 4 });
});

test('a run that only one of both has counts for no ratio', () => {
  const ours = runs('rate', 'postrider', [100, 200, 400]);
  const [, second] = runs('rate', 'peer', [0, 50]);
  expect(ratioOf(ours, second === undefined ? [] : [second])?.median).toBe(4);
  expect(ratioOf(ours, [])).toBeNull();
  expect(ratioOf(ours, runs('rate', 'peer', [0]))).toBeNull();
});

test('each figure has a row for each reference, in the order in which they came', () => {
  const rows = rowsOf([
    ...runs('delivered a second', 'postrider', [2000, 2400]),
    ...runs('delivered a second', 'openssl', [4000, 4000]),
    ...runs('memory', 'postrider', [300]),
    ...runs('delivered a second', 'postfix', [400, 400]),
    ...runs('commits', 'sqlite', [9]),
  ]);
  expect(rows.map(({ figure, reference, ratio }) => [figure, reference, ratio?.median])).toEqual([
    ['delivered a second', 'openssl', 0.55],
    ['delivered a second', 'postfix', 5.5],
    ['memory', '', undefined],
    ['commits', 'sqlite', undefined],
  ]);
  expect(rows.at(-1)?.ours).toBeNull();
});

test('figures of two cases do not mix', () => {
  const one = runs('rate', 'postrider', [1]);
  const other = one.map((sample) => ({ ...sample, case: 'grow', value: 3 }));
  expect(rowsOf([...one, ...other]).map(({ ours }) => ours?.median)).toEqual([1, 3]);
});

test.each([
  [2502.4, '2,502'],
  [99.96, '100.0'],
  [21.44, '21.4'],
  [1.005, '1.00'],
  [0.7034, '0.703'],
  [0, '0.000'],
])('%d is written %s', (value, text) => {
  expect(numberText(value)).toBe(text);
});

test('a spread names the median first', () => {
  expect(spreadText({ median: 2502, min: 2302, max: 2590 })).toBe('2,502 (2,302 to 2,590)');
});

test('the table names case and figure once, and says who is not there', () => {
  const samples = [
    ...runs('rate', 'postrider', [2, 4, 6]),
    ...runs('rate', 'openssl', [4, 8, 12]),
    ...runs('rate', 'postfix', [1, 1, 1]),
  ];
  const notes = [
    { case: 'deliver', subject: 'haraka', why: 'not installed: no npm' },
    { case: 'grow', subject: 'postrider', why: 'failed: no space' },
  ];
  expect(tableOf(samples, notes).split('\n')).toEqual([
    '| case    | figure           | Postrider           | beside  | its figure            | Postrider ÷ it         |',
    '|---------|------------------|---------------------|---------|-----------------------|------------------------|',
    '| deliver | rate             | 4.00 (2.00 to 6.00) | openssl | 8.00 (4.00 to 12.0)   | 0.500 (0.500 to 0.500) |',
    '|         |                  |                     | postfix | 1.00 (1.00 to 1.00)   | 4.00 (2.00 to 6.00)    |',
    '|         |                  |                     | haraka  | not installed: no npm |                        |',
    '| grow    | failed: no space |                     |         |                       |                        |',
    '',
  ]);
});

test('the record of a case has every run of it, and nothing of others', () => {
  const samples = [...runs('rate', 'postrider', [2, 4]), ...runs('rate', 'openssl', [4, 4])];
  const other = { case: 'grow', figure: 'rate', subject: 'postrider', run: 0, value: 9 };
  const notes = [
    { case: 'deliver', subject: 'haraka', why: 'not installed' },
    { case: 'grow', subject: 'haraka', why: 'too slow' },
  ];
  expect(caseRecord('deliver', [...samples, other], notes)).toEqual({
    case: 'deliver',
    figures: [
      {
        figure: 'rate',
        postrider: { median: 3, min: 2, max: 4, values: [2, 4] },
        beside: [
          {
            name: 'openssl',
            median: 4,
            min: 4,
            max: 4,
            values: [4, 4],
            ratio: { median: 0.75, min: 0.5, max: 1 },
          },
        ],
      },
    ],
    notes: [{ subject: 'haraka', why: 'not installed' }],
  });
});
