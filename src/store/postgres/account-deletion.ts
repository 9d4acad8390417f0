/**
 * Deleting an account with everything that it has, in steps with other transactions between them.
 *
 * Promises that the account's own row goes in the transaction that leaves no message of it: an acceptance that is under way
 * on another node holds the row, and then finds it gone or is found itself. What went is gone; running it again goes on.
 */
import type { AccountDeletionStore, DeletedRows } from '../account-deletion.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { raising } from './revision.ts';
import { dropMessages, untilFewer } from './retention.ts';
import { part } from './statement.ts';

const MESSAGES_PER_STEP = 50;
const ROWS_PER_STEP = 1_000;

const SOME_MESSAGES =
  'SELECT id FROM messages WHERE account_id = $1 ORDER BY id LIMIT $2 FOR UPDATE';

/** Tables whose rows of an account may be many. */
const LONG_TABLES = [
  'suppressions',
  'confirmed_recipients',
  'idempotency',
  'outcome_hours',
  'calls',
];

/** The verbs over the database. */
export function accountDeletionVerbs(database: Access): AccountDeletionStore {
  return {
    closeAccount: (accountId, reason) =>
      raising(database, async (session) => {
        const id = idOrNull(accountId);
        await session.run(
          part(
            "UPDATE accounts SET status = 'paused', status_reason = $1 WHERE id = $2",
            reason,
            id,
          ),
        );
        await session.run(
          part("UPDATE endpoints SET status = 'disabled' WHERE account_id = $1", id),
        );
        await session.run(part('DELETE FROM operators WHERE account_id = $1', id));
        return session.run(part('DELETE FROM api_keys WHERE account_id = $1', id));
      }),
    async removeAccount(accountId, settings, progress) {
      const sum = {
        messages: 0,
        log_rows: 0,
        suppressions: 0,
        confirmed: 0,
        domains: 0,
        webhooks: 0,
      };
      await stopWaiting(database, accountId);
      for (;;) {
        await untilFewer(MESSAGES_PER_STEP, async () => {
          const count = await dropSomeMessages(database, accountId);
          if (count > 0) progress((sum.messages += count));
          return count;
        });
        await dropLists(database, accountId, sum);
        const { late, end } = await dropEnd(database, accountId, settings);
        if (late > 0) progress((sum.messages += late));
        if (end === null) continue;
        sum.domains += end.domains;
        sum.webhooks += end.webhooks;
        sum.log_rows = await dropSome(database, 'logs', accountId);
        return sum;
      }
    },
  };
}

/** First of all: what waits for delivery waits no more. */
async function stopWaiting(database: Access, accountId: string): Promise<void> {
  await database.transaction(async (session) => {
    const id = idOrNull(accountId);
    await session.run(
      part(
        'UPDATE recipients SET attempts = q.attempts FROM queue AS q WHERE q.recipient_id = recipients.id AND q.account_id = $1',
        id,
      ),
    );
    await session.run(part('DELETE FROM queue WHERE account_id = $1', id));
  });
}

function dropSomeMessages(database: Access, accountId: string): Promise<number> {
  return database.transaction((session) =>
    dropMessages(session, part(SOME_MESSAGES, idOrNull(accountId), MESSAGES_PER_STEP), true),
  );
}

function dropSome(database: Access, name: string, accountId: string): Promise<number> {
  return untilFewer(ROWS_PER_STEP, () =>
    database.run(
      part(
        `DELETE FROM ${name} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${name} WHERE account_id = $1 LIMIT $2))`,
        idOrNull(accountId),
        ROWS_PER_STEP,
      ),
    ),
  );
}

async function dropLists(database: Access, accountId: string, sum: DeletedRows): Promise<void> {
  for (const name of LONG_TABLES) {
    const gone = await dropSome(database, name, accountId);
    if (name === 'suppressions') sum.suppressions += gone;
    if (name === 'confirmed_recipients') sum.confirmed += gone;
  }
  await untilFewer(ROWS_PER_STEP, () =>
    database.run(
      part(
        'DELETE FROM call_attempts WHERE (endpoint_id, id) IN (SELECT a.endpoint_id, a.id FROM call_attempts AS a' +
          ' JOIN endpoints AS e ON e.id = a.endpoint_id WHERE e.account_id = $1 LIMIT $2)',
        idOrNull(accountId),
        ROWS_PER_STEP,
      ),
    ),
  );
}

interface End {
  /** Messages that requests under way have written meanwhile. */
  late: number;
  end: Pick<DeletedRows, 'domains' | 'webhooks'> | null;
}

/** Removes what remains with the account itself; `end` is null, and the account stays, when it has more messages. */
function dropEnd(database: Access, accountId: string, settings: readonly string[]): Promise<End> {
  const id = idOrNull(accountId);
  return database.transaction(async (session): Promise<End> => {
    // Waits for acceptances that are under way, and keeps others out.
    await session.run(part('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', id));
    // Never waits: an end of an attempt may have the message, and want the account.
    const some = part(`${SOME_MESSAGES} SKIP LOCKED`, id, MESSAGES_PER_STEP);
    const late = await dropMessages(session, some, true);
    const message = await session.first(
      part('SELECT 1 FROM messages WHERE account_id = $1 LIMIT 1', id),
    );
    if (message !== null) return { late, end: null };
    const drop = (name: string) =>
      session.run(part(`DELETE FROM ${name} WHERE account_id = $1`, id));
    const ofEndpoints = 'WHERE endpoint_id IN (SELECT id FROM endpoints WHERE account_id = $1)';
    await session.run(part(`DELETE FROM call_attempts ${ofEndpoints}`, id));
    for (const name of [...LONG_TABLES, ...SHORT_TABLES]) await drop(name);
    await session.run(
      part(
        'DELETE FROM dkim_keys WHERE domain_id IN (SELECT id FROM domains WHERE account_id = $1)',
        id,
      ),
    );
    const domains = await drop('domains');
    const webhooks = await drop('endpoints');
    await session.run(part('DELETE FROM settings WHERE name = ANY($1::text[])', settings));
    await session.run(part('DELETE FROM accounts WHERE id = $1', id));
    return { late, end: { domains, webhooks } };
  });
}

const SHORT_TABLES = [
  'queue',
  'harm_hours',
  'usage_days',
  'status_days',
  'stored_bytes',
  'api_keys',
  'operators',
];
