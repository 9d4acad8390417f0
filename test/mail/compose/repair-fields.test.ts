/** The header of a submitted message, field by field: what is kept byte for byte, what is written anew, what counts of two. */
import { expect, test } from 'bun:test';

import { formatAddress } from '../../../src/mail/header/address.ts';
import { repairSubmission, type Submission } from '../../../src/mail/compose/repair.ts';

const DEFAULTS = {
  messageId: '<new@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  ownNames: ['mail.example.com'],
};
const FROM = 'From: a@example.com\r\n';

/** `fields` and the body are Latin-1 text of their bytes. */
function read(fields: string, body = 'x'): Submission | { error: string } {
  return repairSubmission(Buffer.from(`${FROM}${fields}\r\n${body}`, 'latin1'), DEFAULTS);
}

function repair(fields: string, body = 'x'): Submission {
  const result = read(fields, body);
  if ('error' in result) throw new Error(result.error);
  return result;
}

/** The lines of the field as it leaves, as Latin-1 text. */
function written(name: string, fields: string): string[] {
  const header = repair(fields).bytes.toString('latin1').split('\r\n\r\n')[0] ?? '';
  const lines = header.split('\r\n');
  const at = lines.findIndex((line) => line.startsWith(`${name}:`));
  const rest = lines.slice(at + 1).findIndex((line) => !/^[ \t]/.test(line));
  return at === -1 ? [] : lines.slice(at, rest === -1 ? undefined : at + 1 + rest);
}

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

test('of two fields for the service, or two senders, the first counts', () => {
  const keys = repair('Idempotency-Key: one\r\nIdempotency-Key: two\r\n');
  expect([keys.idempotencyKey, keys.sender]).toEqual(['one', null]);
  const resend = repair('Resend-Idempotency-Key: one\r\nResend-Idempotency-Key: two\r\n');
  expect(resend.idempotencyKey).toBe('one');
  const asks = (...values: string[]): boolean =>
    repair(values.map((value) => `X-Postrider-Unsubscribe: ${value}\r\n`).join(''))
      .wantsUnsubscribe;
  expect([asks('yes', 'no'), asks('no', 'yes'), asks('')]).toEqual([true, false, false]);
  const two = repair('Sender: one@example.com\r\nSender: two@example.com\r\n');
  expect(two.sender && formatAddress(two.sender)).toBe('one@example.com');
  expect(two.bytes.toString()).not.toContain('two@example.com');
});

test.each(['one@example.com, nobody', 'nobody, one@example.com', '', 'g:;'])(
  'the sender %j is not one address',
  (value) => {
    expect(read(`Sender: ${value}\r\n`)).toEqual({
      error: 'must have exactly one address in its Sender field',
    });
  },
);

test('who is told of a message is read from all fields of one name, in their order', () => {
  const { to, cc, replyTo } = repair(
    'To: a@x.example\r\nCc: b@x.example\r\nTo: c@x.example\r\nReply-To: d@x.example\r\nCC: e@x.example\r\n',
  );
  expect([to, cc, replyTo].map((list) => list.map(formatAddress))).toEqual([
    ['a@x.example', 'c@x.example'],
    ['b@x.example', 'e@x.example'],
    ['d@x.example'],
  ]);
});

test('a tag without a name is a field like any other', () => {
  const { tags, bytes } = repair('X-Tag-: one\r\nX-Tag-a: two\r\n');
  expect(tags).toEqual([{ name: 'a', value: 'two' }]);
  expect(bytes.toString()).toContain('\r\nX-Tag-: one\r\n');
});

test.each([
  ['', 'x', null],
  ['', 'a\0b', '1.0'],
  ['Content-Type: text/plain\r\n', 'x', '1.0'],
  ['MIME-Version: 1.0 (old)\r\n', 'a\0b', '1.0 (old)'],
])('with %j and the body %j MIME-Version is %p', (fields, body, version) => {
  const said = repair(fields, body)
    .bytes.toString()
    .match(/^MIME-Version: .*$/gim);
  expect(said).toEqual(version === null ? null : [`MIME-Version: ${version}`]);
});

const NEW_DATE = ['Date: Sat, 21 Nov 2026 01:02:03 +0000'];

test.each([
  ['Fri, 20 Nov 2026 00:00:00 +0000', true],
  ['20 Nov 2026 00:00:00 -0500', true],
  ['Fri, 20 Nov 2026 00:00:00 +0000 (UTC)', true],
  ['Fri, 20 Nov 2026 00:00:00 +0000 (\xfc)', false],
  ['', false],
  ['Fri, 99 Nov 2026 00:00:00 +0000', false],
])('the date %j can be read: %p', (date, isRead) => {
  expect(written('Date', `Date: ${date}\r\n`)).toEqual(isRead ? [`Date: ${date}`] : NEW_DATE);
});

test.each([
  ['Content-Type', 'text/plain; name="\xfc"'],
  ['Content-Disposition', `attachment; filename=${utf8('ü')}`],
  ['X-Line-Separator', utf8('a\u2028b')],
  ['X-Paragraph-Separator', utf8('a\u2029bü')],
  ['X-C1', utf8('a\u0085b')],
])('raw bytes in %s stay as they are', (name, value) => {
  expect(written(name, `${name}: ${value}\r\n`)).toEqual([`${name}: ${value}`]);
});

