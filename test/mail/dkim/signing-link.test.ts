/**
 * The link to a signing thread: what is said to the thread and what comes back, in order; and when it has ended, whoever
 * comes signs by its own way, and none waits for ever.
 */
import { expect, test } from 'bun:test';

import { Unpacker, type Packed } from '../../../src/base/packing.ts';
import { UncomposableError } from '../../../src/mail/dkim/signed-message.ts';
import { SigningLink, startSigningWorker } from '../../../src/mail/dkim/signing-link.ts';
import type { SignTask } from '../../../src/mail/dkim/signing-link.ts';
import type {
  FromSigningThread,
  ToSigningThread,
} from '../../../src/mail/dkim/signing-protocol.ts';

const OWN = { own: true } as never;

function taskOf(signerId: number): SignTask {
  return {
    signerId,
    identity: { domain: `s${signerId}.example`, selector: 's', privateKeyPem: '' },
    content: {},
    bySelf: () => Promise.resolve(OWN),
  } as unknown as SignTask;
}

/** A thread that does nothing but note what it is told. */
function noting() {
  const said: ToSigningThread[] = [];
  const marks: string[] = [];
  const unpacker = new Unpacker();
  const worker = Object.assign(new EventTarget(), {
    postMessage: (packed: Packed) => void said.push(unpacker.unpack(packed) as ToSigningThread),
    ref: () => void marks.push('ref'),
    unref: () => void marks.push('unref'),
    terminate: () => void marks.push('terminate'),
  });
  const deaths: [string, number][] = [];
  const link = new SigningLink(worker as unknown as Worker, (cause, left) =>
    deaths.push([cause, left]),
  );
  return {
    link,
    said,
    marks,
    deaths,
    answer: (data: FromSigningThread) =>
      worker.dispatchEvent(new MessageEvent('message', { data })),
    fail: (message: string) => worker.dispatchEvent(new ErrorEvent('error', { message })),
    close: () => worker.dispatchEvent(new Event('close')),
  };
}

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What the thread was told, in short: tickets with their signer, and a star where the key goes with it. */
const inShort = (said: readonly ToSigningThread[]): string[] =>
  said.map((one) =>
    one.kind === 'forget'
      ? 'forget'
      : one.requests
          .map(({ ticket, signerId, identity }) => `${ticket}:${signerId}${identity ? '*' : ''}`)
          .join(' '),
  );

test('what waits as the thread is ended, and what comes after, is signed by its own way', async () => {
  const deaths: [string, number][] = [];
  const link = new SigningLink(startSigningWorker(), (cause, left) => deaths.push([cause, left]));
  const task = taskOf(1);
  const waiting = link.sign(task);
  link.stop();
  expect(await waiting).toBe(OWN);
  expect(await link.sign(task)).toBe(OWN);
  expect(link.isUsable).toBe(false);
  // An end that was asked for is no death to be told.
  expect(deaths).toEqual([]);
});

test('a signature by its own way that fails, fails what waited', async () => {
  const { link, fail } = noting();
  const bySelf = () => Promise.reject(new Error('no key'));
  const waiting = link.sign({ ...taskOf(1), bySelf });
  fail('error: gone');
  expect(await waiting.catch(String)).toBe('Error: no key');
});

test('requests of one round go together, a key goes once, and each answer finds who asked', async () => {
  const { link, said, marks, answer } = noting();
  expect([link.isUsable, marks]).toEqual([false, ['unref']]);
  answer({ kind: 'started' });
  expect(link.isUsable).toBe(true);
  const waiting = [1, 2, 1].map((id) => link.sign(taskOf(id)).catch((error: unknown) => error));
  expect(said).toEqual([]);
  await round();
  expect(inShort(said)).toEqual(['1:1* 2:2* 3:1']);
  // The process stays for as long as one waits, and no longer.
  expect(marks).toEqual(['unref', 'ref']);
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  answer({
    kind: 'signed',
    results: [
      { ticket: 3, bytes: bytes('three\r\n.\r\n'), form: 'data' },
      { ticket: 1, error: 'too long', isUncomposable: true },
    ],
  });
  expect(marks).toEqual(['unref', 'ref']);
  answer({ kind: 'signed', results: [{ ticket: 2, error: 'no key', isUncomposable: false }] });
  expect(marks).toEqual(['unref', 'ref', 'unref']);
  const [one, two, three] = await Promise.all(waiting);
  expect([one instanceof UncomposableError, String(one)]).toEqual([
    true,
    'UncomposableError: too long',
  ]);
  expect([two instanceof UncomposableError, String(two)]).toEqual([false, 'Error: no key']);
  const signed = three as { message: Buffer; data: Buffer | null };
  expect([signed.message.toString(), signed.data?.toString()]).toEqual([
    'three\r\n',
    'three\r\n.\r\n',
  ]);
});

test('a thousand keys are kept; with one more all are forgotten, behind the requests before', async () => {
  const { link, said } = noting();
  for (let id = 1; id <= 1_000; id += 1) void link.sign(taskOf(id));
  void link.sign(taskOf(1_000));
  await round();
  expect(said.map(({ kind }) => kind)).toEqual(['sign']);
  void link.sign(taskOf(7));
  void link.sign(taskOf(1_001));
  void link.sign(taskOf(7));
  await round();
  expect(inShort(said.slice(1))).toEqual(['1002:7', 'forget', '1003:1001* 1004:7*']);
});

test.each<[string, (thread: ReturnType<typeof noting>) => unknown, string]>([
  ['an error', ({ fail }) => fail('12 | code\nerror: out of memory\n  at x'), 'out of memory'],
  ['an error in one line', ({ fail }) => fail('gone\nsecond'), 'gone'],
  ['an error of many words', ({ fail }) => fail(`error: ${'x'.repeat(600)}`), 'x'.repeat(500)],
  ['an error without any', ({ fail }) => fail(''), 'an error without words'],
  ['an end', ({ close }) => close(), 'the thread ended'],
])('a thread that dies of %s is told once, with how many waited', async (_, die, cause) => {
  const thread = noting();
  const { link, said, marks, deaths, answer, close } = thread;
  answer({ kind: 'started' });
  const waiting = [link.sign(taskOf(1)), link.sign(taskOf(2))];
  die(thread);
  close();
  expect(link.isUsable).toBe(false);
  expect(deaths).toEqual([[cause, 2]]);
  expect(await Promise.all(waiting)).toEqual([OWN, OWN]);
  // What was not sent yet is not sent to a thread that is gone, and nothing keeps the process.
  await round();
  expect([said, marks.at(-1)]).toEqual([[], 'unref']);
  answer({ kind: 'started' });
  expect(link.isUsable).toBe(false);
});
