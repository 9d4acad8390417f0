/**
 * Emails as the operator handles them: sending one for an account, waiting for its end, lists and details.
 *
 * An email to send has the fields of the API's, as JSON text, and is checked by the same reader; a wait ends when no
 * recipient waits for an attempt any more, and says what happens meanwhile as progress. Fails with the refusals of a
 * send, and with `not_found`.
 */
import { Type } from '@sinclair/typebox';

import { refusalFor } from '../api/shapes/check.ts';
import { parseJson } from '../base/json.ts';
import { readEmail } from '../api/shapes/read-email.ts';
import { ApiError, OperatorError } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { MESSAGE_STATUSES } from '../base/status.ts';
import { NO_QUEUE, sendByOperator } from '../flow/accept/operator-send.ts';
import type { Draft } from '../flow/draft.ts';
import type { Recipient } from '../store/rows.ts';
import { oneAccount } from './accounts.ts';
import { factsOf } from './event-facts.ts';
import { operation } from './operation.ts';
import type { Scope } from './operation.ts';
import { Detail, detail, explained } from './queue.ts';
import { MessageShape, Text, Time, oneOf, orNull } from './shapes.ts';

/** Most rows of one list. */
const PAGE_MAX = 100;

const EventShape = Type.Object({
  id: Type.String(),
  type: Type.String(),
  occurredAt: Time,
  payload: orNull(Type.String()),
  recipient: orNull(Type.String()),
  reason: orNull(Type.String()),
});

/** The draft in the JSON text `email`. Throws `ApiError` with every issue. */
async function draftOf(email: string): Promise<Draft> {
  const value = await parseJson(email);
  const read = readEmail(value, { kind: 'full', at: '', mayLink: false, needsContent: true });
  if (Array.isArray(read)) throw refusalFor(read);
  return read.draft;
}

/** Resolves when no recipient of the message waits, or when nobody waits for the result. */
async function settled({ ctx, sink }: Scope, messageId: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = async (): Promise<Recipient[]> => {
    const recipients = await ctx.store.recipients(messageId);
    if (recipients.every(({ nextAttemptAt }) => nextAttemptAt === null)) resolve();
    return recipients;
  };
  const stop = ctx.followers.follow((event) => {
    if (event.messageId !== messageId) return;
    if (event.type === 'email.delivery_delayed') tellDelay(event.recipientId).catch(reject);
    look().catch(reject);
  });
  const tellDelay = async (recipientId: string | null): Promise<void> => {
    const recipient = await ctx.store.recipientById(recipientId ?? '');
    if (recipient !== null) sink.progress(explained(ctx.clock, recipient).explanation);
  };
  sink.left.addEventListener('abort', () => resolve());
  // It may have been aborted before anybody listened.
  if (sink.left.aborted) resolve();
  try {
    // What was delayed before anybody followed has no event any more.
    for (const recipient of await look()) {
      if (recipient.status === 'delivery_delayed') await tellDelay(recipient.id);
    }
    await promise;
  } finally {
    stop();
  }
}

/** A whole number from 1 to `PAGE_MAX`; null: half of that. Throws `OperatorError`. */
export function limitOf(text: string | null): number {
  if (text === null) return PAGE_MAX / 2;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= PAGE_MAX) return limit;
  throw new OperatorError(`--limit must be a number from 1 to ${PAGE_MAX}, not "${text}".`, '');
}

/** The id after which a page begins; null: the newest page. Throws `OperatorError`. */
export function cursorOf(text: string | null): string | null {
  if (text === null || isId(text)) return text;
  throw new OperatorError(`--after must be the id of a row of this list, not "${text}".`, '');
}

export const EMAIL_OPERATIONS = {
  'email.send': operation(
    { account: orNull(Text), email: Text, isSandbox: Type.Boolean() },
    Type.Object({ id: Type.String(), status: oneOf(['queued', 'sent', 'suppressed']) }),
    async (scope, { account, email, isSandbox }) => {
      const owner = await oneAccount(scope, account);
      const draft = await draftOf(email);
      return await sendByOperator(scope.ctx, scope.queue ?? NO_QUEUE, owner, { draft, isSandbox });
    },
  ),
  'email.wait': operation({ id: Text }, Detail, async (scope, { id }) => {
    const { message } = await detail(scope, id);
    if (scope.queue === null) {
      throw new OperatorError(
        'No server is running on this data directory, so nothing is delivered.',
        'The email is accepted: it is sent when `postrider serve` runs.',
      );
    }
    await settled(scope, message.id);
    return await detail(scope, id);
  }),
  'email.list': operation(
    {
      account: orNull(Text),
      status: orNull(oneOf(MESSAGE_STATUSES)),
      q: orNull(Text),
      limit: orNull(Text),
      after: orNull(Text),
    },
    Type.Object({ emails: Type.Array(MessageShape), hasMore: Type.Boolean() }),
    async (scope, { account, limit, after, ...filter }) => {
      const { id } = await oneAccount(scope, account);
      const page = { ...filter, limit: limitOf(limit), after: cursorOf(after), before: null };
      const { rows, hasMore } = await scope.ctx.store.emails(id, page);
      return { emails: rows, hasMore };
    },
  ),
  'email.show': operation(
    { id: Text },
    Type.Composite([Detail, Type.Object({ events: Type.Array(EventShape) })]),
    async (scope, { id }) => {
      const { store } = scope.ctx;
      const message = await store.messageById(id);
      if (message === null) throw new ApiError('not_found', `There is no email ${id}.`);
      const events = await store.events(id);
      return {
        ...(await detail(scope, id)),
        events: events.map((event) => ({
          id: event.id,
          type: event.type,
          occurredAt: event.occurredAt,
          payload: event.payload,
          ...factsOf(event),
        })),
      };
    },
  ),
};
