/** What waits, why, and until when; and the kill switch. Works on the store alone where no queue runs. */
import { ApiError } from '../base/errors.ts';
import { halt, haltOf, resume } from '../flow/halt.ts';
import { explain, failByOperator } from '../flow/queue-operator.ts';
import type { Attempt, Message, Recipient } from '../store/rows.ts';
import { textOf, textOrNull } from './operation.ts';
import type { Operation, Scope } from './operation.ts';

const PAGE = 1000;

export interface QueueEntry extends Recipient {
  explanation: string;
}

export interface QueueDetail {
  message: Message;
  recipients: QueueEntry[];
  attempts: Attempt[];
}

/** A message or recipient by its id. Throws `not_found`. */
async function detail(scope: Scope, id: string): Promise<QueueDetail> {
  const { store, clock } = scope.ctx;
  const one = await store.recipientById(id);
  const message = await store.messageById(one?.messageId ?? id);
  if (message === null) throw new ApiError('not_found', `There is no message or recipient ${id}.`);
  const recipients = one === null ? await store.recipients(message.id) : [one];
  const attempts = await store.attempts(message.id);
  const now = clock.now();
  return {
    message,
    recipients: recipients.map((row) => ({ ...row, explanation: explain(row, now) })),
    attempts: one === null ? attempts : attempts.filter((row) => row.recipientId === one.id),
  };
}

export const QUEUE_OPERATIONS: Record<string, Operation> = {
  'queue.list': async ({ ctx, queue }, args) => {
    const now = ctx.clock.now();
    const domain = textOrNull(args, 'domain');
    const rows = await ctx.store.queue({ domain, limit: PAGE, after: textOrNull(args, 'after') });
    return {
      halt: haltOf(ctx),
      // What was asked for less; known to a running queue only.
      holds: (queue?.holds() ?? []).map(({ untilMs, ...hold }) => ({
        ...hold,
        until: new Date(untilMs).toISOString(),
      })),
      destinations: await ctx.store.queueCounts(now),
      recipients: rows.map((row) => ({ ...row, explanation: explain(row, now) })),
    };
  },
  'queue.show': (scope, args) => detail(scope, textOf(args, 'id')),
  'queue.retry': async ({ ctx, queue }, args) => {
    const target = { id: textOrNull(args, 'id'), domain: textOrNull(args, 'domain') };
    const retried =
      queue === null
        ? await ctx.store.retryNow(target, ctx.clock.now())
        : await queue.retry(target);
    // Those that are tried now: made due by this, or due already; not those in an attempt.
    return { retried };
  },
  'queue.fail': async (scope, args) => {
    const id = textOf(args, 'id');
    await detail(scope, id);
    const failed =
      scope.queue === null
        ? (await failByOperator(scope.ctx, id, () => false)).length
        : await scope.queue.fail(id);
    return { failed };
  },
  halt: async ({ ctx, queue }, args) => {
    const state = await halt(ctx, textOrNull(args, 'reason') ?? '');
    queue?.setResting(true);
    return { halted: true, reason: state.reason, since: new Date(state.since).toISOString() };
  },
  resume: async ({ ctx, queue }) => {
    const wasHalted = await resume(ctx);
    queue?.setResting(false);
    return { halted: false, was_halted: wasHalted };
  },
};
