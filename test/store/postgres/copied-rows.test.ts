/** Large values on their way to PostgreSQL: in pieces, the same as in one, and whole or not at all. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';

import { shared } from '../../../src/base/shared-bytes.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { copyInto, copyPieces } from '../../../src/store/postgres/copied-rows.ts';
import { Database, transactingBy } from '../../../src/store/postgres/database.ts';
import { failureOf, sqlState } from '../../../src/store/postgres/failures.ts';
import { insertOne, part, table } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { acceptAll } from '../../../src/store/postgres/write-accept.ts';
import { testServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

const COLUMNS = {
  id: 'int4',
  someText: 'text',
  someBytes: 'bytea',
  wide: 'int8',
  isSo: 'bool',
  key: 'uuid',
} as const;
const INSERTED = table('inserted', COLUMNS);
const COPIED = table('copied', COLUMNS);
const MIB = 1024 * 1024;
const NOTHING = { someText: null, someBytes: null, wide: null, isSo: null, key: null };

const server = await testServer();
const url = await server.freshDatabase();
const admin: SQL = server.admin(url.slice(url.lastIndexOf('/') + 1, url.indexOf('?')));
for (const name of ['inserted', 'copied']) {
  await admin.unsafe(
    `CREATE TABLE ${name} (id int4 PRIMARY KEY CHECK (id < 1000), some_text text, some_bytes bytea, wide int8, is_so bool, key uuid)`,
  );
}
const database = new Database(databaseAddress(url, ''));
afterAll(async () => {
  await database.close();
  await admin.close();
});

const errorOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => null,
    (error: unknown) => error,
  );

const copiedRows = async (): Promise<number> =>
  (await database.first<{ n: number }>(part('SELECT count(*)::int4 AS n FROM copied')))?.n ?? -1;

function open(): Promise<Connection> {
  const address = databaseAddress(url, '');
  const [host] = address.hosts;
  if (host === undefined) throw new Error('no host');
  return Connection.open(address, host);
}

/**
 * Pieces of many rows, of which `midway` is called behind the first few. They end some pieces behind its answer, in the
 * middle of a row.
 */
function* manyRows(midway: () => PromiseLike<unknown>): Generator<Uint8Array> {
  const someBytes = Buffer.alloc(MIB);
  const rows = Array.from({ length: 999 }, (_, id) => ({ ...NOTHING, id, someBytes }));
  let count = 0;
  let isAnswered = false;
  let left = 20;
  for (const piece of copyPieces(COPIED, rows)) {
    if (left === 0) return;
    yield piece;
    count += 1;
    if (count === 5) void midway().then(() => (isAnswered = true));
    if (isAnswered) left -= 1;
  }
}

/** Copies on a connection of its own until what `midway` does to the server's process of it stands in the way. */
async function copyUntil(
  midway: (pid: number) => PromiseLike<unknown>,
  answerMs?: number,
): Promise<{ connection: Connection; failure: unknown }> {
  const connection = await open();
  const { rows } = await connection.ask<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await connection.ask('BEGIN');
  const pieces = manyRows(() => midway(rows[0]?.pid ?? 0));
  return {
    connection,
    failure: await errorOf(connection.copy(copyInto(COPIED), pieces, answerMs)),
  };
}

const NEVER = new Promise<void>(() => undefined);

