/** Partitions by day: made ahead, dropped as a whole when they are over, and alone in what a statement looks at. */
import { describe, expect, test } from 'bun:test';

import { idBound } from '../../../src/base/ids.ts';
import type { NewMessage } from '../../../src/store/journey.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import type { Access } from '../../../src/store/postgres/database.ts';
import { endpointVerbs } from '../../../src/store/postgres/endpoints.ts';
import { decodeHere } from '../../../src/store/postgres/content.ts';
import { messageVerbs } from '../../../src/store/postgres/messages.ts';
import {
  PARTITIONED,
  makePartitions,
  partitionsOf,
} from '../../../src/store/postgres/partitions.ts';
import type { Partitioned } from '../../../src/store/postgres/partitions.ts';
import { dropMessages } from '../../../src/store/postgres/retention.ts';
import { part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { acceptAll } from '../../../src/store/postgres/write-accept.ts';
import { beginAll, finishAll } from '../../../src/store/postgres/write-attempts.ts';
import { beginAllCalls } from '../../../src/store/postgres/write-calls.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import {
  accepted,
  batchOf,
  finishOf,
  newAccount,
  newEndpoint,
  newEvent,
  newMessage,
  recipientOf,
} from '../samples.ts';
import { everyCallDue } from '../due-calls.ts';

const DAY_MS = 86_400_000;
const START = Math.floor(Date.now() / DAY_MS) * DAY_MS;

interface Parts {
  store: Store;
  account: Account;
  database: Database;
}

/** A store with partitions from `days` days ago on. */
async function withDays(days: number, body: (parts: Parts) => Promise<void>): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const database = new Database(databaseAddress(url, ''));
  await makePartitions(database, START, days);
  const store = await openPostgres({ url, passwordFile: '', now: START });
  const account = newAccount('default');
  await store.createAccount(account);
  try {
    await body({ store, account, database });
  } finally {
    await store.close();
    await database.close();
  }
}

/** A message accepted at `createdAt`, delivered when `isDone`. */
async function sentAt(
  store: Store,
  accountId: string,
  createdAt: number,
  isDone = true,
  to = ['ann@example.org'],
): Promise<NewMessage> {
  const id = idBound(createdAt) + newId(createdAt).slice(13);
  const message = await accepted(store, newMessage(accountId, { id, createdAt }, to));
  for (const recipient of isDone ? message.recipients : []) {
    const events = [newEvent(message.message, recipient.id, 'email.delivered')];
    await store.finish(finishOf(message, recipient, { events }));
  }
  return message;
}

const daysOf = async (database: Database, table: Partitioned): Promise<number[]> =>
  (await partitionsOf(database, table)).flatMap(({ day }) =>
    day === null ? [] : [(day.from - START) / DAY_MS],
  );

