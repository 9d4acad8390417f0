/**
 * Reads about endpoints and their calls.
 *
 * Promises the soonest first where it is asked for what is due, without disabled endpoints and without what is under an
 * unexpired lease. Never claims: that is the writer's `beginCalls`.
 */
import type { Database } from 'bun:sqlite';
import type { CallRef, WebhookStore } from '../webhooks.ts';
import { SELECT_CALL_ATTEMPT, SELECT_ENDPOINT, callAttemptOf, endpointOf } from './columns.ts';
import type { CallAttemptRow, EndpointRow } from './columns.ts';
import { pageOf } from './paging.ts';

type EndpointReads = Pick<
  WebhookStore,
  'accountsWithEndpoints' | 'endpoints' | 'endpoint' | 'endpointById' | 'callAttempts'
>;
type CallReads = Pick<WebhookStore, 'callsDue' | 'nextCallDue' | 'openCalls'>;

/** Sorts after every UUID. */
const AFTER_ALL_IDS = '~';

/** The verbs over a reading connection; statements are prepared once, here. */
export function webhookReads(db: Database): EndpointReads & CallReads {
  return { ...endpointReads(db), ...callReads(db) };
}

function endpointReads(db: Database): EndpointReads {
  const withEndpoints = db.prepare<{ id: string }, []>(
    'SELECT DISTINCT account_id AS id FROM endpoints WHERE deleted_at IS NULL',
  );
  const endpoints = db.prepare<EndpointRow, [string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND deleted_at IS NULL ORDER BY id',
  );
  const endpoint = db.prepare<EndpointRow, [string, string]>(
    SELECT_ENDPOINT + ' WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  );
  const endpointById = db.prepare<EndpointRow, [string]>(SELECT_ENDPOINT + ' WHERE id = ?');
  const olderAttempts = db.prepare<CallAttemptRow, [string, string, number]>(
    SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id < ? ORDER BY id DESC LIMIT ?',
  );
  const newerAttempts = db.prepare<CallAttemptRow, [string, string, number]>(
    SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id > ? ORDER BY id LIMIT ?',
  );
  const mapEndpoint = (row: EndpointRow | null) => (row === null ? null : endpointOf(row));
  return {
    accountsWithEndpoints: async () => withEndpoints.all().map(({ id }) => id),
    endpoints: async (accountId) => endpoints.all(accountId).map(endpointOf),
    endpoint: async (accountId, id) => mapEndpoint(endpoint.get(accountId, id)),
    endpointById: async (id) => mapEndpoint(endpointById.get(id)),
    async callAttempts(endpointId, page) {
      const limit = page.limit + 1;
      const rows =
        page.before === null
          ? olderAttempts.all(endpointId, page.after ?? AFTER_ALL_IDS, limit)
          : newerAttempts.all(endpointId, page.before, limit);
      return pageOf(rows, page, callAttemptOf);
    },
  };
}

function callReads(db: Database): CallReads {
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
  return {
    async callsDue(now, until, limit, excludeEndpoints) {
      const excluded = new Set(excludeEndpoints);
      return active
        .all()
        .filter(({ id }) => !excluded.has(id))
        .flatMap(({ id }) => callsOf.all(id, until, now, limit))
        .sort((a, b) => a.dueAt - b.dueAt)
        .slice(0, limit);
    },
    async nextCallDue(after) {
      let soonest: number | null = null;
      for (const { id } of active.all()) {
        const at = nextCallOf.get(id, after)?.at ?? null;
        if (at !== null && (soonest === null || at < soonest)) soonest = at;
      }
      return soonest;
    },
    openCalls: async () => open.get()?.count ?? 0,
  };
}
