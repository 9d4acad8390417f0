/**
 * Writes one row of the request log for each submitted message, so that it is listed beside API requests.
 *
 * A row has the envelope and the reply, never the content or the key. The reply does not wait for it: a row that
 * cannot be written is logged and never refuses a message.
 */
import type { SMTPServerSession } from 'smtp-server';
import type { Context } from '../flow/context.ts';
import type { Identity } from '../flow/draft.ts';
import { FAULT, refusalFor } from './reply.ts';
import { ApiError } from '../base/errors.ts';

export interface Submitted {
  identity: Identity;
  /** The row's id, the message's `log_id`. */
  requestId: string;
  session: SMTPServerSession;
  bytes: number;
}

/** Runs `accept`, writes the row, and returns the text of the reply or throws what `accept` threw. */
export async function logSubmission(
  ctx: Pick<Context, 'clock' | 'store' | 'log'>,
  submitted: Submitted,
  accept: () => Promise<{ text: string; messageId: string | null }>,
): Promise<string> {
  const beganAt = ctx.clock.now();
  try {
    const { text, messageId } = await accept();
    write(ctx, submitted, beganAt, 200, `250 ${text}`, messageId);
    return text;
  } catch (error) {
    const reply = refusalFor(error) ?? FAULT;
    const status = error instanceof ApiError ? error.status : reply.responseCode < 500 ? 503 : 422;
    write(ctx, submitted, beganAt, status, `${reply.responseCode} ${reply.message}`, null);
    throw error;
  }
}

function write(
  ctx: Pick<Context, 'clock' | 'store' | 'log'>,
  { identity, requestId, session, bytes }: Submitted,
  beganAt: number,
  status: number,
  reply: string,
  messageId: string | null,
): void {
  const { account, key } = identity;
  const { envelope } = session;
  const request = {
    mail_from: envelope.mailFrom === false ? null : envelope.mailFrom.address,
    rcpt_to: envelope.rcptTo.map(({ address }) => address),
    bytes,
  };
  const row = {
    id: requestId,
    accountId: account.id,
    keyId: key.id,
    keyName: key.name,
    keyPermission: key.permission,
    isSandbox: key.isTest,
    method: 'SMTP',
    path: '/smtp',
    status,
    durationMs: Math.max(0, ctx.clock.now() - beganAt),
    messageId,
    userAgent: session.hostNameAppearsAs || null,
    ip: session.remoteAddress,
    requestBody: JSON.stringify(request),
    responseBody: reply,
    createdAt: beganAt,
  };
  ctx.store.appendLogs([row]).catch((error: unknown) => {
    ctx.log.warn('submission_log_failed', { error });
  });
}
