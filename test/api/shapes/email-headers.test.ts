/** The headers of an email: what becomes a field, what is read into the draft, what is ignored, and what is refused. */
import { expect, test } from 'bun:test';

import type { Fault } from '../../../src/api/shapes/check.ts';
import { joinReplyTo, readHeaders } from '../../../src/api/shapes/email-headers.ts';
import { addressOf, type Mailbox } from '../../../src/mail/header/address.ts';

type Headers = Parameters<typeof readHeaders>[0];

/** What is read, with addresses as text, and the faults as `path message`. */
function read(headers: Headers, at = 'headers') {
  const faults: Fault[] = [];
  const { headers: fields, replyTo, messageId, sender } = readHeaders(headers, at, faults);
  const shown = ({ name, ...rest }: Mailbox): string => `${name}|${addressOf({ name, ...rest })}`;
  return {
    fields,
    ...(replyTo !== null && { replyTo: [replyTo.path, ...replyTo.mailboxes.map(shown)] }),
    ...(messageId !== undefined && { messageId }),
    ...(sender !== undefined && { sender: sender && shown(sender) }),
    ...(faults.length > 0 && {
      faults: faults.map(({ path, message, isMissing }) => {
        expect(isMissing).toBe(false);
        expect(message).toStartWith(`${path} `);
        return [path, message.slice(path.length + 1)];
      }),
    }),
  };
}
/** The words of the one fault. */
const refused = (headers: Headers): unknown => {
  const { fields, faults } = read(headers);
  return [fields, faults];
};

test('a field of the caller is kept in its spelling; a list makes a field of each value', () => {
  expect(read({})).toEqual({ fields: [] });
  expect(read({ 'X-Ticket': '17', 'x-other': ['a', 'b'], 'X-None': [] })).toEqual({
    fields: [
      ['X-Ticket', '17'],
      ['x-other', 'a'],
      ['x-other', 'b'],
    ],
  });
  expect(read({ 'X-Name': '=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=' }).fields).toEqual([['X-Name', 'Grüße']]);
});

test('what mail libraries write for a server of their own is ignored, if it is a value at all', () => {
  expect(read({ Date: 'yesterday', 'return-path': ['<a@x.example>'] })).toEqual({ fields: [] });
  expect(refused({ DATE: 'a\nb' })).toEqual([
    [],
    [['headers.DATE', expect.stringContaining('line break')]],
  ]);
});

test('names that are none, and fields of the service, are refused by their path', () => {
  const taken = 'is set by the service and cannot be overridden.';
  expect(refused({ 'X A': '1', From: 'a@x.example', 'dkim-signature': 'x' })).toEqual([
    [],
    [
      ['headers.X A', 'is not a valid header name.'],
      ['headers.From', taken],
      ['headers.dkim-signature', taken],
    ],
  ]);
  expect(read({ From: 'x' }, '[3].headers').faults).toEqual([['[3].headers.From', taken]]);
  // One value of several that is wrong is enough, and none of them is kept.
  expect(refused({ 'X-A': ['fine', 'a\r\nBcc: b'] })).toEqual([
    [],
    [['headers.X-A', expect.stringContaining('line break')]],
  ]);
});

test('a hundred fields may come of them, and not one more', () => {
  const fields = (count: number): Headers => ({
    'X-A': Array.from({ length: count }, (_, at) => `${at}`),
    'Reply-To': 'a@x.example',
    Date: 'ignored',
  });
  expect(read(fields(100)).faults).toBeUndefined();
  expect(read(fields(101)).faults).toEqual([
    ['headers', 'must make at most 100 header fields.'],
  ] as never);
});

