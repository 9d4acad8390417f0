/**
 * The rows that results of operations are made of, as they cross the control socket.
 *
 * Each is a TypeBox schema, so that the server's handlers and the commands have one type for it. Promises that a shape
 * holds no bytes and no secret: times are epoch milliseconds, the sealed keys of domains and endpoints are left out.
 */
import { Type } from '@sinclair/typebox';
import type { Static, TSchema } from '@sinclair/typebox';

import { MESSAGE_STATUSES } from '../base/status.ts';

/** Text with at least one character. */
export const Text = Type.String({ minLength: 1 });

/** A schema that may also be null. An argument with it may be left out. */
export function orNull<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A closed set of words. */
export function oneOf<const T extends readonly string[]>(words: T) {
  return Type.Union(words.map((word) => Type.Literal(word as T[number])));
}

/** Epoch milliseconds. */
export const Time = Type.Integer();

export const PERMISSIONS = ['full_access', 'sending_access'] as const;
export const SUPPRESSION_REASONS = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const;

export const AccountShape = Type.Object({
  id: Type.String(),
  name: Type.String(),
  plan: Type.String(),
  status: oneOf(['active', 'paused', 'payment_required']),
  statusReason: orNull(Type.String()),
  createdAt: Time,
});

export const KeyShape = Type.Object({
  id: Type.String(),
  accountId: Type.String(),
  name: Type.String(),
  permission: oneOf(PERMISSIONS),
  isTest: Type.Boolean(),
  prefix: Type.String(),
  last4: Type.String(),
  lastUsedAt: orNull(Time),
  revokedAt: orNull(Time),
  createdAt: Time,
});

export const DomainShape = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: oneOf(['pending', 'verified', 'failed']),
  createdAt: Time,
  verifiedAt: orNull(Time),
  lastCheckedAt: orNull(Time),
});
export type PublicDomain = Static<typeof DomainShape>;

export const RecordShape = Type.Object({
  record: oneOf(['DKIM', 'SPF', 'DMARC']),
  type: oneOf(['CNAME', 'TXT']),
  name: Type.String(),
  value: Type.String(),
  ttl: Type.Literal('Auto'),
  status: oneOf(['verified', 'pending', 'not_started']),
  purpose: Type.String(),
  required: Type.Boolean(),
  group: oneOf(['dkim', 'sending', 'dmarc']),
});

export const SuppressionShape = Type.Object({
  id: Type.String(),
  accountId: Type.String(),
  email: Type.String(),
  reason: oneOf(SUPPRESSION_REASONS),
  source: orNull(Type.String()),
  note: orNull(Type.String()),
  createdAt: Time,
});

export const EndpointShape = Type.Object({
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  status: oneOf(['active', 'disabled']),
  failureCount: Type.Integer(),
  lastFailureAt: orNull(Time),
});

export const MessageShape = Type.Object({
  id: Type.String(),
  accountId: Type.String(),
  keyId: orNull(Type.String()),
  logId: orNull(Type.String()),
  domainId: orNull(Type.String()),
  isSandbox: Type.Boolean(),
  from: Type.String(),
  to: Type.Array(Type.String()),
  cc: Type.Array(Type.String()),
  bcc: Type.Array(Type.String()),
  replyTo: Type.Array(Type.String()),
  subject: Type.String(),
  tags: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  messageId: Type.String(),
  status: oneOf(MESSAGE_STATUSES),
  failureReason: orNull(Type.String()),
  createdAt: Time,
  updatedAt: Time,
});

/** A recipient with one sentence for people: why it waits, and until when. */
export const RecipientShape = Type.Object({
  id: Type.String(),
  messageId: Type.String(),
  accountId: Type.String(),
  address: Type.String(),
  domain: Type.String(),
  kind: oneOf(['to', 'cc', 'bcc']),
  status: oneOf(MESSAGE_STATUSES),
  attempts: Type.Integer(),
  nextAttemptAt: orNull(Time),
  expiresAt: Time,
  lastReason: orNull(Type.String()),
  delayedAt: orNull(Time),
  updatedAt: Time,
  explanation: Type.String(),
});

/** What an attempt's row keeps as JSON text. */
export const TlsShape = Type.Object({
  version: Type.String(),
  cipher: Type.String(),
  verified: Type.Boolean(),
  policy: Type.String(),
});

export const AttemptShape = Type.Object({
  id: Type.String(),
  messageId: Type.String(),
  recipientId: Type.String(),
  number: Type.Integer(),
  beganAt: Time,
  endedAt: Time,
  outcome: oneOf(['delivered', 'sent', 'deferred', 'failed']),
  class: orNull(Type.String()),
  stage: Type.String(),
  host: orNull(Type.String()),
  address: orNull(Type.String()),
  /** Null for a session in the clear. */
  tls: orNull(TlsShape),
  reply: orNull(Type.String()),
  mayBeDuplicate: Type.Boolean(),
});
export type PublicAttempt = Static<typeof AttemptShape>;

export const HaltShape = Type.Object({ reason: Type.String(), since: Time });
