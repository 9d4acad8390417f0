/** Fields of an email: exactly at their bounds and one beyond, what each route refuses by name, and what counts as absent. */
import { expect, test } from 'bun:test';
import { refusalFor } from '../../../src/api/shapes/check.ts';
import { readEmail, type EmailKind, type EmailRules } from '../../../src/api/shapes/read-email.ts';

const EMAIL = { from: 'a@example.com', to: 'b@example.com', subject: 'x', text: 'x' };

function result(change: object, rules: Partial<EmailRules> = {}) {
  const value = { ...EMAIL, ...change };
  return readEmail(value, { kind: 'full', at: '', mayLink: false, needsContent: true, ...rules });
}

/** Path and message of each fault; the draft when there is none. */
function read(change: object, rules?: Partial<EmailRules>) {
  const found = result(change, rules);
  return Array.isArray(found) ? found.map(({ path, message }) => [path, message]) : found.draft;
}

const name = (length: number): string => 'n'.repeat(length);
const TAG = 'must be 1 to 256 ASCII letters, digits, underscores and hyphens';

test.each([
  [{ subject: name(998) }, null],
  [{ subject: name(999) }, ['subject', 'subject must have at most 998 characters.']],
  [{ subject: '' }, ['subject', 'subject must not be empty.']],
  [{ subject: null }, ['subject', 'Missing `subject` field.']],
  [{ subject: 5 }, ['subject', 'subject must be a string.']],
  [{ to: [] }, ['to', 'to must have at least one recipient.']],
  [{ to: null }, ['to', 'Missing `to` field.']],

  [{ tags: { a: name(256) } }, null],
  [{ tags: { a: name(257) } }, ['tags.a', `tags.a ${TAG}.`]],
  [{ tags: { a: '' } }, ['tags.a', `tags.a ${TAG}.`]],
  [{ tags: { [name(256)]: 'a' } }, null],
  [{ tags: [{ name: 'a', value: 'b c' }] }, ['tags[0].value', `tags[0].value ${TAG}.`]],
  [{ tags: [{ name: name(257), value: 'b' }] }, ['tags[0].name', `tags[0].name ${TAG}.`]],
  [
    { tags: [{ name: '__proto__', value: 'b' }] },
    ['tags[0].name', `tags[0].name ${TAG}, other than __proto__.`],
  ],
  [
    { tags: { 'a b': 'c' } },
    [
      expect.stringContaining('a b'),
      expect.stringContaining(`must have a name that ${TAG}, other than __proto__.`),
    ],
  ],
  [{ html: 'a\0b' }, ['html', 'html must not contain NUL characters.']],
  [{ text: 'a\0b' }, ['text', 'text must not contain NUL characters.']],
  [{ text: '' }, ['text', 'text must not be empty.']],
  [{ text: '', html: '' }, ['html', 'html and text must not both be empty.']],
  [{ text: '', html: 'x' }, null],
  [{ text: null }, ['html', 'Missing `html` or `text` field.']],
  [
    { reply_to: 'a@b.example', replyTo: 'a@b.example' },
    ['replyTo', 'replyTo and reply_to are the same field; send only one of them.'],
  ],
  [{ unknown: 1 }, ['unknown', 'unknown is not a field of this request.']],
  [{ to: ['b@example.com', 'nobody'] }, ['to[1]', expect.stringMatching(/^to\[1\] must .*\.$/)]],
] as const)('%j', (change, fault) => {
  const found = read(change);
  if (fault === null) expect(found).not.toBeArray();
  else expect(found).toEqual([[...fault]]);
});

test('at most fifty tags, as a list or as an object', () => {
  const tags = (count: number) =>
    Array.from({ length: count }, (_, at) => [`t${at}`, 'x'] as const);
  const list = (count: number) => tags(count).map(([key, value]) => ({ name: key, value }));
  expect(read({ tags: list(50) })).toMatchObject({ tags: list(50) });
  expect(read({ tags: Object.fromEntries(tags(50)) })).toMatchObject({ tags: list(50) });
  expect(read({ tags: list(51) })).toEqual([['tags', 'tags must have at most 50 items.']]);
  expect(read({ tags: Object.fromEntries(tags(51)) })).toEqual([
    ['tags', 'tags must have at most 50 fields.'],
  ]);
});

test('an object of one pair in the list of tags is a tag; name and value keep their meaning', () => {
  expect(read({ tags: [{ 'X-Tag': 'welcome' }] })).toMatchObject({
    tags: [{ name: 'X-Tag', value: 'welcome' }],
  });
  for (const half of [{ name: 'a' }, { value: 'a' }, { a: 'b', c: 'd' }, 'a']) {
    expect(read({ tags: [half] })).toBeArray();
  }
});

test('empty copies, reply addresses and headers, and all nulls, count as absent', () => {
  const plain = read({});
  for (const nothing of ['', [], {}, null]) {
    for (const field of ['cc', 'bcc', 'reply_to', 'replyTo']) {
      expect([field, read({ [field]: nothing })]).toEqual([field, plain]);
    }
  }
  for (const change of [{ headers: [] }, { headers: {} }, { tags: null }, { html: '' }]) {
    expect(read(change)).toEqual(plain);
  }
  expect(read({ from: { email: 'a@example.com', name: null } })).toEqual(plain);
});

const BATCH = 'is not supported on this route; use POST /emails/batch';
const NEVER = {
  scheduled_at: 'is not supported: this service sends immediately and cannot schedule',
  scheduledAt: 'is not supported: this service sends immediately and cannot schedule',
  template: 'is not supported: this service has no templates; send html or text',
  topic_id: 'is not supported: this service has no topics',
  topicId: 'is not supported: this service has no topics',
};
const FULL = `${BATCH}, or have the operator set [api] single_send = "full"`;

