/**
 * Reads of what waits: due recipients and calls for the dispatchers, the queue for the operator.
 *
 * Promises the soonest first for dispatchers, without what another owner has under lease. Never claims:
 * that is the writer's `begin`.
 */
import type { Database } from 'bun:sqlite';
import {
  SELECT_CALL_ATTEMPT,
  SELECT_ENDPOINT,
  SELECT_RECIPIENT,
  callAttemptOf,
  endpointOf,
} from './columns.ts';
import type { CallAttemptRow, EndpointRow, RecipientRow } from './columns.ts';
import { idTime } from '../base/ids.ts';
import { pageOf } from './paging.ts';
import type { CallRef, RecipientRef } from './store.ts';
import type { Reads } from './verbs.ts';

type QueueReads = Pick<
  Reads,
  | 'recipientsDue'
  | 'nextRecipientDue'
  | 'queue'
  | 'queueCounts'
  | 'endpoints'
  | 'endpoint'
  | 'endpointById'
  | 'callsDue'
  | 'nextCallDue'
  | 'openCalls'
  | 'callAttempts'
>;

/** Sorts after every UUID. */
const AFTER_ALL_IDS = '~';

/** Ids of the accounts that have an endpoint. */
export function accountsWithEndpoints(db: Database): string[] {
  return db
    .query<{ id: string }, []>(
      'SELECT DISTINCT account_id AS id FROM endpoints WHERE deleted_at IS NULL',
    )
    .all()
    .map(({ id }) => id);
}

/** The verbs over a reading connection; statements are prepared once, here. */
export function queueReads(db: Database): QueueReads {
  const due = db.prepare<RecipientRef, [number, string, number, number, number]>(
    'SELECT id, message_id AS messageId, domain, next_attempt_at AS dueAt FROM recipients' +
      ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?, ?) AND next_attempt_at <= ?' +
      ' AND (lease_until IS NULL OR lease_until <= ?) ORDER BY next_attempt_at, id LIMIT ?',
  );
  // By the same index: it passes over what is due for others, but only over that.
  const dueOf = db.prepare<RecipientRef, [number, string, number, number, string, number]>(
    'SELECT id, message_id AS messageId, domain, next_attempt_at AS dueAt FROM recipients' +
      ' INDEXED BY recipients_by_due' +
      ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?, ?) AND next_attempt_at <= ?' +
      ' AND (lease_until IS NULL OR lease_until <= ?) AND domain = ? ORDER BY next_attempt_at, id LIMIT ?',
  );
  const nextDue = db.prepare<{ at: number | null }, [number]>(
    'SELECT min(next_attempt_at) AS at FROM recipients WHERE next_attempt_at > ?',
  );
  const queueAll = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND (domain, id) > (?, ?) ORDER BY domain, id LIMIT ?',
  );
  const queueOf = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND domain = ? AND id > ? ORDER BY id LIMIT ?',
  );
  const domainOf = db.prepare<{ domain: string }, [string]>(
    'SELECT domain FROM recipients WHERE id = ?',
  );
  const counts = db.prepare<{ domain: string; waiting: number; oldestId: string }, []>(
    'SELECT domain, count(*) AS waiting, min(id) AS oldestId FROM recipients' +
      ' INDEXED BY recipients_by_due WHERE next_attempt_at IS NOT NULL GROUP BY domain ORDER BY waiting DESC',
  );
  const reasonOf = db.prepare<{ reason: string | null }, [string]>(
    'SELECT last_reason AS reason FROM recipients WHERE id = ?',
  );
  const endpoints = db.prepare<EndpointRow, [string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND deleted_at IS NULL ORDER BY id',
  );
  const endpoint = db.prepare<EndpointRow, [string, string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const endpointById = db.prepare<EndpointRow, [string]>(SELECT_ENDPOINT + ' WHERE id = ?');
  const active = db.prepare<{ id: string }, []>("SELECT id FROM endpoints WHERE status = 'active'");
  const callsOf = db.prepare<CallRef, [string, number, number, number]>(
    'SELECT id, endpoint_id AS endpointId, next_attempt_at AS dueAt FROM calls' +
      " WHERE status = 'open' AND endpoint_id = ? AND next_attempt_at <= ?" +
      ' AND (lease_until IS NULL OR lease_until <= ?) ORDER BY next_attempt_at, id LIMIT ?',
  );
  const nextCallOf = db.prepare<{ at: number | null }, [string, number]>(
    "SELECT min(next_attempt_at) AS at FROM calls WHERE status = 'open' AND endpoint_id = ?" +
      ' AND next_attempt_at > ?',
  );
  const open = db.prepare<{ count: number }, []>(
    "SELECT count(*) AS count FROM calls WHERE status = 'open'",
  );
  const olderAttempts = db.prepare<CallAttemptRow, [string, string, number]>(
    SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  );
  const newerAttempts = db.prepare<CallAttemptRow, [string, string, number]>(
    SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id > ? ORDER BY id LIMIT ?',
  );
  const mapEndpoint = (row: EndpointRow | null) => (row === null ? null : endpointOf(row));

  return {
    recipientsDue(now, until, limit, after, domain) {
      const from = [after?.dueAt ?? 0, after?.id ?? '', until, now] as const;
      return domain === undefined ? due.all(...from, limit) : dueOf.all(...from, domain, limit);
    },
    nextRecipientDue: (after) => nextDue.get(after)?.at ?? null,
    queue({ domain, limit, after }) {
      if (domain !== null) return queueOf.all(domain, after ?? '', limit);
      if (after === null) return queueAll.all('', '', limit);
      return queueAll.all(domainOf.get(after)?.domain ?? '', after, limit);
    },
    queueCounts: () =>
      counts.all().map(({ domain, waiting, oldestId }) => ({
        domain,
        waiting,
        oldestCreatedAt: idTime(oldestId),
        reason: reasonOf.get(oldestId)?.reason ?? null,
      })),

    endpoints: (accountId) => endpoints.all(accountId).map(endpointOf),
    endpoint: (accountId, id) => mapEndpoint(endpoint.get(accountId, id)),
    endpointById: (id) => mapEndpoint(endpointById.get(id)),
    callsDue(now, until, limit, excludeEndpoints) {
      const excluded = new Set(excludeEndpoints);
      return active
        .all()
        .filter(({ id }) => !excluded.has(id))
        .flatMap(({ id }) => callsOf.all(id, until, now, limit))
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit);
    },
    nextCallDue(after) {
      let soonest: number | null = null;
      for (const { id } of active.all()) {
        const at = nextCallOf.get(id, after)?.at ?? null;
        if (at !== null && (soonest === null || at < soonest)) soonest = at;
      }
      return soonest;
    },
    openCalls: () => open.get()?.count ?? 0,
    callAttempts(endpointId, page) {
      const limit = page.limit + 1;
      const rows =
        page.before === null
          ? olderAttempts.all(endpointId, page.after ?? AFTER_ALL_IDS, limit)
          : newerAttempts.all(endpointId, page.before, limit);
      return pageOf(rows, page, callAttemptOf);
    },
  };
}
