/**
 * Reads about endpoints and their calls.
 *
 * Promises the soonest first where it is asked for what is due, without disabled endpoints and without what is under an
 * unexpired lease. Never claims: that is the writer's `beginCalls`.
 */
import type { Database } from 'bun:sqlite';
import type { CallRef, WebhookStore } from '../webhooks.ts';
import {
  SELECT_CALL,
  SELECT_CALL_ATTEMPT,
  SELECT_ENDPOINT,
  SELECT_LISTED_ATTEMPT,
  callAttemptOf,
  endpointOf,
  listedAttemptOf,
} from '../sql/columns.ts';
import type { CallAttemptRow, CallRow, EndpointRow, ListedAttemptRow } from '../sql/columns.ts';
import { pageOf } from './paging.ts';

type EndpointReads = Pick<
  WebhookStore,
  'accountsWithEndpoints' | 'endpoints' | 'endpoint' | 'endpointById'
>;
type AttemptReads = Pick<WebhookStore, 'callAttempts' | 'attemptDetail'>;
type CallReads = Pick<WebhookStore, 'callsDue' | 'nextCallDue'>;

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
  const mapEndpoint = (row: EndpointRow | null) => (row === null ? null : endpointOf(row));
  return {
    accountsWithEndpoints: async () => withEndpoints.all().map(({ id }) => id),
    endpoints: async (accountId) => endpoints.all(accountId).map(endpointOf),
    endpoint: async (accountId, id) => mapEndpoint(endpoint.get(accountId, id)),
    endpointById: async (id) => mapEndpoint(endpointById.get(id)),
  };
}

function attemptReads(db: Database): AttemptReads {
  const ofEndpoint = SELECT_LISTED_ATTEMPT + ' WHERE endpoint_id = ?';
  const lists = (only: '' | ' AND ok = 0') => ({
    older: db.prepare<ListedAttemptRow, [string, string, number]>(
      ofEndpoint + only + ' AND id < ? ORDER BY id DESC LIMIT ?',
    ),
    newer: db.prepare<ListedAttemptRow, [string, string, number]>(
      ofEndpoint + only + ' AND id > ? ORDER BY id LIMIT ?',
    ),
  });
  const [all, failed] = [lists(''), lists(' AND ok = 0')];
  const one = db.prepare<CallAttemptRow, [string, string]>(
    SELECT_CALL_ATTEMPT + ' WHERE endpoint_id = ? AND id = ?',
  );
  const call = db.prepare<CallRow, [string]>(SELECT_CALL + ' WHERE calls.id = ?');
  const responses = db.prepare<{ attemptId: string; response: string | null }, [string]>(
    'SELECT attempt_id AS attemptId, response FROM call_responses WHERE call_id = ? ORDER BY attempt_id',
  );
  return {
    async callAttempts(endpointId, page, isFailedOnly = false) {
      const limit = page.limit + 1;
      const list = isFailedOnly ? failed : all;
      const rows =
        page.before === null
          ? list.older.all(endpointId, page.after ?? AFTER_ALL_IDS, limit)
          : list.newer.all(endpointId, page.before, limit);
      return pageOf(rows, page, listedAttemptOf);
    },
    async attemptDetail(endpointId, attemptId) {
      const row = one.get(endpointId, attemptId);
      if (row === null) return null;
      const known = row.callId === null ? [] : responses.all(row.callId);
      const attempts = known.flatMap((each) => one.get(endpointId, each.attemptId) ?? []);
      return {
        attempt: callAttemptOf(row),
        call: row.callId === null ? null : call.get(row.callId),
        response: known.find((each) => each.attemptId === attemptId)?.response ?? null,
        attempts: (attempts.length > 0 ? attempts : [row]).map(callAttemptOf),
      };
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
  };
}

/** The lists of attempts and the count of open calls, over a reading connection. */
export function callLists(db: Database): AttemptReads & Pick<WebhookStore, 'openCalls'> {
  const open = db.prepare<{ count: number }, []>(
    "SELECT count(*) AS count FROM calls WHERE status = 'open'",
  );
  return { ...attemptReads(db), openCalls: async () => open.get()?.count ?? 0 };
}
