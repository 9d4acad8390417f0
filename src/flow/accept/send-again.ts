/**
 * Sending an email again: what an operator does when a recipient lost it or was away when it bounced.
 *
 * Promises a new message with an id and a Message-ID of its own, to the same recipients, decided like every other: by
 * today's suppressions, plan and domain. A sandbox email stays one. Throws every refusal of `acceptEmails`, and
 * `not_found` once the content is gone.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import { parseAddress, type Mailbox } from '../../mail/header/address.ts';
import type { Account, Message } from '../../store/rows.ts';
import { planOf } from '../accounts/plans.ts';
import { contentOf } from '../content/content.ts';
import type { Context } from '../context.ts';
import type { Draft } from '../draft.ts';
import { acceptEmails, type AcceptedSink } from './accept.ts';

/** Fields that name the message or its time, and are made anew. */
const MADE_ANEW: ReadonlySet<string> = new Set(['message-id', 'date', 'feedback-id']);

/** Sends the email once more; returns the id of the new message. */
export async function sendAgain(
  ctx: Context,
  queue: AcceptedSink,
  account: Account,
  message: Message,
): Promise<string> {
  const content = await contentOf(ctx, account.id, message.id);
  if (content === null) {
    throw new ApiError('not_found', 'The content of this email is no longer kept.');
  }
  const [from] = mailboxes('from', [message.from]);
  if (from === undefined) throw new Error(`message ${message.id} has no sender`);
  const draft: Draft = {
    from,
    to: mailboxes('to', message.to),
    cc: mailboxes('cc', message.cc),
    bcc: mailboxes('bcc', message.bcc),
    replyTo: mailboxes('reply_to', message.replyTo),
    subject: message.subject,
    html: content.html,
    text: content.text,
    headers: content.headers.filter(([name]) => !MADE_ANEW.has(name.toLowerCase())),
    attachments: content.attachments,
    tags: message.tags,
    raw: null,
  };
  const plan = planOf(ctx.config.live.plans, account);
  const key = { id: null, isTest: message.isSandbox };
  const sender = { key, account, plan, requestId: null };
  const acceptance = await acceptEmails(ctx, queue, sender, [draft], {
    isPermissive: false,
    idempotency: null,
    respond: () => ({ status: 202, body: null }),
  });
  const [id] = acceptance.messageIds;
  if (id === undefined) throw new Error('a strict acceptance returned no message');
  return id;
}

function mailboxes(field: string, texts: readonly string[]): Mailbox[] {
  return texts.map((text) => {
    const mailbox = parseAddress(text);
    if ('error' in mailbox) {
      throw validationFailed([{ path: field, message: `${field} ${mailbox.error}.` }]);
    }
    return mailbox;
  });
}
