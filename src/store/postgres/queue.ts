/**
 * What waits: due recipients for the queue, their owners, and the whole of it for the operator.
 *
 * Promises the soonest first where it is asked for what is due, without what is another owner's or under a lease, and that
 * a row which two owners take at the same moment is given to one of them: what another is about to change is passed over.
 * What is under an unexpired lease is neither taken nor made due: it is in an attempt.
 */
import { DESTINATION_KINDS, OTHER_KIND } from '../../base/destination-kind.ts';
import { idTime } from '../../base/ids.ts';
import type { DueRow } from '../due-choice.ts';
import type { JourneyStore } from '../journey.ts';
import type { OperatorStore, QueueCounts, RetryTarget } from '../operator.ts';
import type { Recipient } from '../rows.ts';
import { takingDue } from '../take-due.ts';
import type { Access } from './database.ts';
import { DueFloor } from './due-floor.ts';
import { idOrNull, idsOf } from './ids.ts';
import { freeRowsOf } from './nodes.ts';
import { SELECT_RECIPIENT } from './shapes.ts';
import { part } from './statement.ts';
import type { Part } from './statement.ts';

type QueueVerbs = Pick<JourneyStore, 'takeDue' | 'nextRecipientDue' | 'releaseLeases'> &
  Pick<OperatorStore, 'queue' | 'queueCounts' | 'retryNow'>;

/** Sorts before every id. */
const NO_ID = '00000000-0000-0000-0000-000000000000';
/** Nobody has it, or the owner $1, or one whose lease is over at $2. */
const IS_WITHIN_REACH =
  'next_attempt_at <= $2 AND (lease_until IS NULL OR lease_until <= $2)' +
  ' AND (owner IS NULL OR owner = $1 OR lease_until <= $2)';

/** The verbs over the database. */
export function queueVerbs(database: Access, floor: DueFloor = new DueFloor()): QueueVerbs {
  return {
    ...takingDue({
      async dueRows({ owner, now, limit, after, of }) {
        const from = floor.from(now);
        const only = of === undefined ? '' : ' AND domain = $6 AND account_id = $7';
        const rows = await database.all<DueRow>(
          part(
            'SELECT recipient_id AS id, account_id AS "accountId", domain, next_attempt_at AS "dueAt", owner' +
              ` FROM queue WHERE ${IS_WITHIN_REACH} AND (next_attempt_at, recipient_id) > ($3, $4::uuid)${only}` +
              ' ORDER BY next_attempt_at, recipient_id LIMIT $5',
            owner,
            now,
            Math.max(after?.dueAt ?? 0, from),
            after === null || after.dueAt < from ? NO_ID : after.id,
            limit,
            ...(of === undefined ? [] : [of.domain, of.accountId]),
          ),
        );
        if (after === null && of === undefined) floor.seen(rows, now, from === 0);
        return rows;
      },
      takeStep: (owner, ids, now) =>
        database.transaction(async (session) => {
          const taken = await session.all<{ id: string }>(
            part(
              'WITH free AS (SELECT recipient_id FROM queue WHERE recipient_id = ANY($3::uuid[])' +
                ` AND ${IS_WITHIN_REACH} ORDER BY recipient_id FOR UPDATE SKIP LOCKED)` +
                ' UPDATE queue SET owner = $1, lease_until = NULL FROM free' +
                ' WHERE queue.recipient_id = free.recipient_id RETURNING queue.recipient_id AS id',
              owner,
              now,
              ids,
            ),
          );
          return taken.map(({ id }) => id);
        }),
    }),
    async nextRecipientDue(after) {
      const row = await database.first<{ at: number | null }>(
        part('SELECT min(next_attempt_at) AS at FROM queue WHERE next_attempt_at > $1', after),
      );
      return row?.at ?? null;
    },
    ...releases(database),
    ...operatorsView(database),
    retryNow: (target, now) => retryNow(database, target, now),
  };
}

function releases(database: Access): Pick<JourneyStore, 'releaseLeases'> {
  return {
    async releaseLeases(owner) {
      const owners = owner === null ? await goneOwners(database) : [owner];
      if (owners.length > 0) await database.transaction((session) => freeRowsOf(session, owners));
    },
  };
}

/** Owners of rows that are no live session: what others own is theirs. */
async function goneOwners(database: Access): Promise<string[]> {
  const rows = await database.all<{ owner: string }>(
    part(
      "SELECT owner FROM (SELECT owner FROM queue UNION SELECT owner FROM calls WHERE status = 'open') AS o" +
        ' WHERE owner IS NOT NULL AND owner NOT IN (SELECT session::text FROM sessions WHERE ended_at IS NULL)',
    ),
  );
  return rows.map(({ owner }) => owner);
}

