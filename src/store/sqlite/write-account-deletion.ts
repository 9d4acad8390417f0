/**
 * Deleting an account from the mail file and the log file, a step at a time.
 *
 * Promises that a step removes or looks at no more than `limit` rows, and that the account's own row goes in the commit
 * that finds no message of it. Row numbers of messages are not used a second time while the process lives, since the
 * search index goes on from them; a start finds that the index does not fit any more and makes it anew, which takes the
 * last of the account's words out of it.
 */
import type { Database } from 'bun:sqlite';
import type { EventWriter } from './write-events.ts';
import type { MessageSeqs } from './message-seqs.ts';
import { messageDrop } from './write-retention.ts';
import type { StoredBytes } from './stored-bytes.ts';
import type { LogWrites, Writes } from './verbs.ts';

type DeletionWrites = Pick<
  Writes,
  | 'closeAccount'
  | 'stopWaitingStep'
  | 'dropAccountMessagesStep'
  | 'dropAccountRowsStep'
  | 'dropAccountDomainsStep'
  | 'dropAccountEnd'
>;

interface Parts {
  db: Database;
  events: EventWriter;
  stored: StoredBytes;
  seqs: MessageSeqs;
}

/** The verbs over the writer's connection; statements are prepared once, here. */
export function accountDeletionWrites(parts: Parts): DeletionWrites {
  const { db } = parts;
  return {
    closeAccount: closing(parts),
    stopWaitingStep: stopping(db),
    dropAccountMessagesStep: messageSteps(parts),
    dropAccountRowsStep: rowSteps(db),
    dropAccountDomainsStep: domainSteps(db),
    dropAccountEnd: ending(parts),
  };
}

function closing({ db, events }: Parts): DeletionWrites['closeAccount'] {
  const pause = db.prepare("UPDATE accounts SET status = 'paused', status_reason = ? WHERE id = ?");
  const disable = db.prepare("UPDATE endpoints SET status = 'disabled' WHERE account_id = ?");
  const dropKeys = db.prepare('DELETE FROM api_keys WHERE account_id = ?');
  const dropOperators = db.prepare('DELETE FROM operators WHERE account_id = ?');
  return (accountId, reason) => {
    pause.run(reason, accountId);
    disable.run(accountId);
    dropOperators.run(accountId);
    events.forget();
    return dropKeys.run(accountId).changes;
  };
}

function stopping(db: Database): DeletionWrites['stopWaitingStep'] {
  const waiting = db.prepare<
    { dueAt: number; id: string; accountId: string },
    [number, string, number]
  >(
    'SELECT next_attempt_at AS dueAt, id, account_id AS accountId FROM recipients INDEXED BY recipients_by_due' +
      ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?, ?)' +
      ' ORDER BY next_attempt_at, id LIMIT ?',
  );
  const stop = db.prepare('UPDATE recipients SET next_attempt_at = NULL WHERE id = ?');
  return (accountId, after, limit) => {
    const rows = waiting.all(after.dueAt, after.id, limit);
    for (const row of rows) if (row.accountId === accountId) stop.run(row.id);
    const last = rows.at(-1);
    return rows.length < limit || last === undefined ? null : { dueAt: last.dueAt, id: last.id };
  };
}

function messageSteps({ db, stored, seqs }: Parts): DeletionWrites['dropAccountMessagesStep'] {
  const some = db.prepare<{ seq: number; id: string; accountId: string }, [string, number]>(
    'SELECT seq, id, account_id AS accountId FROM messages WHERE account_id = ? LIMIT ?',
  );
  const dropCalls = db.prepare(
    'DELETE FROM calls WHERE event_id IN (SELECT id FROM events WHERE message_id = ?)',
  );
  const drop = messageDrop(db, stored);
  return (accountId, limit) => {
    const rows = some.all(accountId, limit);
    for (const row of rows) {
      seqs.keepAbove(row.seq);
      dropCalls.run(row.id);
      drop(row);
    }
    return rows.length;
  };
}

