/** The whole draft that an email becomes, and every fault of one that has many. */
import { expect, test } from 'bun:test';

import { readEmail, type EmailRules } from '../../../src/api/shapes/read-email.ts';
import type { Mailbox } from '../../../src/mail/header/address.ts';

const RULES: EmailRules = { kind: 'full', at: '', mayLink: false, needsContent: true };
const EMAIL = { from: 'a@x.example', to: 'b@y.example', subject: 's', text: 't' };

/** What is read; of a refused email path and message of each fault, a plus before those of what lacks. */
function read(value: unknown, rules: Partial<EmailRules> = {}) {
  const result = readEmail(value, { ...RULES, ...rules });
  if (!Array.isArray(result)) return result;
  return result.map(
    ({ path, message, isMissing }) => `${isMissing ? '+' : ''}${path} | ${message}`,
  );
}

const box = (local: string, domain: string, name = ''): Mailbox => ({ name, local, domain });
const DRAFT = {
  from: box('a', 'x.example'),
  to: [box('b', 'y.example')],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: 's',
  html: null,
  text: 't',
  headers: [],
  attachments: [],
  tags: [],
  raw: null,
};
/** An email with these fields, and the draft with those. */
type Row = [change: object, draft: object, rules?: Partial<EmailRules>];
const UNSUBSCRIBE: [string, string][] = [['List-Unsubscribe', '<https://x.example/u>']];

const READ: Row[] = [
  [{}, {}],
  [{ html: '<p>h</p>' }, { html: '<p>h</p>' }],
  [
    { html: '<p>h</p>', text: undefined },
    { html: '<p>h</p>', text: null },
  ],
  [
    { html: '<p>h</p>', text: '' },
    { html: '<p>h</p>', text: null },
  ],
  [{ text: undefined }, { text: null }, { needsContent: false }],
  [{ from: { email: 'a@x.example', name: 'Ann' } }, { from: box('a', 'x.example', 'Ann') }],
  [
    { to: ['B <b@y.example>', { email: 'c@y.example', name: null }] },
    { to: [box('b', 'y.example', 'B'), box('c', 'y.example')] },
  ],
  [{ to: 'B@Y.Example' }, { to: [box('B', 'y.example')] }],
  [
    { cc: 'c@y.example', bcc: ['d@y.example', 'e@y.example'] },
    { cc: [box('c', 'y.example')], bcc: [box('d', 'y.example'), box('e', 'y.example')] },
  ],
  [{ reply_to: 'r@x.example' }, { replyTo: [box('r', 'x.example')] }],
  [
    { replyTo: ['r@x.example', 's@x.example'] },
    { replyTo: [box('r', 'x.example'), box('s', 'x.example')] },
  ],
  [{ headers: { 'Reply-To': 'R <r@x.example>' } }, { replyTo: [box('r', 'x.example', 'R')] }],
  [
    { headers: { 'reply-to': ['r@x.example', ' s@x.example '] } },
    { replyTo: [box('r', 'x.example'), box('s', 'x.example')] },
  ],
  [
    { headers: { 'Reply-To': '=?UTF-8?Q?R=C3=BC?= <r@x.example>' } },
    { replyTo: [box('r', 'x.example', 'Rü')] },
  ],
  [{ headers: { 'Reply-To': ' ', Sender: '', 'Message-ID': '' } }, {}],
  [{ headers: { 'Message-ID': ' <m@x.example> ' } }, { messageId: '<m@x.example>' }],
  [{ headers: { SENDER: 'Office <o@x.example>' } }, { sender: box('o', 'x.example', 'Office') }],
  [{ headers: { Sender: 'Other <a@x.example>' } }, {}],
  // Only the server of a mailbox knows whether case matters to it (RFC 5321 section 2.4).
  [{ headers: { Sender: 'A@x.example' } }, { sender: box('A', 'x.example') }],
  [
    {
      headers: {
        'X-A': ['1', '2'],
        'x-b': '=?UTF-8?Q?=C3=BC?=',
        'X-a': '3',
        Date: 'now',
        'Return-Path': '<>',
      },
    },
    {
      headers: [
        ['X-A', '1'],
        ['X-A', '2'],
        ['x-b', 'ü'],
        ['X-a', '3'],
      ],
    },
  ],
  [
    { headers: { 'List-Unsubscribe': '<https://x.example/u>' } },
    { headers: UNSUBSCRIBE },
    { kind: 'plural' },
  ],
  [
    { tags: { a: 'b', c: 'd' } },
    {
      tags: [
        { name: 'a', value: 'b' },
        { name: 'c', value: 'd' },
      ],
    },
  ],
  [
    { tags: [{ name: 'a', value: 'b' }, { c: 'd' }] },
    {
      tags: [
        { name: 'a', value: 'b' },
        { name: 'c', value: 'd' },
      ],
    },
  ],
  [{ tags: { a: 'b' } }, { tags: [{ name: 'a', value: 'b' }] }, { kind: 'singular' }],
  [{ cc: '', bcc: [], attachments: [], scheduled_at: '', template: {} }, {}, { kind: 'singular' }],
  [
    {
      attachments: [
        { filename: 'a.txt', content: 'YQ==' },
        { filename: 'b', content: [98], content_id: 'cid' },
      ],
    },
    {
      attachments: [
        {
          filename: 'a.txt',
          contentType: 'text/plain',
          contentId: null,
          content: Buffer.from('a'),
        },
        {
          filename: 'b',
          contentType: 'application/octet-stream',
          contentId: 'cid',
          content: Uint8Array.of(98),
        },
      ],
    },
  ],
];

