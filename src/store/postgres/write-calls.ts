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
import { STEP_CALLS, failedAfter } from '../webhooks.ts';
import type {
  BeginCall,
  CallPosition,
  CallRef,
  FailedFrom,
  FailedRow,
  FinishCall,
  WebhookStore,
} from '../webhooks.ts';
import { boundId, idOrNull, idsOf } from './ids.ts';
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
export function callWrites(
  database: Access,
): Pick<WebhookStore, 'recordTestCall' | 'replayCalls' | 'missCalls'> {
  return {
    async recordTestCall(attempt) {
      await database.run(attemptsPart([attempt]));
    },
    replayCalls: (accountId, endpointId, what, now) =>
      database.transaction(async (session) => {
        if (!(await isOfAccount(session, accountId, endpointId))) return { calls: [], next: null };
        const reopen = async (ids: string[], is: Parameters<typeof locked>[0]) => {
          const statement = `${REOPEN} ${locked(is)} RETURNING id`;
          const opened = await session.all<{ id: string }>(part(statement, ids, now));
          return opened.map(({ id }): CallRef => ({ id, endpointId, dueAt: now }));
        };
        if ('eventId' in what) {
          const ids = idsOf([callId(what.eventId, endpointId)]);
          return { calls: await reopen(ids, ''), next: null };
        }
        const rows = await session.all<FailedRow>(failedFrom(endpointId, what));
        const ids = rows.map(({ id }) => id);
        return { calls: await reopen(ids, " AND status = 'failed'"), next: failedAfter(rows) };
      }),
    missCalls: (accountId, endpointId, before, after) =>
      database.transaction(async (session) => {
        const is = " AND status = 'disabled'";
        if (!(await isOfAccount(session, accountId, endpointId, is))) return null;
        const rows = await session.all<CallPosition & { createdAt: number }>(
          part(
            'SELECT id, next_attempt_at AS "dueAt", created_at AS "createdAt" FROM calls' +
              " WHERE status = 'open' AND endpoint_id = $1 AND (next_attempt_at, id) > ($2, $3)" +
              ' ORDER BY next_attempt_at, id LIMIT $4',
            endpointId,
            after?.dueAt ?? 0,
            after?.id ?? boundId(0),
            STEP_CALLS,
          ),
        );
        const late = rows.filter(({ createdAt }) => createdAt < before).map(({ id }) => id);
        if (late.length > 0)
          await session.run(part(`${MISS} ${locked(" AND status = 'open'")}`, late));
        const last = rows.length < STEP_CALLS ? undefined : rows.at(-1);
        return last === undefined ? null : { dueAt: last.dueAt, id: last.id };
      }),
  };
}

async function isOfAccount(
  session: Session,
  accountId: string,
  endpointId: string,
  is: '' | " AND status = 'disabled'" = '',
): Promise<boolean> {
  const row = await session.first(
    part(
      `SELECT 1 FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL${is}`,
      idOrNull(accountId),
      idOrNull(endpointId),
    ),
  );
  return row !== null;
}

function failedFrom(endpointId: string, { failedSince, afterId }: FailedFrom): Part {
  return part(
    'SELECT id, created_at AS "createdAt" FROM calls' +
      " WHERE status = 'failed' AND endpoint_id = $1 AND (created_at, id) > ($2, $3)" +
      ' ORDER BY created_at, id LIMIT $4',
    endpointId,
    failedSince,
    afterId ?? boundId(0),
    STEP_CALLS,
  );
}

/** Rows are locked in the order of their ids, as wherever several are. */
const locked = (is: '' | " AND status = 'failed'" | " AND status = 'open'"): string =>
  `id IN (SELECT id FROM calls WHERE id = ANY($1::uuid[])${is} ORDER BY id FOR NO KEY UPDATE)`;
const REOPEN =
  "UPDATE calls SET status = 'open', attempts = 0, next_attempt_at = $2, owner = NULL, lease_until = NULL WHERE";
const MISS =
  "UPDATE calls SET status = 'failed', next_attempt_at = NULL, owner = NULL, lease_until = NULL WHERE";
