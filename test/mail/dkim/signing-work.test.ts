/** The work of the signing thread, without a thread: what it answers, how many answers go together, and in which order. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import type { ComposeInput } from '../../../src/mail/compose/compose.ts';
import { DkimSigner, generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import {
  takeSigned,
  UncomposableError,
  writeSigned,
  type Content,
} from '../../../src/mail/dkim/signed-message.ts';
import type {
  FromSigningThread,
  SignRequest,
  SignResult,
} from '../../../src/mail/dkim/signing-protocol.ts';
import { SigningWork } from '../../../src/mail/dkim/signing-work.ts';

const key = await generateDkimKey();
const identity = { domain: 's.example', selector: 'pr1', privateKeyPem: key.privateKeyPem };

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

const parts = (change: Partial<ComposeInput> = {}): Content => ({
  kind: 'parts',
  input: {
    from: 'a@s.example',
    to: ['b@y.example'],
    cc: [],
    replyTo: [],
    subject: 'x',
    html: null,
    text: 'hello',
    headers: [],
    attachments: [],
    messageId: '<1@s.example>',
    date: new Date(0),
    feedbackId: null,
    ...change,
  },
});
const whole = (text: string): Content => ({
  kind: 'whole',
  bytes: Buffer.from(text),
  feedbackField: '',
});

function start() {
  const posted: FromSigningThread[] = [];
  const work = new SigningWork(
    (message) => posted.push(message),
    () => null,
  );
  let tickets = 0;
  const request = (content: Content, change: Partial<SignRequest> = {}): SignRequest => ({
    ticket: (tickets += 1),
    signerId: 1,
    identity,
    content,
    ...change,
  });
  const results = (): SignResult[] =>
    posted.flatMap((message) => (message.kind === 'signed' ? message.results : []));
  return { posted, work, request, results };
}

test('answers go four together, in the order of the requests, and the rest at the end of each message', async () => {
  const { posted, work, request } = start();
  const all = Array.from({ length: 9 }, () => request(parts()));
  const [first, second] = [all.slice(0, 8), all.slice(8)];
  await Promise.all([
    work.take({ kind: 'sign', requests: first }),
    work.take({ kind: 'sign', requests: second }),
  ]);
  await work.take({ kind: 'sign', requests: [] });
  expect(
    posted.map((message) => message.kind === 'signed' && message.results.map((one) => one.ticket)),
  ).toEqual([[1, 2, 3, 4], [5, 6, 7, 8], [9]]);
});

test('an answer has the bytes that the main thread would write, alone in their memory', async () => {
  const { work, request, results } = start();
  const contents = [
    parts(),
    whole('From: a@s.example\r\n\r\nx\r\n'),
    parts({ html: '<p>Only html</p>', text: null }),
    whole('From: a@s.example\r\n\r\nx'),
  ];
  await work.take({ kind: 'sign', requests: contents.map((content) => request(content)) });
  const signer = new DkimSigner(identity);
  const forms: string[] = [];
  for (const [at, content] of contents.entries()) {
    const { message, data, dotted } = await writeSigned(content, signer);
    const result = results()[at];
    if (result === undefined || 'error' in result) throw new Error('not signed');
    expect(Buffer.from(result.bytes).equals(data ?? dotted ?? message)).toBe(true);
    expect(result.bytes.buffer.byteLength).toBe(result.bytes.length);
    forms.push(result.form);
    expect(takeSigned(Buffer.from(result.bytes), result.form)).toEqual({ message, data, dotted });
  }
  expect(forms).toEqual(['data', 'dotted', 'data', 'message']);
});

test('what cannot be signed says why, and harms no other', async () => {
  const { work, request, results } = start();
  const requests = [
    request(parts({ headers: [['From', 'x@y.example']] })),
    request(parts(), { signerId: 2, identity: null }),
    request(parts(), { signerId: 3, identity: { ...identity, privateKeyPem: 'no key' } }),
    request(parts()),
    request({ ...whole('From: ü@s.example\r\n\r\nx\r\n'), mustBeAscii: true } as Content),
  ];
  await work.take({ kind: 'sign', requests });
  const said = results().map((one) =>
    'error' in one ? [one.ticket, one.isUncomposable, one.error] : [one.ticket, 'signed'],
  );
  expect(said).toEqual([
    [1, true, expect.stringContaining('From') as string],
    [2, false, 'the signing thread does not have the key'],
    [3, false, expect.any(String) as string],
    [4, 'signed'],
    [5, true, 'it cannot be written in ASCII'],
  ]);
});

test('a key is kept for those who come without it, until all are forgotten and freed, behind what came before', async () => {
  const { work, request, results } = start();
  const freed = spyOn(DkimSigner.prototype, 'free');
  undo.push(() => freed.mockRestore());
  const more = () => request(parts(), { identity: null });
  const two = request(parts(), { signerId: 2, identity: { ...identity, selector: 'pr2' } });
  void work.take({ kind: 'sign', requests: [request(parts()), more(), two] });
  void work.take({ kind: 'forget' });
  await work.take({ kind: 'sign', requests: [more()] });
  expect(results().map((one) => ('error' in one ? one.error : 'signed'))).toEqual([
    'signed',
    'signed',
    'signed',
    'the signing thread does not have the key',
  ]);
  expect(freed).toHaveBeenCalledTimes(2);
  await work.take({ kind: 'forget' });
  expect(freed).toHaveBeenCalledTimes(2);
});

test.each<[words: string, content: Content, isMade: boolean]>([
  [
    'is wanted',
    { ...parts({ html: '<p>Hi</p>', text: null }), isTextWanted: true } as Content,
    true,
  ],
  ['is not wanted', parts({ html: '<p>Hi</p>', text: null }), false],
  [
    'was given',
    { ...parts({ html: '<p>Hi</p>', text: 'mine' }), isTextWanted: true } as Content,
    false,
  ],
  [
    'has no html to be made of',
    { ...parts({ text: 'mine' }), isTextWanted: true } as Content,
    false,
  ],
])('a text part that %s', async (_words, content, isMade) => {
  const { work, request, results } = start();
  await work.take({ kind: 'sign', requests: [request(content)] });
  const [result] = results();
  if (result === undefined || 'error' in result) throw new Error('not signed');
  expect(Buffer.from(result.bytes).toString().includes('\r\n\r\nHi\r\n')).toBe(isMade);
});

/** Parts that end in an error of this kind as soon as they are read. */
function failing(error: Error): Content {
  const content = parts();
  if (content.kind !== 'parts') throw new Error('not parts');
  Object.defineProperty(content.input, 'from', {
    get() {
      throw error;
    },
  });
  return content;
}

test('only what the content is at fault for can never be composed, and its cause is kept', async () => {
  const signer = new DkimSigner(identity);
  const caught = async (content: Content): Promise<Error> =>
    writeSigned(content, signer).then(
      () => new Error('signed'),
      (error: unknown) => error as Error,
    );
  const own = new TypeError('odd');
  const refused = await caught(failing(own));
  expect([refused instanceof UncomposableError, refused.message, refused.cause]).toEqual([
    true,
    'odd',
    own,
  ]);
  // Too little memory says nothing of the message.
  const memory = new RangeError('Out of memory');
  expect(await caught(failing(memory))).toBe(memory);
  const unsigned = await caught(whole('Subject: no From\r\n\r\nx\r\n'));
  expect([unsigned instanceof UncomposableError, unsigned.message]).toEqual([
    false,
    'cannot sign: the message has no From',
  ]);
});

test('what DATA transfers is the message and the final dot, in memory of its own', async () => {
  const { message, data } = await writeSigned(parts(), new DkimSigner(identity));
  expect(data?.toString()).toBe(`${message.toString()}.\r\n`);
  expect(message.toString()).toEndWith('\r\n\r\nhello\r\n');
  expect(data?.buffer.byteLength).toBe(data?.length);
});