/** The account's rows of tables that may be long, by their keys. */
const LONG_TABLES = {
  suppressions:
    'DELETE FROM suppressions WHERE seq IN (SELECT seq FROM suppressions WHERE account_id = ? LIMIT ?)',
  confirmed:
    'DELETE FROM confirmed_recipients WHERE (account_id, email) IN' +
    ' (SELECT account_id, email FROM confirmed_recipients WHERE account_id = ? LIMIT ?)',
  idempotency:
    'DELETE FROM idempotency WHERE (account_id, key) IN' +
    ' (SELECT account_id, key FROM idempotency WHERE account_id = ? LIMIT ?)',
  // Those whose events history has taken; the others go with their messages.
  calls:
    'DELETE FROM calls WHERE id IN (SELECT calls.id FROM endpoints JOIN calls ON calls.endpoint_id = endpoints.id' +
    ' WHERE endpoints.account_id = ? LIMIT ?)',
  attempts:
    'DELETE FROM call_attempts WHERE (endpoint_id, id) IN (SELECT call_attempts.endpoint_id, call_attempts.id' +
    ' FROM endpoints JOIN call_attempts ON call_attempts.endpoint_id = endpoints.id' +
    ' WHERE endpoints.account_id = ? LIMIT ?)',
  outcomes:
    'DELETE FROM outcome_hours WHERE (account_id, hour, destination, provider) IN' +
    ' (SELECT account_id, hour, destination, provider FROM outcome_hours WHERE account_id = ? LIMIT ?)',
};

function rowSteps(db: Database): DeletionWrites['dropAccountRowsStep'] {
  const drops = Object.entries(LONG_TABLES).map(([table, sql]) => ({
    table,
    drop: db.prepare(sql),
  }));
  return (accountId, limit) => {
    const step = { suppressions: 0, confirmed: 0, left: 0 };
    for (const { table, drop } of drops) {
      const { changes } = drop.run(accountId, limit);
      if (table === 'suppressions') step.suppressions = changes;
      if (table === 'confirmed') step.confirmed = changes;
      // One long table is enough for a step.
      if (changes >= limit) return { ...step, left: 1 };
    }
    return step;
  };
}

function domainSteps(db: Database): DeletionWrites['dropAccountDomainsStep'] {
  const some = db.prepare<{ id: string }, [string, number]>(
    'SELECT id FROM domains INDEXED BY domains_by_account WHERE account_id = ? LIMIT ?',
  );
  const dropKeys = db.prepare('DELETE FROM dkim_keys WHERE domain_id = ?');
  const drop = db.prepare('DELETE FROM domains WHERE id = ?');
  return (accountId, limit) => {
    const rows = some.all(accountId, limit);
    for (const { id } of rows) {
      dropKeys.run(id);
      drop.run(id);
    }
    return rows.length;
  };
}

function ending({ db, events }: Parts): DeletionWrites['dropAccountEnd'] {
  const hasMessage = db.prepare('SELECT 1 FROM messages WHERE account_id = ? LIMIT 1');
  const rest = [
    ...Object.values(LONG_TABLES).map((sql) => sql.replace(/ LIMIT \?(?=\)$)/, '')),
    'DELETE FROM harm_hours WHERE account_id = ?',
    'DELETE FROM usage_days WHERE account_id = ?',
    'DELETE FROM status_days WHERE account_id = ?',
    'DELETE FROM stored_bytes WHERE account_id = ?',
    'DELETE FROM api_keys WHERE account_id = ?',
    'DELETE FROM operators WHERE account_id = ?',
    'DELETE FROM dkim_keys WHERE domain_id IN (SELECT id FROM domains WHERE account_id = ?)',
  ].map((sql) => db.prepare(sql));
  const dropDomains = db.prepare('DELETE FROM domains WHERE account_id = ?');
  const dropEndpoints = db.prepare('DELETE FROM endpoints WHERE account_id = ?');
  const dropSetting = db.prepare('DELETE FROM settings WHERE name = ?');
  const dropAccount = db.prepare('DELETE FROM accounts WHERE id = ?');
  return (accountId, settings) => {
    if (hasMessage.get(accountId) !== null) return { isGone: false, domains: 0, webhooks: 0 };
    for (const statement of rest) statement.run(accountId);
    const domains = dropDomains.run(accountId).changes;
    const webhooks = dropEndpoints.run(accountId).changes;
    for (const name of settings) dropSetting.run(name);
    dropAccount.run(accountId);
    events.forget();
    return { isGone: true, domains, webhooks };
  };
}

/**
 * The account's rows of the request log, with those that come late. `gone`: the accounts that were deleted in this
 * process, whose rows are not written any more.
 */
export function logDeletion(
  db: Database,
  gone: Set<string>,
): Pick<LogWrites, 'dropAccountLogsStep'> {
  const drop = db.prepare(
    'DELETE FROM logs WHERE seq IN (SELECT seq FROM logs WHERE account_id = ? LIMIT ?)',
  );
  return {
    dropAccountLogsStep(accountId, limit) {
      gone.add(accountId);
      return drop.run(accountId, limit).changes;
    },
  };
}
