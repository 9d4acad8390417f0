/**
 * What the sending routes share: from emails that were read to an acceptance.
 *
 * Promises that nothing is answered before `acceptEmails` has it on disk, and that a replayed answer says
 * so. Fails with whatever acceptance refuses.
 */
import { ApiError } from '../base/errors.ts';
import { acceptEmails, type AcceptOptions } from '../flow/accept.ts';
import type { Draft } from '../flow/draft.ts';
import { idempotencyOf } from './idempotency.ts';
import type { Answer, Call } from './route.ts';

export interface SendOptions {
  /** Method and path without prefix, as idempotency records know it. */
  route: string;
  isPermissive: boolean;
  placeOf?: NonNullable<AcceptOptions['placeOf']>;
  respond: AcceptOptions['respond'];
}

/** Accepts the drafts of one request and makes its answer. */
export async function send(
  call: Call,
  drafts: (Draft | ApiError)[],
  { route, ...options }: SendOptions,
): Promise<Answer> {
  const { api, identity, requestId } = call;
  const acceptance = await acceptEmails(
    api.ctx,
    api.doors.queue,
    { ...identity, requestId },
    drafts,
    { ...options, idempotency: idempotencyOf(call, route) },
  );
  const [messageId] = acceptance.messageIds;
  const [draft] = drafts;
  const isOne = drafts.length === 1 && draft !== undefined && !(draft instanceof ApiError);
  return {
    status: acceptance.status,
    body: acceptance.body,
    ...(acceptance.isReplay && { headers: { 'Idempotent-Replayed': 'true' } }),
    ...(messageId !== undefined && { messageId }),
    ...(isOne && { content: draft }),
  };
}

/** The answer of a route that sends one email: `{id, status}`. */
export function respondOne(status: 200 | 202): AcceptOptions['respond'] {
  return ([result]) => {
    if (result?.kind !== 'accepted')
      throw new Error('a strict acceptance answered without a message');
    return { status, body: { id: result.id, status: result.status } };
  };
}
