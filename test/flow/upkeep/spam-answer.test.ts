/** The answer of rspamd: read as it is, bounded whatever it is. */
import { expect, test } from 'bun:test';

import { readSpamAnswer } from '../../../src/flow/upkeep/spam-answer.ts';
import { ANSWER } from '../../rig/rspamd-stub.ts';

const read = (answer: unknown) => readSpamAnswer(Buffer.from(JSON.stringify(answer)));
const withSymbols = (symbols: unknown) => read({ ...ANSWER, symbols });

test('a score, its rules by weight', () => {
  const score = read(ANSWER);
  expect(score).toMatchObject({
    points: 12.7,
    required: 15,
    action: 'add header',
    isPartial: false,
    more: 0,
  });
  expect(score?.rules.map(({ name, points }) => [name, points])).toEqual([
    ['BROKEN_HEADERS', 8],
    ['FORGED_MUA_THEBAT_MSGID_UNKNOWN', 3],
    ['HTTP_TO_HTTPS', 0.5],
    ['R_DKIM_ALLOW', -0.2],
    ['FROM_HAS_DN', 0],
  ]);
  expect(score?.rules[2]).toEqual({
    name: 'HTTP_TO_HTTPS',
    points: 0.5,
    description: 'Anchor text contains different scheme to target URL',
    options: ['paypal.com.evil.example'],
  });
  expect(score?.rules[3]).toMatchObject({ description: '', options: [] });
});

test('what an rspamd that refuses nothing leaves out', () => {
  const { required_score: _, is_skipped: __, ...rest } = ANSWER;
  expect(read(rest)).toMatchObject({ required: null, isPartial: false });
  expect(read({ ...ANSWER, required_score: null })?.required).toBeNull();
  expect(read({ ...ANSWER, symbols: {} })).toMatchObject({ rules: [], more: 0 });
});

test('a score is within a million, either way', () => {
  for (const score of [-1_000_000, 1_000_000]) {
    expect(read({ ...ANSWER, score, required_score: score })).toMatchObject({
      points: score,
      required: score,
    });
    expect(withSymbols({ A: { score } })?.rules[0]?.points).toBe(score);
  }
});

test.each([
  ['nothing', ''],
  ['no JSON', '<html>'],
  ['half of it', JSON.stringify(ANSWER).slice(0, -1)],
  ['a list', '[]'],
  ['null', 'null'],
  ['depth', '['.repeat(200_000)],
  ['an error of rspamd', '{"error":"invalid command","error_domain":"protocol-error"}'],
  ['a score in words', JSON.stringify({ ...ANSWER, score: '12.7' })],
  ['a score without end', JSON.stringify(ANSWER).replace('12.7', '1e999')],
  ['a score beyond reason', JSON.stringify({ ...ANSWER, score: 1e300 })],
  ['no action', JSON.stringify({ ...ANSWER, action: undefined })],
  ['an action that is none', JSON.stringify({ ...ANSWER, action: ['reject'] })],
  ['a required score in words', JSON.stringify({ ...ANSWER, required_score: '15' })],
  ['a required score beyond reason', JSON.stringify({ ...ANSWER, required_score: -1e7 })],
  ['a skip in words', JSON.stringify({ ...ANSWER, is_skipped: 'yes' })],
  [
    'a description that is none',
    JSON.stringify({ ...ANSWER, symbols: { A: { score: 1, description: 7 } } }),
  ],
  ['options of numbers', JSON.stringify({ ...ANSWER, symbols: { A: { score: 1, options: [7] } } })],
  ['a rule beyond reason', JSON.stringify({ ...ANSWER, symbols: { A: { score: 1e7 } } })],
  ['symbols in a list', JSON.stringify({ ...ANSWER, symbols: [] })],
  ['a symbol without score', JSON.stringify({ ...ANSWER, symbols: { A: {} } })],
  ['a symbol that is null', JSON.stringify({ ...ANSWER, symbols: { A: null } })],
  [
    'options that are none',
    JSON.stringify({ ...ANSWER, symbols: { A: { score: 1, options: 'x' } } }),
  ],
])('%s is no score', (_, text) => {
  expect(readSpamAnswer(Buffer.from(text))).toBeNull();
});

