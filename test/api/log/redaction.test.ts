/** Each secret of a body is hidden by itself, whatever stands beside it. */
import { expect, test } from 'bun:test';

import { logBody } from '../../../src/api/log/redaction.ts';

const SECRET = 'Zm9vYmFyLXNlY3JldA';

test.each([
  [{ token: SECRET }],
  [{ key: SECRET }],
  [{ secret: SECRET }],
  [{ signing_secret: SECRET }],
  [{ signingSecret: SECRET }],
  [{ download_url: `https://mail.example/v1/content?signature=${SECRET}` }],
  [{ data: [{ size: 3, download_url: SECRET }] }],
  [{ content: SECRET }],
  [{ attachments: [{ data: SECRET }] }],
  [{ attachment: [{ Content: SECRET }] }],
])('%j', (body) => {
  const text = JSON.stringify({ name: 'kept', ...body });
  for (const isJson of [false, true]) {
    const shown = logBody(text, { isJson }) ?? '';
    expect(shown).not.toContain(SECRET);
    expect(JSON.parse(shown)).toMatchObject({ name: 'kept' });
  }
});

test('what is empty is shown as empty', () => {
  const text = JSON.stringify({ secret: null, content: null, key: null });
  expect(logBody(text)).toBe(text);
});

test('a key is hidden in any field, also when it was cut short', () => {
  for (const secret of ['A'.repeat(36), 'A'.repeat(8)]) {
    expect(logBody(JSON.stringify({ note: `use pr_live_${secret} now` }))).toBe(
      '{"note":"use pr_live_[hidden] now"}',
    );
  }
  // What lists show of a key stays.
  expect(logBody('{"prefix":"pr_live_Ab3d"}')).toBe('{"prefix":"pr_live_Ab3d"}');
});
