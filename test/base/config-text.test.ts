/** The written config file: values as TOML has them, and each key with its default and what that means. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { parseConfig } from '../../src/base/config-file.ts';
import { defaultConfigText, inToml } from '../../src/base/config-text.ts';
import { WRITTEN_FILE, writtenConfig } from './written-config.ts';

const TEXT = defaultConfigText('mail.example.com', '/srv/p', { 'api.key_prefix': 'acme' });

/** The comment above a key, as one line, and the key's own line. */
function shown(table: string, key: string): [about: string, line: string] {
  const lines = TEXT.split('\n');
  const from = table === '' ? 0 : lines.findIndex((line) => line.replace(/^# /, '') === table);
  const at = lines.findIndex(
    (line, index) => index > from && line.replace(/^# /, '').startsWith(`${key} = `),
  );
  let first = at;
  while (
    lines[first - 1]?.startsWith('#') === true &&
    !/^(?:# )?\w+ = |^(?:# )?\[/.test(lines[first - 1] ?? '')
  )
    first -= 1;
  const about = lines.slice(first, at).map((line) => line.replace(/^(?:# )+/, ''));
  return [about.join(' '), lines[at] ?? ''];
}

test.each([
  ['a "b"', '"a \\"b\\""'],
  [true, 'true'],
  [99_999, '99999'],
  [100_000, '100_000'],
  [1_000_000_000, '1_000_000_000'],
  [['a', 'b'], '["a", "b"]'],
  [[[0, 100]], '[[0, 100]]'],
  [[], '[]'],
])('%j is written as %s', (value, toml) => expect(inToml(value)).toBe(toml));

test('what it is given stands in the file, and the file is taken as it is', () => {
  const { startup, live } = parseConfig(TEXT, 'c');
  expect([startup.hostname, startup.dataDir]).toEqual(['mail.example.com', '/srv/p']);
  expect(JSON.stringify([startup, live])).toContain('"keyPrefix":"acme"');
});

test('a key says its default, what that means, and whether it waits for a restart', () => {
  expect(shown('', 'hostname')).toEqual([
    expect.stringMatching(/ Required\. \(restart\)$/),
    'hostname = "mail.example.com"',
  ]);
  expect(shown('[http]', 'listen')).toEqual([
    expect.stringMatching(/ Default: "127\.0\.0\.1:8025"\. \(restart\)$/),
    'listen = "127.0.0.1:8025"',
  ]);
  expect(shown('[http]', 'public_url')).toEqual([
    expect.stringMatching(/ Default: "" = built from listen and tls_cert\.$/),
    'public_url = ""',
  ]);
  expect(shown('[[plans]]', 'included_emails')).toEqual([
    expect.stringMatching(/ Default: no limit\.$/),
    '# included_emails = 3000',
  ]);
  // Inside rows and switched tables theirs counts.
  expect(shown('[[delivery.providers]]', 'connections')[0]).toMatch(/ Default: 20\. \(restart\)$/);
});

test('comments are cut between words, at 118 characters', () => {
  const lengths = TEXT.split('\n').filter(
    (line) => line.startsWith('# ') && !line.startsWith('# #'),
  );
  expect(Math.max(...lengths.map(({ length }) => length))).toBeLessThanOrEqual(120);
  expect(Math.max(...lengths.map(({ length }) => length))).toBeGreaterThan(110);
});

test('comments fill their lines, up to 118 characters', () => {
  const lengths = TEXT.split('\n')
    .filter((line) => line.startsWith('# ') && !line.startsWith('# # '))
    .map(({ length }) => length);
  expect(Math.max(...lengths)).toBe(118);
});

test('what init writes, and what is shown of a config, is what stands in written-config.txt', () => {
  // When this fails and the change is meant: bun test/base/written-config.ts, and read the difference.
  expect(writtenConfig()).toBe(readFileSync(WRITTEN_FILE, 'utf8'));
});