test('of very many rules the weightiest are kept, of too many none', () => {
  const rules = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, at) => [`RULE_${at}`, { score: at }]));
  const score = withSymbols(rules(1_000));
  expect(score?.rules).toHaveLength(100);
  expect([score?.rules[0]?.name, score?.more]).toEqual(['RULE_999', 900]);
  expect(withSymbols(rules(1_001))).toBeNull();
});

test('texts are cut, and hide no control characters', () => {
  const long = 'x'.repeat(200_000);
  const score = withSymbols({
    [long]: { score: 1, description: long, options: [long, ...Array(50_000).fill('y')] },
    ['A\u0000\u202eB']: { score: 0, description: 'a\r\n\u001b[31mb' },
  });
  const [first, second] = score?.rules ?? [];
  expect([first?.name.length, first?.description.length]).toEqual([101, 301]);
  expect(first?.options.map(({ length }) => length)).toEqual([101, 1, 1]);
  expect([second?.name, second?.description]).toEqual(['A B', 'a [31mb']);
  expect(read({ ...ANSWER, action: long })?.action).toHaveLength(101);
  const whole = withSymbols({
    ['x'.repeat(100)]: { score: 1, description: ` ${'y'.repeat(298)} ` },
  });
  expect(whole?.rules.map(({ name, description }) => [name, description])).toEqual([
    ['x'.repeat(100), 'y'.repeat(298)],
  ]);
});

test('brackets in texts are no depth, and names of every object are names', () => {
  const symbols = { ['[['.repeat(50)]: { score: 2, description: `\\"${'{'.repeat(50)}` } };
  expect(withSymbols(symbols)?.rules).toHaveLength(1);
  const text = JSON.stringify({ ...ANSWER, symbols: 0 }).replace(
    '"symbols":0',
    '"symbols":{"__proto__":{"score":1},"constructor":{"score":0}}',
  );
  const names = readSpamAnswer(Buffer.from(text))?.rules.map(({ name }) => name);
  expect(names).toEqual(['__proto__', 'constructor']);
});

test('the largest answer that is read holds nobody up', () => {
  const bytes = 256 * 1024;
  const worst = [
    `{"score":1,"action":"x","symbols":{${'"a":{"score":1},'.repeat(bytes / 16).slice(0, -1)}}}`,
    `{"score":1,"action":"x","symbols":{"a":{"score":1,"options":[${'"",'.repeat(bytes / 3)}""]}}}`,
    `{"score":1,"action":"x","symbols":${'{"a":'.repeat(bytes / 5)}`,
    '['.repeat(bytes),
    `{"a":${'[]'.repeat(bytes / 2)}`,
    JSON.stringify({
      ...ANSWER,
      symbols: Object.fromEntries(
        Array.from({ length: 16_000 }, (_, at) => [`R${at}`, { score: 1 }]),
      ),
    }),
  ].map((text) => Buffer.from(text));
  for (const text of worst) {
    // Processor time of this thread, the best of thirty: the machine may be at something else.
    const usedMs = Array.from({ length: 30 }, () => {
      const before = process.threadCpuUsage();
      readSpamAnswer(text);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    });
    expect(Math.min(...usedMs)).toBeLessThan(20);
  }
});

test('20 levels are read, one more is not, by lists as by objects', () => {
  const within = (open: string, close: string, levels: number): unknown =>
    JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`);
  // The answer itself is the first level.
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    expect(read({ ...ANSWER, extra: within(open, close, 19) })?.points).toBe(12.7);
    expect(read({ ...ANSWER, extra: within(open, close, 20) })).toBeNull();
  }
  // Neither those that are closed again count, nor those in a text.
  expect(read({ ...ANSWER, extra: Array.from({ length: 30 }, () => [{}]) })?.points).toBe(12.7);
  expect(read({ ...ANSWER, extra: `"\\${'['.repeat(30)}` })?.points).toBe(12.7);
});
