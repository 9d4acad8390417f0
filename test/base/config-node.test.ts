/** How a key is spelled in the file, and what it says by itself. */
import { expect, test } from 'bun:test';

import { duration, text } from '../../src/base/config-formats.ts';
import { key, nameInFile, rows, switched, table } from '../../src/base/config-node.ts';

const plain = key(text, { about: '', default: '' });

test.each([
  ['host', 'host'],
  ['publicUrl', 'public_url'],
  ['dailyLimitByAgeDays', 'daily_limit_by_age_days'],
  ['bouncesPer1000', 'bounces_per_1000'],
  ['overageSenPerThousand', 'overage_sen_per_thousand'],
  ['rateMs', 'rate_ms'],
])('%s is %s in the file', (name, written) => expect(nameInFile(name, plain)).toBe(written));

test('a duration is spelled without its unit, other names keep their end', () => {
  const time = key(duration(0), { about: '', default: '0' });
  expect(nameInFile('expiresMs', time)).toBe('expires');
  expect(nameInFile('expires', time)).toBe('expires');
  expect(nameInFile('someMs', table('', {}))).toBe('some_ms');
});

test('only what says so waits for a restart', () => {
  const facts = { about: '', off: 'a' } as const;
  expect([
    plain.when,
    key(text, { about: '', default: '', restart: true }).when,
    rows({ about: '' }, {}).when,
    rows({ about: '', restart: true }, {}).when,
    switched(facts, { a: plain }).when,
    switched({ ...facts, restart: true }, { a: plain }).when,
  ]).toEqual(['live', 'startup', 'live', 'startup', 'live', 'startup']);
});
