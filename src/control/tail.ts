/**
 * `tail`: events as they happen, one JSON text a chunk, until the reader leaves.
 *
 * Promises that a slow reader costs no more than `WAITING_MAX` events of memory and delays nobody: what is over is
 * skipped, and the reader is told how many. Throws `OperatorError` where no server runs, since nothing happens there.
 */
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { MESSAGE_STATUSES } from '../base/status.ts';
import { accountNamed } from '../flow/accounts/accounts.ts';
import type { Context } from '../flow/context.ts';
import type { Event, Message } from '../store/rows.ts';
import { domainNamed } from './domain-name.ts';
import { factsOf } from './event-facts.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { Text, oneOf, orNull } from './shapes.ts';

/** Events that wait for a reader. */
const WAITING_MAX = 1_000;

/** One chunk, as JSON text. The names are those of the API. */
export const TailLine = Type.Object({
  id: Type.String(),
  type: Type.String(),
  /** ISO 8601. */
  created_at: Type.String(),
  account_id: Type.String(),
  account: Type.String(),
  email_id: Type.String(),
  from: Type.String(),
  /** Null for what concerns the email as a whole. */
  recipient: orNull(Type.String()),
  to: Type.Array(Type.String()),
  subject: Type.String(),
  /** What the server said, or why nothing was said. */
  reason: orNull(Type.String()),
});
export type TailLine = Static<typeof TailLine>;

interface Filter {
  accountId: string | null;
  /** Of a recipient or of the sender. */
  domain: string | null;
  status: string | null;
}

/** Gives the events of `filter` to the reader until it leaves. */
async function follow({ ctx, sink }: Scope, filter: Filter): Promise<void> {
  const names = new Map<string, string>();
  const waiting: Event[] = [];
  let skipped = 0;
  let wake = Promise.withResolvers<void>();
  const stop = ctx.followers.follow((event) => {
    if (filter.accountId !== null && event.accountId !== filter.accountId) return;
    if (filter.status !== null && event.type !== `email.${filter.status}`) return;
    if (waiting.length >= WAITING_MAX) skipped += 1;
    else waiting.push(event);
    wake.resolve();
  });
  sink.left.addEventListener('abort', () => wake.resolve());
  sink.progress('Waiting for events. Ctrl-C ends it.');
  try {
    while (!sink.left.aborted) {
      await wake.promise;
      wake = Promise.withResolvers();
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
        const line = await lineOf(ctx, event, filter.domain, names);
        if (line !== null) await sink.chunk(`${JSON.stringify(line)}\n`);
      }
      if (skipped > 0) {
        const what = skipped === 1 ? '1 event was' : `${skipped} events were`;
        sink.progress(`${what} skipped: they came too fast.`);
      }
      skipped = 0;
    }
  } finally {
    stop();
  }
}

/** Null for an event of another domain, and of an email that is gone. */
async function lineOf(
  { store }: Pick<Context, 'store'>,
  event: Event,
  domain: string | null,
  names: Map<string, string>,
): Promise<TailLine | null> {
  const message = await store.messageById(event.messageId);
  if (message === null) return null;
  const facts = factsOf(event);
  if (domain !== null && !domainsOf(message, facts.recipient).includes(domain)) return null;
  if (!names.has(event.accountId)) {
    names.set(event.accountId, (await store.account(event.accountId))?.name ?? '');
  }
  return {
    id: event.id,
    type: event.type,
    created_at: new Date(event.occurredAt).toISOString(),
    account_id: event.accountId,
    account: names.get(event.accountId) ?? '',
    email_id: message.id,
    from: message.from,
    recipient: facts.recipient,
    to: message.to,
    subject: message.subject,
    reason: facts.reason,
  };
}

function domainsOf(message: Message, recipient: string | null): string[] {
  const all = recipient === null ? [...message.to, ...message.cc, ...message.bcc] : [recipient];
  return [message.from, ...all].map((address) =>
    address
      .slice(address.lastIndexOf('@') + 1)
      .replace(/>$/, '')
      .toLowerCase(),
  );
}

export const TAIL_OPERATIONS = {
  tail: operation(
    { account: orNull(Text), domain: orNull(Text), status: orNull(oneOf(MESSAGE_STATUSES)) },
    Type.Null(),
    async (scope, { account, domain, status }) => {
      if (scope.queue === null) {
        throw new OperatorError(
          'No server is running on this data directory, so nothing happens there.',
          'Start it with `postrider serve`.',
        );
      }
      const accountId = account === null ? null : (await accountNamed(scope.ctx, account)).id;
      const named = domain === null ? null : domainNamed(domain);
      await follow(scope, { accountId, domain: named, status });
      return null;
    },
  ),
};
