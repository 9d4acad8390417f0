/** Signed messages alone and in a crowd: the same bytes whichever thread makes them. */
import { afterEach, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';

import { createLog } from '../../../src/base/log.ts';
import { type Packed, Unpacker } from '../../../src/base/packing.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { compose } from '../../../src/mail/compose/compose.ts';
import type { ComposeInput } from '../../../src/mail/compose/compose.ts';
import { DkimSigner, generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import { verifyOwn } from '../../../src/mail/dkim/proof.ts';
import { UncomposableError, writeSigned } from '../../../src/mail/dkim/signed-message.ts';
import type { Content, Signed } from '../../../src/mail/dkim/signed-message.ts';
import { Libcrypto } from '../../../src/mail/dkim/libcrypto.ts';
import type { SignResult, ToSigningThread } from '../../../src/mail/dkim/signing-protocol.ts';
import { SigningWork } from '../../../src/mail/dkim/signing-work.ts';
import { startSigningWorker } from '../../../src/mail/dkim/signing-link.ts';
import { SigningPool } from '../../../src/mail/dkim/signing.ts';
import type { MessageSigner } from '../../../src/mail/dkim/signing.ts';
import { dotStuff, inspectMessage } from '../../../src/wire/smtp/body.ts';
import { TestClock } from '../../rig/clock.ts';
import { randomInput, seeded } from '../random.ts';

const key = await generateDkimKey();
const identity = {
  domain: 'sender.example',
  selector: 'pr1',
  privateKeyPem: key.privateKeyPem,
};

function parts(index: number, change: Partial<ComposeInput> = {}): Content {
  const input: ComposeInput = {
    from: 'Sender <news@sender.example>',
    to: [`user${index}@example.com`],
    cc: [],
    replyTo: [],
    subject: `Number ${index}`,
    html: `<p>${'hello '.repeat(index * 10)}</p>`,
    text: `Grüße ${index}`,
    headers: [],
    attachments: [],
    messageId: `<${index}@mail.example>`,
    date: new Date(0),
    feedbackId: null,
    ...change,
  };
  return { kind: 'parts', input };
}

const pools: SigningPool[] = [];
const workers: Worker[] = [];

afterEach(() => {
  for (const pool of pools.splice(0)) pool.stop();
  workers.length = 0;
});

interface Rig {
  pool: SigningPool;
  clock: TestClock;
  logged: Record<string, unknown>[];
  restarts: () => Promise<number>;
}

/** A pool of its own, whose threads stand in `workers`. */
function openPool(start: () => Worker = startSigningWorker): Rig {
  const clock = new TestClock();
  const metrics = new Metrics();
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const pool = new SigningPool({ clock, log, metrics }, () => {
    const worker = start();
    workers.push(worker);
    return worker;
  });
  pools.push(pool);
  const restarts = async (): Promise<number> =>
    Number(/^postrider_signing_thread_restarts_total (\d+)$/m.exec(await metrics.render())?.[1]);
  return { pool, clock, logged, restarts };
}

const heard = (worker: Worker | undefined, event: 'message' | 'close'): Promise<void> =>
  new Promise((resolve) => worker?.addEventListener(event, () => resolve(), { once: true }));

function signAll(contents: readonly Content[], signers: MessageSigner[]): Promise<Signed[]> {
  return Promise.all(
    contents.map((content, index) => {
      const signer = signers[index % signers.length];
      if (signer === undefined) throw new Error('no signer');
      return signer.sign(content);
    }),
  );
}

/** Signs a crowd, waits until the thread that this starts is up, and signs the crowd on it. */
async function crowd(contents: Content[], signers: MessageSigner[]): Promise<Signed[]> {
  const before = workers.length;
  const first = signAll(contents, signers);
  if (workers.length > before) await heard(workers.at(-1), 'message');
  await first;
  return signAll(contents, signers);
}

test('a crowd gets the bytes that each would get alone, and they verify', async () => {
  const { pool } = openPool();
  const signers = [pool.signer(identity), pool.signer({ ...identity, selector: 'pr2' })];
  const attachment = {
    filename: 'a.bin',
    contentType: 'application/octet-stream',
    contentId: null,
    content: new Uint8Array(100_000).fill(7),
  };
  const contents = Array.from({ length: 40 }, (_, index) =>
    index % 10 === 9
      ? ({
          kind: 'whole',
          bytes: Buffer.from(`From: a@sender.example\r\n\r\n${index}\r\n`),
          feedbackField: `Feedback-ID: ${index}\r\n`,
        } as const)
      : parts(index, index % 10 === 5 ? { attachments: [attachment] } : {}),
  );
  const signed = await crowd(contents, signers);
  const alone = openPool().pool.signer(identity);
  const published = (): Promise<string[]> => Promise.resolve([`v=DKIM1; p=${key.publicKeyBase64}`]);
  for (const [index, { message, data }] of signed.entries()) {
    expect(message.toString('latin1').startsWith('DKIM-Signature: ')).toBe(true);
    // As DATA transfers it, unless others wrote or built it.
    const isOurs = index % 10 !== 5 && index % 10 !== 9;
    expect(data?.toString()).toBe(isOurs ? `${message.toString()}.\r\n` : undefined);
    const content = contents[index];
    if (content === undefined || index % 2 === 1) continue;
    expect(message.equals((await alone.sign(content)).message)).toBe(true);
  }
  const odd = signed[9]?.message ?? Buffer.alloc(0);
  expect(odd.toString()).toContain('s=pr2;');
  expect(await verifyOwn(odd, published)).toEqual({ isProven: true, reason: 'pass' });
});

test('what cannot be composed is refused with its reason, and harms no other', async () => {
  const signer = openPool().pool.signer(identity);
  const contents = Array.from({ length: 20 }, (_, index) =>
    parts(index, index === 7 ? { headers: [['From', 'x@example.com']] } : {}),
  );
  await crowd(contents.slice(8, 16), [signer]);
  const settled = await Promise.allSettled(contents.map((content) => signer.sign(content)));
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  const { reason } = settled[7] as PromiseRejectedResult;
  // Whichever thread it came to says so: another try is no use.
  expect(reason).toBeInstanceOf(UncomposableError);
  expect(String(reason)).toContain('From');
});

test('a text part out of html is made on the thread alone, also for a single message', async () => {
  const { pool, logged } = openPool();
  const signer = pool.signer(identity);
  const plain = parts(1, { text: null, html: '<p>Only <b>html</b></p>' });
  if (plain.kind !== 'parts') throw new Error('not parts');
  const wanted: Content = { ...plain, isTextWanted: true };
  const textOf = async (content: Content): Promise<string | undefined> => {
    const { message } = await signer.sign(content);
    const published = [`v=DKIM1; p=${key.publicKeyBase64}`];
    expect(await verifyOwn(message, () => Promise.resolve(published))).toMatchObject({
      isProven: true,
    });
    return (await PostalMime.parse(message)).text;
  };
  expect(await textOf(wanted)).toBe('Only html\n');
  expect(workers).toHaveLength(1);
  expect(await textOf(wanted)).toBe('Only html\n');
  expect(workers).toHaveLength(1);
  expect((await signer.sign(plain)).message.toString()).not.toContain('text/plain');
  const own = { ...plain, input: { ...plain.input, text: 'mine' }, isTextWanted: true } as const;
  expect(await textOf(own)).toBe('mine\n');

  // Without a thread the message leaves all the same.
  const underWay = signer.sign(wanted);
  workers[0]?.terminate();
  expect((await underWay).message.toString()).toContain('<p>Only <b>html</b></p>');
  expect(logged.map(({ event }) => event)).toEqual(['signing_thread_died']);
  expect((await signer.sign(wanted)).message.toString()).not.toContain('text/plain');
});

/** 40 messages, and the bytes that each gets from a signer without any thread. */
async function expected(): Promise<{ contents: Content[]; bytes: Buffer[] }> {
  const contents = Array.from({ length: 40 }, (_, index) => parts(index));
  const signer = new DkimSigner(identity);
  const bytes = await Promise.all(
    contents.map(async (content) => (await writeSigned(content, signer)).message),
  );
  return { contents, bytes };
}

const bytesOf = (signed: readonly Signed[]): string[] =>
  signed.map(({ message }) => message.toString('latin1'));

test('a thread that is killed is started again, logged and counted; no signature is lost or different', async () => {
  const { contents, bytes } = await expected();
  const right = bytes.map((message) => message.toString('latin1'));
  const { pool, clock, logged, restarts } = openPool();
  const signers = [pool.signer(identity)];
  expect(bytesOf(await crowd(contents, signers))).toEqual(right);

  // Killed while it has work.
  const closed = heard(workers[0], 'close');
  const underWay = signAll(contents, signers);
  await heard(workers[0], 'message');
  workers[0]?.terminate();
  expect(bytesOf(await underWay)).toEqual(right);
  await closed;
  expect(logged.map(({ event }) => event)).toEqual(['signing_thread_died']);
  expect(logged[0]?.['signed_by_main_thread']).toBeGreaterThan(0);

  // Not at once, but after a second of the clock.
  expect(bytesOf(await signAll(contents, signers))).toEqual(right);
  expect(workers).toHaveLength(1);
  expect(await restarts()).toBe(0);
  clock.pass(1_000);
  expect(bytesOf(await crowd(contents, signers))).toEqual(right);
  expect(workers).toHaveLength(2);
  expect(logged.map(({ event }) => event)).toEqual([
    'signing_thread_died',
    'signing_thread_restarted',
  ]);
  expect(await restarts()).toBe(1);
  const published = (): Promise<string[]> => Promise.resolve([`v=DKIM1; p=${key.publicKeyBase64}`]);
  const [last] = (await crowd(contents.slice(0, 8), signers)).slice(-1);
  expect(await verifyOwn(last?.message ?? Buffer.alloc(0), published)).toMatchObject({
    isProven: true,
  });
});

test('messages one after the other start a thread too, from 50 in ten seconds on, and then cross alone', async () => {
  const { contents, bytes } = await expected();
  const right = bytes.map((message) => message.toString('latin1'));
  const { pool, clock } = openPool();
  const signer = pool.signer(identity);
  const signNext = async (index: number): Promise<void> => {
    const at = index % contents.length;
    expect(bytesOf(await signAll(contents.slice(at, at + 1), [signer]))).toEqual([right[at] ?? '']);
  };
  // Four a second are not enough, however long.
  for (let index = 0; index < 200; index += 1) {
    await signNext(index);
    clock.pass(250);
  }
  expect(workers).toHaveLength(0);
  // Five a second are.
  let signed = 0;
  for (; workers.length === 0 && signed < 200; signed += 1) {
    await signNext(signed);
    clock.pass(200);
  }
  expect(signed).toBeLessThanOrEqual(100);
  await heard(workers[0], 'message');
  for (let index = 0; index < 3; index += 1) {
    const answered = heard(workers[0], 'message');
    await signNext(index);
    await answered;
  }
});

test('a thread that fails at every start is started less and less often, and mail is signed', async () => {
  const { contents, bytes } = await expected();
  const right = bytes.map((message) => message.toString('latin1'));
  const missing = new URL('./no-such-thread.ts', import.meta.url).href;
  const { pool, clock, logged } = openPool(() => new Worker(missing));
  const signers = [pool.signer(identity)];
  for (let second = 0; second < 100; second += 1) {
    const before = workers.length;
    const load = signAll(contents.slice(0, 8), signers);
    if (workers.length > before) await heard(workers.at(-1), 'close');
    expect(bytesOf(await load)).toEqual(right.slice(0, 8));
    clock.pass(1_000);
  }
  // At 0, 1, 3, 7, 15, 31 and 63 seconds; then once a minute.
  expect(workers).toHaveLength(7);
  expect(logged.filter(({ event }) => event === 'signing_thread_died')).toHaveLength(7);
});

test('a pool that is stopped ends its thread without a log line, and still signs', async () => {
  const { contents, bytes } = await expected();
  const { pool, logged } = openPool();
  const signers = [pool.signer(identity)];
  await crowd(contents, signers);
  const closed = heard(workers[0], 'close');
  const underWay = signAll(contents, signers);
  pool.stop();
  expect(bytesOf(await underWay)).toEqual(bytes.map((message) => message.toString('latin1')));
  await closed;
  await signAll(contents, signers);
  expect(workers).toHaveLength(1);
  expect(logged).toEqual([]);
});

test('more signers than a thread keeps: it forgets them all, and is given each again', async () => {
  let forgotten = 0;
  const unpacker = new Unpacker();
  const { pool } = openPool(() => {
    const worker = startSigningWorker();
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (packed: Packed) => {
      const { kind } = unpacker.unpack(packed) as ToSigningThread;
      if (kind === 'forget') forgotten += 1;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Worker has no origin
      post(packed);
    };
    return worker;
  });
  const signers = Array.from({ length: 1_001 }, (_, at) =>
    pool.signer({ ...identity, selector: `pr${at}` }),
  );
  const content = parts(1);
  await crowd(
    Array.from({ length: 8 }, () => content),
    signers.slice(0, 8),
  );
  for (const asked of [signers, signers.slice(0, 3)]) {
    const signed = await signAll(
      asked.map(() => content),
      asked,
    );
    const wrong = signed.filter(
      ({ message }, at) => !message.subarray(0, 200).toString('latin1').includes(`s=pr${at};`),
    );
    expect(wrong).toEqual([]);
  }
  expect(workers).toHaveLength(1);
  // Once for the one signer too many: a thread that forgets at each would read each key anew.
  expect(forgotten).toBe(1);
});

test('the library is looked for once, also where it is missing', async () => {
  let opened = 0;
  const results: SignResult[] = [];
  const work = new SigningWork(
    (message) => results.push(...(message.kind === 'signed' ? message.results : [])),
    () => {
      opened += 1;
      return Libcrypto.open('libcrypto.so.none');
    },
  );
  const requests = [1, 2, 3].map((signerId) => ({
    ticket: signerId,
    signerId,
    identity: { ...identity, selector: `pr${signerId}` },
    content: parts(signerId),
  }));
  await work.take({ kind: 'sign', requests });
  await work.take({ kind: 'forget' });
  await work.take({ kind: 'sign', requests });
  expect(results.map((result) => 'bytes' in result)).toEqual(Array.from({ length: 6 }, () => true));
  expect(opened).toBe(1);
});

test('500 random messages are the same by text as by bytes, and their data what DATA transfers', async () => {
  const signer = new DkimSigner(identity);
  let ready = 0;
  for (let seed = 30_000; seed < 30_500; seed += 1) {
    const input = randomInput(seeded(seed), seed);
    const { message, data } = await writeSigned({ kind: 'parts', input }, signer);
    const bytes = await compose(input);
    const expected = Buffer.concat([Buffer.from(await signer.sign(bytes)), bytes]);
    expect([seed, message.equals(expected)]).toEqual([seed, true]);
    if (data === null) continue;
    ready += 1;
    const { isClean, hasEightBit, dots } = inspectMessage(message);
    expect([seed, isClean, hasEightBit]).toEqual([seed, true, false]);
    expect([seed, data.equals(dotStuff(message, dots))]).toEqual([seed, true]);
  }
  expect(ready).toBeGreaterThan(100);
}, 60_000);

test('a line that begins with a dot, and an address beyond ASCII, have no data at hand', async () => {
  const signer = new DkimSigner(identity);
  for (const change of [
    { text: 'a\n.b\n', html: null },
    { text: 'a', to: ['grüße@example.com'] },
  ]) {
    const { message, data } = await writeSigned(parts(1, change), signer);
    expect(data).toBeNull();
    expect(message.toString()).toStartWith('DKIM-Signature: ');
  }
});
