/**
 * The counters that the writer keeps are what counting the rows would give, after random histories: with items that fail,
 * groups that are undone, and while the recount of older rows is under way. The seed of each history is in the test's name.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { destinationKind } from '../../../src/base/destination-kind.ts';
import { providerOfHost } from '../../../src/base/provider-hosts.ts';
import type { EventType, MessageStatus } from '../../../src/base/status.ts';
import type { OutcomeBucket, Outcomes } from '../../../src/store/counters.ts';
import type { NewMessage } from '../../../src/store/journey.ts';
import { openForWriting } from '../../../src/store/sqlite/database.ts';
import { GroupCommit } from '../../../src/store/sqlite/group-commit.ts';
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { OutcomeCounts } from '../../../src/store/sqlite/outcome-counts.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { counterReads } from '../../../src/store/sqlite/read-counters.ts';
import { OutcomeRecount } from '../../../src/store/sqlite/recounts.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { attemptWrites } from '../../../src/store/sqlite/write-attempts.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { SuppressionWriter } from '../../../src/store/sqlite/write-suppressions.ts';
import {
  batchOf,
  finishOf,
  newAccount,
  newAttempt,
  newEvent,
  newMessage,
  newSuppression,
} from '../samples.ts';

const HOUR_MS = 3_600_000;
const ADDRESSES = ['a@gmail.com', 'b@firm.example', 'c@outlook.com', 'd@sandbox.test'];
const HOSTS = [
  'gmail-smtp-in.l.google.com',
  'mx.firm.example',
  'firm.mail.protection.outlook.com',
  null,
];
const ENDS: [EventType, MessageStatus][] = [
  ['email.delivered', 'delivered'],
  ['email.delivery_delayed', 'delivery_delayed'],
  ['email.bounced', 'bounced'],
  ['email.complained', 'complained'],
  ['email.failed', 'failed'],
];

let folder: string;
let mail: Database;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-counters-'));
  mail = openForWriting(join(folder, 'mail.db'), 'normal');
  migrate(mail, MAIL_MIGRATIONS, 0);
});
afterEach(() => {
  mail.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Mulberry32: the numbers of one call tell nothing about those of the next. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000) * below);
  };
}

/** The writer's verbs over `mail`, in groups as the writer runs them, without its thread. */
function writerOf(db: Database) {
  const counts = new StatusCounts(db);
  const stored = new StoredBytes(db);
  const outcomes = new OutcomeCounts(db);
  const recount = new OutcomeRecount(db, outcomes);
  const events = new EventWriter(db);
  const positions = new Positions(db);
  const harm = new HarmCounts(db);
  const suppressions = new SuppressionWriter(db, harm);
  const sums = [counts, stored, outcomes, harm];
  const remembered = [events, positions, recount];
  const commit = new GroupCommit(db, {
    itemKept: () => sums.forEach((sum) => sum.keep()),
    itemUndone() {
      for (const sum of sums) sum.drop();
      for (const each of remembered) each.forget();
    },
    beforeCommit: () => sums.forEach((sum) => sum.flush()),
    groupUndone() {
      for (const each of [...sums, ...remembered]) each.forget();
    },
  });
  return {
    commit,
    recount,
    ...accountWrites(db),
    ...acceptWrites(db, events, counts, positions, stored),
    harm,
    suppressions,
    ...attemptWrites(db, events, suppressions, counts, recount),
  };
}

/** Rises with every change, over some dozens of hours. */
class Course {
  #at = Date.now() - 60 * HOUR_MS;

  next(random: (below: number) => number): number {
    this.#at += random(HOUR_MS / 4);
    return this.#at;
  }
}

/** One random change: a new message, or an end of a recipient of an earlier one. */
function change(
  writer: ReturnType<typeof writerOf>,
  accounts: readonly string[],
  messages: NewMessage[],
  random: (below: number) => number,
  course: Course,
): () => unknown {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  if (messages.length < 3 || random(4) === 0) {
    const isSandbox = random(6) === 0;
    const message = newMessage(pick(accounts), { isSandbox }, [pick(ADDRESSES), pick(ADDRESSES)]);
    messages.push(message);
    return () => writer.accept(batchOf(message.message.accountId, message));
  }
  const message = pick(messages);
  const recipient = pick(message.recipients);
  const [type, status] = pick(ENDS);
  const at = course.next(random);
  const event = { ...newEvent(message.message, recipient.id, type), occurredAt: at };
  const isReport = random(4) === 0;
  const attempt = isReport ? null : newAttempt(recipient, { host: pick(HOSTS), endedAt: at });
  const nextAttemptAt = status === 'delivery_delayed' ? at : null;
  const end = finishOf(message, recipient, { status, events: [event], attempt, nextAttemptAt });
  const isBroken = random(10) === 0;
  return () => {
    writer.finish(end);
    if (isBroken) throw new Error('the fault of this item');
  };
}

