/**
 * Writes about webhook calls: begin, finish, test calls, replays.
 *
 * Promises that failures in a row are counted in the transaction that records them, over endpoints that are locked in the
 * order of their ids, and that a call under an unexpired lease is not begun twice. Open calls of a disabled endpoint are
 * kept.
 */
import { callId } from '../call-id.ts';
import { healthAfter } from '../endpoint-health.ts';
import type { EndpointHealth } from '../endpoint-health.ts';
import type { Call, CallAttempt } from '../rows.ts';
import type { BeginCall, CallRef, FinishCall, WebhookStore } from '../webhooks.ts';
import { idOrNull } from './ids.ts';
import type { Access, Session } from './database.ts';
import { ONCE } from './events.ts';
import { SELECT_CALL } from './shapes.ts';
import { insertInto, part, table, together, updateFrom, valuesOf } from './statement.ts';
import type { Part } from './statement.ts';
import { CALL_ATTEMPTS } from './tables.ts';

/** What one call of `beginCalls` asks for. */
export interface BeginCallGroup {
  calls: readonly BeginCall[];
  now: number;
}

const BEGUN = table('calls', {
  id: 'uuid',
  owner: 'text',
  leaseUntil: 'int8',
  nextAttemptAt: 'int8',
  createdAt: 'int8',
});

/** Begins what each may begin; the calls that are its owner's now. */
export async function beginAllCalls(
  database: Access,
  groups: readonly BeginCallGroup[],
): Promise<Call[][]> {
  // Two of one group cannot have the same call: the second finds it under a lease.
  const asked = new Map<string, BeginCall & { now: number; group: number }>();
  for (const [group, { calls, now }] of groups.entries()) {
    for (const call of calls) if (!asked.has(call.id)) asked.set(call.id, { ...call, now, group });
  }
  const rows = [...asked.values()].map((call) => ({ ...call, createdAt: call.now }));
  // `created_at` carries the time of the question.
  const values = valuesOf(BEGUN, rows);
  const begun = await database.transaction(async (session) => {
    const ids = await session.all<{ id: string; messageId: string }>({
      text:
        'WITH free AS (SELECT c.id, v.owner, v.lease_until, v.next_attempt_at FROM calls AS c' +
        ` JOIN ${values.text} ON v.id = c.id JOIN endpoints AS e ON e.id = c.endpoint_id AND e.status = 'active'` +
        " WHERE c.status = 'open' AND (c.lease_until IS NULL OR c.lease_until <= v.created_at)" +
        ' ORDER BY c.id FOR UPDATE OF c)' +
        ' UPDATE calls SET attempts = attempts + 1, owner = free.owner, lease_until = free.lease_until,' +
        ' next_attempt_at = free.next_attempt_at FROM free WHERE calls.id = free.id RETURNING calls.id, calls.message_id AS "messageId"',
      params: values.params,
    });
    if (ids.length === 0) return [];
    return session.all<Call>(
      part(
        `${SELECT_CALL} WHERE c.id = ANY($1::uuid[]) AND e.message_id = ANY($2::uuid[])`,
        ids.map(({ id }) => id),
        [...new Set(ids.map(({ messageId }) => messageId))],
      ),
    );
  });
  const byId = new Map(begun.map((call) => [call.id, call]));
  return groups.map(({ calls }, group) =>
    [...new Set(calls.map(({ id }) => id))].flatMap((id) =>
      asked.get(id)?.group === group ? (byId.get(id) ?? []) : [],
    ),
  );
}

/** What became of an attempt of a call. */
type FinishedCall = Awaited<ReturnType<WebhookStore['finishCall']>>;
type Health = EndpointHealth & { id: string };

const HEALTH = table('endpoints', {
  id: 'uuid',
  status: 'text',
  failureCount: 'int4',
  lastFailureAt: 'int8',
});
const RESPONSES = table('call_responses', { callId: 'uuid', attemptId: 'uuid', response: 'text' });
const ENDED = table('calls', { id: 'uuid', status: 'text', nextAttemptAt: 'int8' });

