/**
 * A data directory with very many rows, made within seconds: messages with recipients, attempts and events,
 * suppressions and request-log rows, written by SQL into the files that the product has made.
 *
 * Promises rows like those of an account that sends all the time: spread evenly until `now`, most of them delivered, one
 * in fifty bounced with a suppression of its own, one in a thousand complained, and `queued` of the newest waiting.
 * Nothing may have the directory open. Aggregates that the store keeps are left as they are: opening the directory
 * computes what it knows how to compute.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { POSITION } from '../../src/store/sqlite/positions.ts';

export interface Filling {
  dataDir: string;
  accountId: string;
  /** Epoch milliseconds of the newest row. */
  now: number;
  /** Days over which the rows are spread. */
  days: number;
  /** Of messages, of suppressions and of log rows, each. */
  rows: number;
  /** How many of the messages wait for a far destination. */
  queued: number;
  /** Rows of each kind that are there already, and messages among them; 0: the directory is new. */
  after?: number;
}

const DAY_MS = 86_400_000;

/** A UUIDv7 for row `i` of the time `t`; `kind` keeps ids of several tables apart. */
const idOf = (kind: number): string =>
  `printf('%08x-%04x-7%03x-8${kind.toString(16).padStart(3, '0')}-%012x', t >> 16, t & 65535, i & 4095, i)`;

/** Rows numbered `i` from 1, or from the first that is not there, at the time `t`. */
function numbered({ rows, now, days, after = 0 }: Filling): string {
  const from = now - days * DAY_MS;
  const step = (days * DAY_MS) / rows;
  return `WITH RECURSIVE n (i) AS (VALUES (${after + 1}) UNION ALL SELECT i + 1 FROM n WHERE i < ${after + rows}),
    row (i, t) AS (SELECT i, CAST(${from} + (i - ${after}) * ${step} AS INTEGER) FROM n)`;
}

const STATUS = (queuedAfter: number): string =>
  `CASE WHEN i > ${queuedAfter} THEN 'queued' WHEN i % 1000 = 1 THEN 'complained'
    WHEN i % 50 = 0 THEN 'bounced' ELSE 'delivered' END`;

/** Writes the rows. Throws when the directory was never opened by the product, or has other rows than `after` says. */
export function fillDirectory(filling: Filling): void {
  const mail = open(join(filling.dataDir, 'mail.db'));
  const logs = open(join(filling.dataDir, 'log.db'));
  try {
    for (const sql of [...messageSql(filling), ...suppressionSql(filling)]) mail.run(sql);
    logs.run(logSql(filling));
    for (const db of [mail, logs]) db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    mail.close();
    logs.close();
  }
}

function open(path: string): Database {
  const db = new Database(path, { readwrite: true, create: false });
  db.run('PRAGMA journal_mode = WAL');
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA cache_size = -400000');
  db.run('PRAGMA temp_store = MEMORY');
  // Each statement commits by itself: the WAL of a single transaction would be as large as the file.
  return db;
}

