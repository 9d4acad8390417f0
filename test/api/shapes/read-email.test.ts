/** Emails of a request: what is refused by length first, and how much is looked at (docs/reliability.md R84). */
import { expect, test } from 'bun:test';
import { validationFailed, ApiError } from '../../../src/base/errors.ts';
import { batchRoutes } from '../../../src/api/routes/batch.ts';
import { readEmail } from '../../../src/api/shapes/read-email.ts';

const EMAIL = { from: 'a@example.com', to: 'b@example.com', subject: 'x', text: 'x' };
const RULES = { kind: 'full', at: '', mayLink: false, needsContent: true } as const;

/** Path and message of each fault; the draft when there is none. */
function read(change: Record<string, unknown>) {
  const result = readEmail({ ...EMAIL, ...change }, RULES);
  return Array.isArray(result) ? result.map(({ path, message }) => [path, message]) : result.draft;
}

test.each([
  ['to', 1_000],
  ['cc', 1_000],
  ['bcc', 1_000],
  ['reply_to', 1_000],
  ['replyTo', 1_000],
  ['tags', 50],
  ['attachments', 100],
])('a list in %s with more than %d items is refused by its length alone', (field, most) => {
  const unread = Array.from({ length: most + 1 }, () => ({
    get email(): string {
      throw new Error('an item was looked at');
    },
  }));
  expect(read({ [field]: unread })).toEqual([[field, `${field} must have at most ${most} items.`]]);
});

test('a file as a list of numbers has its bytes; any other list is refused as a whole', () => {
  const file = (content: unknown) => read({ attachments: [{ filename: 'a.bin', content }] });
  const bytes = Uint8Array.from([0, 1, 255]);
  expect(file([0, 1, 255])).toMatchObject({ attachments: [{ content: bytes }] });
  expect(file({ type: 'Buffer', data: [0, 1, 255] })).toMatchObject({
    attachments: [{ content: bytes }],
  });
  const words =
    'attachments[0].content must be base64 text, {type: "Buffer", data: [...]} or a list of whole numbers from 0 to 255.';
  for (const content of [
    [256],
    [-1],
    [1.5],
    ['1'],
    { type: 'Buffer', data: [256] },
    { type: 'Other', data: [1] },
    { type: 'Buffer', data: [1], more: 1 },
  ]) {
    expect(file(content)).toEqual([['attachments[0].content', words]]);
  }
});

test('a batch looks for a hundred faults in all, and for the first of each email after that', () => {
  const [route] = batchRoutes;
  const bad = Array.from({ length: 60 }, () => ':::');
  const results = route?.body?.read(
    Array.from({ length: 5 }, () => ({ ...EMAIL, to: bad })),
    { startup: {}, live: {} } as never,
  ) as ApiError[];
  const counts = results.map(({ detail }) => Object.values(detail?.['issues'] ?? {}).length);
  expect(counts).toEqual([60, 40, 1, 1, 1]);
  expect(results[4]).toBeInstanceOf(ApiError);
  expect(validationFailed([{ path: '', message: 'x' }]).status).toBe(results[4]?.status ?? 0);
});

test('a header that the service reads may stand once, whatever the spelling of its name', () => {
  const twice = (name: string, value: string) =>
    read({ headers: { [name]: value, [name.toLowerCase()]: value } });
  for (const [name, value] of [
    ['Reply-To', 'a@example.com'],
    ['Message-ID', '<a@example.com>'],
    ['Sender', 'a@example.com'],
  ] as const) {
    const words = expect.stringContaining('appears twice, in different spellings of its name');
    expect(twice(name, value)).toEqual([[`headers.${name.toLowerCase()}`, words]]);
  }
  // Any other may stand as often as it is given.
  expect(twice('X-Own', '1')).toMatchObject({
    headers: [
      ['X-Own', '1'],
      ['x-own', '1'],
    ],
  });
});

test('a hundred header fields, counted after lists of values became a field each', () => {
  const fields = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`);
  expect(read({ headers: { 'X-A': fields(60), 'X-B': fields(40) } })).toMatchObject({
    headers: expect.objectContaining({ length: 100 }),
  });
  const words = 'headers must make at most 100 header fields.';
  expect(read({ headers: { 'X-A': fields(60), 'X-B': fields(41) } })).toEqual([['headers', words]]);
  // What the service reads or ignores makes no field of its own.
  const read99 = { 'X-A': fields(100), Date: 'now', 'Reply-To': 'c@example.com' };
  expect(read({ headers: read99 })).toMatchObject({ replyTo: [{ local: 'c' }] });
});

test('a link to an attachment may have 2,048 characters, must be https, and brings its name', () => {
  const link = (path: string): unknown => {
    const value = { ...EMAIL, attachments: [{ path }] };
    const result = readEmail(value, { ...RULES, mayLink: true });
    return Array.isArray(result)
      ? result.map((fault) => [fault.path, fault.message])
      : [result.links[0]?.url, result.draft.attachments[0]?.filename];
  };
  const long = 'https://files.example/a%20b.pdf?'.padEnd(2_048, 'x');
  expect(link(long)).toEqual([long, 'a b.pdf']);
  const refused = [['attachments[0].path', 'attachments[0].path must be a public https URL.']];
  for (const url of [
    `${long}x`,
    'http://files.example/a.pdf',
    'https://me@files.example/a.pdf',
    'https://:secret@files.example/a.pdf',
    'https://files.example/a\n.pdf',
  ]) {
    expect([url, link(url)]).toEqual([url, refused]);
  }
});

test('headers are a map: an empty list is none, as PHP writes it, any other list is refused', () => {
  expect(read({ headers: [] })).toMatchObject({ headers: [] });
  expect(read({ headers: {} })).toMatchObject({ headers: [] });
  for (const headers of [['X-A: 1'], [{ name: 'X-A', value: '1' }]]) {
    expect(read({ headers })).toEqual([['headers', expect.stringMatching(/./)]]);
  }
});

test('an address without a name says so by null, in every field', () => {
  const address = { email: 'c@example.com', name: null };
  const found = { name: '', local: 'c', domain: 'example.com' };
  expect(read({ from: address })).toMatchObject({ from: found });
  for (const field of ['to', 'cc', 'bcc', 'reply_to', 'replyTo']) {
    const name = field === 'reply_to' ? 'replyTo' : field;
    for (const value of [address, [address]]) {
      expect(read({ [field]: value })).toMatchObject({ [name]: [found] });
    }
  }
});