test('every value is what a parameter would have been', async () => {
  const pair = `${'x'.repeat(128 * 1024 - 1)}\u{1F600}\uD83D\u{1F600}\0 ä ${'…'.repeat(200_000)}`;
  const rows = [
    { ...NOTHING, id: 1 },
    { id: 2, someText: '', someBytes: Buffer.alloc(0), wide: 0, isSo: false, key: null },
    { ...NOTHING, id: -3, someText: 'a\0\t\\N\n', wide: -(2 ** 53) + 1, isSo: true },
    { ...NOTHING, id: 4, someText: pair, key: '01a22e15-dfe1-7000-8d2d-7263c5b38666' },
    { ...NOTHING, id: 5, someBytes: shared(Buffer.alloc(MIB + 1, 'ab\0')), wide: 2 ** 53 - 1 },
    { ...NOTHING, id: 6, someBytes: Buffer.alloc(16 * 1024, 1), someText: 'y'.repeat(16 * 1024) },
    { ...NOTHING, id: 7, someBytes: Buffer.alloc(16 * 1024 + 1, 2), isSo: true },
  ];
  await database.transaction(async (session) => {
    for (const row of rows) await session.run(insertOne(INSERTED, row));
    await session.copy(COPIED, rows);
  });
  const differing = await database.all(
    part('(TABLE inserted EXCEPT TABLE copied) UNION ALL (TABLE copied EXCEPT TABLE inserted)'),
  );
  expect(differing).toEqual([]);
  expect(await copiedRows()).toBe(rows.length);
  // A text for a column of bytes.
  await database.transaction((session) =>
    session.copy(COPIED, [{ ...NOTHING, id: 8, someBytes: pair }]),
  );
  const row = await database.first<{ bytes: Uint8Array }>(
    part('SELECT some_bytes AS bytes FROM copied WHERE id = 8'),
  );
  expect(Buffer.from(row?.bytes ?? []).equals(Buffer.from(pair))).toBe(true);
  await database.run(part('DELETE FROM copied'));
});