type Counted = Map<string, number>;

/** What counting the events gives. */
function countedEvents(): Counted {
  const hosts = mail.prepare<{ host: string | null }, [string, string, number]>(
    'SELECT host FROM attempts WHERE message_id = ? AND recipient_id = ? AND ended_at <= ? ORDER BY id',
  );
  const rows = mail
    .prepare<
      {
        account: string;
        at: number;
        type: EventType;
        domain: string;
        message: string;
        recipient: string;
      },
      []
    >(
      'SELECT r.account_id AS account, e.occurred_at AS at, e.type, r.domain, e.message_id AS message, r.id AS recipient' +
        ' FROM events e JOIN recipients r ON r.id = e.recipient_id JOIN messages m ON m.id = e.message_id' +
        " WHERE m.is_sandbox = 0 AND e.type <> 'email.queued' AND e.type <> 'email.sent'",
    )
    .all();
  const counted: Counted = new Map();
  for (const { account, at, type, domain, message, recipient } of rows) {
    if (domain === 'sandbox.test') continue;
    const provider = providerOfHost(hosts.all(message, recipient, at).at(-1)?.host ?? null);
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    for (const owner of [account, '']) {
      const key = [
        owner,
        hour,
        destinationKind(domain),
        provider,
        ENDS.findIndex(([one]) => one === type),
      ];
      counted.set(key.join(' '), (counted.get(key.join(' ')) ?? 0) + 1);
    }
  }
  return counted;
}

const COLUMNS: (keyof Outcomes)[] = ['delivered', 'delayed', 'bounced', 'complained', 'failed'];

/** What the port says, in the same form. */
async function portOutcomes(accounts: readonly string[]): Promise<Counted> {
  const reads = counterReads(mail);
  const counted: Counted = new Map();
  const add = (owner: string, rows: OutcomeBucket[]): void => {
    for (const row of rows) {
      COLUMNS.forEach((column, at) => {
        const key = [owner, row.start, row.destination, row.provider, at].join(' ');
        if (row[column] !== 0) counted.set(key, row[column]);
      });
    }
  };
  const query = { from: 0, until: Date.now() + HOUR_MS, bucket: 'hour' } as const;
  add('', await reads.outcomes({ ...query, accountId: null }));
  for (const accountId of accounts) add(accountId, await reads.outcomes({ ...query, accountId }));
  return counted;
}

const sorted = (counted: Counted) => [...counted].toSorted(([a], [b]) => (a < b ? -1 : 1));

const SEEDS = [1, 2, 3, Date.now() % 1_000_000];

describe.each(SEEDS)('after a random history (seed %d)', (seed) => {
  test('outcomes are what counting the events gives', async () => {
    const random = randomFrom(seed);
    const writer = writerOf(mail);
    const accounts = ['one', 'two'].map((name) => newAccount(name));
    for (const account of accounts) writer.createAccount(account);
    const ids = accounts.map(({ id }) => id);
    const messages: NewMessage[] = [];
    const course = new Course();
    for (let group = 0; group < 60; group += 1) {
      const items = Array.from({ length: 1 + random(8) }, () =>
        change(writer, ids, messages, random, course),
      );
      writer.commit.run(items);
    }
    const expected = countedEvents();
    expect(expected.size).toBeGreaterThan(20);
    expect(sorted(await portOutcomes(ids))).toEqual(sorted(expected));
  });

  test('the same while older rows are counted', async () => {
    const random = randomFrom(seed);
    const writer = writerOf(mail);
    const account = newAccount('one');
    writer.createAccount(account);
    const messages: NewMessage[] = [];
    const course = new Course();
    const history = (groups: number): void => {
      for (let group = 0; group < groups; group += 1) {
        const items = Array.from({ length: 1 + random(8) }, () =>
          change(writer, [account.id], messages, random, course),
        );
        writer.commit.run(items);
      }
    };
    history(40);
    // As an upgrade finds it: rows, and no counter yet.
    mail.run('DELETE FROM outcome_hours');
    mail.run("INSERT INTO recounts SELECT 'outcomes', max(seq) + 1 FROM messages");
    writer.recount.forget();
    for (;;) {
      history(2);
      const [step] = writer.commit.run([() => writer.recount.step(0, 3)]);
      expect(step).toHaveProperty('value');
      if (step !== undefined && 'value' in step && step.value === 0) break;
    }
    history(5);
    expect(sorted(await portOutcomes([account.id]))).toEqual(sorted(countedEvents()));
  });
});

/** What counting the suppressions gives, and what the counter has. */
function countedHarm(): Record<'counted' | 'kept', unknown[]> {
  return {
    counted: mail
      .prepare(
        "SELECT s.created_at / 3600000 AS hour, s.account_id, sum(reason = 'hard_bounce') AS hard_bounces," +
          " sum(reason = 'complaint') AS complaints FROM suppressions s JOIN messages m ON m.id = s.source" +
          " AND m.account_id = s.account_id WHERE reason IN ('hard_bounce', 'complaint') GROUP BY 1, 2 ORDER BY 1, 2",
      )
      .all(),
    kept: mail.prepare('SELECT * FROM harm_hours ORDER BY hour, account_id').all(),
  };
}

