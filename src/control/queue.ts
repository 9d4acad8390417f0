/**
 * The queue as the operator handles it: what waits, why, and until when; trying now; giving up.
 *
 * Works on the store alone where no queue runs; only a running queue knows which sites it has throttled.
 */
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

import { wallTime } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { ApiError } from '../base/errors.ts';
import { isFinal } from '../base/status.ts';
import { explain, failByOperator, inWallTime } from '../flow/queue/operator.ts';
import { destinationsIn } from '../store/operator.ts';
import type { Attempt, Recipient } from '../store/rows.ts';
import { domainNamed } from './domain-name.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import {
  AttemptShape,
  HaltShape,
  MessageShape,
  RecipientShape,
  Text,
  TlsShape,
  oneOf,
  orNull,
} from './shapes.ts';
import type { PublicAttempt } from './shapes.ts';

/** Most recipients of one listing. */
const PAGE = 1000;
const MOST_DESTINATIONS = 1_000;

const Listing = Type.Object({
  halt: orNull(HaltShape),
  /** Sites that asked for less; empty without a running queue. */
  throttles: Type.Array(
    Type.Object({
      site: Type.String(),
      /** ISO 8601. */
      until: Type.String(),
      cause: Type.String(),
      class: oneOf(['rate', 'reputation']),
      hint: orNull(Type.String()),
    }),
  ),
  destinations: Type.Array(
    Type.Object({
      domain: Type.String(),
      waiting: Type.Integer(),
      oldestCreatedAt: Type.Integer(),
      reason: orNull(Type.String()),
    }),
  ),
  /** How many there are. */
  destinationCount: Type.Integer(),
  recipients: Type.Array(RecipientShape),
});
export type Listing = Static<typeof Listing>;

export const Detail = Type.Object({
  message: MessageShape,
  recipients: Type.Array(RecipientShape),
  attempts: Type.Array(AttemptShape),
});
export type Detail = Static<typeof Detail>;

async function list({ ctx, queue }: Scope, domain: string | null): Promise<Listing> {
  const { clock } = ctx;
  const rows = await ctx.store.queue({ domain, limit: PAGE, after: null });
  const { kinds, largest } = await ctx.store.queueCounts(domain, MOST_DESTINATIONS);
  return {
    halt: ctx.halt.state,
    throttles: (queue?.throttles() ?? []).map(({ untilMs, ...rest }) => ({
      until: new Date(wallTime(clock, untilMs)).toISOString(),
      ...rest,
    })),
    destinations: largest,
    destinationCount: domain === null ? destinationsIn(kinds) : largest.length,
    recipients: rows.map((row) => explained(clock, row)),
  };
}

/** A message with its recipients, or one recipient with its message. Throws `not_found`. */
export async function detail({ ctx: { store, clock } }: Scope, id: string): Promise<Detail> {
  const one = await store.recipientById(id);
  const message = await store.messageById(one?.messageId ?? id);
  if (message === null) throw new ApiError('not_found', `There is no message or recipient ${id}.`);
  const recipients = one === null ? await store.recipients(message.id) : [one];
  const attempts = await store.attempts(message.id);
  return {
    message,
    recipients: recipients.map((row) => explained(clock, row)),
    attempts: attempts
      .filter((row) => one === null || row.recipientId === one.id)
      .map(publicAttempt),
  };
}

/** With its times as the wall clock shows them, and the sentence about it. */
export function explained(clock: Clock, row: Recipient): Listing['recipients'][number] {
  const shown = inWallTime(clock, row);
  return { ...shown, explanation: explain(shown, clock.now()) };
}

function publicAttempt(attempt: Attempt): PublicAttempt {
  const tls: unknown = attempt.tls === null ? null : JSON.parse(attempt.tls);
  return { ...attempt, tls: Value.Check(TlsShape, tls) ? tls : null };
}

export const QUEUE_OPERATIONS = {
  'queue.list': operation({ domain: orNull(Text) }, Listing, (scope, { domain }) =>
    list(scope, domain === null ? null : domainNamed(domain)),
  ),
  'queue.show': operation({ id: Text }, Detail, (scope, { id }) => detail(scope, id)),
  'queue.retry': operation(
    { id: orNull(Text), domain: orNull(Text) },
    // Those that are tried now: made due by this, or due already; not those in an attempt.
    Type.Object({ retried: Type.Integer() }),
    async (scope, { id, domain }) => {
      const { ctx, queue } = scope;
      const target = { id, domain: domain === null ? null : domainNamed(domain) };
      if (target.id !== null) await detail(scope, target.id);
      const retried =
        queue === null
          ? await ctx.store.retryNow(target, ctx.clock.steady())
          : await queue.retry(target);
      return { retried };
    },
  ),
  'queue.fail': operation(
    { id: Text },
    // `under_way`: left alone, because an attempt is being made.
    Type.Object({ failed: Type.Integer(), under_way: Type.Integer() }),
    async (scope, { id }) => {
      await detail(scope, id);
      const failed =
        scope.queue === null
          ? (await failByOperator(scope.ctx, id, null)).length
          : await scope.queue.fail(id);
      const { recipients } = await detail(scope, id);
      const open = recipients.filter((one) => one.nextAttemptAt !== null && !isFinal(one.status));
      return { failed, under_way: open.length };
    },
  ),
};
