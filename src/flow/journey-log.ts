/**
 * The log lines of a message's way: accepted, each attempt, an end without one, each webhook call.
 *
 * Promises that every line has the id of the request that sent the message, so that one search finds its whole way, and
 * the message's own id; that an attempt's line is written when its outcome is on disk; and that no line holds content
 * or, unless a server says it in its reply, a recipient's address. One line each: mail is logged by the thousand.
 */
import { wallTime } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Call, CallAttempt, Message, Recipient } from '../store/rows.ts';
import type { FinishAttempt, NewMessage } from '../store/journey.ts';
import type { Context } from './context.ts';
import type { Sender } from './draft.ts';

type Logging = Pick<Context, 'log'>;
type TimedLogging = Pick<Context, 'log' | 'clock'>;

/** What one request had accepted, all of it committed. */
export function logAccepted(
  { log }: Logging,
  { requestId, account }: Sender,
  messages: readonly NewMessage[],
): void {
  if (messages.length === 0) return;
  const recipients = messages.flatMap((one) => one.recipients);
  log.info('accepted', {
    request_id: requestId,
    message_ids: messages.map(({ message }) => message.id),
    account_id: account.id,
    recipients: recipients.length,
    queued: recipients.filter(({ nextAttemptAt }) => nextAttemptAt !== null).length,
  });
}

/** A request that was answered with the stored answer of an earlier one; `answer` is its JSON text. */
export function logReplayed({ log }: Logging, { requestId }: Sender, answer: string): void {
  const ids = answer.matchAll(/"id":"([0-9a-f-]{36})"/g);
  log.info('replayed', { request_id: requestId, message_ids: Array.from(ids, ([, id]) => id) });
}

/** An attempt whose outcome is committed. */
export function logAttempt(
  { log, clock }: TimedLogging,
  ended: { message: Message; recipient: Recipient; beganAt: number; endedAt: number },
  { attempt, status, nextAttemptAt }: FinishAttempt,
): void {
  const { message, recipient, beganAt, endedAt } = ended;
  log.info('attempt', {
    request_id: message.logId,
    message_id: message.id,
    recipient_id: recipient.id,
    domain: recipient.domain,
    attempt: recipient.attempts,
    status,
    class: attempt?.class,
    stage: attempt?.stage,
    host: attempt?.host,
    address: attempt?.address,
    reply: attempt?.reply,
    duration_ms: endedAt - beganAt,
    next_attempt_at: iso(clock, nextAttemptAt),
  });
}

/** A recipient that ended without an attempt: suppressed after it was accepted, or given up by the operator. */
export function logEnd(
  { log }: Logging,
  { logId }: Pick<Message, 'logId'>,
  { messageId, recipientId, status, lastReason }: FinishAttempt,
): void {
  log.info('ended', {
    request_id: logId,
    message_id: messageId,
    recipient_id: recipientId,
    status,
    reason: lastReason,
  });
}

/** An attempt of a webhook call, with what it came to. */
export function logCall(
  { log, clock }: TimedLogging,
  call: Call,
  { statusCode, ok, error, durationMs }: CallAttempt,
  nextAttemptAt: number | null,
): void {
  log.info('webhook_call', {
    request_id: call.requestId,
    message_id: call.messageId,
    event_id: call.eventId,
    event_type: call.eventType,
    endpoint_id: call.endpointId,
    attempt: call.attempts,
    ok,
    status_code: statusCode,
    error,
    duration_ms: durationMs,
    next_attempt_at: iso(clock, nextAttemptAt),
  });
}

/** `steadyMs` in steady time. */
function iso(clock: Clock, steadyMs: number | null): string | null {
  return steadyMs === null ? null : new Date(wallTime(clock, steadyMs)).toISOString();
}
