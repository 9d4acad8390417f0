/**
 * What retention takes from the mail file, a small step at a time.
 *
 * Promises that a step removes at most `limit` rows, oldest first, and that the content of a message that still waits
 * for delivery stays. The bytes of content that goes are given back to its account in the same commit. Never decides how long anything is kept: the caller gives the bound.
 */
import type { Database } from 'bun:sqlite';
import { idBound } from '../../base/ids.ts';
import { ALL_ACCOUNTS, MS_PER_HOUR } from '../counted.ts';
import { PART_ENDPOINTS } from '../webhooks.ts';
import type { StoredBytes } from './stored-bytes.ts';
import type { AgingRows, Writes } from './verbs.ts';

/** Each costs a look at an index: a step must not grow with the number of accounts. */
const PART_ACCOUNTS = 1_000;

interface BodyRow {
  seq: number;
  accountId: string;
  createdAt: number;
  isOpen: number;
}

/** Removes at most `limit` rows of one kind from before `before`; returns how many. */
type Drop = (before: number, limit: number) => number;

/** The verbs over the writer's connection; statements are prepared once, here. */
export function retentionWrites(
  db: Database,
  stored: StoredBytes,
): Pick<
  Writes,
  | 'purgeBodiesStep'
  | 'purgeMessagesStep'
  | 'purgeCallAttemptsStep'
  | 'purgeOutcomesStep'
  | 'purgeStep'
> {
  const endpoints = db.prepare<{ id: string }, [string, number]>(
    'SELECT id FROM endpoints WHERE id > ? ORDER BY id LIMIT ?',
  );
  const dropCallAttempts = db.prepare(
    'DELETE FROM call_attempts WHERE endpoint_id = ?1 AND id IN' +
      ' (SELECT id FROM call_attempts WHERE endpoint_id = ?1 AND id < ?2 ORDER BY id LIMIT ?3)',
  );
  const drops = dropsByAge(db);
  return {
    ...bodyWrites(db, stored),
    ...messageWrites(db, stored),
    ...outcomeWrites(db),
    purgeCallAttemptsStep(before, after, limit) {
      const rows = endpoints.all(after, PART_ENDPOINTS);
      let removed = 0;
      let next = after;
      for (const { id } of rows) {
        removed += dropCallAttempts.run(id, idBound(before), limit - removed).changes;
        // This one may have more.
        if (removed >= limit) return { removed, next };
        next = id;
      }
      return { removed, next: rows.length < PART_ENDPOINTS ? null : next };
    },
    purgeStep: (rows, before, limit) => drops[rows](before, limit),
  };
}

function outcomeWrites(db: Database): Pick<Writes, 'purgeOutcomesStep'> {
  const accounts = db.prepare<{ id: string }, [string, number]>(
    'SELECT id FROM accounts WHERE id > ? ORDER BY id LIMIT ?',
  );
  // An account's hours lie together, those of all accounts in front of the first one's.
  const drop = db.prepare(
    'DELETE FROM outcome_hours WHERE (account_id, hour, destination, provider) IN' +
      ' (SELECT account_id, hour, destination, provider FROM' +
      " (SELECT '" +
      ALL_ACCOUNTS +
      "' AS id WHERE ?1 = '" +
      ALL_ACCOUNTS +
      "' UNION ALL SELECT id FROM accounts WHERE id > ?1 AND id <= ?2)" +
      ' JOIN outcome_hours ON account_id = id AND hour < ?3 / ' +
      MS_PER_HOUR +
      ' LIMIT ?4)',
  );
  return {
    purgeOutcomesStep(before, after, limit) {
      const rows = accounts.all(after, PART_ACCOUNTS);
      const last = rows.at(-1)?.id ?? after;
      const removed = drop.run(after, last, before, limit).changes;
      // Some of these may have more.
      if (removed >= limit) return { removed, next: after };
      return { removed, next: rows.length < PART_ACCOUNTS ? null : last };
    },
  };
}

function bodyWrites(db: Database, stored: StoredBytes): Pick<Writes, 'purgeBodiesStep'> {
  const bodies = db.prepare<BodyRow, [number, number]>(
    'SELECT message_seq AS seq, messages.account_id AS accountId, created_at AS createdAt,' +
      ' EXISTS (SELECT 1 FROM recipients' +
      ' WHERE recipients.message_id = messages.id AND next_attempt_at IS NOT NULL) AS isOpen' +
      ' FROM bodies JOIN messages ON messages.seq = bodies.message_seq' +
      ' WHERE message_seq > ? ORDER BY message_seq LIMIT ?',
  );
  const drop = contentDrop(db, stored);
  return {
    purgeBodiesStep(before, after, limit) {
      const rows = bodies.all(after, limit);
      let removed = 0;
      for (const { seq, accountId, createdAt, isOpen } of rows) {
        if (createdAt >= before) return { removed, next: null };
        if (isOpen === 1) continue;
        removed += drop(seq, accountId);
      }
      return { removed, next: rows.length < limit ? null : (rows.at(-1)?.seq ?? null) };
    },
  };
}

