/**
 * The mail that comes in: read as complaint or bounce report, and applied to the recipient it names.
 *
 * Promises that a report naming nobody changes nothing, and that whatever is no report is let go. Two
 * reports of one recipient at once make one event: the store takes an end only where it is worse than the
 * one it has. Never answers by mail. Rejects only when the store does.
 */
import { parseArf, type ArfReport } from '../mail/arf.ts';
import { parseDsn } from '../mail/dsn.ts';
import type { Message, Recipient } from '../store/rows.ts';
import type { CallRef, FinishAttempt } from '../store/store.ts';
import { settleBounce } from './bounces.ts';
import { complainant, settleComplaint } from './complaints.ts';
import type { Context } from './context.ts';
import { recipientOfAny } from './return-paths.ts';

/** What a message that came in turned out to be. `ignored`: about nobody, or nothing new. */
export type ReportEnd = 'bounced' | 'complained' | 'delivered' | 'ignored' | 'no_report';

type Settle = (message: Message, recipient: Recipient) => FinishAttempt | null;

export class Reports {
  readonly #ctx: Context;
  readonly #webhooks: { offerCalls(calls: CallRef[]): void };

  constructor(ctx: Context, webhooks: { offerCalls(calls: CallRef[]): void }) {
    this.#ctx = ctx;
    this.#webhooks = webhooks;
  }

  /**
   * Takes one whole message. `recipientId`: whom the return path it was sent to names (its HMAC checked),
   * null for mail to abuse or postmaster. Resolves when what follows is on disk.
   */
  async take(bytes: Uint8Array, recipientId: string | null): Promise<ReportEnd> {
    const ctx = this.#ctx;
    const complaint = parseArf(bytes);
    if (complaint !== null) return this.#complaint(complaint, recipientId);
    const bounce = parseDsn(bytes);
    if (bounce === null) return 'no_report';
    const id = recipientId ?? recipientOfAny(ctx, [bounce.returnPath, ...bounce.returnPaths]);
    return this.#apply(id, (message, recipient) => settleBounce(ctx, message, recipient, bounce));
  }

  async #complaint(report: ArfReport, envelope: string | null): Promise<ReportEnd> {
    const ctx = this.#ctx;
    const { feedbackType, feedbackId } = report;
    if (!report.isComplaint) return 'ignored';
    const id = await complainant(ctx, report, envelope);
    if (id === null) {
      ctx.log.warn('complaint about nobody', {
        feedback_type: feedbackType,
        feedback_id: feedbackId,
      });
      return 'ignored';
    }
    return this.#apply(id, (message, recipient) =>
      settleComplaint(ctx, message, recipient, report),
    );
  }

  async #apply(recipientId: string | null, settle: Settle): Promise<ReportEnd> {
    if (recipientId === null) return 'ignored';
    const { store, log } = this.#ctx;
    const recipient = await store.recipientById(recipientId);
    const message = recipient === null ? null : await store.messageById(recipient.messageId);
    if (recipient === null || message === null) return 'ignored';
    const finish = settle(message, recipient);
    if (finish === null) return 'ignored';
    const { calls } = await store.finish(finish);
    if (calls.length > 0) this.#webhooks.offerCalls(calls);
    const { status } = finish;
    log.info('report applied', {
      request_id: message.logId,
      message_id: message.id,
      recipient_id: recipientId,
      status,
    });
    return status === 'bounced' || status === 'complained' || status === 'delivered'
      ? status
      : 'ignored';
  }
}
