/** Charts: columns by their share of the top, stacked from below, a top that is a round number, all numbers as a table. */
import { expect, test } from 'bun:test';
import { chart, type Chart } from '../../../src/dashboard/frame/chart.ts';

const flat = (shown: unknown): string =>
  String(shown)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([<>]) ?/g, '$1');

function drawn(values: number[], more: Partial<Chart> = {}): string {
  const columns = values.map((_, at) => `c${at}`);
  const series = [{ key: 'k', label: 'Kind', values }];
  const base = { title: 'T', over: 'Day', columns, ticks: [], series, words: String };
  return flat(chart({ ...base, ...more }));
}

/** The words of the scale, from the top. */
const scaleOf = (shown: string): string[] =>
  Array.from(
    /<div class="scale"[^>]*>(.*?)<\/div>/.exec(shown)?.[1]?.matchAll(/>([^<]+)</g) ?? [],
    ([, words = '']) => words,
  );

test.each([
  [0, ['1', '0.5', '0']],
  [1, ['1', '0.5', '0']],
  [1.5, ['2', '1', '0']],
  [4, ['4', '2', '0']],
  [7, ['8', '4', '0']],
  [9, ['10', '5', '0']],
  [10, ['10', '5', '0']],
  [11, ['20', '10', '0']],
  [450, ['500', '250', '0']],
  [1_000, ['1000', '500', '0']],
  [1_001, ['2000', '1000', '0']],
  [1 + 1e-12, ['1', '0.5', '0']],
])('the scale above %d is %p', (value, scale) => {
  expect(scaleOf(drawn([value]))).toEqual(scale);
});

test('a scale of whole numbers has a whole half', () => {
  expect(scaleOf(drawn([1], { isWhole: true }))).toEqual(['2', '1', '0']);
  expect(scaleOf(drawn([3], { isWhole: true }))).toEqual(['4', '2', '0']);
  expect(scaleOf(drawn([5], { isWhole: true }))).toEqual(['6', '3', '0']);
});

test('a line has space above it, and stands at its own height', () => {
  const lines = [{ value: 5, label: 'Limit', tone: 'bad' }] as const;
  const shown = drawn([1, 1], { lines });
  expect(scaleOf(shown)[0]).toBe('6');
  expect(shown).toContain('class="line-bad" x1="0" x2="20" y1="16.67" y2="16.67"');
  expect(shown).toContain('class="line-grid" x1="0" x2="20" y1="50" y2="50"');
  expect(shown).toMatch(/bar-bad.*Limit<\/li>/);
});

test('series are stacked from below, and what is zero is not drawn', () => {
  const series = [
    { key: 'a', label: 'A', values: [1, 0] },
    { key: 'b', label: 'B <b>', values: [3, 2] },
  ];
  const shown = drawn([0, 0], { series, words: (value) => `${value}x` });
  const bars = Array.from(
    shown.matchAll(/class="bar-(\w)" x="(\d+)" y="([\d.]+)" width="(\d+)" height="([\d.]+)"/g),
    ([, ...found]) => found,
  );
  expect(bars).toEqual([
    ['a', '1', '75', '8', '25'],
    ['b', '1', '0', '8', '75'],
    ['b', '11', '50', '8', '50'],
  ]);
  expect(shown).toContain('<title>c0: A 1x, B &lt;b&gt; 3x</title>');
  expect(shown).toContain('viewBox="0 0 20 100"');
  // The legend has the sums; totals that are given stand instead.
  expect(shown).toContain('A<b>1x</b>');
  expect(shown).toContain('B &lt;b&gt;<b>5x</b>');
  expect(drawn([1], { totals: ['given'] })).toContain('Kind<b>given</b>');
});

test('the table has the newest column first and leaves out those without anything', () => {
  const cells = (shown: string): string[] =>
    Array.from(shown.matchAll(/<td[^>]*>([^<]*)<\/td>/g), ([, words = '']) => words);
  expect(cells(drawn([1, 0, 3]))).toEqual(['c2', '3', 'c0', '1']);
  expect(drawn([0])).toContain('Nothing yet.');
});
