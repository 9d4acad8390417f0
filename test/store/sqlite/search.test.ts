/**
 * Search finds exactly what a scan of everything finds: for random texts and queries, indexed or not yet,
 * in both directions, beside another account; and the index follows its source.
 */
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Database } from 'bun:sqlite';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { masterKey } from '../../../src/store/key-file.ts';
import { backUp } from '../../../src/store/sqlite/backup.ts';
import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import { Indexer, SEARCH_FILE } from '../../../src/store/sqlite/indexer.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { emailLists } from '../../../src/store/sqlite/read-emails.ts';
import { idBound } from '../../../src/base/ids.ts';
import type { LogRecord } from '../../../src/store/rows.ts';
import { logLists } from '../../../src/store/sqlite/read-logs.ts';
import { suppressionLists } from '../../../src/store/sqlite/read-suppressions.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import type { EmailFilter } from '../../../src/store/messages.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { logWrites } from '../../../src/store/sqlite/write-logs.ts';
import { SuppressionWriter } from '../../../src/store/sqlite/write-suppressions.ts';
import {
  batchOf,
  newAccount,
  newLogRecord,
  newMessage,
  newSuppression,
  randomFrom,
} from '../samples.ts';

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const account = newAccount('one');
const other = newAccount('two');
const ALL = { limit: 1000, after: null, before: null };

/** The writers of the mail and the log file, on this thread, so that a test decides when the index catches up. */
interface Bench {
  dir: string;
  mail: Database;
  log: Database;
  accept: ReturnType<typeof acceptWrites>['accept'];
  logs: ReturnType<typeof logWrites>;
  suppressions: SuppressionWriter;
}

let bench: Bench;
const opened: { close(): void }[] = [];

beforeEach(() => {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-search-'));
  const mail = openForWriting(join(dir, 'mail.db'), 'normal');
  const log = openForWriting(join(dir, 'log.db'), 'normal');
  migrate(mail, MAIL_MIGRATIONS, 0);
  migrate(log, LOG_MIGRATIONS, 0);
  opened.push(mail, log);
  for (const row of [account, other]) accountWrites(mail).createAccount(row);
  const { accept } = acceptWrites(
    mail,
    new EventWriter(mail),
    new StatusCounts(mail),
    new Positions(mail),
    new StoredBytes(mail),
  );
  bench = {
    dir,
    mail,
    log,
    accept,
    logs: logWrites(log),
    suppressions: new SuppressionWriter(mail, new HarmCounts(mail)),
  };
});

afterEach(() => {
  for (const thing of opened.splice(0).toReversed()) thing.close();
  rmSync(bench.dir, { recursive: true });
});

function newIndexer(): Indexer {
  const indexer = new Indexer(bench.dir, 0);
  opened.push(indexer);
  return indexer;
}

function catchUp(indexer: Indexer): void {
  while (indexer.step());
}

function reader(file: string): Database {
  const db = openForReading(join(bench.dir, file));
  opened.push(db);
  return db;
}

const PARTS = [
  'Order',
  'order',
  'ÄRGER',
  'é',
  'ab',
  'zq',
  '"',
  "'",
  '%',
  '_',
  '#12',
  '😀',
  ' ',
  'x',
];

