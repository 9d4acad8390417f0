/**
 * A dispatcher over a store that notes what it is asked, and whose answers a test scripts. Its endpoints are all at an
 * address that is refused, so that every post ends without a connection.
 */
import type { NodeSession } from '../../../src/flow/node-session.ts';
import { endpointLabel } from '../../../src/flow/seal-labels.ts';
import { WebhookDispatcher } from '../../../src/flow/webhooks/dispatcher.ts';
import type { Call, Endpoint } from '../../../src/store/rows.ts';
import type { BeginCall, CallRef, FinishCall } from '../../../src/store/webhooks.ts';
import { silentResolver, type Fixture } from '../fixture.ts';
import { found } from './webhook-rig.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export const ref = (n: number, endpointId = 'e'): CallRef => ({
  id: `${endpointId} ${n}`,
  endpointId,
  dueAt: 0,
});
export const refs = (count: number, endpointId = 'e', from = 0): CallRef[] =>
  Array.from({ length: count }, (_, n) => ref(from + n, endpointId));

function callOf({ id, endpointId }: CallRef): Call {
  return {
    id,
    endpointId,
    accountId: 'account',
    eventId: `event of ${id}`,
    eventType: 'email.sent',
    messageId: 'message',
    requestId: 'request',
    body: '{}',
    status: 'open',
    attempts: 1,
    nextAttemptAt: 0,
    createdAt: 0,
  };
}

interface Script {
  /** What looks find, part after part, and then nothing. */
  due: CallRef[][];
  /** The last endpoint of each part; none is left after these. */
  lasts: (string | null)[];
  /** Looks wait for it. */
  lookGate: Promise<void>;
  nextDue: number | null;
  /** Thrown by the begin of calls, once each. */
  beginFaults: Error[];
  /** Thrown by the end of a call, once each. */
  faults: Error[];
  isOvertaken: boolean;
  /** Of the endpoint, after the end of a call. */
  endpointStatus: 'active' | 'disabled';
  /** Posts wait for it at the lookup of the endpoint's name. */
  gate: Promise<void>;
  node: Pick<NodeSession, 'id' | 'isCurrent' | 'onFreed'> | null;
}

export function startNoted({ ctx, clock }: Fixture, change: Partial<Script> = {}) {
  const script: Script = {
    due: [],
    lasts: [],
    nextDue: null,
    beginFaults: [],
    faults: [],
    isOvertaken: false,
    endpointStatus: 'active',
    gate: Promise.resolve(),
    lookGate: Promise.resolve(),
    node: null,
    ...change,
  };
  const asked: unknown[][] = [];
  const begun: BeginCall[][] = [];
  const ended: FinishCall[] = [];
  const all = new Map<string, CallRef>();
  const endpoint = (id: string): Endpoint => ({
    id,
    accountId: 'account',
    url: 'https://hook.example/',
    events: [],
    status: 'active',
    sealedSecret: ctx.secrets.seal(SECRET, endpointLabel(id)),
    sealedPreviousSecret: null,
    previousUntil: null,
    failureCount: 0,
    lastFailureAt: null,
    createdAt: 0,
    deletedAt: null,
  });
  const noted = (found: CallRef[]): CallRef[] => {
    for (const one of found) all.set(one.id, one);
    return found;
  };
  const dispatcher = new WebhookDispatcher(
    {
      ...ctx,
      // Only these parts of a session are asked.
      node: script.node as NodeSession | null,
      resolver: {
        ...silentResolver(),
        aaaa: async () => ({ kind: 'nodata', isAuthenticated: false }),
        async a() {
          await script.gate;
          return found('10.0.0.1');
        },
      },
      store: {
        ...ctx.store,
        async callsDue(look) {
          asked.push(['due', look]);
          await script.lookGate;
          const last = script.lasts.shift() ?? null;
          return { calls: noted(script.due.shift() ?? []), nextAt: script.nextDue, last };
        },
        async beginCalls(claims, now) {
          begun.push(claims);
          asked.push(['begin', claims.length, now]);
          const fault = script.beginFaults.shift();
          if (fault !== undefined) throw fault;
          return claims.map(({ id }) => callOf(all.get(id) ?? ref(0)));
        },
        async finishCall(end) {
          const fault = script.faults.shift();
          if (fault !== undefined) throw fault;
          ended.push(end);
          return { endpointStatus: script.endpointStatus, isOvertaken: script.isOvertaken };
        },
        endpoint: async (_, id) => endpoint(id),
        endpointById: async (id) => endpoint(id),
        async recordTestCall() {
          asked.push(['test']);
        },
        async releaseLeases(...args) {
          asked.push(['released', ...args]);
        },
      },
    },
    { random: () => 0.5 },
  );
  const settle = () => clock.advance(0);
  return { dispatcher, script, asked, begun, ended, settle, noted, now: clock.now() };
}
