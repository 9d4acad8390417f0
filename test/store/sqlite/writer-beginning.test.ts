/**
 * The writer's program as it opens its files on a full disk, what it remembers of messages that went with their account, and
 * what it says of a write that it does not know and of an end that fails.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { DiskReserve } from '../../../src/store/disk-reserve.ts';
import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';
import { threadAtHand } from './thread-at-hand.ts';
import type { ThreadAtHand } from './thread-at-hand.ts';
import { resultsIn, rowsIn, setting } from './writer-told.ts';
import type { Call } from './writer-told.ts';

let thread: ThreadAtHand;
let dir: string;
let spies: { mockRestore(): void }[];

beforeAll(async () => {
  thread = await threadAtHand(() => import('../../../src/store/sqlite/writer.ts'));
});
afterAll(() => thread.leave());

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-writer-'));
  thread.said.clear();
  spies = [];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  thread.tell([{ kind: 'close' }]);
  rmSync(dir, { recursive: true });
});

const open = (): void => thread.tell([{ kind: 'open', dataDir: dir, now: 5 }]);

/** Opening each of these files fails so many times for the full disk. */
function fillDisk(times: Record<string, number>): string[] {
  const failed: string[] = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run } = Database.prototype;
  const full = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    sql,
    ...rest
  ) {
    const name = basename(this.filename);
    if (sql === 'PRAGMA journal_mode = WAL' && (times[name] ?? 0) > 0) {
      times[name] = (times[name] ?? 0) - 1;
      failed.push(name);
      throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
    }
    return run.call(this, sql, ...rest);
  });
  spies.push(full);
  return failed;
}

test('a file that a full disk keeps from being opened is opened on the reserve, as often as there is some of it', () => {
  const failed = fillDisk({ 'mail.db': 2, 'log.db': 1 });
  const given = spyOn(DiskReserve.prototype, 'giveUp').mockReturnValue(true);
  spies.push(given);
  open();
  expect(thread.said.items).toEqual([{ kind: 'ready' }]);
  expect(failed).toEqual(['mail.db', 'mail.db', 'log.db']);
  expect(given.mock.calls).toEqual([[], [], []]);
});

test('where nothing of the reserve is left, a full disk is what the start fails with', () => {
  const failed = fillDisk({ 'log.db': 9 });
  const given = spyOn(DiskReserve.prototype, 'giveUp').mockReturnValueOnce(true);
  spies.push(given.mockReturnValue(false));
  open();
  expect(failed).toEqual(['log.db', 'log.db']);
  expect(thread.said.items).toEqual([
    {
      kind: 'fatal',
      error: { name: 'Error', message: 'full', code: 'SQLITE_FULL', stack: expect.any(String) },
    },
  ]);
});

test('the number of the newest message, which went with its account, is not given to the next one', async () => {
  open();
  const [doomed, other] = [newAccount('doomed'), newAccount('other')];
  const accept = ({ id }: { id: string }): Call => ['accept', batchOf(id, newMessage(id))];
  let ticket = 0;
  const calls: Call[] = [
    ['createAccount', doomed],
    ['createAccount', other],
    accept(other),
    accept(doomed),
    ['dropAccountMessagesStep', doomed.id, 9],
    accept(other),
  ];
  thread.tell(
    calls.map(([name, ...args]) => ({ kind: 'write', ticket: ++ticket, request: { name, args } })),
  );
  await resultsIn(thread.said, calls.length);
  expect(rowsIn(dir, 'SELECT seq FROM messages ORDER BY seq')).toEqual([{ seq: 1 }, { seq: 3 }]);
});

test('a write that the writer does not know fails by itself', async () => {
  open();
  const calls: Call[] = [['nothing'], ['setSetting', 'a', 'one']];
  thread.tell(
    calls.map(([name, ...args], at) => ({ kind: 'write', ticket: at, request: { name, args } })),
  );
  const said = await resultsIn(thread.said, 2);
  expect(said.slice(1)).toEqual([['mail', [0, 'Error', 'no verb nothing'], [1, undefined]]]);
  expect(rowsIn(dir, 'SELECT value FROM settings')).toEqual([{ value: 'one' }]);
});

test.each([
  ['SQLITE_FULL', { kind: 'closed' }],
  ['SQLITE_IOERR', { kind: 'fatal', error: expect.objectContaining({ code: 'SQLITE_IOERR' }) }],
])('a last checkpoint that fails with %s is told as it deserves', async (code, told) => {
  open();
  const finishing = spyOn(Checkpoints.prototype, 'finish').mockImplementation(() => {
    throw Object.assign(new Error('no'), { code });
  });
  thread.tell([{ kind: 'close' }]);
  finishing.mockRestore();
  expect(thread.said.items).toEqual([{ kind: 'ready' }, told]);
  // It is the end all the same: what comes too late is not taken.
  const [name, ...args] = setting('late');
  thread.tell([{ kind: 'write', ticket: 1, request: { name, args } }]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(thread.said.items).toHaveLength(2);
});

test('a commit is as long as it takes to write its group, in milliseconds', async () => {
  open();
  let now = 1_000;
  const flush = spyOn(StatusCounts.prototype, 'flush').mockImplementation(() => void (now += 7));
  const after = spyOn(Checkpoints.prototype, 'afterCommit').mockImplementation(() => {
    now += 50;
    return null;
  });
  spies.push(
    flush,
    after,
    spyOn(performance, 'now').mockImplementation(() => now),
  );
  for (const ticket of [1, 2]) {
    const [name, ...args] = setting(`s${ticket}`);
    thread.tell([{ kind: 'write', ticket, request: { name, args } }]);
    await resultsIn(thread.said, ticket);
  }
  expect(thread.said.items.slice(1)).toEqual(
    [1, 2].map((ticket) => ({
      kind: 'done',
      commitMs: 7,
      results: [{ ticket, value: undefined }],
    })),
  );
});