describe(`search (SEED=${SEED})`, () => {
  test('of messages equals a scan, whatever is indexed', async () => {
    const random = randomFrom(SEED);
    const text = (): string =>
      Array.from({ length: 1 + random(5) }, () => PARTS[random(PARTS.length)]).join('');
    const sent: { id: string; text: string; status: string; isOurs: boolean }[] = [];
    const acceptSome = (count: number): void => {
      for (let at = 0; at < count; at += 1) {
        const isOurs = random(3) > 0;
        const status = random(4) === 0 ? 'bounced' : 'delivered';
        const subject = text();
        const change = { subject, from: `${text()} <a@b.example>`, status } as const;
        const to = [`u${random(50)}@c.example`];
        const message = newMessage(isOurs ? account.id : other.id, change, to);
        bench.accept(batchOf(message.message.accountId, message));
        const seen = `${subject}\n${message.message.from}\n${to[0] ?? ''}`.toLowerCase();
        sent.unshift({ id: message.message.id, text: seen, status, isOurs });
      }
    };
    const indexer = newIndexer();
    const lists = emailLists(reader('mail.db'), reader(SEARCH_FILE));
    const find = async (filter: Partial<EmailFilter>): Promise<string[]> => {
      const page = await lists.emails(account.id, { ...ALL, q: null, status: null, ...filter });
      return page.rows.map(({ id }) => id);
    };
    const check = async (q: string): Promise<void> => {
      const wanted = sent.filter((row) => row.isOurs && row.text.includes(q.toLowerCase()));
      const ids = wanted.map(({ id }) => id);
      expect([q, await find({ q })]).toEqual([q, ids]);
      const bounced = wanted.filter(({ status }) => status === 'bounced').map(({ id }) => id);
      expect([q, await find({ q, status: 'bounced' })]).toEqual([q, bounced]);
      const middle = ids[Math.floor(ids.length / 2)];
      if (middle === undefined) return;
      const at = ids.indexOf(middle);
      expect(await find({ q, after: middle, limit: 2 })).toEqual(ids.slice(at + 1, at + 3));
      const newer = ids.slice(Math.max(at - 2, 0), at);
      expect(await find({ q, before: middle, limit: 2 })).toEqual(newer);
    };
    const queries = ['ORDER', 'rder', 'o', 'zq', '"', '%', '_', '😀', 'é', 'ärger', 'u1', '@c.ex'];
    acceptSome(150);
    for (const q of [...queries, text(), text(), 'nowhere', '\n', '~']) await check(q);
    catchUp(indexer);
    for (const q of [...queries, text(), text(), 'nowhere', '~']) await check(q);
    acceptSome(60);
    for (const q of [...queries, text(), text(), text()]) await check(q);
    catchUp(indexer);
    while (indexer.tidyStep());
    for (const q of [...queries, text(), text(), text()]) await check(q);
  });

  test('of many matches in pages meets every row once', async () => {
    const indexer = newIndexer();
    const ids: string[] = [];
    for (let at = 0; at < 300; at += 1) {
      const message = newMessage(account.id, { subject: `receipt ${at}` });
      bench.accept(batchOf(account.id, message));
      ids.unshift(message.message.id);
      if (at === 200) catchUp(indexer);
    }
    const lists = emailLists(reader('mail.db'), reader(SEARCH_FILE));
    const seen: string[] = [];
    let after: string | null = null;
    for (;;) {
      const filter: EmailFilter = { limit: 7, after, before: null, q: 'receipt', status: null };
      const page = await lists.emails(account.id, filter);
      seen.push(...page.rows.map(({ id }) => id));
      if (!page.hasMore) break;
      after = seen.at(-1) ?? null;
    }
    expect(seen).toEqual(ids);
  });

  test('of suppressions follows removals and returns', async () => {
    const indexer = newIndexer();
    const { suppressions } = bench;
    for (const email of ['ann@example.org', 'bob@example.org', 'ann@example.net']) {
      suppressions.add(newSuppression(account.id, email));
      suppressions.add(newSuppression(other.id, email));
    }
    const reads = suppressionLists(reader('mail.db'), reader(SEARCH_FILE));
    const find = async (q: string): Promise<string[]> =>
      (await reads.suppressions(account.id, q, ALL)).rows.map(({ email }) => email);
    const steps = [() => {}, () => catchUp(indexer)];
    for (const step of steps) {
      step();
      expect(await find('ANN@')).toEqual(['ann@example.net', 'ann@example.org']);
      expect(await find('b')).toEqual(['bob@example.org']);
    }
    suppressions.remove(account.id, 'ann@example.org', 1);
    expect(await find('ann')).toEqual(['ann@example.net']);
    suppressions.add(newSuppression(account.id, 'ann@example.org'));
    expect(await find('ann')).toEqual(['ann@example.org', 'ann@example.net']);
    catchUp(indexer);
    expect(await find('ann')).toEqual(['ann@example.org', 'ann@example.net']);
  });

  test('of logs goes with key, method, status and class', async () => {
    const indexer = newIndexer();
    const paths = ['/emails', '/emails/batch', '/domains'];
    const records = Array.from({ length: 120 }, (_, at) =>
      newLogRecord(at % 10 === 0 ? other.id : account.id, {
        method: at % 3 === 0 ? 'GET' : 'POST',
        status: at % 4 === 0 ? 404 : at % 5 === 0 ? 422 : 200,
        path: paths[at % paths.length] ?? '',
        keyId: at % 10 === 0 ? 'key of another' : at % 7 === 0 ? null : `key ${at % 2}`,
        isSandbox: at % 3 === 1,
      }),
    );
    bench.logs.appendLogs(records);
    const reads = logLists(reader('log.db'), reader(SEARCH_FILE));
    for (const step of [() => {}, () => catchUp(indexer)]) {
      step();
      const found: unknown[] = [];
      const wanted: unknown[] = [];
      for (const filter of logFilters()) {
        const { rows } = await reads.logs(account.id, { ...ALL, ...filter });
        found.push([filter, rows.map(({ id }) => id)]);
        const ids = records.filter((row) => isWantedLog(row, filter)).map(({ id }) => id);
        wanted.push([filter, ids.toReversed()]);
      }
      expect(found).toEqual(wanted);
    }
  });

  test('of logs goes by time, to the request', async () => {
    newIndexer();
    const at = Date.UTC(2026, 0, 2);
    const records = [-2, -1, 0, 1, 2].map((ms) =>
      newLogRecord(account.id, {
        // Not from the source of ids, which never goes back in time.
        id: `${idBound(at + ms)}-7000-8000-000000000000`,
        createdAt: at + ms,
        keyId: 'key',
      }),
    );
    bench.logs.appendLogs(records);
    const reads = logLists(reader('log.db'), reader(SEARCH_FILE));
    const all = { ...ALL, q: null, method: null, status: null };
    const between = async (since: number | null, until: number | null, keyId: string | null) => {
      const { rows } = await reads.logs(account.id, { ...all, since, until, keyId });
      return rows.map(({ createdAt }) => createdAt - at);
    };
    for (const keyId of [null, 'key']) {
      expect(await between(at, null, keyId)).toEqual([2, 1, 0]);
      expect(await between(null, at, keyId)).toEqual([-1, -2]);
      expect(await between(at - 1, at + 1, keyId)).toEqual([0, -1]);
      expect(await between(at + 9, null, keyId)).toEqual([]);
      expect(await between(null, 0, keyId)).toEqual([]);
    }
  });
});

