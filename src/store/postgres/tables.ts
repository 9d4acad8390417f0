/**
 * The tables, by the names that the rest of the code base has for what is in them.
 *
 * Promises that a column is its field in snake_case. What a field holds beside `rows.ts` stands in `shapes.ts`.
 */
import { table } from './statement.ts';

export const ACCOUNTS = table('accounts', {
  id: 'uuid',
  name: 'text',
  plan: 'text',
  status: 'text',
  statusReason: 'text',
  createdAt: 'int8',
});

export const API_KEYS = table('api_keys', {
  id: 'uuid',
  accountId: 'uuid',
  name: 'text',
  permission: 'text',
  isTest: 'bool',
  prefix: 'text',
  last4: 'text',
  lastUsedAt: 'int8',
  revokedAt: 'int8',
  createdAt: 'int8',
});

export const DOMAINS = table('domains', {
  id: 'uuid',
  accountId: 'uuid',
  name: 'text',
  status: 'text',
  selector: 'text',
  dkimPublicKey: 'text',
  sealedDkimKey: 'bytea',
  recordStates: 'text',
  createdAt: 'int8',
  verifiedAt: 'int8',
  lastCheckedAt: 'int8',
  nextCheckAt: 'int8',
  failingSince: 'int8',
  pendingSince: 'int8',
  deletedAt: 'int8',
});

export const MESSAGES = table('messages', {
  id: 'uuid',
  accountId: 'uuid',
  keyId: 'text',
  logId: 'text',
  domainId: 'text',
  isSandbox: 'bool',
  sender: 'text',
  toList: 'text',
  ccList: 'text',
  bccList: 'text',
  replyToList: 'text',
  subject: 'text',
  tags: 'text',
  eventHeaders: 'text',
  messageId: 'text',
  status: 'text',
  failureReason: 'text',
  createdAt: 'int8',
  updatedAt: 'int8',
});

/** A message as it is written. */
export const NEW_MESSAGES = table('messages', { ...MESSAGES.columns, searched: 'text' });

export const BODIES = table('bodies', {
  messageId: 'uuid',
  html: 'bytea',
  text: 'bytea',
  headers: 'text',
  raw: 'bytea',
  bytes: 'int8',
});

export const ATTACHMENTS = table('attachments', {
  messageId: 'uuid',
  position: 'int4',
  filename: 'text',
  contentType: 'text',
  contentId: 'text',
  content: 'bytea',
});

export const RECIPIENTS = table('recipients', {
  id: 'uuid',
  messageId: 'uuid',
  accountId: 'uuid',
  address: 'text',
  domain: 'text',
  kind: 'text',
  status: 'text',
  attempts: 'int4',
  expiresAt: 'int8',
  lastReason: 'text',
  delayedAt: 'int8',
  updatedAt: 'int8',
});

export const QUEUE = table('queue', {
  recipientId: 'uuid',
  messageId: 'uuid',
  accountId: 'uuid',
  domain: 'text',
  nextAttemptAt: 'int8',
  attempts: 'int4',
  owner: 'text',
  leaseUntil: 'int8',
  updatedAt: 'int8',
});

export const ATTEMPTS = table('attempts', {
  id: 'uuid',
  messageId: 'uuid',
  recipientId: 'uuid',
  number: 'int4',
  beganAt: 'int8',
  endedAt: 'int8',
  outcome: 'text',
  class: 'text',
  stage: 'text',
  host: 'text',
  address: 'text',
  tls: 'text',
  reply: 'text',
  mayBeDuplicate: 'bool',
});

export const EVENTS = table('events', {
  messageId: 'uuid',
  id: 'uuid',
  recipientId: 'uuid',
  type: 'text',
  occurredAt: 'int8',
  payload: 'text',
  webhookBody: 'text',
});

export const ENDPOINTS = table('endpoints', {
  id: 'uuid',
  accountId: 'uuid',
  url: 'text',
  events: 'text',
  status: 'text',
  sealedSecret: 'bytea',
  sealedPreviousSecret: 'bytea',
  previousUntil: 'int8',
  failureCount: 'int4',
  lastFailureAt: 'int8',
  createdAt: 'int8',
  deletedAt: 'int8',
});

export const CALLS = table('calls', {
  id: 'uuid',
  endpointId: 'uuid',
  accountId: 'uuid',
  eventId: 'uuid',
  eventType: 'text',
  messageId: 'uuid',
  status: 'text',
  attempts: 'int4',
  nextAttemptAt: 'int8',
  createdAt: 'int8',
});

export const CALL_ATTEMPTS = table('call_attempts', {
  id: 'uuid',
  callId: 'uuid',
  endpointId: 'uuid',
  eventType: 'text',
  messageId: 'uuid',
  attempt: 'int4',
  statusCode: 'int4',
  ok: 'bool',
  error: 'text',
  durationMs: 'int8',
  createdAt: 'int8',
});

export const SUPPRESSIONS = table('suppressions', {
  id: 'uuid',
  accountId: 'uuid',
  email: 'text',
  reason: 'text',
  source: 'text',
  note: 'text',
  createdAt: 'int8',
});

export const IDEMPOTENCY = table('idempotency', {
  accountId: 'uuid',
  key: 'text',
  route: 'text',
  bodyHash: 'text',
  status: 'int4',
  response: 'text',
  createdAt: 'int8',
  expiresAt: 'int8',
});

export const LOGS = table('logs', {
  id: 'uuid',
  accountId: 'uuid',
  keyId: 'text',
  keyName: 'text',
  keyPermission: 'text',
  isSandbox: 'bool',
  method: 'text',
  path: 'text',
  status: 'int4',
  durationMs: 'int8',
  messageId: 'text',
  userAgent: 'text',
  ip: 'text',
  createdAt: 'int8',
});

/** With the bodies, which lists never read. */
export const WHOLE_LOGS = table('logs', {
  ...LOGS.columns,
  requestBody: 'text',
  responseBody: 'text',
});
