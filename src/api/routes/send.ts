/**
 * What the sending routes share: from checked emails to their acceptance.
 *
 * Promises no response before `acceptEmails` has the emails on disk, and a header on a replayed response. Fails with
 * any refusal of `acceptEmails`.
 */
import { ApiError } from '../../base/errors.ts';
import { acceptEmails, type AcceptOptions } from '../../flow/accept/accept.ts';
import type { Draft } from '../../flow/draft.ts';
import { idempotencyOf } from './idempotency.ts';
import type { RouteResult, Call } from './route.ts';

export interface SendOptions {
  /** Method and path without `/v1`, as in idempotency records. */
  route: string;
  isPermissive: boolean;
  pathOf?: NonNullable<AcceptOptions['pathOf']>;
  respond: AcceptOptions['respond'];
}

/** Accepts the drafts of one request and returns its result. An `ApiError` stands for an invalid email. */
export async function send(
  call: Call,
  drafts: (Draft | ApiError)[],
  { route, ...options }: SendOptions,
): Promise<RouteResult> {
  const { api, identity, requestId } = call;
  const acceptance = await acceptEmails(
    api.ctx,
    api.engines.queue,
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

/** The result of a route that sends one email: `{id, status}`. */
export function respondOne(status: 200 | 202): AcceptOptions['respond'] {
  return ([result]) => {
    if (result?.kind !== 'accepted') throw new Error('a strict acceptance returned no message');
    return { status, body: { id: result.id, status: result.status } };
  };
}