interface AskedLogs {
  q: string | null;
  method: string | null;
  status: number | null;
  keyId: string | null;
  isSandboxOnly?: boolean;
}

function logFilters(): AskedLogs[] {
  const filters: AskedLogs[] = [];
  for (const q of [null, 'emails', 'BATCH', '/', 'nothing']) {
    for (const method of [null, 'GET', 'POST', 'PUT']) {
      for (const status of [null, 404, 4, 2, 500]) {
        for (const keyId of [null, 'key 0', 'key of another']) {
          filters.push({ q, method, status, keyId });
        }
        filters.push({ q, method, status, keyId: null, isSandboxOnly: true });
      }
    }
  }
  return filters;
}

function isWantedLog(row: LogRecord, filter: AskedLogs): boolean {
  const { q, method, status, keyId } = filter;
  return (
    row.accountId === account.id &&
    (filter.isSandboxOnly !== true || row.isSandbox) &&
    (q === null || row.path.includes(q.toLowerCase())) &&
    (method === null || row.method === method) &&
    (keyId === null || row.keyId === keyId) &&
    (status === null || row.status === status || Math.floor(row.status / 100) === status)
  );
}

describe('the index file', () => {
  const subjects = async (q: string): Promise<string[]> => {
    const lists = emailLists(reader('mail.db'), reader(SEARCH_FILE));
    const page = await lists.emails(account.id, { ...ALL, q, status: null });
    return page.rows.map(({ subject }) => subject);
  };
  const send = (subject: string): void => {
    const message = newMessage(account.id, { subject });
    bench.accept(batchOf(account.id, message));
  };

  test('continues where it stopped', async () => {
    send('first');
    const indexer = new Indexer(bench.dir, 0);
    catchUp(indexer);
    indexer.close();
    send('second');
    catchUp(newIndexer());
    expect(await subjects('first')).toEqual(['first']);
    expect(await subjects('second')).toEqual(['second']);
  });

  for (const [when, isAcceptedFirst] of [
    ['that has fewer rows', false],
    ['that has gone on differently', true],
  ] as const) {
    test(`is built again when its source was restored to an older state ${when}`, async () => {
      // More than a term's sample, or the account's own mark would find everything.
      for (let at = 0; at < 100; at += 1) send('first');
      const path = join(bench.dir, 'mail.db');
      const copy = join(bench.dir, 'copy.db');
      masterKey(bench.dir);
      backUp(bench.dir, copy);
      send('lost');
      const indexer = new Indexer(bench.dir, 0);
      catchUp(indexer);
      indexer.close();
      for (const thing of opened.splice(0).toReversed()) thing.close();

      for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
      renameSync(copy, path);
      bench.mail = openForWriting(path, 'full');
      opened.push(bench.mail);
      bench.accept = acceptWrites(
        bench.mail,
        new EventWriter(bench.mail),
        new StatusCounts(bench.mail),
        new Positions(bench.mail),
        new StoredBytes(bench.mail),
      ).accept;
      if (isAcceptedFirst) send('after');
      const again = newIndexer();
      if (!isAcceptedFirst) send('after');
      catchUp(again);
      expect(await subjects('after')).toEqual(['after']);
      expect(await subjects('lost')).toEqual([]);
    });
  }

  test('loses the entries of log rows that retention took', () => {
    const old = Array.from({ length: 700 }, () => newLogRecord(account.id, { createdAt: 5 }));
    bench.logs.appendLogs([...old, newLogRecord(account.id, { path: '/young' })]);
    const indexer = newIndexer();
    catchUp(indexer);
    const entries = (): unknown =>
      reader(SEARCH_FILE)
        .prepare('SELECT rowid FROM log_pairs WHERE log_pairs MATCH ?')
        .all('"em"');
    expect(entries()).toHaveLength(700);
    while (bench.logs.purgeLogsStep(account.id, 6, 100) === 100);
    while (indexer.tidyStep());
    expect(entries()).toHaveLength(0);
    expect(indexer.tidyStep()).toBe(false);
  });

  test('is built again when it is damaged', async () => {
    send('first');
    const indexer = new Indexer(bench.dir, 0);
    catchUp(indexer);
    indexer.close();
    const path = join(bench.dir, SEARCH_FILE);
    expect(existsSync(path)).toBe(true);
    writeFileSync(path, Buffer.alloc(8192, 'garbage'));
    catchUp(newIndexer());
    expect(await subjects('first')).toEqual(['first']);
  });
});
