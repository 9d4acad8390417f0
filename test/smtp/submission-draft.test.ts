/** From a submitted message to a draft: who is listed where, tags, idempotency keys, and what makes two the same. */
import { expect, test } from 'bun:test';

import { ApiError } from '../../src/base/errors.ts';
import { parseAddress, type Mailbox } from '../../src/mail/header/address.ts';
import type { Submission } from '../../src/mail/compose/repair.ts';
import { contentHash, draftOf, idempotencyKey } from '../../src/smtp/submission-draft.ts';

function mailbox(text: string): Mailbox {
  const parsed = parseAddress(text);
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed;
}

const SUBMISSION: Submission = {
  bytes: Buffer.from('raw'),
  from: mailbox('hello@acme.example'),
  to: [mailbox('Ann <ann@receiver.example>')],
  cc: [mailbox('Bo <bo@receiver.example>')],
  replyTo: [],
  subject: 's',
  messageId: '<1@mail.example>',
  tags: [],
  idempotencyKey: null,
  contentDigest: 'digest',
  sender: null,
  attachmentBytes: 0,
  wantsUnsubscribe: false,
};
const ENVELOPE = ['ANN@receiver.example', 'bo@receiver.example', 'cy@receiver.example'].map(
  mailbox,
);

function issuesOf(work: () => unknown): unknown {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, error.errorName, error.detail?.issues?.map(({ path }) => path)];
  }
}

test('the envelope says who gets it, the header where each is listed and by which name', () => {
  const { to, cc, bcc } = draftOf('id', SUBMISSION, ENVELOPE);
  const shown = (list: readonly Mailbox[]) => list.map(({ name, local }) => [name, local]);
  expect([to, cc, bcc].map(shown)).toEqual([[['Ann', 'ANN']], [['Bo', 'bo']], [['', 'cy']]]);
  // Whom the header names and the envelope does not, gets nothing.
  expect(draftOf('id', SUBMISSION, ENVELOPE.slice(2))).toMatchObject({ to: [], cc: [] });
});

test('a recipient that the header names twice is listed where it stands first, as it stands there', () => {
  const submission: Submission = {
    ...SUBMISSION,
    to: [mailbox('Ann <Ann@Receiver.example>'), mailbox('Anna <ann@receiver.example>')],
    cc: [mailbox('A. <ANN@receiver.example>'), mailbox('Bo <bo@receiver.example>')],
  };
  const draft = draftOf('id', submission, [mailbox('ann@receiver.example')]);
  expect([draft.to, draft.cc, draft.bcc]).toEqual([
    [{ ...mailbox('ann@receiver.example'), name: 'Ann' }],
    [],
    [],
  ]);
});

test('the draft has what the message says of itself, and its bytes as they came', () => {
  const submission: Submission = {
    ...SUBMISSION,
    replyTo: [mailbox('desk@acme.example')],
    tags: [{ name: 'kind', value: 'invoice' }],
    sender: mailbox('robot@acme.example'),
    attachmentBytes: 77,
    wantsUnsubscribe: true,
  };
  const draft = draftOf('id', submission, []);
  expect(draft).toEqual({
    id: 'id',
    from: mailbox('hello@acme.example'),
    to: [],
    cc: [],
    bcc: [],
    replyTo: [mailbox('desk@acme.example')],
    subject: 's',
    html: null,
    text: null,
    headers: [],
    attachments: [],
    tags: [{ name: 'kind', value: 'invoice' }],
    raw: Buffer.from('raw'),
    messageId: '<1@mail.example>',
    sender: mailbox('robot@acme.example'),
    attachmentBytes: 77,
    wantsUnsubscribe: true,
  });
  // Without a Sender it has no such field.
  expect(Object.keys(draftOf('id', SUBMISSION, []))).not.toContain('sender');
});

test('fifty tags of 256 characters are taken, what is beyond or of other characters is refused', () => {
  const tagged = (tags: Submission['tags']) =>
    issuesOf(() => draftOf('id', { ...SUBMISSION, tags }, ENVELOPE));
  const tags = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `t${at}`, value: 'v' }));
  expect(tagged(tags(50))).toBeNull();
  expect(tagged(tags(51))).toEqual([422, 'validation_error', ['tags']]);
  const long = 'a'.repeat(256);
  expect(tagged([{ name: long, value: long }])).toBeNull();
  for (const [name, value] of [
    [`${long}a`, 'v'],
    ['n', `${long}a`],
    ['n', ''],
    ['n', 'a b'],
    ['n', 'ü'],
    ['__proto__', 'v'],
  ] as const) {
    expect(tagged([{ name, value }])).toEqual([422, 'validation_error', [`X-Tag-${name}`]]);
  }
});

test('an idempotency key has 1 to 256 characters', () => {
  const keyed = (key: string | null) => () =>
    idempotencyKey({ ...SUBMISSION, idempotencyKey: key });
  expect(keyed(null)()).toBeNull();
  expect(keyed('k'.repeat(256))()).toBe('k'.repeat(256));
  for (const key of ['', 'k'.repeat(257)]) {
    expect(issuesOf(keyed(key))).toEqual([400, 'invalid_idempotency_key', ['Idempotency-Key']]);
  }
});

test('whatever a reader or a program would see differently is another submission', () => {
  const hash = (change: Partial<Submission>, envelope = ENVELOPE): string =>
    contentHash({ ...SUBMISSION, ...change }, envelope);
  const same = hash({});
  expect(hash({}, ENVELOPE.toReversed())).toBe(same);
  // In the order of the text that is compared, however it is spelled.
  const loud = ['ann@receiver.example', 'BO@receiver.example', 'Cy@receiver.example'];
  expect(hash({}, loud.map(mailbox))).toBe(same);
  // A program that tries again makes new ones of these.
  expect(hash({ messageId: '<2@mail.example>', bytes: Buffer.from('other') })).toBe(same);
  const other = mailbox('x@acme.example');
  for (const change of [
    { from: other },
    { to: [other] },
    { cc: [] },
    { replyTo: [other] },
    { subject: 't' },
    { tags: [{ name: 'a', value: 'b' }] },
    { contentDigest: 'other' },
  ]) {
    expect([change, hash(change)]).not.toEqual([change, same]);
  }
  expect(hash({}, ENVELOPE.slice(1))).not.toBe(same);
});
