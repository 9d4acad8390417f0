/**
 * The writer's program, told what the main thread tells it: what shares a commit, in which order results come, what a failed
 * item leaves behind, what may be written while the disk reserve is short, and how it breaks and ends.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { NewMessage } from '../../../src/store/journey.ts';
import { DiskReserve } from '../../../src/store/disk-reserve.ts';
import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts';
import { POSITION } from '../../../src/store/sqlite/positions.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newKey,
  newMessage,
  recipientOf,
} from '../samples.ts';
import {
  bounced,
  durabilitiesIn,
  flushFailing,
  harmOf,
  logRow,
  resultsIn,
  rowsIn,
  runIn,
  setting,
} from './writer-told.ts';
import type { Call, Done } from './writer-told.ts';
import { threadAtHand } from './thread-at-hand.ts';
import type { ThreadAtHand } from './thread-at-hand.ts';

let thread: ThreadAtHand;
/** A directory with new files, closed. */
let template: string;
let dir: string;
let ticket: number;
let isOpen: boolean;

beforeAll(async () => {
  thread = await threadAtHand(() => import('../../../src/store/sqlite/writer.ts'));
  template = mkdtempSync(join(tmpdir(), 'postrider-writer-'));
  dir = template;
  open();
  close();
});
afterAll(() => {
  thread.leave();
  rmSync(template, { recursive: true });
});

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-writer-'));
  for (const name of readdirSync(template)) copyFileSync(join(template, name), join(dir, name));
  thread.said.clear();
  thread.ended.length = 0;
  ticket = 0;
  isOpen = false;
});
afterEach(() => {
  if (isOpen) close();
  for (const spy of spies.splice(0)) spy.mockRestore();
  rmSync(dir, { recursive: true });
});

const spies: { mockRestore(): void }[] = [];

function open(): void {
  thread.tell([{ kind: 'open', dataDir: dir, now: 5 }]);
  isOpen = true;
}

function close(): void {
  thread.tell([{ kind: 'close' }]);
  isOpen = false;
}

/** Tells it these writes in one piece; they are numbered from 1. */
function write(...calls: readonly Call[]): void {
  thread.tell(
    calls.map(([name, ...args]) => ({ kind: 'write', ticket: ++ticket, request: { name, args } })),
  );
}

/** What it said, once so many writes have their results. */
const results = (count: number): Promise<unknown[]> => resultsIn(thread.said, count);
/** Every row of a table. */
const rowsOf = (sql: string, file?: string): unknown[] => rowsIn(dir, sql, file);

test('up to 256 writes share a commit of mail, 8 one of the request log, one after the other', async () => {
  open();
  expect(thread.said.items).toEqual([{ kind: 'ready' }]);
  write(
    ...Array.from({ length: 9 }, logRow),
    ...Array.from({ length: 257 }, (_, at) => setting(`s${at}`)),
  );
  write(setting('late'));
  const said = (await results(267)) as unknown[][];
  expect(said.slice(1).map(([kind, ...of]) => [kind, of.length])).toEqual([
    ['mail', 256],
    ['log', 8],
    ['mail', 2],
    ['log', 1],
  ]);
  const tickets = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const order = said.slice(1).flatMap(([, ...of]) => of.map((result) => (result as [number])[0]));
  expect(order).toEqual([...tickets(10, 265), ...tickets(1, 8), ...tickets(266, 267), 9]);
  const times = thread.said.items.slice(1).map((message) => typeof (message as Done).commitMs);
  expect(times).toEqual(['number', 'object', 'number', 'object']);
  // Nothing else comes that would bring the next step.
  write(...Array.from({ length: 9 }, logRow));
  expect((await results(276)).slice(5)).toMatchObject([{ length: 9 }, { length: 2 }]);
});

test('each file is opened with its own durability, and with its schema at the time it was told', () => {
  const { settings, spy } = durabilitiesIn(dir);
  spies.push(spy);
  open();
  expect(settings).toEqual([
    'mail.db PRAGMA synchronous = FULL',
    'log.db PRAGMA synchronous = NORMAL',
  ]);
  for (const file of ['mail.db', 'log.db']) {
    expect(rowsOf('SELECT DISTINCT applied_at FROM migrations', file)).toEqual([{ applied_at: 5 }]);
  }
});