test.each(SEEDS)(
  'harm is what counting the suppressions gives, while older rows are counted too (seed %d)',
  (seed) => {
    const random = randomFrom(seed);
    const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
    const writer = writerOf(mail);
    const accounts = ['one', 'two'].map((name) => newAccount(name));
    const messages = accounts.map(({ id }) => newMessage(id));
    for (const account of accounts) writer.createAccount(account);
    for (const message of messages) writer.accept(batchOf(message.message.accountId, message));
    const sources = [
      ...messages.map(({ message }) => message.id),
      'import',
      null,
      accounts[0]?.id ?? '',
    ];
    const history = (groups: number): void => {
      for (let group = 0; group < groups; group += 1) {
        const items = Array.from({ length: 1 + random(6) }, () => {
          const { id } = pick(accounts);
          const createdAt = Date.now() - random(30) * HOUR_MS;
          const reason = pick([
            'hard_bounce',
            'complaint',
            'manual',
            'manual',
            'unsubscribe',
          ] as const);
          const row = newSuppression(id, `r${random(400)}@example.org`, {
            reason,
            source: pick(sources),
            createdAt,
          });
          const isBroken = random(8) === 0;
          return () => {
            writer.suppressions.add(row);
            if (isBroken) throw new Error('the fault of this item');
          };
        });
        writer.commit.run(items);
      }
    };
    // One change in about fifteen is counted: so many that no seed leaves only a handful.
    history(200);
    const { counted, kept } = countedHarm();
    expect(counted.length).toBeGreaterThan(5);
    expect(kept).toEqual(counted);
    mail.run('DELETE FROM harm_hours');
    mail.run("INSERT INTO recounts SELECT 'harm', max(seq) + 1 FROM suppressions");
    writer.harm.forget();
    for (;;) {
      history(1);
      const [step] = writer.commit.run([() => writer.harm.step(0, 7)]);
      if (step !== undefined && 'value' in step && step.value === 0) break;
    }
    history(3);
    const after = countedHarm();
    expect(after.kept).toEqual(after.counted);
  },
);

test('a bucket of a day is the sum of its hours, and others are left out', async () => {
  const reads = counterReads(mail);
  const add = mail.prepare('INSERT INTO outcome_hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  for (let hour = 20; hour < 60; hour += 1) add.run('', hour, 'gmail', 'Gmail', 1, 2, 3, 4, 5);
  add.run('someone', 30, 'gmail', 'Gmail', 9, 9, 9, 9, 9);
  const query = { accountId: null, from: 25 * HOUR_MS, until: 48 * HOUR_MS } as const;
  const day = {
    destination: 'gmail',
    provider: 'Gmail',
    delivered: 24,
    delayed: 48,
    bounced: 72,
    complained: 96,
    failed: 120,
  };
  expect(await reads.outcomes({ ...query, bucket: 'day' })).toEqual([
    { start: 24 * HOUR_MS, ...day },
  ]);
  const hours = await reads.outcomes({ ...query, bucket: 'hour' });
  expect(hours.map(({ start }) => start / HOUR_MS)).toEqual(
    Array.from({ length: 23 }, (_, at) => at + 25),
  );
});

test('a bound within an hour counts that hour, and nothing before or after it', async () => {
  const reads = counterReads(mail);
  const add = mail.prepare('INSERT INTO outcome_hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const harm = mail.prepare(
    'INSERT INTO harm_hours (account_id, hour, hard_bounces, complaints) VALUES (?, ?, ?, ?)',
  );
  for (let hour = 20; hour < 30; hour += 1) add.run('', hour, 'gmail', 'Gmail', 1, 0, 0, 0, 0);
  for (const hour of [24, 25, 26]) harm.run('one', hour, hour, 2 * hour);
  const query = { accountId: null, until: 27.5 * HOUR_MS, bucket: 'hour' } as const;
  const rows = await reads.outcomes({ ...query, from: 25.5 * HOUR_MS });
  expect(rows.map(({ start }) => start / HOUR_MS)).toEqual([25, 26, 27]);
  const total = { hardBounces: 51, complaints: 102 };
  expect(await reads.harm('one', 25.5 * HOUR_MS)).toEqual(total);
  for (const least of [
    { ...total, complaints: 1e9 },
    { ...total, hardBounces: 1e9 },
  ]) {
    expect(await reads.harmedAccounts(25.5 * HOUR_MS, least)).toEqual(['one']);
    expect(await reads.harmedAccounts(26 * HOUR_MS, least)).toEqual([]);
  }
});