/** Removes the content of one message and gives its bytes back; returns how many bodies there were. */
export function contentDrop(
  db: Database,
  stored: StoredBytes,
): (seq: number, accountId: string) => number {
  const dropAttachments = db.prepare('DELETE FROM attachments WHERE message_seq = ?');
  const dropBody = db.prepare<{ bytes: number }, [number]>(
    'DELETE FROM bodies WHERE message_seq = ? RETURNING bytes',
  );
  return (seq, accountId) => {
    dropAttachments.run(seq);
    const gone = dropBody.all(seq);
    for (const { bytes } of gone) stored.note(accountId, -bytes);
    return gone.length;
  };
}

function messageWrites(db: Database, stored: StoredBytes): Pick<Writes, 'purgeMessagesStep'> {
  const old = db.prepare<{ seq: number; id: string; accountId: string }, [string, number]>(
    'SELECT seq, id, account_id AS accountId FROM messages WHERE id < ? AND seq < (SELECT max(seq) FROM messages)' +
      ' AND NOT EXISTS (SELECT 1 FROM recipients WHERE recipients.message_id = messages.id' +
      ' AND next_attempt_at IS NOT NULL) ORDER BY id LIMIT ?',
  );
  const drop = messageDrop(db, stored);
  return {
    purgeMessagesStep(before, limit) {
      const rows = old.all(idBound(before), limit);
      for (const row of rows) drop(row);
      return rows.length;
    },
  };
}

/** Removes one message with all rows that refer to it. */
export function messageDrop(
  db: Database,
  stored: StoredBytes,
): (message: { seq: number; id: string; accountId: string }) => void {
  const dropContent = contentDrop(db, stored);
  const ofId = [
    'DELETE FROM events WHERE message_id = ?',
    'DELETE FROM attempts WHERE message_id = ?',
    'DELETE FROM recipients WHERE message_id = ?',
    'DELETE FROM messages WHERE id = ?',
  ].map((sql) => db.prepare(sql));
  return ({ seq, id, accountId }) => {
    dropContent(seq, accountId);
    for (const statement of ofId) statement.run(id);
  };
}

/** Ids are UUIDv7: rows go by the time in their id, or in that of their message, without an index on time. */
function dropsByAge(db: Database): Record<AgingRows, Drop> {
  const byId = (sql: string): Drop => {
    const drop = db.prepare(sql);
    return (before, limit) => drop.run(idBound(before), limit).changes;
  };
  const byTime = (sql: string): Drop => {
    const drop = db.prepare(sql);
    return (before, limit) => drop.run(before, limit).changes;
  };
  return {
    events: byId(
      'DELETE FROM events WHERE (message_id, id) IN (SELECT message_id, id FROM events' +
        ' WHERE message_id < ? ORDER BY message_id, id LIMIT ?)',
    ),
    attempts: byId(
      'DELETE FROM attempts WHERE (message_id, id) IN (SELECT message_id, id FROM attempts' +
        ' WHERE message_id < ? ORDER BY message_id, id LIMIT ?)',
    ),
    calls: byId(
      'DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id < ? ORDER BY id LIMIT ?)',
    ),
    idempotency: byTime(
      'DELETE FROM idempotency WHERE (account_id, key) IN (SELECT account_id, key FROM idempotency' +
        ' WHERE expires_at < ? ORDER BY expires_at LIMIT ?)',
    ),
    harm: byTime(
      'DELETE FROM harm_hours WHERE (hour, account_id) IN' +
        ' (SELECT hour, account_id FROM harm_hours WHERE hour < ?1 / ' +
        MS_PER_HOUR +
        ' LIMIT ?2)',
    ),
    settings: byTime(
      "DELETE FROM settings WHERE name IN (SELECT name FROM settings WHERE name >= 'until:' AND name < 'until;'" +
        ' AND CAST(value AS INTEGER) < ? LIMIT ?)',
    ),
    suppressions: byTime(
      'DELETE FROM suppressions WHERE seq IN (SELECT seq FROM suppressions' +
        ' WHERE removed_at IS NOT NULL AND removed_at < ? ORDER BY removed_at LIMIT ?)',
    ),
  };
}