const ROWS = READ.map(([change, draft, rules]) => [change, draft, rules ?? {}] as const);

test.each(ROWS)('%j becomes a draft with %j, by %j', (change, draft, rules) => {
  const value: unknown = JSON.parse(JSON.stringify({ ...EMAIL, ...change }));
  expect(read(value, rules)).toEqual({ draft: { ...DRAFT, ...draft }, links: [] } as never);
});

test('an attachment by link has its name and type from the link, and is to be fetched', () => {
  const attachments = [
    { filename: 'own.txt', content: 'YQ==' },
    { path: 'https://f.example/d/report%20one.pdf?x=1#y' },
    {
      path: 'https://f.example/',
      filename: 'named.png',
      contentType: 'image/webp',
      contentId: 'c',
    },
  ];
  const linked = (filename: string, contentType: string, contentId: string | null = null) => ({
    filename,
    contentType,
    contentId,
    content: new Uint8Array(0),
  });
  expect(read({ ...EMAIL, attachments }, { mayLink: true })).toEqual({
    draft: {
      ...DRAFT,
      attachments: [
        { ...linked('own.txt', 'text/plain'), content: Buffer.from('a') },
        linked('report one.pdf', 'application/pdf'),
        linked('named.png', 'image/webp', 'c'),
      ],
    },
    links: [
      { at: 1, url: attachments[1]?.path, path: 'attachments[1].path' },
      { at: 2, url: 'https://f.example/', path: 'attachments[2].path' },
    ],
  } as never);
});

test('lists are read up to their greatest length', () => {
  const many = (count: number): string[] =>
    Array.from({ length: count }, (_, at) => `b${at}@y.example`);
  for (const field of ['to', 'cc', 'bcc', 'reply_to', 'replyTo']) {
    const result = read({ ...EMAIL, [field]: many(1_000) });
    const key = field === 'reply_to' ? 'replyTo' : field;
    expect([field, Reflect.get(Reflect.get(result, 'draft') as object, key)]).toEqual([
      field,
      many(1_000).map((text) => box(text.replace('@y.example', ''), 'y.example')),
    ]);
    expect(read({ ...EMAIL, [field]: many(1_001) })).toEqual([
      `${field} | ${field} must have at most 1000 items.`,
    ]);
  }
  const files = (count: number) =>
    Array.from({ length: count }, () => ({ filename: 'a', content: '' }));
  expect(read({ ...EMAIL, attachments: files(100) })).not.toBeArray();
  expect(read({ ...EMAIL, attachments: files(101) })).toEqual([
    'attachments | attachments must have at most 100 items.',
  ]);
});

