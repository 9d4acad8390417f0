/**
 * Reads of calls that are due, and the pages of attempts: along SQLite's own indexes.
 *
 * Promises the soonest first where it is asked for what is due, without disabled endpoints and without what is under an
 * unexpired lease. Never claims: that is the writer's `beginCalls`. The other reads are in `sql/webhooks.ts`.
 */
import type { Database } from 'bun:sqlite';
import type { CallRef, WebhookStore } from '../webhooks.ts';
import { SELECT_LISTED_ATTEMPT, listedAttemptOf } from './listed-columns.ts';
import type { ListedAttemptRow } from './listed-columns.ts';
import { pageOf } from './paging.ts';

/** Sorts after every UUID. */
const AFTER_ALL_IDS = '~';

/** The pages of an endpoint's attempts, over a reading connection. */
export function attemptLists(db: Database): Pick<WebhookStore, 'callAttempts'> {
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
  };
}

/** The verbs over a reading connection; statements are prepared once, here. */
export function dueCallReads(db: Database): Pick<WebhookStore, 'callsDue' | 'nextCallDue'> {
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
