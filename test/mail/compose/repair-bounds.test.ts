/** Submitted messages at the bounds: sizes of headers, which of two keys counts, and what makes two the same. */
import { expect, test } from 'bun:test';

import {
  asksForUnsubscribe,
  repairSubmission,
  type Submission,
} from '../../../src/mail/compose/repair.ts';

const DEFAULTS = {
  messageId: '<new@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  ownNames: ['mail.example.com'],
};
const FROM = 'From: a@example.com\r\n';

const read = (text: string) => repairSubmission(Buffer.from(text, 'latin1'), DEFAULTS);

function repair(text: string): Submission {
  const result = read(text);
  if ('error' in result) throw new Error(result.error);
  return result;
}

function errorOf(text: string): string | null {
  const result = read(text);
  return 'error' in result ? result.error : null;
}

test('a header may have 262,144 bytes, its empty line included', () => {
  const header = (bytes: number): string => {
    const line = `X: ${'x'.repeat(95)}\r\n`;
    const rest = bytes - FROM.length - 2;
    const lines = line.repeat(Math.floor(rest / line.length) - 1);
    return `${FROM}${lines}X: ${'y'.repeat(rest - lines.length - 5)}\r\n\r\n`;
  };
  expect(header(262_144)).toHaveLength(262_144);
  // It has more fields than are taken; the size is looked at first.
  expect(errorOf(header(262_144))).toBe('has too many header fields');
  expect(errorOf(header(262_145))).toBe('has too large a header');
});

test('a header may have 1,999 fields', () => {
  const fields = (count: number): string => `${FROM}${'X: y\r\n'.repeat(count - 1)}\r\nx`;
  expect(errorOf(fields(1_999))).toBeNull();
  expect(errorOf(fields(2_000))).toBe('has too many header fields');
});

test('parts are repaired fifty multiparts deep', () => {
  const long = 'x'.repeat(1_000);
  const nested = (depth: number): string => {
    let text = `Content-Type: image/png\r\n\r\n${long}`;
    for (let level = depth; level > 0; level -= 1) {
      const type = `Content-Type: multipart/mixed; boundary=b${level}`;
      text = `${type}\r\n\r\n--b${level}\r\n${text}\r\n--b${level}--\r\n`;
    }
    return text;
  };
  const repaired = (depth: number) => repair(`${FROM}${nested(depth)}`).bytes.toString();
  expect(repaired(50)).toContain('Content-Transfer-Encoding: base64');
  // What lies deeper is text to us: its long line is cut.
  expect(repaired(51)).not.toContain('Content-Transfer-Encoding: base64');
  expect(repaired(51)).toContain(`${'x'.repeat(998)}\r\nxx\r\n`);
});

test('of two names for an idempotency key the plain one counts, and neither is sent on', () => {
  const [own, other] = ['Idempotency-Key: one\r\n', 'Resend-Idempotency-Key: two\r\n'];
  for (const [fields, key] of [
    [own + other, 'one'],
    [other + own, 'one'],
    [other, 'two'],
    ['', null],
  ] as const) {
    const { idempotencyKey, bytes, contentDigest } = repair(`${FROM}${fields}\r\nx`);
    expect([fields, idempotencyKey, contentDigest === null]).toEqual([fields, key, key === null]);
    expect(bytes.toString()).not.toMatch(/idempotency/i);
  }
});

test.each([
  ['yes', true],
  ['TRUE', true],
  ['1', true],
  ['One-Click', true],
  [' yes\t', true],
  ['no', false],
  ['0', false],
  ['false', false],
  ['yes please', false],
  ['', false],
])('%j asks for one-click unsubscribe: %p', (value, asks) => {
  expect(asksForUnsubscribe(value)).toBe(asks);
});

test('a To is added only where there is neither To nor Cc', () => {
  const to = (fields: string) =>
    repair(`${FROM}${fields}\r\nx`)
      .bytes.toString()
      .match(/^To:.*$/gm);
  expect(to('')).toEqual(['To: undisclosed-recipients:;']);
  expect(to('Cc: b@x.example\r\n')).toBeNull();
  expect(to('To: b@x.example\r\n')).toEqual(['To: b@x.example']);
});

test('two messages are the same by type and bytes of their parts, not by boundary or header', () => {
  const digest = (fields: string, body: string) =>
    repair(`${FROM}Idempotency-Key: k\r\n${fields}\r\n${body}`).contentDigest;
  const html = digest('Content-Type: text/html\r\n', 'x');
  expect(html).not.toBeNull();
  expect(digest('Content-Type: TEXT/html; charset=utf-8\r\nSubject: s\r\n', 'x')).toBe(html);
  expect(digest('Content-Type: text/plain\r\n', 'x')).not.toBe(html);
  expect(digest('Content-Type: text/html\r\n', 'y')).not.toBe(html);
  const parts = (boundary: string, ...texts: string[]) =>
    digest(
      `Content-Type: multipart/mixed; boundary=${boundary}\r\n`,
      `${texts.map((text) => `--${boundary}\r\n\r\n${text}\r\n`).join('')}--${boundary}--\r\n`,
    );
  expect(parts('one', 'a', 'b')).toBe(parts('two', 'a', 'b'));
  expect(parts('one', 'a', 'b')).not.toBe(parts('one', 'ab', ''));
});

test('a header without a body, and one whose last line has no end, get both', () => {
  expect(repair('From: a@example.com\r\nTo: b@x.example\r\nX-Last: y').bytes.toString()).toMatch(
    /^From: a@example\.com\r\nTo: b@x\.example\r\nX-Last: y\r\nDate: .*\r\nMessage-ID: .*\r\n\r\n$/,
  );
});

test('a NUL outside of the parts becomes a space, a long line there several', () => {
  const { bytes } = repair(
    `${FROM}Content-Type: multipart/mixed; boundary=b\r\n\r\npre\0amble\r\n--b\r\n\r\nx\r\n--b--\r\n${'e'.repeat(999)}\r\n`,
  );
  const text = bytes.toString('latin1');
  expect(text).toContain('pre amble\r\n');
  expect(text).toContain(`${'e'.repeat(998)}\r\ne\r\n`);
});

test('an attached message with a long line is never encoded', () => {
  const { bytes } = repair(
    `${FROM}Content-Type: message/rfc822\r\n\r\nSubject: s\r\n\r\n${'e'.repeat(999)}\r\n`,
  );
  expect(bytes.toString()).not.toContain('Content-Transfer-Encoding');
  expect(bytes.toString()).toContain(`${'e'.repeat(998)}\r\ne\r\n`);
});

test.each([
  ['Sender: a@example.com, b@example.com', 'must have exactly one address in its Sender field'],
  ['Sender: nobody', 'must have exactly one address in its Sender field'],
  ['Sender: a@example.com', null],
])('%s: %p', (field, error) => expect(errorOf(`${FROM}${field}\r\n\r\nx`)).toBe(error));