test('no piece is long, and the event loop is given back before each', async () => {
  const rows = [
    { ...NOTHING, id: 1, someBytes: Buffer.alloc(3 * MIB), someText: '…'.repeat(MIB) },
    { ...NOTHING, id: 2, someText: 'x'.repeat(MIB) },
  ];
  const pieces = [...copyPieces(COPIED, rows)];
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(384 * 1024);
  // 12 and 8 of the first row, 8 of the second, and what stands between them.
  expect(pieces).toHaveLength(32);
  const connection = await open();
  let rounds = 0;
  let isRunning = true;
  const count = (): void => {
    rounds += 1;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  const before: number[] = [];
  const watched = function* (): Generator<Uint8Array> {
    for (const piece of pieces) {
      before.push(rounds);
      yield piece;
    }
  };
  await connection.copy(copyInto(COPIED), watched());
  isRunning = false;
  expect(new Set(before).size).toBe(pieces.length);
  await connection.close();
  await database.run(part('DELETE FROM copied'));
});

test('what takes long, and goes on, is not lost', async () => {
  const connection = await open();
  const someBytes = Buffer.alloc(5 * MIB);
  const slow = function* (): Generator<Uint8Array> {
    for (const piece of copyPieces(COPIED, [{ ...NOTHING, id: 1, someBytes }])) {
      Bun.sleepSync(100);
      yield piece;
    }
  };
  await connection.copy(copyInto(COPIED), slow(), 1_000);
  expect(await copiedRows()).toBe(1);
  await connection.close();
  await database.run(part('DELETE FROM copied'));
});

test('content is copied from 256 KiB on', async () => {
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('default');
  await store.createAccount(account);
  await store.close();
  const copied: string[] = [];
  const watched = transactingBy(database, (work) =>
    database.transaction((session) =>
      work({
        ...session,
        copy(of, rows) {
          copied.push(`${of.name} ${rows.length}`);
          return session.copy(of, rows);
        },
      }),
    ),
  );
  const border = 256 * 1024;
  const message = (html: string, ...files: number[]): ReturnType<typeof batchOf> => {
    const made = newMessage(account.id);
    made.body.html = html;
    const file = { filename: 'f', contentType: 'a/b', contentId: null };
    made.body.attachments = files.map((size) => ({ ...file, content: Buffer.alloc(size) }));
    return batchOf(account.id, made);
  };
  await acceptAll(watched, [message('x'.repeat(border - 1), border - 1)]);
  expect(copied).toEqual([]);
  await acceptAll(watched, [
    message('ä'.repeat(border / 2), 1, border),
    message('y', border, border + 1),
  ]);
  expect(copied).toEqual(['bodies 1', 'attachments 3']);
});

describe('what fails', () => {
  test('is told as the server says it, and nothing of it is written', async () => {
    const failure = await errorOf(
      database.transaction((session) =>
        session.copy(COPIED, [
          { ...NOTHING, id: 1, someBytes: Buffer.alloc(MIB) },
          { ...NOTHING, id: 1_000 },
        ]),
      ),
    );
    // check_violation
    expect(sqlState(failure)).toBe('23514');
    expect(await copiedRows()).toBe(0);
  });

  test('before it is not taken for done', async () => {
    const failure = await errorOf(
      database.transaction(async (session) => {
        session.send(part('SELECT 1 / (SELECT 0)'));
        await session.copy(COPIED, [{ ...NOTHING, id: 1, someBytes: Buffer.alloc(MIB) }]);
      }),
    );
    // division_by_zero
    expect(sqlState(failure)).toBe('22012');
    expect(await copiedRows()).toBe(0);
  });

  test('behind a statement that fails the client itself still takes it for done (docs/runtime-hazards.md H43)', async () => {
    const connection = await open();
    await connection.ask('BEGIN');
    const failed = errorOf(connection.ask('SELECT 1 / (SELECT 0)'));
    const pieces = copyPieces(COPIED, [{ ...NOTHING, id: 1, someBytes: Buffer.alloc(MIB) }]);
    expect(await errorOf(connection.copy(copyInto(COPIED), pieces))).toBeNull();
    expect(sqlState(await failed)).toBe('22012');
    await connection.ask('ROLLBACK');
    expect(await copiedRows()).toBe(0);
    await connection.close();
  });

  test('with its connection counts as a loss', async () => {
    const terminate = (pid: number) => admin.unsafe('SELECT pg_terminate_backend($1)', [pid]);
    const { connection, failure } = await copyUntil(terminate);
    expect([failureOf(failure), connection.isLost]).toEqual(['away', true]);
    expect(await copiedRows()).toBe(0);
  });

  test('because the server takes nothing any more counts as a loss in time', async () => {
    let stopped = 0;
    const stop = (pid: number): Promise<void> => {
      process.kill(pid, 'SIGSTOP');
      stopped = pid;
      return NEVER;
    };
    const { connection, failure } = await copyUntil(stop, 200);
    process.kill(stopped, 'SIGCONT');
    expect([failureOf(failure), connection.isLost]).toEqual(['away', true]);
    expect(await copiedRows()).toBe(0);
  });

  test('because a piece cannot be made ends the connection, which would wait for it', async () => {
    const fault = new Error('no piece');
    const refuse = (): never => {
      throw fault;
    };
    const { connection, failure } = await copyUntil(refuse);
    expect(failure).toBe(fault);
    expect(connection.isLost).toBe(true);
    expect(await copiedRows()).toBe(0);
  });

  test('by what somebody cancelled leaves the connection as it was', async () => {
    const cancel = (pid: number) => admin.unsafe('SELECT pg_cancel_backend($1)', [pid]);
    const { connection, failure } = await copyUntil(cancel);
    expect([failureOf(failure), connection.isLost]).toEqual(['conflict', false]);
    await connection.ask('ROLLBACK');
    expect((await connection.ask('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await connection.close();
  });
});

test('large content is accepted beside small, and a large one that is refused takes nobody with it', async () => {
  const store = await openPostgres({
    url: await server.freshDatabase(),
    passwordFile: '',
    now: Date.now(),
  });
  const account = newAccount('default');
  await store.createAccount(account);
  const large = (): ReturnType<typeof newMessage> => {
    const message = newMessage(account.id);
    message.body.html = `${'ä'.repeat(400_000)}\0\u{1F600}`;
    message.body.text = 'short';
    const file = { filename: 'f\0', contentType: 'a/b', contentId: null };
    message.body.attachments = [
      { ...file, content: shared(Buffer.alloc(MIB, 7)) },
      { ...file, content: Buffer.of(1) },
      { ...file, content: Buffer.alloc(100_000, 2) },
    ];
    return message;
  };
  const small = newMessage(account.id);
  const [first, second] = [large(), large()];
  const again = { ...large(), message: first.message, recipients: [] };
  const answers = await Promise.allSettled(
    [small, first, second, again].map((message) => store.accept(batchOf(account.id, message))),
  );
  expect(answers.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
  ]);
  for (const { message, body } of [small, first, second]) {
    const found = (await store.messageForDelivery(message.id))?.body;
    expect([found?.html === body.html, found?.text]).toEqual([true, body.text]);
    const bytes = found?.attachments.map(({ content }) => Bun.SHA256.hash(content, 'hex'));
    expect(bytes).toEqual(body.attachments.map(({ content }) => Bun.SHA256.hash(content, 'hex')));
  }
  await store.close();
});
