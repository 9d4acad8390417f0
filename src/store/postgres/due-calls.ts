/**
 * Which webhook calls are due: a walk over the endpoints that have open calls, in parts.
 *
 * Promises what is due without disabled endpoints and without what is under an unexpired lease. A part is two
 * statements: the first counts what each endpoint has, so that the second reads no more rows than the part may have.
 */
import { PART_ENDPOINTS } from '../webhooks.ts';
import type { CallLook, CallRef, WebhookStore } from '../webhooks.ts';
import type { Access } from './database.ts';
import { boundId, idsOf } from './ids.ts';
import { part } from './statement.ts';
import type { Part } from './statement.ts';

/** An endpoint with open calls; one that is left out has none that are due. */
interface Head {
  id: string;
  due: number;
  nextAt: number | null;
}

/** The index of open calls begins with the endpoint: each step jumps over all calls of one. */
const WALK =
  'WITH RECURSIVE walk AS (' +
  "(SELECT endpoint_id AS id, 1 AS n FROM calls WHERE status = 'open' AND endpoint_id > $1" +
  ' ORDER BY endpoint_id LIMIT 1) UNION ALL' +
  ' SELECT behind.id, walk.n + 1 FROM walk CROSS JOIN LATERAL (SELECT endpoint_id AS id FROM calls' +
  " WHERE status = 'open' AND endpoint_id > walk.id ORDER BY endpoint_id LIMIT 1) AS behind WHERE walk.n < $2)";
const FREE =
  "status = 'open' AND next_attempt_at <= $3 AND (lease_until IS NULL OR lease_until <= $4)";
const HEADS =
  `${WALK} SELECT walk.id, due.count AS "due", later.at AS "nextAt" FROM walk` +
  " LEFT JOIN endpoints AS e ON e.id = walk.id AND e.status = 'active' AND e.id <> ALL($6::uuid[])" +
  ' CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT FROM calls' +
  ` WHERE endpoint_id = e.id AND ${FREE} LIMIT $5) AS counted) AS due` +
  " CROSS JOIN LATERAL (SELECT min(next_attempt_at) AS at FROM calls WHERE status = 'open'" +
  ' AND endpoint_id = e.id AND next_attempt_at > $3) AS later ORDER BY walk.id';
const CALLS =
  'SELECT c.id, e.id AS "endpointId", c.at AS "dueAt" FROM unnest($1::uuid[]) AS e (id) CROSS JOIN LATERAL' +
  ' (SELECT id, next_attempt_at AS at FROM calls WHERE endpoint_id = e.id' +
  " AND status = 'open' AND next_attempt_at <= $2 AND (lease_until IS NULL OR lease_until <= $3)" +
  ' ORDER BY next_attempt_at, id LIMIT $4) AS c ORDER BY e.id, c.at, c.id';

/** The verb over the database. */
export function dueCalls(database: Access): Pick<WebhookStore, 'callsDue'> {
  return {
    async callsDue(look) {
      const walked = await database.all<Head>(headsOf(look));
      const full = fullAt(walked, look.limit);
      const heads = full === -1 ? walked : walked.slice(0, full + 1);
      const isEnd = full === -1 && walked.length < PART_ENDPOINTS;
      const times = heads.flatMap(({ nextAt }) => nextAt ?? []);
      const due = heads.filter((head) => head.due > 0).map(({ id }) => id);
      return {
        calls: due.length === 0 ? [] : await database.all<CallRef>(callsOf(due, look)),
        nextAt: times.length === 0 ? null : Math.min(...times),
        last: isEnd ? null : (heads.at(-1)?.id ?? null),
      };
    },
  };
}

function headsOf({ now, until, most, after, without }: CallLook): Part {
  const from = after ?? boundId(0);
  return part(HEADS, from, PART_ENDPOINTS, until, now, most, idsOf(without));
}

/** The endpoint that brings the calls to `limit`; -1 where they are fewer. */
function fullAt(heads: readonly Head[], limit: number): number {
  let calls = 0;
  return heads.findIndex(({ due }) => (calls += due) >= limit);
}

function callsOf(endpointIds: string[], { now, until, most }: CallLook): Part {
  return part(CALLS, endpointIds, until, now, most);
}