test('Reply-To is a list of addresses, in one text or several', () => {
  const replyTo = (value: string | string[]): unknown => read({ 'Reply-To': value }).replyTo;
  const at = 'headers.Reply-To';
  expect(replyTo('a@x.example')).toEqual([at, '|a@x.example']);
  expect(replyTo('Ann <a@x.example>, b@x.example')).toEqual([
    at,
    'Ann|a@x.example',
    '|b@x.example',
  ]);
  expect(replyTo(['a@x.example', ' "B, b" <b@x.example>'])).toEqual([
    at,
    '|a@x.example',
    'B, b|b@x.example',
  ]);
  expect(replyTo('=?UTF-8?Q?Gr=C3=BC=C3=9Fe?= <a@x.example>')).toEqual([at, 'Grüße|a@x.example']);
  expect(replyTo('Grüße <a@x.example>')).toEqual([at, 'Grüße|a@x.example']);
  expect(replyTo('Grüße <a@x.example>, b@x.example')).toEqual([
    at,
    'Grüße|a@x.example',
    '|b@x.example',
  ]);
  // Beyond Latin-1, too.
  expect(replyTo('山田 <a@x.example>, Łukasz <b@x.example>')).toEqual([
    at,
    '山田|a@x.example',
    'Łukasz|b@x.example',
  ]);
  // What its encoded word says does not part the list.
  expect(replyTo('=?UTF-8?Q?Lee=2C_Ann?= <a@x.example>')).toEqual([at, 'Lee, Ann|a@x.example']);
  expect([replyTo(' '), replyTo([])]).toEqual([undefined, undefined]);
  const words = 'must be an address or a list of addresses, separated by commas.';
  for (const value of ['nobody', 'a@x.example, nobody', ',', 'a@x.example b@x.example']) {
    expect([value, read({ 'reply-to': value })]).toEqual([
      value,
      { fields: [], faults: [['headers.reply-to', words]] },
    ]);
  }
});

test('a Message-ID and one Sender are read into the draft', () => {
  expect(read({ 'Message-ID': ' <one@x.example> ', SENDER: 'Ann <a@x.example>' })).toEqual({
    fields: [],
    messageId: '<one@x.example>',
    sender: 'Ann|a@x.example',
  });
  expect(read({ 'message-id': 'none' })).toEqual({
    fields: [],
    faults: [['headers.message-id', expect.any(String)]],
  });
  for (const value of ['nobody', 'a@x.example, b@x.example', ['a@x.example', 'b@x.example']]) {
    expect(read({ Sender: value })).toEqual({
      fields: [],
      faults: [['headers.Sender', 'must be one address.']],
    });
  }
  expect(read({ Sender: '', 'Message-ID': ' ' })).toEqual({ fields: [] });
});

test('what is read into the draft comes once, whatever the spelling of its name', () => {
  const twice = 'appears twice, in different spellings of its name.';
  const headers = { 'Reply-To': 'a@x.example', 'reply-to': 'b@x.example', 'REPLY-TO': '' };
  expect(read(headers)).toEqual({
    fields: [],
    replyTo: ['headers.Reply-To', '|a@x.example'],
    faults: [
      ['headers.reply-to', twice],
      ['headers.REPLY-TO', twice],
    ],
  });
  expect(read({ 'X-A': '1', 'x-a': '2' }).faults).toBeUndefined();
});

test('a Reply-To header may repeat the field, bring names, and name more', () => {
  const mailbox = (text: string): Mailbox => {
    const [name = '', local = ''] = text.split('|');
    return { name, local, domain: 'x.example' };
  };
  const joined = (field: string[], header: string[]): string[] | null =>
    joinReplyTo(field.map(mailbox), header.map(mailbox))?.map(
      ({ name, local }) => `${name}|${local}`,
    ) ?? null;
  expect(joined(['|a'], ['|a'])).toEqual(['|a']);
  expect(joined(['Ann|a'], ['|a'])).toEqual(['Ann|a']);
  expect(joined(['|a'], ['Ann|a'])).toEqual(['Ann|a']);
  expect(joined(['Ann|a'], ['Ann|a', 'Ben|b', '|c'])).toEqual(['Ann|a', 'Ben|b', '|c']);
  expect(joined([], ['|a'])).toEqual(['|a']);
  expect(joined(['Ann|a'], ['Bob|a'])).toBeNull();
  expect(joined(['|a'], ['|b'])).toBeNull();
  expect(joined(['|a', '|b'], ['|a'])).toBeNull();
  expect(joined(['|a', '|b'], ['|b', '|a'])).toBeNull();
  expect(joined(['|a', 'Ben|b'], ['|a', '|c'])).toBeNull();
});
