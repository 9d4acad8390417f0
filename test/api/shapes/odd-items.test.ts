/** Emails with a value of the wrong kind, or a field too many, inside a list or an object: a fault with its path, in a batch too. */
import { expect, test } from 'bun:test';

import { readEmail, type EmailRules } from '../../../src/api/shapes/read-email.ts';

const RULES: EmailRules = { kind: 'full', at: '', mayLink: false, needsContent: true };
const EMAIL = { from: 'a@x.example', to: 'b@y.example', subject: 's', text: 't' };

/** Path and message of each fault; none: it was read. */
function faultsOf(change: object, rules: Partial<EmailRules> = {}): string[] {
  const result = readEmail({ ...EMAIL, ...change }, { ...RULES, ...rules });
  return Array.isArray(result) ? result.map(({ path, message }) => `${path} | ${message}`) : [];
}

/** A fault at `path` with each of these words. */
const at = (path: string, ...words: string[]): string[] =>
  words.map((one) => `${path} | ${path} ${one}.`);
const lacks = (path: string): string => `${path} | Missing \`${path}\` field.`;

const ADDRESS = 'must be an address: "a@example.com", "Name <a@example.com>" or {email, name}';
const ADDRESSES = 'must be an address or a list of addresses';
const TAGS = 'must be an object of text to text or a list of {name, value}';
const WORD = 'must be 1 to 256 ASCII letters, digits, underscores and hyphens';
const UNKNOWN = 'is not a field of this request';

test.each([
  ...[5, true, [], [null], ['a@x.example']].map((value) => ['from', value, at('from', ADDRESS)]),
  ['from', null, [lacks('from')]],
  ['from', {}, [lacks('from.email')]],
  ['from', { email: 5 }, at('from.email', 'must be a string')],
  ['from', { email: 'a@x.example', name: 5 }, at('from.name', 'must be a string')],
  ['from', { email: 'a@x.example', more: 1 }, at('from.more', UNKNOWN)],
  ['to', {}, [lacks('to.email')]],
  ...['to', 'cc', 'bcc', 'reply_to', 'replyTo'].flatMap((field) => [
    ...[5, true].map((value) => [field, value, at(field, ADDRESSES)]),
    ...[null, 5, true, [], ['a@x.example']].map((value) => [
      field,
      [value],
      at(`${field}[0]`, ADDRESS),
    ]),
    [field, [{}], [lacks(`${field}[0].email`)]],
    [field, { email: 'a@x.example', more: 1 }, at(`${field}.more`, UNKNOWN)],
    [
      field,
      ['a@x.example', { email: 'a@x.example', name: 'n', more: 1 }],
      at(`${field}[1].more`, UNKNOWN),
    ],
  ]),
  ...[5, true, 'x'].map((value) => ['tags', value, at('tags', TAGS)]),
  ...[null, 5, true, 'x', []].map((value) => ['tags', [value], at('tags[0]', 'must be an object')]),
  ['tags', [{}], [lacks('tags[0].name'), lacks('tags[0].value')]],
  ['tags', [{ name: 'a', value: 'b', more: 'c' }], at('tags[0].more', UNKNOWN)],
  ['tags', [{ a: 1 }], at('tags[0].value', WORD)],
  ['tags', { a: 1 }, at('tags.a', WORD)],
  ['tags', { a: null }, at('tags.a', WORD)],
  ...[5, true, 'x', [{}]].map((value) => ['headers', value, at('headers', 'must be an object')]),
  ...[5, true, null, {}].map((value) => [
    'headers',
    { 'X-A': value },
    at('headers.X-A', 'must be text or a list of texts'),
  ]),
  ['headers', { 'X-A': ['x', 5] }, at('headers.X-A[1]', 'must be a string')],
  ...[5, true, 'x', { filename: 'a' }].map((value) => [
    'attachments',
    value,
    at('attachments', 'must be an array'),
  ]),
  ...[null, 5, true, 'x', []].map((value) => [
    'attachments',
    [value],
    at('attachments[0]', 'must be an object'),
  ]),
  ['attachments', [{}], [lacks('attachments[0].content'), lacks('attachments[0].filename')]],
  ...['html', 'text', 'subject'].flatMap((field) =>
    [5, true, [], {}, ['x']].map((value) => [field, value, at(field, 'must be a string')]),
  ),
] as [field: string, value: unknown, faults: string[]][])('%s: %j', (field, value, faults) => {
  expect(faultsOf({ [field]: value })).toEqual(faults);
});