test('what a failed write has counted or remembered is not in what those beside it write', async () => {
  open();
  const account = newAccount('one');
  const messages = [1, 2, 3, 4].map(() => newMessage(account.id, { createdAt: 0, updatedAt: 0 }));
  const [first, second, third, fourth] = messages as [
    NewMessage,
    NewMessage,
    NewMessage,
    NewMessage,
  ];
  const accept = (...of: NewMessage[]): Call => ['accept', batchOf(account.id, ...of)];
  write(['createAccount', account]);
  await results(1);
  // The second of the middle one is there already: both of its messages are undone.
  write(accept(first), accept(second, first), accept(third));
  write(accept(fourth));
  const said = (await results(5)) as unknown[][];
  expect(said.slice(2)).toEqual([
    [
      'mail',
      [2, { kind: 'accepted', calls: [] }],
      [3, 'SQLiteError', 'UNIQUE constraint failed: messages.id'],
      [4, { kind: 'accepted', calls: [] }],
      [5, { kind: 'accepted', calls: [] }],
    ],
  ]);
  expect(rowsOf(`SELECT id, seq, ${POSITION} AS position FROM messages ORDER BY seq`)).toEqual([
    { id: first.message.id, seq: 1, position: 1 },
    { id: third.message.id, seq: 2, position: 2 },
    { id: fourth.message.id, seq: 3, position: 3 },
  ]);
  expect(rowsOf('SELECT day, status, count FROM status_days')).toEqual([
    { day: 0, status: 'queued', count: 3 },
  ]);
  const [kept] = rowsOf('SELECT sum(bytes) AS bytes FROM stored_bytes') as { bytes: number }[];
  const [bodies] = rowsOf('SELECT sum(bytes) AS bytes FROM bodies') as { bytes: number }[];
  expect(kept?.bytes).toBe(bodies?.bytes ?? -1);
});

test('sums that a write adds to are dropped where it fails, and those beside it are written once', async () => {
  open();
  const account = newAccount('one');
  const messages = [1, 2, 3].map(() => newMessage(account.id, { createdAt: 0, updatedAt: 0 }));
  write(['createAccount', account], ['accept', batchOf(account.id, ...messages)]);
  await results(2);
  const bounce = (at: number, accountId: string): Call =>
    bounced(messages[at] as NewMessage, accountId);
  const row = (email: string, accountId: string) =>
    harmOf(messages[0] as NewMessage, accountId, email, 'complaint');
  write(
    bounce(0, account.id),
    bounce(1, 'nobody'),
    ['addSuppressionsStep', [row('a@x.example', account.id), row('b@x.example', 'nobody')]],
    bounce(2, account.id),
    ['addSuppressionsStep', [row('c@x.example', account.id)]],
  );
  const said = (await results(7)) as [string, ...unknown[][]][];
  expect(
    said
      .at(-1)
      ?.slice(1)
      .map((result) => (result as unknown[])[1]),
  ).toEqual([
    expect.objectContaining({ messageStatus: 'bounced' }),
    'SQLiteError',
    'SQLiteError',
    expect.objectContaining({ messageStatus: 'bounced' }),
    1,
  ]);
  expect(rowsOf('SELECT account_id AS of, bounced, failed FROM outcome_hours ORDER BY 1')).toEqual([
    { of: '', bounced: 2, failed: 0 },
    { of: account.id, bounced: 2, failed: 0 },
  ]);
  expect(rowsOf('SELECT hour, hard_bounces AS hard, complaints FROM harm_hours')).toEqual([
    { hour: 0, hard: 2, complaints: 1 },
  ]);
  expect(rowsOf('SELECT status, count FROM status_days ORDER BY status')).toEqual([
    { status: 'bounced', count: 2 },
    { status: 'queued', count: 1 },
  ]);
});