test.each([
  [
    undefined,
    [
      '+from | Missing `from` field.',
      '+to | Missing `to` field.',
      '+subject | Missing `subject` field.',
      '+html | Missing `html` or `text` field.',
    ],
  ],
  [
    null,
    [
      '+from | Missing `from` field.',
      '+to | Missing `to` field.',
      '+subject | Missing `subject` field.',
      '+html | Missing `html` or `text` field.',
    ],
  ],
  ['text', [' | The body must be an object.']],
  [7, [' | The body must be an object.']],
  [[EMAIL], [' | The body must be an object.']],
  // What is wrong in one field hides nothing of another, nor of the same list.
  [
    {
      ...EMAIL,
      from: 'nobody',
      to: ['x', { email: 7 }, 'z'],
      subject: 'a\nb',
      html: 'a\0',
      reply_to: 'y',
      cc: 5,
      colour: 'red',
      headers: { 'X A': '1', From: 'x', 'X-B': 'a\nb', 'X-C': 7 },
      tags: [{ name: 'a b', value: 'c' }],
      attachments: [{ filename: '', content: 5 }, { filename: 'a' }],
    },
    [
      'colour | colour is not a field of this request.',
      'to[1].email | to[1].email must be a string.',
      'tags[0].name | tags[0].name must be 1 to 256 ASCII letters, digits, underscores and hyphens.',
      'headers.X-C | headers.X-C must be text or a list of texts.',
      'cc | cc must be an address or a list of addresses.',
      'attachments[0].filename | attachments[0].filename must not be empty.',
      'attachments[0].content | attachments[0].content must be base64 text, {type: "Buffer", data: [...]} or a list of whole numbers from 0 to 255.',
      'from | from must be of the form name@domain.',
      'to[0] | to[0] must be of the form name@domain.',
      'to[2] | to[2] must be of the form name@domain.',
      'subject | subject must not contain a line break.',
      'html | html must not contain NUL characters.',
      'reply_to | reply_to must be of the form name@domain.',
      '+attachments[1].content | Missing `attachments[1].content` field.',
    ],
  ],
] as [unknown, string[]][])('%j is refused with all of its faults', (value, faults) => {
  expect(read(value)).toEqual(faults);
});

test('a hundred headers are read, and no more names', () => {
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`X-${at}`, 'v']));
  expect(read({ ...EMAIL, headers: headers(100) })).toMatchObject({
    draft: { headers: Object.entries(headers(100)) },
  });
  expect(read({ ...EMAIL, headers: headers(101) })).toEqual([
    'headers | headers must have at most 100 fields.',
  ]);
});

test('a list of addresses in a header is valid where each of them is', () => {
  const reply = 'must be an address or a list of addresses, separated by commas';
  for (const [name, value, words] of [
    ['Reply-To', 'c@x.example, nobody', reply],
    ['Reply-To', 'nobody, c@x.example, nobody', reply],
    ['Reply-To', ',', reply],
    ['Reply-To', '=?UTF-8?Q?x?=', reply],
    // What is left out must be a value all the same.
    ['Date', 'a\nb', 'must not contain a line break'],
    ['Sender', 'nobody', 'must be one address'],
    ['Sender', 'c@x.example, nobody', 'must be one address'],
    ['Sender', ['c@x.example', 'd@x.example'], 'must be one address'],
    [
      'Message-ID',
      ['<a@x.example>', '<b@x.example>'],
      'must have the form <left@right> of RFC 5322',
    ],
  ] as const) {
    expect([value, read({ ...EMAIL, headers: { [name]: value } })]).toEqual([
      value,
      [`headers.${name} | headers.${name} ${words}.`],
    ]);
  }
});

test('of two reply addresses in both spellings of the field the one that counts is read, under its own name', () => {
  const both = 'replyTo | replyTo and reply_to are the same field; send only one of them.';
  const reply = (reply_to: string, replyTo: string) => read({ ...EMAIL, reply_to, replyTo });
  expect(reply('r@x.example', 'nobody')).toEqual([both]);
  expect(reply('nobody', 'r@x.example')).toEqual([
    both,
    'reply_to | reply_to must be of the form name@domain.',
  ]);
});

test('faults beyond those that are asked for are not looked for', () => {
  const to = Array.from({ length: 5 }, () => 'x');
  const paths = (mostFaults: number) =>
    (read({ ...EMAIL, to, cc: to }, { mostFaults }) as string[]).map((one) => one.split(' ')[0]);
  expect([1, 3, 6].map(paths)).toEqual([
    ['to[0]'],
    ['to[0]', 'to[1]', 'to[2]'],
    ['to[0]', 'to[1]', 'to[2]', 'to[3]', 'to[4]', 'cc[0]'],
  ]);
});
