/** When work goes to a thread and when not, at each bound; when a dead thread is started again, and what is logged. */
import { expect, test } from 'bun:test';

import { createLog } from '../../../src/base/log.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { Unpacker, type Packed } from '../../../src/base/packing.ts';
import type { ComposeInput } from '../../../src/mail/compose/compose.ts';
import type { Content, Signed } from '../../../src/mail/dkim/signed-message.ts';
import type { SignTask } from '../../../src/mail/dkim/signing-link.ts';
import type { ToSigningThread } from '../../../src/mail/dkim/signing-protocol.ts';
import { SigningPool } from '../../../src/mail/dkim/signing.ts';
import { TestClock } from '../../rig/clock.ts';

const OWN = { own: true } as unknown as Signed;
const LARGE = 256 * 1024;

/** A thread that takes what it is told and never answers. */
class Silent extends EventTarget {
  readonly said: ToSigningThread[] = [];
  readonly #unpacker = new Unpacker();
  isEnded = false;
  ref(): void {}
  unref(): void {}
  terminate(): void {
    this.isEnded = true;
  }
  postMessage(packed: Packed): void {
    this.said.push(this.#unpacker.unpack(packed) as ToSigningThread);
  }
  start(): void {
    this.dispatchEvent(new MessageEvent('message', { data: { kind: 'started' } }));
  }
  end(): void {
    this.dispatchEvent(new Event('close'));
  }
  /** Messages that it was asked to sign. */
  get asked(): number {
    return this.said.reduce(
      (sum, message) => sum + (message.kind === 'sign' ? message.requests.length : 0),
      0,
    );
  }
}

function opened(cores?: number) {
  const clock = new TestClock();
  const logged: Record<string, unknown>[] = [];
  const threads: Silent[] = [];
  const log = createLog(
    (line) => logged.push(JSON.parse(line) as Record<string, unknown>),
    () => clock.now(),
  );
  const metrics = new Metrics();
  const start = (): Worker => {
    const thread = new Silent();
    threads.push(thread);
    return thread as unknown as Worker;
  };
  const pool = new SigningPool({ clock, log, metrics }, start, cores);
  return { pool, clock, logged, threads, metrics };
}

const input = (change: Partial<ComposeInput> = {}): Content => ({
  kind: 'parts',
  input: { html: null, text: null, attachments: [], ...change } as ComposeInput,
});
const whole = (length: number): Content => ({
  kind: 'whole',
  bytes: Buffer.alloc(length),
  feedbackField: '',
});

/** One that must go to a thread. */
const withText: Content = { ...input(), isTextWanted: true } as Content;

/** A task that is signed here at once, or when `until` is over. */
const taskOf = (content: Content = input(), until?: Promise<unknown>): SignTask => ({
  signerId: 1,
  identity: { domain: 'd.example', selector: 's', privateKeyPem: '' },
  content,
  bySelf: async () => (await until, OWN),
});

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const file = (length: number) =>
  ({ filename: '', contentType: '', contentId: null, content: new Uint8Array(length) }) as const;

test.each<[string, boolean, Content]>([
  ['nothing', false, input()],
  ['a message of 262,143 bytes', false, whole(LARGE - 1)],
  ['one of 262,144', true, whole(LARGE)],
  ['html of 262,143 characters', false, input({ html: 'x'.repeat(LARGE - 1) })],
  ['html of 262,144', true, input({ html: 'x'.repeat(LARGE) })],
  ['text of 262,144', true, input({ text: 'x'.repeat(LARGE) })],
  ['html and text of as many together', true, input({ html: 'x', text: 'x'.repeat(LARGE - 1) })],
  ['two files of less', false, input({ attachments: [file(LARGE / 2), file(LARGE / 2 - 1)] })],
  ['two files of as many', true, input({ attachments: [file(LARGE / 2), file(LARGE / 2)] })],
  ['a text to be made', true, { ...input(), isTextWanted: true } as Content],
  ['no text to be made', false, { ...input(), isTextWanted: false } as Content],
])('a single message, %s: on a thread %p', async (_, isThreads, content) => {
  const { pool, threads } = opened();
  const signing = pool.run(taskOf(content));
  await round();
  expect([threads.length, threads[0]?.said.length ?? 0]).toEqual(isThreads ? [1, 1] : [0, 0]);
  pool.stop();
  expect(await signing).toBe(OWN);
});

test('the sixth at once starts a thread, which is used when it says that it has started', async () => {
  const { pool, threads } = opened();
  const over = Promise.withResolvers<void>();
  const first = [1, 2, 3, 4, 5].map(() => pool.run(taskOf(input(), over.promise)));
  expect(threads).toHaveLength(0);
  const sixth = pool.run(taskOf(input(), over.promise));
  expect(threads).toHaveLength(1);
  over.resolve();
  const ends = await Promise.all([...first, sixth]);
  expect(ends.map((end) => end === OWN)).toEqual(ends.map(() => true));
  await round();
  expect(threads[0]?.said).toEqual([]);
  threads[0]?.start();
  const next = pool.run(taskOf());
  await round();
  expect(threads[0]?.said.map(({ kind }) => kind)).toEqual(['sign']);
  pool.stop();
  expect([await next, threads[0]?.isEnded]).toEqual([OWN, true]);
});

test('those that have ended do not count, and one that fails has ended', async () => {
  const { pool, threads } = opened();
  for (let count = 0; count < 20; count += 1) {
    await pool.run(taskOf(input(), Promise.reject(new Error('no')))).catch(() => undefined);
  }
  expect(threads).toHaveLength(0);
});

test('the fiftieth within ten seconds starts a thread, one more millisecond and the count begins anew', async () => {
  const startsAt = async (lastMs: number): Promise<number> => {
    const { pool, clock, threads } = opened();
    clock.pass(60_000);
    for (let count = 1; count <= 49; count += 1) await pool.run(taskOf());
    clock.pass(lastMs);
    await pool.run(taskOf());
    return threads.length;
  };
  expect([await startsAt(0), await startsAt(10_000), await startsAt(10_001)]).toEqual([1, 1, 0]);
});

test('a dead thread: when the next is started, what is logged, and what is counted', async () => {
  const { pool, clock, logged, threads, metrics } = opened();
  const ask = async (): Promise<number> => {
    const signing = pool.run(taskOf(whole(LARGE)));
    await round();
    threads.at(-1)?.end();
    expect(await signing).toBe(OWN);
    return threads.length;
  };
  const starts: number[] = [];
  expect(await ask()).toBe(1);
  // The wait doubles with each death that comes soon, to a minute at most.
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    clock.pass(seconds * 1_000 - 1);
    starts.push(await ask());
    clock.pass(1);
    starts.push(await ask());
  }
  expect(starts).toEqual([1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9]);
  const hint =
    'What it had is signed on the main thread, and so is all mail while there is no signing thread. If this repeats, look for a lack of memory.';
  const died = { level: 'warn', event: 'signing_thread_died', cause: 'the thread ended' };
  const time = expect.any(String) as string;
  expect(logged.slice(0, 3)).toEqual([
    { time, ...died, signed_by_main_thread: 1, hint },
    { time, level: 'info', event: 'signing_thread_restarted', deaths: 1 },
    { time, ...died, signed_by_main_thread: 1, hint },
  ]);
  expect(logged).toHaveLength(9 + 8);
  expect(logged.flatMap(({ deaths }) => deaths ?? [])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(await metrics.render()).toContain('postrider_signing_thread_restarts_total 8\n');
});

test.each([
  [59_999, 2],
  [60_000, 1],
])('a thread that lived for %i ms: the wait is %i s', async (livedMs, seconds) => {
  const { pool, clock, threads } = opened();
  const ask = async (): Promise<number> => {
    void pool.run(taskOf(whole(LARGE)));
    await round();
    return threads.length;
  };
  await ask();
  threads[0]?.end();
  clock.pass(1_000);
  expect(await ask()).toBe(2);
  clock.pass(livedMs);
  threads[1]?.end();
  clock.pass(seconds * 1_000 - 1);
  expect(await ask()).toBe(2);
  clock.pass(1);
  expect(await ask()).toBe(3);
  pool.stop();
});

/** Asks for so many messages at once; resolves when the threads were told. */
async function askFor(pool: SigningPool, count: number, content?: Content): Promise<void> {
  for (let asked = 0; asked < count; asked += 1) void pool.run(taskOf(content));
  await round();
}

const askedOf = (threads: readonly Silent[]): number[] => threads.map(({ asked }) => asked);

test('with four cores a second thread is started for the 17th in a line, and shares it once it has started', async () => {
  const { pool, threads, logged } = opened(4);
  await askFor(pool, 1, withText);
  threads[0]?.start();
  await askFor(pool, 15);
  expect(threads).toHaveLength(1);
  await askFor(pool, 3);
  expect(askedOf(threads)).toEqual([19, 0]);
  threads[1]?.start();
  await askFor(pool, 18);
  expect(askedOf(threads)).toEqual([19, 18]);
  // From here on the line is shared, and there is no third.
  await askFor(pool, 41);
  expect(askedOf(threads)).toEqual([39, 39]);
  expect(logged).toEqual([]);
  pool.stop();
  expect(threads.map(({ isEnded }) => isEnded)).toEqual([true, true]);
});

test.each([1, 2, 3])('with %i cores there is one, whatever the line', async (cores) => {
  const { pool, threads } = opened(cores);
  await askFor(pool, 1, withText);
  threads[0]?.start();
  await askFor(pool, 500);
  expect(askedOf(threads)).toEqual([501]);
  pool.stop();
});

test('what must go to a thread waits for one that begins, when the other has more to do', async () => {
  const { pool, threads } = opened(8);
  await askFor(pool, 1, withText);
  threads[0]?.start();
  await askFor(pool, 16);
  expect(threads).toHaveLength(2);
  await askFor(pool, 2, withText);
  expect(askedOf(threads)).toEqual([17, 2]);
  pool.stop();
});

test('when one of two dies the other goes on, and the next long line starts another', async () => {
  const { pool, clock, threads, logged, metrics } = opened(4);
  await askFor(pool, 1, withText);
  threads[0]?.start();
  await askFor(pool, 16);
  threads[1]?.start();
  threads[0]?.end();
  await askFor(pool, 17);
  expect(askedOf(threads)).toEqual([17, 17]);
  clock.pass(1_000);
  await askFor(pool, 1);
  expect(askedOf(threads)).toEqual([17, 18, 0]);
  threads[2]?.start();
  expect(logged.map(({ event }) => event)).toEqual([
    'signing_thread_died',
    'signing_thread_restarted',
  ]);
  expect(logged[0]?.['signed_by_main_thread']).toBe(17);
  expect(await metrics.render()).toContain('postrider_signing_thread_restarts_total 1\n');
  pool.stop();
});

test('a second thread after a death that was made good is no restart', async () => {
  const { pool, clock, threads, logged } = opened(4);
  await askFor(pool, 1, withText);
  threads[0]?.end();
  clock.pass(1_000);
  await askFor(pool, 1, withText);
  threads[1]?.start();
  await askFor(pool, 16);
  expect(threads).toHaveLength(3);
  expect(logged.map(({ event }) => event)).toEqual([
    'signing_thread_died',
    'signing_thread_restarted',
  ]);
  pool.stop();
});

test('large messages have a thread for themselves, which others neither wait for nor need', async () => {
  const { pool, clock, threads, logged } = opened(8);
  await askFor(pool, 3, whole(LARGE));
  expect(askedOf(threads)).toEqual([3]);
  threads[0]?.start();
  await askFor(pool, 1, withText);
  threads[1]?.start();
  await askFor(pool, 4);
  await askFor(pool, 20, whole(LARGE));
  // Its line is long, and starts no other.
  expect(askedOf(threads)).toEqual([23, 5]);
  threads[0]?.end();
  // Soon after a death there is none for them, and the other thread goes on.
  await askFor(pool, 1, whole(LARGE));
  await askFor(pool, 1);
  expect(askedOf(threads)).toEqual([23, 6]);
  clock.pass(1_000);
  await askFor(pool, 1, whole(LARGE));
  expect(askedOf(threads)).toEqual([23, 6, 1]);
  expect(logged.map(({ event }) => event)).toEqual([
    'signing_thread_died',
    'signing_thread_restarted',
  ]);
  pool.stop();
  expect(threads.map(({ isEnded }) => isEnded)).toEqual([false, true, true]);
});