describe('days', () => {
  test('today and the next three are there at the start and are made again ahead; another day goes elsewhere', () =>
    withDays(0, async ({ store, account, database }) => {
      for (const table of PARTITIONED) {
        const found = await partitionsOf(database, table);
        expect(found.map(({ day }) => day?.from)).toEqual(
          [0, 1, 2, 3, undefined].map((at) => (at === undefined ? at : START + at * DAY_MS)),
        );
      }
      await store.prepareDays(START + DAY_MS);
      expect(await daysOf(database, 'events')).toEqual([0, 1, 2, 3, 4]);
      const old = await sentAt(store, account.id, START - 9 * DAY_MS);
      const next = await sentAt(store, account.id, START + 4 * DAY_MS);
      const where = await database.all<{ at: string; id: string }>(
        part(
          'SELECT tableoid::regclass::text AS at, message_id AS id FROM bodies ORDER BY message_id',
        ),
      );
      const name = new Date(START + 4 * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
      expect(where).toEqual([
        { at: 'bodies_other', id: old.message.id },
        { at: `bodies_${name}`, id: next.message.id },
      ]);
    }));

  test('several nodes make them at once; a day that has rows elsewhere already stays without', () =>
    withDays(0, async ({ store, account, database }) => {
      await sentAt(store, account.id, START + 5 * DAY_MS);
      await Promise.all(
        Array.from({ length: 4 }, () => makePartitions(database, START + 4 * DAY_MS)),
      );
      expect(await daysOf(database, 'bodies')).toEqual([0, 1, 2, 3, 4, 6, 7]);
      expect(await daysOf(database, 'events')).toEqual([0, 1, 2, 3, 4, 6, 7]);
    }));
});

describe('retention', () => {
  test('drops days of content that are over, gives their bytes back, and leaves those in which mail waits', () =>
    withDays(4, async ({ store, account, database }) => {
      // The bytes of a body come back once, however many had it.
      const to = ['ann@example.org', 'ben@example.org', 'cid@example.org'];
      for (const ago of [4, 3, 2]) {
        await sentAt(store, account.id, START - ago * DAY_MS + 5, true, to);
      }
      const waiting = await sentAt(store, account.id, START - 3 * DAY_MS + 9, false);
      const bytes = await store.storedBytes(account.id);
      // Two days are over; of the third nothing goes before its end.
      expect(await store.purgeBodies(START - 2 * DAY_MS + 6, 2 * DAY_MS)).toBe(1);
      expect(await daysOf(database, 'bodies')).toEqual([-3, -2, -1, 0, 1, 2, 3]);
      expect(await store.storedBytes(account.id)).toBe((bytes / 4) * 3);
      // A day in which mail waits is walked over when it may not wait longer.
      expect(await store.purgeBodies(START - 2 * DAY_MS + 6)).toBe(2);
      expect(await store.storedBytes(account.id)).toBe(bytes / 4);
      expect(await store.messageForDelivery(waiting.message.id)).not.toBeNull();
      await store.finish(finishOf(waiting, recipientOf(waiting)));
      expect(await store.purgeBodies(START - 2 * DAY_MS, DAY_MS)).toBe(1);
      for (const table of ['bodies', 'attachments'] as const)
        expect([table, await daysOf(database, table)]).toEqual([table, [-2, -1, 0, 1, 2, 3]]);
      expect(await store.storedBytes(account.id)).toBe(0);
    }));

  test('drops days of events and attempts, and walks over what has no day', () =>
    withDays(3, async ({ store, account, database }) => {
      const old = await sentAt(store, account.id, START - 9 * DAY_MS);
      const over = await sentAt(store, account.id, START - 3 * DAY_MS + 5);
      const young = await sentAt(store, account.id, START - 2 * DAY_MS + 5);
      expect(await store.purgeHistory(START - 2 * DAY_MS + 6, DAY_MS)).toBe(3 + 3);
      expect(await daysOf(database, 'events')).toEqual([-2, -1, 0, 1, 2, 3]);
      for (const { message } of [old, over]) {
        expect(await store.events(message.id)).toEqual([]);
        expect(await store.attempts(message.id)).toEqual([]);
      }
      expect(await store.events(young.message.id)).toHaveLength(2);
      expect(await store.purgeMessages(START - 2 * DAY_MS + 6, DAY_MS)).toBe(2);
      // A day is over with its last millisecond.
      expect(await store.purgeHistory(START - DAY_MS - 1, 2 * DAY_MS)).toBe(0);
      expect(await store.purgeHistory(START - DAY_MS, 2 * DAY_MS)).toBe(3);
      expect(await daysOf(database, 'attempts')).toEqual([-1, 0, 1, 2, 3]);
    }));

  test('forgets what nodes told each other when nobody can ask about it any more, and no earlier', () =>
    withDays(0, async ({ store, database }) => {
      const ended =
        "INSERT INTO sessions (session, number, name, directory, addresses, version, lease_until, ended_at) VALUES (gen_random_uuid(), 1, $1, $1, '[]', '0', now(), ";
      for (const [sql, least] of [
        [
          'INSERT INTO commits (session, number, at) VALUES (gen_random_uuid(), 1000000 + length($1), ',
          '1 hour',
        ],
        ["INSERT INTO rate_takes (node, at, windows, told_at) VALUES ($1, 0, '[]', ", '2 minutes'],
        [ended, '7 days'],
      ] as const) {
        for (const [name, margin] of [
          ['old', '-'],
          ['younger', '+'],
        ] as const)
          await database.run(
            part(`${sql}now() - interval '${least}' ${margin} interval '30 seconds')`, name),
          );
      }
      // What nodes have among themselves is not told.
      expect(await store.purgeExpired(START)).toBe(0);
      expect(
        await database.first(
          part(
            "SELECT (SELECT string_agg(number::text, ' ') FROM commits WHERE number > 1000000) AS commits," +
              " (SELECT string_agg(node, ' ') FROM rate_takes) AS takes, (SELECT string_agg(name, ' ') FROM sessions) AS sessions",
          ),
        ),
      ).toEqual({ commits: '1000007', takes: 'younger', sessions: 'younger' });
    }));

  test(
    'leaves a day that others are at for the next round',
    () =>
      withDays(2, async ({ store, account, database }) => {
        await sentAt(store, account.id, START - 2 * DAY_MS + 5);
        await database.transaction(async (session) => {
          await session.all(part('SELECT * FROM bodies'));
          expect(await store.purgeBodies(START - DAY_MS, DAY_MS)).toBe(0);
        });
        expect(await store.purgeBodies(START - DAY_MS, DAY_MS)).toBe(1);
        expect(await daysOf(database, 'bodies')).toEqual([-1, 0, 1, 2, 3]);
      }),
    20_000,
  );
});

describe('with many days', () => {
  const DAYS = Number(process.env['PARTITION_DAYS'] ?? 60);
  /** A plan for any values would come with the sixth. */
  const RUNS = 12;

  /** The database, and which partitions its transactions have locked: what their plans could look at. */
  function watched(database: Database, seen: Set<string>): Access {
    const LOCKED =
      "SELECT relation::regclass::text AS name FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'";
    const transaction: Access['transaction'] = (work) =>
      database.transaction(async (session) => {
        const later: Promise<number>[] = [];
        const send: typeof session.send = (statement) => void later.push(session.run(statement));
        const value = await work({ ...session, send });
        await Promise.all(later);
        for (const { name } of await session.all<{ name: string }>(part(LOCKED))) {
          if (/^(?:bodies|attachments|events|attempts)_(?:\d{8}|other)$/.test(name)) seen.add(name);
        }
        return value;
      });
    return {
      all: (statement) => transaction((session) => session.all(statement)),
      first: (statement) => transaction((session) => session.first(statement)),
      run: (statement) => transaction((session) => session.run(statement)),
      transaction,
    };
  }

  test(
    'every statement of a message looks at its own day alone',
    () =>
      withDays(DAYS, async ({ store, account, database }) => {
        await store.createEndpoint(newEndpoint(account.id), 9);
        const seen = new Set<string>();
        const access = watched(database, seen);
        const [reads, endpoints] = [messageVerbs(access, decodeHere), endpointVerbs(access)];
        const messages: NewMessage[] = [];
        const often = async (
          name: string,
          what: (message: NewMessage) => Promise<unknown>,
        ): Promise<void> => {
          seen.clear();
          for (let at = 0; at < RUNS; at += 1) {
            const message = (messages[at] ??= newMessage(account.id, {
              id: idBound(START - 30 * DAY_MS + at) + newId(0).slice(13),
            }));
            await what(message);
          }
          const days = new Set([...seen].map((each) => each.slice(each.indexOf('_'))));
          expect([name, days.size]).toEqual([name, seen.size === 0 ? 0 : 1]);
        };
        await often('accept', (message) => acceptAll(access, [batchOf(account.id, message)]));
        await often('begin', (message) => {
          const { id: recipientId } = recipientOf(message);
          const now = Date.now();
          const attempt = { recipientId, owner: 'me', leaseUntil: now + 9, nextAttemptAt: now + 9 };
          return beginAll(access, [{ attempts: [attempt], now, revision: null }]);
        });
        await often('finish', (message) => {
          const events = [newEvent(message.message, recipientOf(message).id, 'email.delivered')];
          return finishAll(access, [finishOf(message, recipientOf(message), { events })]);
        });
        const due = await everyCallDue(store, Date.now());
        expect(due).toHaveLength(RUNS);
        let at = 0;
        await often('begin a call', async () => {
          const [call] = due.slice(at, (at += 1));
          if (call === undefined) throw new Error('no call');
          const asked = { id: call.id, owner: 'me', leaseUntil: 9, nextAttemptAt: 9 };
          expect(await beginAllCalls(access, [{ calls: [asked], now: 5 }])).toMatchObject([
            [{ id: call.id }],
          ]);
        });
        await often('read', async ({ message: { id } }) => {
          await reads.messageForDelivery(id);
          await reads.body(account.id, id);
          await reads.events(id);
          await reads.attempts(id);
          await reads.recipients(id);
          await endpoints.callsOfMessage(id);
        });
        const page = { limit: 20, after: null, before: null, status: null };
        await often('end without an attempt', (message) => {
          const events = [newEvent(message.message, recipientOf(message).id, 'email.bounced')];
          return finishAll(access, [
            finishOf(message, recipientOf(message), { events, attempt: null }),
          ]);
        });
        await often('list and search', async () => {
          await reads.emails(account.id, { ...page, q: null });
          await reads.emails(account.id, { ...page, q: 'order' });
        });
        await often('remove', ({ message: { id } }) =>
          access.transaction((session) =>
            dropMessages(session, part('SELECT id FROM messages WHERE id = $1', id), true),
          ),
        );
      }),
    120_000,
  );
});
