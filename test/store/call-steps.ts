/** Steps of webhook calls: an event happens, its calls begin and end. */
import { newId } from '../rig/ids.ts';
import type { Account, Call, CallAttempt } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import type { FinishCall } from '../../src/store/webhooks.ts';
import { accepted, finishOf, newEvent, newMessage } from './samples.ts';
import { everyCallDue } from './due-calls.ts';

/** Delivers a message, so that its event goes out; returns the event's id. */
export async function happen(store: Store, account: Account): Promise<string> {
  const sent = await accepted(store, newMessage(account.id));
  const [recipient] = sent.recipients;
  if (recipient === undefined) throw new Error('no recipient');
  const event = newEvent(sent.message, recipient.id, 'email.delivered');
  await store.finish(finishOf(sent, recipient, { events: [event] }));
  return event.id;
}

export async function beginAll(store: Store, owner = 'me', leaseUntil = Date.now() + 60_000) {
  const due = await everyCallDue(store, Date.now(), Date.now() + 1e9);
  const nextAttemptAt = Date.now() + 30_000;
  const claims = due.map(({ id }) => ({ id, owner, leaseUntil, nextAttemptAt }));
  return store.beginCalls(claims, Date.now());
}

export function finished(call: Call, ok: boolean, change: Partial<FinishCall> = {}): FinishCall {
  const createdAt = Date.now();
  const attempt: CallAttempt = {
    id: newId(createdAt),
    callId: call.id,
    endpointId: call.endpointId,
    eventType: call.eventType,
    messageId: call.messageId,
    attempt: call.attempts,
    statusCode: ok ? 200 : 500,
    ok,
    error: ok ? null : 'refused',
    durationMs: 5,
    createdAt,
  };
  const status = ok ? 'done' : 'open';
  const nextAttemptAt = ok ? null : createdAt + 30_000;
  return { call, attempt, status, nextAttemptAt, response: null, disableAfter: 20, ...change };
}