function messageSql(filling: Filling): string[] {
  const { accountId, rows, queued, now, after = 0 } = filling;
  const row = numbered(filling);
  const last = after + rows - queued;
  const status = STATUS(last);
  const address = "'user' || i || '@mail' || (i % 1000) || '.example.net'";
  const due = `CASE WHEN i > ${last} THEN ${now + DAY_MS} + i ELSE NULL END`;
  return [
    `INSERT INTO messages (id, account_id, ${POSITION}, status, created_at, updated_at, is_sandbox, message_id, sender,
      to_list, cc_list, bcc_list, reply_to_list, subject, tags)
      ${row} SELECT ${idOf(1)}, '${accountId}', i, ${status}, t, t + 900, 0, '<' || i || '@mail.example.com>',
      'Shop <shop@example.com>', '["' || ${address} || '"]', '[]', '[]', '[]', 'Your order ' || i || ' is on its way',
      '[]' FROM row`,
    `INSERT INTO bodies (message_seq, text, bytes)
      ${row} SELECT i, 'Good day, your parcel left our shop this morning. ' || hex(randomblob(100)), 250 FROM row`,
    `INSERT INTO recipients (id, message_id, account_id, address, domain, kind, status, attempts, next_attempt_at,
      expires_at, last_reason, updated_at)
      ${row} SELECT ${idOf(2)}, ${idOf(1)}, '${accountId}', ${address}, 'mail' || (i % 1000) || '.example.net', 'to',
      ${status}, i <= ${last}, ${due}, t + ${3 * DAY_MS}, '250 2.0.0 OK', t + 900 FROM row`,
    `INSERT INTO attempts (message_id, id, recipient_id, number, began_at, ended_at, outcome, stage, host, address,
      reply, may_be_duplicate)
      ${row} SELECT ${idOf(1)}, ${idOf(4)}, ${idOf(2)}, 1, t + 600, t + 900,
      CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'delivered' END, 'dot', 'mx' || (i % 1000) || '.example.net',
      '192.0.2.1', '250 2.0.0 OK', 0 FROM row WHERE i <= ${last}`,
    `INSERT INTO events (message_id, id, type, occurred_at)
      ${row} SELECT ${idOf(1)}, ${idOf(5)}, 'email.queued', t FROM row`,
    `INSERT INTO events (message_id, id, recipient_id, type, occurred_at)
      ${row} SELECT ${idOf(1)}, ${idOf(6)}, ${idOf(2)}, 'email.sent', t + 600 FROM row WHERE i <= ${last}`,
    `INSERT INTO events (message_id, id, recipient_id, type, occurred_at, payload)
      ${row} SELECT ${idOf(1)}, ${idOf(7)}, ${idOf(2)},
      CASE WHEN i % 50 = 0 THEN 'email.bounced' ELSE 'email.delivered' END, t + 900,
      '{"attempt":1,"stage":"dot","reply":"250 2.0.0 OK","host":"mx.example.net"}' FROM row WHERE i <= ${last}`,
    `INSERT INTO status_days (account_id, day, status, count)
      SELECT account_id, created_at / ${DAY_MS}, status, count(*) FROM messages WHERE seq > ${after} GROUP BY 1, 2, 3
      ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    `INSERT INTO usage_days (account_id, day, count)
      SELECT account_id, date(created_at / 1000, 'unixepoch'), count(*) FROM messages WHERE seq > ${after} GROUP BY 1, 2
      ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    `INSERT INTO stored_bytes (account_id, bytes)
      SELECT '${accountId}', sum(bytes) FROM bodies WHERE message_seq > ${after}
      ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`,
  ];
}

function suppressionSql(filling: Filling): string[] {
  const source = `CASE WHEN i % 50 = 0 OR i % 1000 = 1 THEN ${idOf(1)} ELSE 'import' END`;
  return [
    `INSERT INTO suppressions (id, account_id, email, reason, source, note, created_at)
      ${numbered(filling)} SELECT ${idOf(8)}, '${filling.accountId}',
      'reader' || i || '@host' || (i % 1000) || '.example.org',
      CASE WHEN i % 50 = 0 THEN 'hard_bounce' WHEN i % 1000 = 1 THEN 'complaint' WHEN i % 3 = 0 THEN 'unsubscribe'
        ELSE 'manual' END, ${source}, NULL, t FROM row`,
  ];
}

function logSql(filling: Filling): string {
  return `INSERT INTO logs (id, account_id, method, path, status, duration_ms, key_name, key_permission, created_at,
      request_body, response_body)
      ${numbered(filling)} SELECT ${idOf(9)}, '${filling.accountId}', CASE WHEN i % 3 = 0 THEN 'GET' ELSE 'POST' END,
      '/emails', CASE WHEN i % 100 = 0 THEN 422 ELSE 200 END, 3, 'bench', 'full_access', t,
      '{"from":"shop@example.com","to":"user' || i || '@mail.example.net"}', '{"id":"' || i || '"}' FROM row`;
}