test.each([
  ['full', NEVER],
  ['plural', { ...NEVER, cc: FULL, bcc: FULL, attachments: FULL }],
  ['singular', { ...NEVER, cc: BATCH, bcc: BATCH, attachments: BATCH, headers: BATCH }],
] as [EmailKind, Record<string, string>][])('a %s email refuses by name', (kind, refused) => {
  for (const [field, words] of Object.entries(refused)) {
    expect(read({ [field]: 'x@example.com' }, { kind })).toEqual([[field, `${field} ${words}.`]]);
    // Libraries write what was not set as "", [] or {}.
    for (const nothing of ['', [], {}, null]) {
      expect([field, read({ [field]: nothing }, { kind })]).not.toEqual([field, expect.any(Array)]);
    }
  }
});

test('in a batch each path begins with the position of the email, and content may be missing', () => {
  const rules = { at: '[3]', needsContent: false };
  expect(read({ subject: '', to: ['x'] }, rules)).toEqual([
    ['[3].subject', '[3].subject must not be empty.'],
    ['[3].to[0]', expect.stringContaining('[3].to[0] must')],
  ]);
  expect(read({ text: null }, rules)).not.toBeArray();
  expect(read({ text: '' }, rules)).toEqual([['[3].text', '[3].text must not be empty.']]);
});

test.each([
  [{ from: 'nobody' }, 'invalid_from_address'],
  [{ from: { email: 'nobody' } }, 'invalid_from_address'],
  [{ to: 'nobody' }, 'validation_error'],
  [{ subject: null }, 'missing_required_field'],
  // A field that lacks comes first, whatever else is wrong.
  [{ from: 'nobody', subject: null }, 'missing_required_field'],
  [{ attachments: [{ filename: 'a', content: '*' }] }, 'invalid_attachment'],
  [{ attachments: 5 }, 'invalid_attachment'],
] as const)('%j is refused as %s', (change, errorName) => {
  for (const at of ['', '[7]']) {
    const found = result(change, { at });
    const refusal = refusalFor(Array.isArray(found) ? found : []);
    expect([at, refusal.errorName, refusal.status]).toEqual([at, errorName, 422]);
  }
});

test('Sender is written where it differs from From, whatever the names', () => {
  const sender = (value: string) => read({ headers: { Sender: value } });
  expect(sender('a@example.com')).not.toHaveProperty('sender');
  expect(sender('Other <a@example.com>')).not.toHaveProperty('sender');
  expect(sender('c@example.com')).toMatchObject({ sender: { local: 'c' } });
  const words = 'headers.Sender must be one address.';
  expect(sender('c@example.com, d@example.com')).toEqual([['headers.Sender', words]]);
});

test('a Reply-To header joins a field that it repeats, and contradicts any other', () => {
  const reply = (field: unknown, header: string) =>
    read({ reply_to: field, headers: { 'Reply-To': header } });
  const both = { replyTo: [{ local: 'c', name: 'Cy' }, { local: 'd' }] };
  expect(reply('Cy <c@example.com>', 'c@example.com, d@example.com')).toMatchObject(both);
  expect(reply('c@example.com', 'Cy <c@example.com>, d@example.com')).toMatchObject(both);
  const words = 'headers.Reply-To and reply_to differ; send only one of them.';
  for (const other of ['d@example.com', 'd@example.com, c@example.com']) {
    expect(reply('c@example.com', other)).toEqual([['headers.Reply-To', words]]);
  }
  expect(reply(['c@example.com', 'd@example.com'], 'c@example.com')).toBeArray();
  expect(reply('Cy <c@example.com>', 'Di <c@example.com>')).toBeArray();
  const none = 'headers.Reply-To must be an address or a list of addresses, separated by commas.';
  expect(reply(undefined, 'nobody')).toEqual([['headers.Reply-To', none]]);
});

test('headers of the service cannot be set, Date and Return-Path are left out', () => {
  const header = (headers: object) => read({ headers });
  for (const own of ['From', 'Subject', 'DKIM-Signature', 'Content-Type', 'to']) {
    const path = `headers.${own}`;
    const words = `${path} is set by the service and cannot be overridden.`;
    expect(header({ [own]: 'x' })).toEqual([[path, words]]);
  }
  expect(header({ Date: 'now', 'return-path': '<x@y.example>' })).toMatchObject({ headers: [] });
  expect(header({ 'X A': 'b' })).toEqual([
    [expect.any(String), expect.stringContaining('is not a valid header name.')],
  ]);
  expect(header({ 'X-A': 'b\r\nX: y' })).toBeArray();
  expect(header({ 'X-A': 5 })).toEqual([
    ['headers.X-A', 'headers.X-A must be text or a list of texts.'],
  ]);
  expect(header({ 'X-A': '=?utf-8?q?caf=C3=A9?=' })).toMatchObject({ headers: [['X-A', 'café']] });
});

test.each([0, 9, 10, 99, 100])(
  'the name of a refusal is the same for email %d of a batch',
  (at) => {
    const nameFor = (field: string): string =>
      refusalFor([{ path: `[${at}].${field}`, message: 'x', isMissing: false }]).errorName;
    expect(['from', 'attachments[0].content', 'subject'].map(nameFor)).toEqual([
      'invalid_from_address',
      'invalid_attachment',
      'validation_error',
    ]);
  },
);