/** Records attempts of calls. */
export function finishAllCalls(
  database: Access,
  results: readonly FinishCall[],
): Promise<FinishedCall[]> {
  return database.transaction(async (session) => {
    const [endpoints, calls] = await lockedBy(session, results);
    const ended = new Map<string, { id: string; status: string; nextAttemptAt: number | null }>();
    const attempts: CallAttempt[] = [];
    const responses: { callId: string; attemptId: string; response: string | null }[] = [];
    const changed = new Map<string, Health>();
    const answers = results.map((result): FinishedCall => {
      const { call, attempt, status, nextAttemptAt, response, disableAfter } = result;
      const health = endpoints.get(call.endpointId);
      // Gone with its account while it was in an attempt.
      if (health === undefined) return { endpointStatus: 'disabled', isOvertaken: false };
      attempts.push(attempt);
      const stored = calls.get(call.id);
      // Of a call that was erased in the meantime nothing is kept.
      if (stored !== undefined)
        responses.push({ callId: call.id, attemptId: attempt.id, response });
      // A replay that was asked for in the meantime has set `attempts` to 0: that call is still to come.
      const isOvertaken = stored?.status !== 'open' || stored.attempts !== call.attempts;
      if (stored !== undefined && !isOvertaken) {
        ended.set(call.id, { id: call.id, status, nextAttemptAt });
        calls.set(call.id, { ...stored, status });
      }
      const after = { ...healthAfter(health, attempt, disableAfter), id: call.endpointId };
      endpoints.set(call.endpointId, after);
      changed.set(call.endpointId, after);
      return { endpointStatus: after.status, isOvertaken };
    });
    const parts: Part[] = [];
    if (attempts.length > 0) parts.push(attemptsPart(attempts));
    if (responses.length > 0) parts.push(insertInto(RESPONSES, responses, ONCE));
    if (ended.size > 0) parts.push(endedPart([...ended.values()]));
    if (changed.size > 0) parts.push(updateFrom(HEALTH, ['id'], [...changed.values()]));
    if (parts.length > 0) session.send(together(parts));
    return answers;
  });
}

interface StoredCall extends Pick<Call, 'status' | 'attempts'> {
  id: string;
}

async function lockedBy(
  session: Session,
  results: readonly FinishCall[],
): Promise<[Map<string, Health>, Map<string, StoredCall>]> {
  const [endpoints, calls] = await Promise.all([
    session.all<Health>(
      part(
        'SELECT id, status, failure_count AS "failureCount", last_failure_at AS "lastFailureAt"' +
          ' FROM endpoints WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE',
        results.map(({ call }) => call.endpointId),
      ),
    ),
    session.all<StoredCall>(
      part(
        'SELECT id, status, attempts FROM calls WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE',
        results.map(({ call }) => call.id),
      ),
    ),
  ]);
  return [
    new Map(endpoints.map((row) => [row.id, row])),
    new Map(calls.map((row) => [row.id, row])),
  ];
}

function endedPart(
  rows: readonly { id: string; status: string; nextAttemptAt: number | null }[],
): Part {
  const { text, params } = updateFrom(ENDED, ['id'], rows);
  return { text: text.replace(' FROM ', ', owner = NULL, lease_until = NULL FROM '), params };
}

const attemptsPart = (attempts: readonly CallAttempt[]): Part =>
  insertInto(
    CALL_ATTEMPTS,
    attempts.map((attempt) => ({ ...attempt })),
    ONCE,
  );

/** The rare writes. */
export function callWrites(database: Access): Pick<WebhookStore, 'recordTestCall' | 'replayCalls'> {
  return {
    async recordTestCall(attempt) {
      await database.run(attemptsPart([attempt]));
    },
    async replayCalls(accountId, endpointId, what, now) {
      const opened = await database.transaction(async (session) => {
        const endpoint = await session.first(
          part(
            'SELECT 1 FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL',
            idOrNull(accountId),
            idOrNull(endpointId),
          ),
        );
        if (endpoint === null) return [];
        const which =
          'eventId' in what
            ? part(
                `${REOPEN} id = $2 RETURNING id`,
                now,
                idOrNull(callId(what.eventId, endpointId)),
              )
            : part(
                `${REOPEN} endpoint_id = $2 AND status = 'failed' AND created_at >= $3 RETURNING id`,
                now,
                endpointId,
                what.failedSince,
              );
        return session.all<{ id: string }>(which);
      });
      return opened.map(({ id }): CallRef => ({ id, endpointId, dueAt: now }));
    },
  };
}

const REOPEN =
  "UPDATE calls SET status = 'open', attempts = 0, next_attempt_at = $1, owner = NULL, lease_until = NULL WHERE";
