/** Each line of a message's way, whole: every field has its value, and nothing else is said. */
import { expect, test } from 'bun:test';

import { createLog } from '../../src/base/log.ts';
import {
  logAccepted,
  logAttempt,
  logCall,
  logEnd,
  logReplayed,
} from '../../src/flow/journey-log.ts';
import type { Sender } from '../../src/flow/draft.ts';
import type { FinishAttempt, NewMessage } from '../../src/store/journey.ts';
import type { Attempt, Call, CallAttempt, Message, Recipient } from '../../src/store/rows.ts';
import { TestClock } from '../rig/clock.ts';
import { newId } from '../rig/ids.ts';

function start() {
  const clock = new TestClock();
  const lines: unknown[] = [];
  const log = createLog(
    (line) => lines.push(JSON.parse(line)),
    () => clock.now(),
  );
  return { clock, lines, ctx: { clock, log } };
}

const HEAD = { time: '2026-01-15T12:00:00.000Z', level: 'info' };
const sender = { requestId: 'r', account: { id: 'a' } } as Sender;
const accepted = (id: string, nextAttemptAts: (number | null)[]) =>
  ({
    message: { id },
    recipients: nextAttemptAts.map((nextAttemptAt) => ({ nextAttemptAt })),
  }) as NewMessage;

test('what a request had accepted is one line: its messages, recipients, and how many of them are queued', () => {
  const { ctx, lines } = start();
  logAccepted(ctx, sender, [accepted('m', [1, null]), accepted('n', [2])]);
  logAccepted(ctx, sender, []);
  expect(lines).toEqual([
    {
      ...HEAD,
      event: 'accepted',
      request_id: 'r',
      message_ids: ['m', 'n'],
      account_id: 'a',
      recipients: 3,
      queued: 2,
    },
  ]);
});

test('a request that was answered before names the messages of the stored answer', () => {
  const { ctx, lines } = start();
  const ids = [newId(1), newId(2)];
  logReplayed(ctx, sender, JSON.stringify({ data: ids.map((id) => ({ id })) }));
  logReplayed(ctx, sender, '{"id":"short"}');
  const line = { ...HEAD, event: 'replayed', request_id: 'r' };
  expect(lines).toEqual([
    { ...line, message_ids: ids },
    { ...line, message_ids: [] },
  ]);
});

test('an attempt says where it went, what it came to, how long it took and when the next one is', () => {
  const { ctx, clock, lines } = start();
  const due = clock.steady() + 60_000;
  // Steady time goes on; the wall clock was set forth by an hour meanwhile.
  clock.jump(3_600_000);
  const attempt = {
    class: 'rate',
    stage: 'rcpt',
    host: 'mx.example.com',
    address: '192.0.2.1',
    reply: '451 later',
  } as unknown as Attempt;
  const message = { id: 'm', logId: 'r' } as Message;
  const recipient = { id: 'p', domain: 'example.com', attempts: 3 } as Recipient;
  const ended = { message, recipient, beganAt: 5_000, endedAt: 5_750 };
  const finish = { attempt, status: 'delivery_delayed', nextAttemptAt: due } as FinishAttempt;
  logAttempt(ctx, ended, finish);
  logAttempt(ctx, ended, { ...finish, attempt: null, status: 'failed', nextAttemptAt: null });
  const line = {
    time: '2026-01-15T13:00:00.000Z',
    level: 'info',
    event: 'attempt',
    request_id: 'r',
    message_id: 'm',
    recipient_id: 'p',
    domain: 'example.com',
    attempt: 3,
    duration_ms: 750,
  };
  expect(lines).toEqual([
    {
      ...line,
      status: 'delivery_delayed',
      class: 'rate',
      stage: 'rcpt',
      host: 'mx.example.com',
      address: '192.0.2.1',
      reply: '451 later',
      next_attempt_at: '2026-01-15T13:01:00.000Z',
    },
    { ...line, status: 'failed', next_attempt_at: null },
  ]);
});

test('an end without an attempt says whose it is and why', () => {
  const { ctx, lines } = start();
  const end = { messageId: 'm', recipientId: 'p', status: 'failed', lastReason: 'given up' };
  logEnd(ctx, { logId: 'r' }, end as FinishAttempt);
  expect(lines).toEqual([
    {
      ...HEAD,
      event: 'ended',
      request_id: 'r',
      message_id: 'm',
      recipient_id: 'p',
      status: 'failed',
      reason: 'given up',
    },
  ]);
});

test('a webhook call says which event it carried to whom, what came back and when the next one is', () => {
  const { ctx, clock, lines } = start();
  const call = {
    requestId: 'r',
    messageId: 'm',
    eventId: 'e',
    eventType: 'email.sent',
    endpointId: 'w',
    attempts: 2,
  } as Call;
  const attempt = { statusCode: 503, ok: false, error: 'busy', durationMs: 12 } as CallAttempt;
  logCall(ctx, call, attempt, clock.steady() + 30_000);
  expect(lines).toEqual([
    {
      ...HEAD,
      event: 'webhook_call',
      request_id: 'r',
      message_id: 'm',
      event_id: 'e',
      event_type: 'email.sent',
      endpoint_id: 'w',
      attempt: 2,
      ok: false,
      status_code: 503,
      error: 'busy',
      duration_ms: 12,
      next_attempt_at: '2026-01-15T12:00:30.000Z',
    },
  ]);
});
