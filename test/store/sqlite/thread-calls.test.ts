/**
 * Asking another thread: which thread is asked what, what settles each promise, what becomes of the threads that ended or
 * were left; how errors cross; and the thread of a backup, which says one thing and ends.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../../src/base/errors.ts';
import { masterKey } from '../../../src/store/key-file.ts';
import { ThreadCalls } from '../../../src/store/sqlite/thread-calls.ts';
import { errorOf, textOf, threadAddress } from '../../../src/store/sqlite/threads.ts';
import { SearchUnreadyError, StoreFullError } from '../../../src/store/store.ts';
import { openTestStore, withDir } from '../test-store.ts';
import { StubWorker, threads } from './stub-worker.ts';
import { threadAtHand } from './thread-at-hand.ts';

const RealWorker = globalThis.Worker;
beforeEach(() => {
  threads.length = 0;
  globalThis.Worker = StubWorker as unknown as typeof RealWorker;
});
afterEach(() => {
  globalThis.Worker = RealWorker;
});

function thread(at: number): StubWorker {
  const found = threads[at];
  if (found === undefined) throw new Error(`no thread ${at}`);
  return found;
}

/** What each thread was asked. */
const asked = (): unknown[] => threads.map(({ received }) => received.items);
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The value, or the message of the error. */
const endOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: unknown) => (error as Error).message);

test('one thread is started at the first question and asked everything, until it ends or is left', async () => {
  const deaths: string[] = [];
  let first: string | null = null;
  const calls = new ThreadCalls<string>(
    'background.ts',
    () => first,
    (cause) => void deaths.push(cause),
  );
  calls.leave();
  expect(threads).toEqual([]);
  const one = calls.ask('one');
  const two = calls.ask('two');
  first = 'open';
  const three = calls.ask('three');
  const question = (ticket: number, request: string) => ({ ticket, request });
  expect(asked()).toEqual([[question(1, 'one'), question(2, 'two'), question(3, 'three')]]);
  thread(0).say({ ticket: 2, value: 'of two' });
  // What nobody waits for is passed over.
  thread(0).say({ ticket: 2, value: 'again' });
  thread(0).say({ ticket: 1, error: { name: 'Error', message: 'not one' } });
  expect(await Promise.all([two, one].map(endOf))).toEqual(['of two', 'not one']);
  calls.leave();
  calls.leave();
  expect([thread(0).isLeft, threads.length]).toEqual([true, 1]);

  // The next thread is asked the first question before the other, and may fail it unheard.
  const four = calls.ask('four');
  expect(asked()[1]).toEqual([question(4, 'open'), question(5, 'four')]);
  thread(1).say({ ticket: 4, error: { name: 'Error', message: 'not open' } });
  thread(0).say({ ticket: 3, value: 'of three' });
  thread(1).say({ ticket: 5, value: 'of four' });
  await settled();
  // An old one that dies is not the present one.
  thread(0).die('late');
  expect(await Promise.all([three, four].map(endOf))).toEqual(['of three', 'of four']);
  const five = calls.ask('five');
  expect([threads.length, asked()[1]]).toEqual([
    2,
    [question(4, 'open'), question(5, 'four'), question(6, 'five')],
  ]);
  thread(1).die('out of memory');
  expect(await endOf(five)).toBe('out of memory');
  const six = calls.ask('six');
  expect(asked()[2]).toEqual([question(7, 'open'), question(8, 'six')]);
  thread(2).say({ ticket: 8, value: null });
  expect(await six).toBeNull();
  expect(deaths).toEqual(['late', 'out of memory']);
  expect(threads.map(({ file, isLeft }) => [file, isLeft])).toEqual([
    ['background.ts', true],
    ['background.ts', false],
    ['background.ts', false],
  ]);
});

test('without a first question none is asked, and a death may go unheard', async () => {
  const calls = new ThreadCalls<number>('backup-thread.ts');
  const one = calls.ask(1);
  expect(asked()).toEqual([[{ ticket: 1, request: 1 }]]);
  thread(0).die('gone');
  expect(await endOf(one)).toBe('gone');
});

test('an error crosses with what its class carries, anything else as text', () => {
  const system = Object.assign(new RangeError('no space'), { code: 'ENOSPC' });
  const cases: unknown[] = [
    new OperatorError('closed', 'Open it.', 78),
    new OperatorError('broken', 'Repair it.'),
    new StoreFullError('the disk is full'),
    new SearchUnreadyError(),
    system,
    new TypeError('plain'),
    'no error',
  ];
  const crossed = cases.map((error) => errorOf(JSON.parse(JSON.stringify(textOf(error)))));
  expect(crossed.map((error) => [error.constructor.name, error.message])).toEqual([
    ['OperatorError', 'closed'],
    ['OperatorError', 'broken'],
    ['StoreFullError', 'the disk is full'],
    ['SearchUnreadyError', new SearchUnreadyError().message],
    ['Error', 'no space'],
    ['Error', 'plain'],
    ['Error', 'no error'],
  ]);
  expect(crossed.slice(0, 2)).toMatchObject([
    { hint: 'Open it.', exitCode: 78 },
    { hint: 'Repair it.', exitCode: 1 },
  ]);
  expect(crossed[4]).toMatchObject({ code: 'ENOSPC', stack: system.stack });
  expect(crossed[5]).not.toHaveProperty('code');
  expect(textOf('no error')).toEqual({ name: 'Error', message: 'no error' });
  expect(textOf(cases[5])).toEqual({
    name: 'TypeError',
    message: 'plain',
    stack: (cases[5] as Error).stack ?? '',
  });
  expect(Object.keys(textOf(Object.assign(new Error('x'), { stack: undefined })))).toEqual([
    'name',
    'message',
  ]);
  expect(threadAddress('writer.ts')).toBe(
    new URL('../../../src/store/sqlite/writer.ts', import.meta.url).href,
  );
});

test('the thread of a backup ends with it, whether it worked or not', () =>
  withDir(async (root) => {
    globalThis.Worker = RealWorker;
    const dataDir = join(root, 'data');
    await (await openTestStore(dataDir)).close();
    masterKey(dataDir);
    const program = await threadAtHand(() => import('../../../src/store/sqlite/backup-thread.ts'));
    try {
      const [file, taken] = [join(root, 'one.backup'), join(root, 'taken')];
      writeFileSync(taken, '');
      program.tell({ ticket: 1, request: { dataDir, file } });
      program.tell({ ticket: 2, request: { dataDir, file: taken } });
      await program.said.atLeast(2);
      await settled();
      expect(program.said.items).toEqual([
        { ticket: 1, value: { file, bytes: statSync(file).size, rows: expect.any(Object) } },
        {
          ticket: 2,
          error: {
            name: 'OperatorError',
            message: `${taken} already exists`,
            hint: 'Name a file that does not exist yet.',
            exitCode: 1,
            stack: expect.any(String),
          },
        },
      ]);
      expect(program.ended).toEqual([0, 0]);
    } finally {
      program.leave();
    }
  }));
