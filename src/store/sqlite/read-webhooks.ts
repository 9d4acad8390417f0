/**
 * Reads of calls that are due, and the pages of attempts: along SQLite's own indexes.
 *
 * Promises what is due without disabled endpoints and without what is under an unexpired lease, for a part of the
 * endpoints: others wait for some milliseconds, however many endpoints there are. Never claims: that is the writer's
 * `beginCalls`. The other reads are in `sql/webhooks.ts`.
 */
import type { Database } from 'bun:sqlite';
import { PART_ENDPOINTS } from '../webhooks.ts';
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

/** The verb over a reading connection; statements are prepared once, here. */
export function dueCallReads(db: Database): Pick<WebhookStore, 'callsDue'> {
  // The index of open calls begins with the endpoint: this jumps over all calls of one.
  const nextEndpoint = db.prepare<{ id: string; status: string }, [string]>(
    'SELECT endpoint_id AS id, (SELECT status FROM endpoints WHERE id = endpoint_id) AS status FROM calls' +
      " WHERE status = 'open' AND endpoint_id > ? ORDER BY endpoint_id LIMIT 1",
  );
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
    async callsDue({ now, until, most, limit, after, without }) {
      const leftOut = new Set(without);
      const calls: CallRef[] = [];
      let soonest = Infinity;
      let last: string | null = after ?? '';
      for (let seen = 0; seen < PART_ENDPOINTS && calls.length < limit; seen += 1) {
        const endpoint = nextEndpoint.get(last);
        last = endpoint?.id ?? null;
        if (endpoint === null || last === null) break;
        if (endpoint.status !== 'active' || leftOut.has(last)) continue;
        calls.push(...callsOf.all(last, until, now, most));
        soonest = Math.min(soonest, nextCallOf.get(last, until)?.at ?? Infinity);
      }
      return { calls, nextAt: soonest === Infinity ? null : soonest, last };
    },
  };
}
