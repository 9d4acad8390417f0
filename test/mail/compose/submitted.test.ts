/** A submitted message as it leaves: its bytes, with one Feedback-ID. */
import { expect, test } from 'bun:test';

import { writeSubmitted } from '../../../src/mail/compose/submitted.ts';

const OURS = 'Feedback-ID: acct:domain:mail:postrider\r\n';
const HEAD = 'From: a@sender.example\r\nSubject: s\r\n';

const write = (text: string, mustBeAscii = false): string =>
  writeSubmitted({ bytes: Buffer.from(text), feedbackField: OURS, mustBeAscii }).toString();

test('ours stands in front, and everything else is as it was', () => {
  expect(write(`${HEAD}\r\nbody\r\n`)).toBe(`${OURS}${HEAD}\r\nbody\r\n`);
});

test("a sender's own stays the only one, however it is spelled and wherever it stands", () => {
  for (const name of ['Feedback-ID', 'feedback-id', 'FEEDBACK-ID']) {
    const own = `${HEAD}${name}: a:b:c:mine\r\n\r\nbody\r\n`;
    expect(write(own)).toBe(own);
  }
  // An empty one is still what the sender wants.
  const empty = `${HEAD}Feedback-ID:\r\n\r\nbody\r\n`;
  expect(write(empty)).toBe(empty);
  // In the body it is text.
  const quoted = `${HEAD}\r\nFeedback-ID: a:b:c:mine\r\n`;
  expect(write(quoted)).toBe(`${OURS}${quoted}`);
});

test('stray line ends become CRLF', () => {
  expect(write('From: a@sender.example\n\none\rtwo\n')).toBe(
    `${OURS}From: a@sender.example\r\n\r\none\r\ntwo\r\n`,
  );
});

test('for a receiver without 8BITMIME it is encoded anew, or is an error where it cannot be', () => {
  const text = `${HEAD}Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße\r\n`;
  const written = write(text, true);
  expect(written).toContain('Gr=C3=BC=C3=9Fe');
  expect(written).toContain('Content-Transfer-Encoding: quoted-printable');
  expect(written).toStartWith(OURS);
  expect(() => write('From: ü@sender.example\r\n\r\nbody\r\n', true)).toThrow(
    'it cannot be written in ASCII',
  );
});