test.each([
  ['X-Note', utf8('ü'), '=?UTF-8?B?w7w=?='],
  ['X-Note', '\xfc', '=?UTF-8?B?w7w=?='],
  ['X-Note', `${utf8('ü')} =?utf-8?q?=C3=9F?=`, '=?UTF-8?B?w7wgw58=?='],
  ['X-Note', utf8(`${'a'.repeat(21)}\tü`), `=?UTF-8?Q?${'a'.repeat(21)}=09=C3=BC?=`],
  ['Subject', utf8('ü'), '=?UTF-8?B?w7w=?='],
  ['X-Content-Note', utf8('ü'), '=?UTF-8?B?w7w=?='],
])('raw bytes in %s: %j are encoded', (name, value, encoded) => {
  expect(written(name, `${name}: ${value}\r\n`)).toEqual([`${name}: ${encoded}`]);
});

test('a line that is too long is folded as it stands, its encoded words too', () => {
  const words = `${'word '.repeat(300)}=?utf-8?q?=C3=BC?= end`;
  const lines = written('X-Long', `X-Long: ${words}\r\n`);
  expect(lines.join('')).toBe(`X-Long: ${words}`);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(78);
});

test('a long field in folds is kept whole', () => {
  const folds = Array.from({ length: 1_500 }, (_, at) => ` ${String(at).padStart(99, 'x')}`);
  const field = ['X-Long: a', ...folds];
  expect(written('X-Long', `${field.join('\r\n')}\r\n`)).toEqual(field);
});

test('a list without white space that is too long for a line is written anew', () => {
  const addresses = Array.from({ length: 100 }, (_, at) => `user${at}@x.example`);
  for (const name of ['To', 'Cc', 'Reply-To']) {
    const lines = written(name, `${name}: ${addresses.join(',')}\r\n`);
    expect(lines.join('')).toBe(`${name}: ${addresses.join(', ')}`);
  }
});

test.each([
  ['To: undisclosed-recipients:;\r\nTo: g:;\r\n', ['To: undisclosed-recipients:;']],
  ['To: nobody\r\nTo: anybody\r\n', ['To: nobody']],
  ['To: nobody\r\nTo: a@x.example\r\n', ['To: a@x.example']],
  ['To \t: a@x.example\r\nTO: b@x.example\r\n', ['To: a@x.example, b@x.example']],
  ['TO: a@x.example (Ann)\r\n', ['TO: a@x.example (Ann)']],
  ['To: \xfc <a@x.example>\r\n', ['To: =?UTF-8?B?w7w=?= <a@x.example>']],
])('%j is written as %j', (fields, lines) => {
  expect(written(fields.slice(0, 2), fields)).toEqual(lines);
});

test('a list in which one address alone needs SMTPUTF8 is written in UTF-8', () => {
  const list = utf8('bob@x.example, zoë@x.example');
  expect(written('Cc', `Cc: ${list}\r\n`)).toEqual([`Cc: ${list}`]);
  const own = repairSubmission(Buffer.from('From: zoë@example.com (Zoë)\r\n\r\nx'), DEFAULTS);
  if ('error' in own) throw new Error(own.error);
  expect(own.bytes.toString()).toStartWith('From: zoë@example.com\r\n');
});

test('of several fields with control characters the first is named', () => {
  expect(read('X-One: a\x01b\r\nX-Two: c\x02d\r\n')).toEqual({
    error: 'has a control character in its header x-one',
  });
  expect(repair('X-Tab: a\tb\r\n').bytes.toString()).toContain('X-Tab: a\tb\r\n');
});

test('every control character but TAB and the ends of lines is refused, in whatever field', () => {
  for (let code = 0; code <= 0x7f; code += 1) {
    if (code >= 0x20 && code < 0x7f) continue;
    if (code === 0x09 || code === 0x0a || code === 0x0d) continue;
    const result = read(`X-Odd: a${String.fromCharCode(code)}b\r\n`);
    expect([code, result]).toEqual([
      code,
      { error: 'has a control character in its header x-odd' },
    ]);
  }
});

test.each([
  ['<a@b>', true],
  ['<!;=?~@!;=?~>', true],
  ['<a@b@c>', true],
  ['<a@b>x', false],
  ['<a@b> <c@d>', false],
  ['x<a@b>', false],
  ['<a b@c>', false],
  ['<a@b c>', false],
  ['<a<@b>', false],
  ['<a@>', false],
  ['<@b>', false],
  ['<a>', false],
  ['<a@\xfc>', false],
])('the Message-ID %j of the sender is kept: %p', (value, isKept) => {
  const { messageId, bytes } = repair(`Message-ID: ${value}\r\n`);
  expect(messageId).toBe(isKept ? value : '<new@mail.example.com>');
  expect(bytes.toString('latin1').match(/^Message-ID: .*$/gm)).toEqual([
    `Message-ID: ${messageId}`,
  ]);
});

test('the first line of raw text that is encoded has 75 characters at most, its name with it', () => {
  let longest = 0;
  for (let length = 1; length <= 30; length += 1) {
    const name = 'X'.repeat(length);
    for (const character of ['ü', 'ü  ']) {
      const [first = ''] = written(name, `${name}: ${utf8(character.repeat(60).trim())}\r\n`);
      longest = Math.max(longest, first.length);
    }
  }
  expect(longest).toBe(75);
});
