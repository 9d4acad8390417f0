/**
 * What `queue list` and `queue show` print under --json: the names of the API (snake_case), times in ISO 8601.
 *
 * Promises every fact that the tables show, and the ids by which `queue retry` and `queue fail` take it again.
 */
import type { QueueDetail, QueueEntry } from '../control/queue.ts';
import type { Halt } from '../flow/halt.ts';
import type { TlsFacts } from '../flow/outcome-kinds.ts';
import type { Hold } from '../flow/shaping.ts';
import type { Attempt, Message } from '../store/rows.ts';

/** The result of the operation `queue.list`. */
export interface Listing {
  halt: Halt | null;
  /** `until`: ISO 8601. */
  holds: (Omit<Hold, 'untilMs'> & { place: string; until: string })[];
  destinations: {
    domain: string;
    waiting: number;
    oldestCreatedAt: number;
    reason: string | null;
  }[];
  recipients: QueueEntry[];
}

const iso = (atMs: number): string => new Date(atMs).toISOString();
const isoOrNull = (atMs: number | null): string | null => (atMs === null ? null : iso(atMs));

export function listingJson(listing: Listing): Record<string, unknown> {
  return {
    halt: listing.halt === null ? null : { ...listing.halt, since: iso(listing.halt.since) },
    holds: listing.holds,
    destinations: listing.destinations.map(({ oldestCreatedAt, reason, ...rest }) => ({
      ...rest,
      oldest_created_at: iso(oldestCreatedAt),
      reason,
    })),
    recipients: listing.recipients.map(recipientJson),
  };
}

export function detailJson(detail: QueueDetail): Record<string, unknown> {
  return {
    message: messageJson(detail.message),
    recipients: detail.recipients.map(recipientJson),
    attempts: detail.attempts.map(attemptJson),
  };
}

/** The TLS of an attempt; null for a session in the clear. */
export function tlsOf({ tls }: Attempt): TlsFacts | null {
  return tls === null ? null : (JSON.parse(tls) as TlsFacts);
}

function recipientJson(one: QueueEntry): Record<string, unknown> {
  return {
    id: one.id,
    message_id: one.messageId,
    account_id: one.accountId,
    address: one.address,
    domain: one.domain,
    kind: one.kind,
    status: one.status,
    attempts: one.attempts,
    next_attempt_at: isoOrNull(one.nextAttemptAt),
    expires_at: iso(one.expiresAt),
    last_reason: one.lastReason,
    delayed_at: isoOrNull(one.delayedAt),
    updated_at: iso(one.updatedAt),
    explanation: one.explanation,
  };
}

/** `message_id` is the header's value here, as in the API. */
function messageJson(one: Message): Record<string, unknown> {
  return {
    id: one.id,
    account_id: one.accountId,
    key_id: one.keyId,
    log_id: one.logId,
    domain_id: one.domainId,
    is_sandbox: one.isSandbox,
    from: one.from,
    to: one.to,
    cc: one.cc,
    bcc: one.bcc,
    reply_to: one.replyTo,
    subject: one.subject,
    tags: one.tags,
    message_id: one.messageId,
    status: one.status,
    failure_reason: one.failureReason,
    created_at: iso(one.createdAt),
    updated_at: iso(one.updatedAt),
  };
}

function attemptJson(one: Attempt): Record<string, unknown> {
  return {
    id: one.id,
    message_id: one.messageId,
    recipient_id: one.recipientId,
    number: one.number,
    began_at: iso(one.beganAt),
    ended_at: iso(one.endedAt),
    outcome: one.outcome,
    class: one.class,
    stage: one.stage,
    host: one.host,
    address: one.address,
    tls: tlsOf(one),
    reply: one.reply,
    may_be_duplicate: one.mayBeDuplicate,
  };
}
