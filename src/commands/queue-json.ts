/**
 * What `queue list` and `queue show` print under --json: the names of the API (snake_case), times in ISO 8601.
 *
 * Promises every fact that the tables show, and the ids that `queue retry` and `queue fail` take.
 */
import type { Detail, Listing } from '../control/queue.ts';

const iso = (atMs: number): string => new Date(atMs).toISOString();
const isoOrNull = (atMs: number | null): string | null => (atMs === null ? null : iso(atMs));

export function listingJson(listing: Listing): Record<string, unknown> {
  return {
    halt: listing.halt === null ? null : { ...listing.halt, since: iso(listing.halt.since) },
    throttles: listing.throttles,
    destinations: listing.destinations.map(({ oldestCreatedAt, reason, ...rest }) => ({
      ...rest,
      oldest_created_at: iso(oldestCreatedAt),
      reason,
    })),
    destination_count: listing.destinationCount,
    recipients: listing.recipients.map(recipientJson),
  };
}

export function detailJson(detail: Detail): Record<string, unknown> {
  return {
    message: messageJson(detail.message),
    recipients: detail.recipients.map(recipientJson),
    attempts: detail.attempts.map(attemptJson),
  };
}

function recipientJson(one: Detail['recipients'][number]): Record<string, unknown> {
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
function messageJson(one: Detail['message']): Record<string, unknown> {
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

function attemptJson(one: Detail['attempts'][number]): Record<string, unknown> {
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
    tls: one.tls,
    reply: one.reply,
    may_be_duplicate: one.mayBeDuplicate,
  };
}