test('what a full disk has undone is counted and remembered by nobody', async () => {
  open();
  const [account, other] = [newAccount('one'), newAccount('two')];
  const sent = (): Call => {
    const message = newMessage(account.id, { createdAt: 0, updatedAt: 0 });
    message.events.push(newEvent(message.message, null, 'email.sent'));
    return ['accept', batchOf(account.id, message)];
  };
  write(['createAccount', account]);
  await results(1);
  // Its webhook and its positions are remembered by what comes behind it.
  const flush = flushFailing(Object.assign(new Error('no space'), { code: 'SQLITE_FULL' }));
  spies.push(flush);
  write(['createAccount', other], ['createEndpoint', newEndpoint(account.id), 5], sent(), sent());
  const full = ['StoreFullError', 'the disk is full'];
  expect((await results(5)).at(-1)).toEqual(['mail', ...[2, 3, 4, 5].map((of) => [of, ...full])]);
  flush.mockRestore();
  write(sent());
  expect((await results(6)).at(-1)).toEqual(['mail', [6, { kind: 'accepted', calls: [] }]]);
  expect(rowsOf(`SELECT seq, ${POSITION} AS position FROM messages`)).toEqual([
    { seq: 1, position: 1 },
  ]);
  expect(rowsOf('SELECT status, count FROM status_days')).toEqual([{ status: 'queued', count: 1 }]);
  expect(rowsOf('SELECT s.bytes = b.bytes AS same FROM stored_bytes AS s, bodies AS b')).toEqual([
    { same: 1 },
  ]);
  expect(rowsOf('SELECT name FROM accounts')).toEqual([{ name: 'one' }]);
});

test('where a recount goes on is read again when its step was undone', async () => {
  runIn(dir, "INSERT INTO recounts VALUES ('outcomes', 3), ('harm', 3)");
  open();
  const account = newAccount('one');
  const messages = [1, 2, 3, 4].map(() => newMessage(account.id));
  const rows = messages.map((message, at) => harmOf(message, account.id, `${at}@x`, 'complaint'));
  const accept: Call = ['accept', batchOf(account.id, ...messages)];
  write(['createAccount', account], accept, ['addSuppressionsStep', rows]);
  await results(3);
  const step = (name: string): Call => ['recountStep', name, 0, 1];
  // The last one breaks the group: all are undone, and each runs again alone.
  write(step('outcomes'), step('harm'), ['createKey', newKey('nobody'), Buffer.of(1), 9]);
  expect((await results(6)).at(-1)).toEqual([
    'mail',
    [4, 2],
    [5, 2],
    [6, 'SQLiteError', 'FOREIGN KEY constraint failed'],
  ]);
  expect(rowsOf('SELECT name, seq FROM recounts ORDER BY name')).toEqual([
    { name: 'harm', seq: 2 },
    { name: 'outcomes', seq: 2 },
  ]);
});

test('while the disk reserve is short only the ends of what was begun and settings are written', async () => {
  open();
  const account = newAccount('one');
  const message = newMessage(account.id);
  write(['createAccount', account], ['accept', batchOf(account.id, message)]);
  await results(2);
  const isShort = spyOn(DiskReserve.prototype, 'isShort').mockReturnValue(true);
  spies.push(isShort);
  spies.push(spyOn(DiskReserve.prototype, 'giveUp').mockReturnValue(false));
  // The gate looks at the reserve once it was given up: a start may find it short.
  close();
  open();
  thread.said.clear();
  write(
    ['createAccount', newAccount('two')],
    ['finish', finishOf(message, recipientOf(message))],
    ['accept', batchOf(account.id, newMessage(account.id))],
    setting('kill_switch'),
    ['touchKeys', []],
    ['releaseLeases', 'nobody', 5],
    ['finishCall', { call: { endpointId: 'none' } }],
    ['addAudit', null],
    logRow(),
  );
  const full = ['StoreFullError', 'the disk is full'];
  const said = (await results(9)) as unknown[][];
  expect(
    said.map(([kind, ...of]) => [kind, ...of.map((result) => (result as unknown[]).slice(0, 1))]),
  ).toEqual([
    ['mail', [3], [4], [5], [6], [7], [8], [9], [10]],
    ['log', [11]],
  ]);
  const failures = said.flatMap(([, ...of]) => of as unknown[][]).filter((of) => of[1] === full[0]);
  expect(failures).toEqual([3, 5, 7, 10, 11].map((of) => [of, ...full]));
  expect(rowsOf('SELECT name FROM settings')).toEqual([{ name: 'kill_switch' }]);
  isShort.mockReturnValue(false);
  write(['createAccount', newAccount('two')]);
  expect(((await results(10)).at(-1) as unknown[][])[1]).not.toContain(full[0]);
});