function operatorsView(database: Access): Pick<OperatorStore, 'queue' | 'queueCounts'> {
  const PAGE = ` ORDER BY q.domain, q.recipient_id LIMIT $1`;
  return {
    queue({ domain, limit, after }) {
      const cursor = after === null ? null : idOrNull(after);
      const where =
        domain === null
          ? "(q.domain, q.recipient_id) > (COALESCE((SELECT domain FROM recipients WHERE id = $2), ''), COALESCE($2, $3::uuid))"
          : 'q.recipient_id > COALESCE($2, $3::uuid) AND q.domain = $4';
      return database.all<Recipient>(
        part(
          `${SELECT_RECIPIENT} WHERE q.next_attempt_at IS NOT NULL AND ${where.replace('$2,', '$2::uuid,')}${PAGE}`,
          limit,
          cursor,
          NO_ID,
          ...(domain === null ? [] : [domain]),
        ),
      );
    },
    async queueCounts(domain, limit) {
      const counts: QueueCounts = { kinds: [], largest: [] };
      for (const row of await database.all<CountRow>(countsPart(domain, limit))) {
        const { waiting, reason } = row;
        const oldestCreatedAt = idTime(row.oldestId);
        if (row.domain !== null)
          counts.largest.push({ domain: row.domain, waiting, oldestCreatedAt, reason });
        else if (row.kind !== null)
          counts.kinds.push({
            kind: row.kind,
            destinations: row.destinations,
            waiting,
            oldestCreatedAt,
          });
      }
      return counts;
    },
  };
}

/** Of a kind, or of a destination. */
interface CountRow {
  kind: string | null;
  domain: string | null;
  destinations: number;
  waiting: number;
  oldestId: string;
  reason: string | null;
}

/** What waits is gone through once, by destination; kinds and the largest destinations come from that. */
function countsPart(domain: string | null, limit: number): Part {
  const only = domain === null ? '' : ' WHERE domain = $4';
  return part(
    'WITH d AS MATERIALIZED (SELECT domain, count(*) AS waiting, min(recipient_id::text COLLATE "C") AS oldest' +
      ' FROM queue GROUP BY domain),' +
      ` largest AS (SELECT domain, waiting, oldest FROM d${only} ORDER BY waiting DESC LIMIT $1)` +
      ` SELECT COALESCE(k.kind, '${OTHER_KIND}') AS kind, NULL AS domain, count(*) AS destinations,` +
      ' sum(d.waiting)::bigint AS waiting, min(d.oldest) AS "oldestId", NULL AS reason FROM d' +
      ' LEFT JOIN unnest($2::text[], $3::text[]) AS k (domain, kind) ON k.domain = d.domain GROUP BY 1' +
      ' UNION ALL SELECT NULL, l.domain, 1, l.waiting, l.oldest, r.last_reason FROM largest AS l' +
      ' LEFT JOIN recipients AS r ON r.id = l.oldest::uuid ORDER BY waiting DESC, domain',
    limit,
    [...DESTINATION_KINDS.keys()],
    [...DESTINATION_KINDS.values()],
    ...(domain === null ? [] : [domain]),
  );
}

/** Counts and makes due as one statement each, both over what is in no attempt. */
function retryNow(database: Access, target: RetryTarget, now: number): Promise<number> {
  const which = whichOf(target);
  const idle = `(lease_until IS NULL OR lease_until <= $1) AND ${which.text}`;
  return database.transaction(async (session) => {
    const counted = await session.first<{ count: number }>({
      text: `SELECT count(*) AS count FROM queue WHERE ${idle}`,
      params: [now, ...which.params],
    });
    await session.run({
      text:
        'UPDATE queue SET next_attempt_at = $1, updated_at = $1 WHERE recipient_id IN (SELECT recipient_id FROM queue' +
        ` WHERE ${idle} AND next_attempt_at > $1 ORDER BY recipient_id FOR UPDATE)`,
      params: [now, ...which.params],
    });
    return counted?.count ?? 0;
  });
}

/** With parameters from $2 on. */
function whichOf({ id, domain }: RetryTarget): Part {
  if (id !== null)
    return {
      text: '(recipient_id = $2 OR message_id = $2)',
      params: idsOf([id])[0] === undefined ? [null] : [id],
    };
  if (domain !== null) return { text: 'domain = $2', params: [domain] };
  return { text: 'true', params: [] };
}
