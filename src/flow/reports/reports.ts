/**
 * The mail that comes in on port 25: read as complaint or bounce report, and applied to the recipient it names.
 *
 * The story of this folder. `smtp/inbound` hands over a message with the recipients that its addresses name. The
 * message is read once (`mail/reports`). `complaints.ts` and `bounces.ts` decide what the report changes; state, event,
 * webhook deliveries and suppression go to disk in one commit. Only then does the caller reply 250: after a crash
 * before it, the sending server delivers the report again, and a report that comes twice changes nothing the second
 * time.
 *
 * Promises that a report that names no recipient changes nothing, and that a message which is no report is dropped. Two
 * reports of one recipient at once make one event: the store takes an end only where it is worse than the one it
 * has. A report that is quicker than the commit of the attempt it is about waits for that. Never replies by mail.
 * Rejects only when the store does.
 */
import type { ArfReport } from '../../mail/reports/arf.ts';
import type { DsnReport } from '../../mail/reports/dsn.ts';
import type { InboundMessage } from '../../mail/reports/inbound-message.ts';
import { readReport, type Report } from '../../mail/reports/read-report.ts';
import type { Message, Recipient } from '../../store/rows.ts';
import type { FinishAttempt } from '../../store/journey.ts';
import type { CallRef } from '../../store/webhooks.ts';
import { settleBounce } from './bounces.ts';
import { complainant, settleComplaint } from './complaints.ts';
import type { Context } from '../context.ts';
import { recipientOfAny } from '../return-paths.ts';

/** What a message that came in turned out to be. `ignored`: it names no recipient, or tells nothing new. */
export type ReportEnd = 'bounced' | 'complained' | 'delivered' | 'ignored' | 'no_report';

type Settle = (message: Message, recipient: Recipient) => FinishAttempt | null;

/** Of text from outside in a line of the log, in characters. */
const SHOWN_CHARS = 300;
/** For how long a message waits for the outcomes of the attempts that it is about: some commits on a slow disk. */
const PATIENCE_MS = 3_000;
/** Until the outcome is looked for again, and twice as long each further time: another node may be the one that writes it. */
const FIRST_LOOK_MS = 50;

export class Reports {
  readonly #ctx: Context;
  readonly #webhooks: { offerCalls(calls: CallRef[]): void };
  readonly #patienceMs: number;

  constructor(
    ctx: Context,
    webhooks: { offerCalls(calls: CallRef[]): void },
    patienceMs = PATIENCE_MS,
  ) {
    this.#ctx = ctx;
    this.#webhooks = webhooks;
    this.#patienceMs = patienceMs;
  }

  /**
   * Takes one message. `recipientIds`: for each address it was sent to, whom that return path names (its HMAC
   * checked), or null for mail to abuse or postmaster; `peer`: who brought it, for the log. Resolves, with one end for
   * each, when what follows is on disk.
   */
  async take(
    message: InboundMessage,
    recipientIds: readonly (string | null)[],
    peer: string | null = null,
  ): Promise<ReportEnd[]> {
    const report = readReport(message);
    const until = performance.now() + this.#patienceMs;
    const ends: ReportEnd[] = [];
    for (const recipientId of recipientIds)
      ends.push(await this.#settle(report, recipientId, { peer, until }));
    return ends;
  }

  async #settle(
    report: Report | null,
    recipientId: string | null,
    { peer, until }: { peer: string | null; until: number },
  ): Promise<ReportEnd> {
    if (report === null) return 'no_report';
    return report.kind === 'complaint'
      ? this.#complaint(report.report, recipientId, peer)
      : this.#bounce(report.report, recipientId, until);
  }

  async #bounce(report: DsnReport, envelope: string | null, until: number): Promise<ReportEnd> {
    const ctx = this.#ctx;
    const id = envelope ?? recipientOfAny(ctx, [report.returnPath, ...report.returnPaths]);
    return this.#apply(await this.#afterAttempt(id, until), (message, recipient) =>
      settleBounce(ctx, message, recipient, report),
    );
  }

  /** The recipient when no attempt of it can be waiting for its commit, or at `until` (`performance.now()`); null: none. */
  async #afterAttempt(id: string | null, until: number): Promise<Recipient | null> {
    if (id === null) return null;
    for (let waitMs = FIRST_LOOK_MS; ; waitMs *= 2) {
      const recipient = await this.#ctx.store.recipientById(id);
      const isOpen = recipient !== null && recipient.nextAttemptAt !== null;
      const leftMs = until - performance.now();
      if (!isOpen || recipient.attempts === 0 || leftMs <= 0) return recipient;
      // Real time, as the disk has it, not the clock's.
      await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, leftMs)));
    }
  }

  async #complaint(
    report: ArfReport,
    envelope: string | null,
    peer: string | null,
  ): Promise<ReportEnd> {
    const ctx = this.#ctx;
    if (!report.isComplaint) return 'ignored';
    const id = await complainant(ctx, report, envelope);
    if (id === null) {
      ctx.log.warn('complaint_unmatched', {
        peer,
        feedback_type: report.feedbackType.slice(0, SHOWN_CHARS),
        feedback_id: report.feedbackId?.slice(0, SHOWN_CHARS) ?? null,
      });
      return 'ignored';
    }
    return this.#apply(await ctx.store.recipientById(id), (message, recipient) =>
      settleComplaint(ctx, message, recipient, report),
    );
  }

  async #apply(recipient: Recipient | null, settle: Settle): Promise<ReportEnd> {
    const { store, log, followers } = this.#ctx;
    const message = recipient === null ? null : await store.messageById(recipient.messageId);
    if (recipient === null || message === null) return 'ignored';
    const finish = settle(message, recipient);
    if (finish === null) return 'ignored';
    const { calls } = await store.finish(finish);
    followers.tell(finish.events);
    if (calls.length > 0) this.#webhooks.offerCalls(calls);
    const { status } = finish;
    log.info('report_applied', {
      request_id: message.logId,
      message_id: message.id,
      recipient_id: recipient.id,
      status,
    });
    return status === 'bounced' || status === 'complained' || status === 'delivered'
      ? status
      : 'ignored';
  }
}