test('a checkpoint that readers block is said after the results, of the mail file alone', async () => {
  spies.push(spyOn(Checkpoints.prototype, 'afterCommit').mockReturnValue(77));
  open();
  write(setting('a'), logRow());
  await results(2);
  expect(thread.said.items.map((message) => (message as Done).kind)).toEqual([
    'ready',
    'done',
    'checkpoint_blocked',
    'done',
  ]);
  expect(thread.said.items[2]).toEqual({ kind: 'checkpoint_blocked', frames: 77 });
});

test('each file’s log is emptied when its own verb asks, after the result', async () => {
  open();
  write(setting('a'), logRow());
  await results(2);
  const sizes = (): boolean[] =>
    ['mail', 'log'].map((name) => statSync(join(dir, `${name}.db-wal`)).size > 0);
  expect(sizes()).toEqual([true, true]);
  write(['scrubMail']);
  await results(3);
  expect(sizes()).toEqual([false, true]);
  write(['scrubLog']);
  expect((await results(4)).slice(-2)).toEqual([
    ['mail', [3, undefined]],
    ['log', [4, undefined]],
  ]);
  expect(sizes()).toEqual([false, false]);
  write(setting('b'), logRow());
  expect(await results(6).then(sizes)).toEqual([true, true]);
});

test('what was told before the end is written before it', async () => {
  open();
  write(...Array.from({ length: 300 }, (_, at) => setting(`s${at}`)), logRow());
  close();
  const kinds = thread.said.items.map((message) => (message as Done).kind);
  expect(kinds).toEqual(['ready', 'done', 'done', 'done', 'closed']);
  expect(thread.ended).toEqual([0]);
  expect(['mail', 'log'].map((name) => existsSync(join(dir, `${name}.db-wal`)))).toEqual([
    false,
    false,
  ]);
  expect(rowsOf('SELECT count(*) AS count FROM settings')).toEqual([{ count: 300 }]);
  expect(rowsOf('SELECT count(*) AS count FROM logs', 'log.db')).toEqual([{ count: 1 }]);
  // Nothing is answered after it.
  write(setting('late'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(thread.said.items).toHaveLength(5);
});

test('a fault that no write has caused is fatal: its group has no results, nor has anything after it', async () => {
  open();
  const flush = flushFailing(Object.assign(new TypeError('torn'), { code: 'SQLITE_IOERR' }));
  spies.push(flush);
  write(setting('a'), logRow());
  const fatal = await thread.said.first((message) => (message as Done).kind === 'fatal');
  expect(fatal).toEqual({
    kind: 'fatal',
    error: { name: 'TypeError', message: 'torn', code: 'SQLITE_IOERR', stack: expect.any(String) },
  });
  flush.mockRestore();
  write(setting('b'));
  await new Promise((resolve) => setImmediate(resolve));
  close();
  expect(thread.said.items).toEqual([{ kind: 'ready' }, fatal, { kind: 'closed' }]);
  expect([rowsOf('SELECT * FROM settings'), rowsOf('SELECT * FROM logs', 'log.db')]).toEqual([
    [],
    [],
  ]);
});

test('a directory that cannot be opened is fatal, and nothing is answered after it', async () => {
  const nowhere = join(dir, 'nowhere');
  thread.tell([{ kind: 'open', dataDir: nowhere, now: 5 }]);
  write(setting('a'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(thread.said.items).toEqual([
    {
      kind: 'fatal',
      error: {
        name: 'Error',
        code: 'ENOENT',
        message: expect.stringContaining('nowhere/mail.db'),
        stack: expect.any(String),
      },
    },
  ]);
});
