/**
 * Bounce reports that come back later (RFC 3464 and similar): they end a recipient that counted as delivered.
 *
 * Promises that a report changes only the recipient its return path names, and only forward: a bounce
 * never undoes a complaint, and the same report twice makes one event. `delayed` is not a bounce. The
 * suppressed address is the one we sent to, never one that a report mentions.
 */
import type { MessageStatus } from '../../base/status.ts';
import type { DsnRecipient, DsnReport } from '../../mail/reports/dsn.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import { newEvent } from '../events.ts';
import { endOf } from '../recipient-end.ts';
import { newSuppression } from '../suppressions/suppressions.ts';

/** What a report changes for one recipient; null when nothing. */
export function settleBounce(
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers'>,
  message: Message,
  recipient: Recipient,
  report: DsnReport,
): FinishAttempt | null {
  const said = entryFor(report, recipient.address);
  if (said === undefined) return null;
  if (said.action === 'failed') return bounced(ctx, message, recipient, said);
  // A success report completes `sent`; `relayed` only says that no further report will come.
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
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers'>,
  message: Message,
  recipient: Recipient,
  said: DsnRecipient,
): FinishAttempt | null {
  if (!MAY_BOUNCE.has(recipient.status)) return null;
  const { classification } = said;
  const reason = said.diagnostic || `The receiver reported ${said.status ?? 'a failure'}.`;
  const bounce = {
    type: classification.bounceType,
    subType: classification.subType,
    message: reason,
  };
  const payload = { ...factsOf(said), bounce: { type: bounce.type, subType: bounce.subType } };
  return endOf(recipient, ctx.clock.now(), {
    dueAt: ctx.clock.steady(),
    status: 'bounced',
    lastReason: reason,
    events: [eventOf(ctx, message, recipient, 'email.bounced', payload, { bounce })],
    suppress: classification.isSuppressing
      ? newSuppression(ctx, {
          accountId: recipient.accountId,
          email: recipient.address,
          reason: 'hard_bounce',
          source: message.id,
          note: reason.slice(0, 500),
        })
      : null,
  });
}

function delivered(
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers'>,
  message: Message,
  recipient: Recipient,
  said: DsnRecipient,
): FinishAttempt | null {
  if (recipient.status !== 'sent') return null;
  return endOf(recipient, ctx.clock.now(), {
    dueAt: ctx.clock.steady(),
    status: 'delivered',
    events: [eventOf(ctx, message, recipient, 'email.delivered', factsOf(said), null)],
  });
}

/** The entry for our recipient. An alias expands to others, so a failure among those counts too. */
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
  const { status, diagnostic, remoteMta, finalRecipient, classification } = said;
  return {
    via: 'report',
    status,
    reply: diagnostic,
    host: remoteMta,
    final_recipient: finalRecipient,
    class: classification.class,
    ...(classification.hint === null ? {} : { hint: classification.hint }),
  };
}

function eventOf(
  ctx: Pick<Context, 'clock' | 'ids' | 'store' | 'subscribers'>,
  message: Message,
  recipient: Recipient,
  type: 'email.bounced' | 'email.delivered',
  payload: Record<string, unknown>,
  extra: Parameters<typeof newEvent>[1]['extra'],
) {
  return newEvent(ctx, { message, recipient, type, occurredAt: ctx.clock.now(), payload, extra });
}