test.each(['singular', 'plural', 'full'] as const)(
  'a %s email has no field that nobody knows, whatever its value',
  (kind) => {
    expect(faultsOf({ more: 1 }, { kind })).toEqual(at('more', UNKNOWN));
    expect(faultsOf({ more: '' }, { kind })).toEqual(at('more', UNKNOWN));
    // What was not set is not looked at.
    expect(faultsOf({ more: null }, { kind })).toEqual([]);
  },
);

/** One fault or more of every kind, by kind of email. */
const FAULTY: [kind: EmailRules['kind'], change: object][] = [
  ['full', { from: 'x', to: ['y', { email: 5 }], cc: 'z', bcc: ['z'], reply_to: 'z' }],
  ['full', { from: null, to: [], subject: null, html: 'a\0', text: 5, more: 1 }],
  ['full', { subject: 'a\nb', text: '', template: 'x', topicId: 'y' }],
  ['full', { text: '', html: '' }],
  ['full', { replyTo: ['z', 'a@x.example'], headers: { 'Reply-To': 'nobody', From: 'x' } }],
  ['full', { headers: { 'X-A': Array.from({ length: 101 }, () => 'x') } }],
  ['full', { headers: { 'X A': 'x', 'X-B': 5, 'X-C': ['a\nb'] } }],
  ['full', { to: Array.from({ length: 1_001 }, () => 'a@x.example') }],
  ['full', { tags: { 'a b': 'c', d: 5 } }],
  ['full', { tags: [{ name: '__proto__', value: 'x' }, { name: 'a' }] }],
  [
    'full',
    {
      attachments: [
        { filename: '', content: [300], more: 1 },
        { path: 'https://x.example/a' },
        { filename: 'a\nb', content: '*', content_type: 'x', content_id: 'a b' },
      ],
    },
  ],
  ['singular', { cc: 'c@x.example', headers: { 'X-A': 'x' }, scheduled_at: 'now' }],
  ['plural', { attachments: [{ filename: 'a', content: 'YQ==' }], bcc: 'c@x.example' }],
];

test.each(FAULTY)(
  'in a batch every path of a %s email with %j has its position',
  (kind, change) => {
    const alone = faultsOf(change, { kind });
    expect(alone.length).toBeGreaterThan(0);
    const behind = (fault: string): string => {
      const [path = '', message = ''] = fault.split(' | ');
      return `[3].${path} | ${message.replace(path, `[3].${path}`)}`;
    };
    expect(faultsOf(change, { kind, at: '[3]' })).toEqual(alone.map(behind));
  },
);

test('in a batch two reply addresses that differ are named with the position of their email', () => {
  const rules = { at: '[3]' };
  const reply = 'a@x.example';
  const headers = { 'Reply-To': 'b@x.example' };
  for (const field of ['reply_to', 'replyTo']) {
    expect(faultsOf({ [field]: reply, headers }, rules)).toEqual([
      `[3].headers.Reply-To | [3].headers.Reply-To and [3].${field} differ; send only one of them.`,
    ]);
  }
  expect(faultsOf({ reply_to: reply, replyTo: reply }, rules)).toEqual(
    at('[3].replyTo', 'and reply_to are the same field; send only one of them'),
  );
  expect(faultsOf({ text: null }, rules)).toEqual(['[3].html | Missing `html` or `text` field.']);
  for (const [value, kind] of [
    [5, 'full'],
    ['x', 'plural'],
    [[EMAIL], 'singular'],
  ] as const) {
    const result = readEmail(value, { ...RULES, kind, at: '[3]' });
    expect(result).toEqual([{ path: '[3]', message: '[3] must be an object.', isMissing: false }]);
  }
});
