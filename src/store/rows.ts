/**
 * What the store keeps, as the rest of the code base sees it: parsed values, times in epoch milliseconds.
 *
 * Never holds SQL, and never a secret in the clear: `sealed…` fields are opaque bytes that only the
 * flow can open.
 */
import type {
  AccountStatus,
  DomainStatus,
  EndpointStatus,
  EventType,
  MessageStatus,
  Permission,
  RecordStatus,
  SuppressionReason,
} from '../base/status.ts';

export interface Account {
  id: string;
  name: string;
  /** Id of a plan in the config; a plan that has gone from the config falls back to `unlimited`. */
  plan: string;
  status: AccountStatus;
  /** Why it is paused, in one sentence; null while active. */
  statusReason: string | null;
  createdAt: number;
}

export interface Key {
  id: string;
  accountId: string;
  name: string;
  permission: Permission;
  /** True for `pr_test_` keys: every send is a sandbox send. */
  isTest: boolean;
  prefix: string;
  last4: string;
  lastUsedAt: number | null;
  revokedAt: number | null;
  createdAt: number;
}

export interface Domain {
  id: string;
  accountId: string;
  /** Lower-case A-labels. */
  name: string;
  status: DomainStatus;
  selector: string;
  /** Base64 of the DER SubjectPublicKeyInfo: the `p=` of the DKIM record. */
  dkimPublicKey: string;
  sealedDkimKey: Uint8Array;
  /** Last seen state of each DNS record, by record name (`DKIM`, `SPF`, `DMARC`). */
  recordStates: Record<string, RecordStatus>;
  createdAt: number;
  verifiedAt: number | null;
  lastCheckedAt: number | null;
  /** When the appliance looks again by itself; null when it does not. */
  nextCheckAt: number | null;
  /** Since when a required record has been missing; null while all are there. */
  failingSince: number | null;
  /** When the present run of checks began (creation or the last revival). */
  pendingSince: number;
  deletedAt: number | null;
}

export interface Tag {
  name: string;
  value: string;
}

/** An accepted message, without its content. Address fields are as the caller wrote them, normalised. */
export interface Message {
  id: string;
  accountId: string;
  keyId: string | null;
  /** Id of the request that sent it. */
  logId: string | null;
  /** Null for a sandbox send from a domain that is not the account's. */
  domainId: string | null;
  isSandbox: boolean;
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  replyTo: string[];
  subject: string;
  tags: Tag[];
  /** Header fields that webhook bodies repeat (docs/decisions.md D66). */
  eventHeaders: [name: string, value: string][];
  /** The Message-ID header's value with angle brackets. */
  messageId: string;
  status: MessageStatus;
  failureReason: string | null;
  createdAt: number;
  updatedAt: number;
}

export interface Attachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  content: Uint8Array;
}

/** An attachment without its bytes. */
export interface ListedAttachment extends Omit<Attachment, 'content'> {
  /** In bytes. */
  size: number;
}

/** The content of a message. `raw`: a whole RFC 5322 message taken over SMTP, in place of the parts. */
export interface Body {
  html: string | null;
  text: string | null;
  headers: [name: string, value: string][];
  attachments: Attachment[];
  raw: Uint8Array | null;
}

/** The content of a message without the bytes of its attachments. */
export interface ListedBody extends Omit<Body, 'attachments'> {
  attachments: ListedAttachment[];
}

/** Bytes of the parts of a message's content. */
export interface ContentSizes {
  /** Of html, text and `raw` together. */
  body: number;
  attachments: number;
}

export interface Recipient {
  id: string;
  messageId: string;
  accountId: string;
  address: string;
  /** The part after the last `@`, lower-case A-labels: the destination. */
  domain: string;
  kind: 'to' | 'cc' | 'bcc';
  status: MessageStatus;
  /** Attempts begun so far. */
  attempts: number;
  /** When it is next due; null when nothing more will be tried. */
  nextAttemptAt: number | null;
  /** When waiting ends and the recipient expires. */
  expiresAt: number;
  /** The last reply or cause in one sentence, for `queue show` and `failure_reason`. */
  lastReason: string | null;
  /** When `email.delivery_delayed` was last raised. */
  delayedAt: number | null;
  updatedAt: number;
}

/** One try of one recipient. Written when it ended. */
export interface Attempt {
  id: string;
  messageId: string;
  recipientId: string;
  /** 1 for the first. */
  number: number;
  beganAt: number;
  endedAt: number;
  outcome: 'delivered' | 'sent' | 'deferred' | 'failed';
  /** Class of the outcome: recipient, mailbox_full, content, policy, reputation, network, protocol, … */
  class: string | null;
  stage: string;
  host: string | null;
  address: string | null;
  tls: string | null;
  reply: string | null;
  /** Whether the receiver may have taken it although no reply came (RFC 1047). */
  mayBeDuplicate: boolean;
}

export interface Event {
  id: string;
  messageId: string;
  accountId: string;
  recipientId: string | null;
  type: EventType;
  occurredAt: number;
  /** JSON text shown in the API, or null. */
  payload: string | null;
}

/** An event together with the bytes its webhook calls carry; null for events without a webhook. */
export interface NewEvent extends Event {
  webhookBody: string | null;
}

export interface Endpoint {
  id: string;
  accountId: string;
  url: string;
  /** Subscribed event names; empty means every event. */
  events: string[];
  status: EndpointStatus;
  sealedSecret: Uint8Array;
  /** The secret before the last rotation, still signing until `previousUntil`. */
  sealedPreviousSecret: Uint8Array | null;
  previousUntil: number | null;
  failureCount: number;
  lastFailureAt: number | null;
  createdAt: number;
  deletedAt: number | null;
}

/** One event on its way to one endpoint. The event's id is the `webhook-id`. */
export interface Call {
  id: string;
  endpointId: string;
  accountId: string;
  eventId: string;
  eventType: string;
  messageId: string | null;
  /** Id of the request that sent the message. */
  requestId: string | null;
  /** The exact bytes to post, fixed when the event happened. */
  body: string;
  status: 'open' | 'done' | 'failed';
  attempts: number;
  nextAttemptAt: number | null;
  createdAt: number;
}

/** One attempt of one call (docs/contract.md C12.10). */
export interface CallAttempt {
  id: string;
  callId: string | null;
  endpointId: string;
  eventType: string;
  messageId: string | null;
  attempt: number;
  statusCode: number | null;
  ok: boolean;
  error: string | null;
  durationMs: number | null;
  createdAt: number;
}

export interface Suppression {
  id: string;
  accountId: string;
  /** Lower case. */
  email: string;
  reason: SuppressionReason;
  source: string | null;
  note: string | null;
  createdAt: number;
}

/** One API request (docs/contract.md C15.2). Kept in a file of its own. */
export interface LogRecord {
  id: string;
  accountId: string;
  keyId: string | null;
  keyName: string | null;
  keyPermission: Permission;
  /** Made with a `pr_test_` key. */
  isSandbox: boolean;
  method: string;
  path: string;
  status: number;
  durationMs: number | null;
  messageId: string | null;
  userAgent: string | null;
  ip: string | null;
  requestBody: string | null;
  responseBody: string | null;
  createdAt: number;
}
