/**
 * Bounce reports that come back later (RFC 3464 and its kin): the end of a recipient we thought delivered.
 *
 * Promises that a report changes only the recipient its return path names, and only forward: a bounce
 * never undoes a complaint, and the same report twice makes one event. `delayed` is no bounce. The
 * suppressed address is the one we sent to, never one a report mentions.
 */
import type { MessageStatus } from '../base/status.ts';
import type { DsnRecipient, DsnReport } from '../mail/dsn.ts';
import type { Message, Recipient } from '../store/rows.ts';
import type { FinishAttempt } from '../store/store.ts';
import type { Context } from './context.ts';
import { newEvent } from './events.ts';
import { newSuppression } from './suppressions.ts';

/** What a report about one recipient amounts to; null when it changes nothing. */
export function settleBounce(
  ctx: Pick<Context, 'clock' | 'store'>,
  message: Message,
  recipient: Recipient,
  report: DsnReport,
): FinishAttempt | null {
  const said = entryFor(report, recipient.address);
  if (said === undefined) return null;
  if (said.action === 'failed') return bounced(ctx, message, recipient, said);
  // A relay's success report completes `sent`; `relayed` only says it left the world of reports.
  if (said.action === 'delivered') return delivered(ctx, message, recipient, said);
  return null;
}

/** States that a late bounce may still change. */
const MAY_BOUNCE: ReadonlySet<MessageStatus> = new Set([
  'queued',
  'sent',
  'delivered',
  'delivery_delayed',
]);

function bounced(
  ctx: Pick<Context, 'clock' | 'store'>,
  message: Message,
  recipient: Recipient,
  said: DsnRecipient,
): FinishAttempt | null {
  if (!MAY_BOUNCE.has(recipient.status)) return null;
  const { verdict } = said;
  const reason = said.diagnostic || `The receiver reported ${said.status ?? 'a failure'}.`;
  const bounce = { type: verdict.bounceType, subType: verdict.subType, message: reason };
  const payload = { ...factsOf(said), bounce: { type: bounce.type, subType: bounce.subType } };
  return {
    ...unchanged(ctx, recipient),
    status: 'bounced',
    lastReason: reason,
    events: [eventOf(ctx, message, recipient, 'email.bounced', payload, { bounce })],
    suppress: verdict.isSuppressing
      ? newSuppression(ctx, {
          accountId: recipient.accountId,
          email: recipient.address,
          reason: 'hard_bounce',
          source: message.id,
          note: reason.slice(0, 500),
        })
      : null,
  };
}

function delivered(
  ctx: Pick<Context, 'clock' | 'store'>,
  message: Message,
  recipient: Recipient,
  said: DsnRecipient,
): FinishAttempt | null {
  if (recipient.status !== 'sent') return null;
  return {
    ...unchanged(ctx, recipient),
    status: 'delivered',
    events: [eventOf(ctx, message, recipient, 'email.delivered', factsOf(said), null)],
  };
}

/** The entry that speaks of our recipient; an alias expands to others, so a failure among them counts too. */
function entryFor(report: DsnReport, address: string): DsnRecipient | undefined {
  const wanted = address.toLowerCase();
  const named = report.recipients.find(
    ({ finalRecipient, originalRecipient }) =>
      originalRecipient?.toLowerCase() === wanted || finalRecipient?.toLowerCase() === wanted,
  );
  return (
    named ?? report.recipients.find(({ action }) => action === 'failed') ?? report.recipients[0]
  );
}

function factsOf(said: DsnRecipient): Record<string, unknown> {
  const { status, diagnostic, remoteMta, finalRecipient, verdict } = said;
  return {
    via: 'report',
    status,
    reply: diagnostic,
    host: remoteMta,
    final_recipient: finalRecipient,
    class: verdict.class,
    ...(verdict.hint === null ? {} : { hint: verdict.hint }),
  };
}

function eventOf(
  ctx: Pick<Context, 'clock' | 'store'>,
  message: Message,
  recipient: Recipient,
  type: 'email.bounced' | 'email.delivered',
  payload: Record<string, unknown>,
  extra: Parameters<typeof newEvent>[1]['extra'],
) {
  return newEvent(ctx, { message, recipient, type, occurredAt: ctx.clock.now(), payload, extra });
}

/** The recipient as it stands, to be written with what a report changes; nothing more will be tried. */
export function unchanged(
  ctx: Pick<Context, 'clock' | 'store'>,
  recipient: Recipient,
): FinishAttempt {
  return {
    recipientId: recipient.id,
    messageId: recipient.messageId,
    accountId: recipient.accountId,
    now: ctx.clock.now(),
    status: recipient.status,
    nextAttemptAt: null,
    lastReason: recipient.lastReason,
    delayedAt: recipient.delayedAt,
    attempt: null,
    events: [],
    suppress: null,
  };
}
