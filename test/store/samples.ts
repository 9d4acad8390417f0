/** Rows for the tests of the store: complete, valid, and different from each other. */
import { newId } from '../rig/ids.ts';
import type {
  Account,
  Attempt,
  Body,
  Domain,
  Endpoint,
  Event,
  Key,
  LogRecord,
  Message,
  NewEvent,
  Recipient,
  Suppression,
} from '../../src/store/rows.ts';
import type {
  AcceptBatch,
  DueRequest,
  FinishAttempt,
  NewMessage,
} from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';

export function newAccount(name: string): Account {
  const createdAt = Date.now();
  const id = newId(createdAt);
  return { id, name, plan: 'unlimited', status: 'active', statusReason: null, createdAt };
}

export function newMessage(
  accountId: string,
  change: Partial<Message> = {},
  to: string[] = ['ann@example.org'],
): NewMessage {
  const now = Date.now();
  const id = change.id ?? newId(now);
  const message: Message = {
    id,
    accountId,
    keyId: null,
    logId: newId(now),
    domainId: null,
    isSandbox: false,
    from: 'Shop <shop@example.com>',
    to,
    cc: [],
    bcc: [],
    replyTo: ['help@example.com'],
    subject: 'Your order',
    tags: [{ name: 'kind', value: 'order' }],
    eventHeaders: [],
    messageId: `<${id}@mail.example.com>`,
    status: 'queued',
    failureReason: null,
    createdAt: now,
    updatedAt: now,
    ...change,
  };
  return {
    message,
    recipients: to.map((address) => newRecipient(message, address)),
    body: newBody(),
    events: [newEvent(message, null, 'email.queued')],
  };
}

/** One of the message's recipients, by its position. */
export function recipientOf({ recipients }: NewMessage, at = 0): Recipient {
  const recipient = recipients[at];
  if (recipient === undefined) throw new Error('no such recipient');
  return recipient;
}

function newRecipient({ id: messageId, accountId }: Message, address: string): Recipient {
  const now = Date.now();
  return {
    id: newId(now),
    messageId,
    accountId,
    address,
    domain: address.slice(address.lastIndexOf('@') + 1),
    kind: 'to',
    status: 'queued',
    attempts: 0,
    nextAttemptAt: now,
    expiresAt: now + 3_600_000,
    lastReason: null,
    delayedAt: null,
    updatedAt: now,
  };
}

function newBody(): Body {
  const content = Buffer.from('abc');
  return {
    html: '<p>Thanks</p>',
    text: 'Thanks',
    headers: [['X-Order', '1']],
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', contentId: null, content }],
    raw: null,
  };
}

export function newEvent(
  message: Message,
  recipientId: string | null,
  type: Event['type'],
): NewEvent {
  const occurredAt = Date.now();
  const id = newId(occurredAt);
  const payload = '{"to":"ann@example.org"}';
  const webhookBody = type === 'email.queued' ? null : `{"type":"${type}","id":"${id}"}`;
  const { id: messageId, accountId } = message;
  return { id, messageId, accountId, recipientId, type, occurredAt, payload, webhookBody };
}

export function batchOf(accountId: string, ...messages: NewMessage[]): AcceptBatch {
  return { accountId, now: Date.now(), usage: null, idempotency: null, messages };
}

/** What an owner asks for who wants everything that is due at `now`. */
export function dueRequest(
  owner: string,
  now: number,
  change: Partial<DueRequest> = {},
): DueRequest {
  const without = { accountIds: [], destinations: [] };
  return { owner, now, limit: 1_000, after: null, most: 1_000, without, ...change };
}

/** Accepts one message and returns it. */
export async function accepted(store: Store, message: NewMessage): Promise<NewMessage> {
  const result = await store.accept(batchOf(message.message.accountId, message));
  if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
  return message;
}

export function newAttempt(recipient: Recipient, change: Partial<Attempt> = {}): Attempt {
  const now = Date.now();
  return {
    id: newId(now),
    messageId: recipient.messageId,
    recipientId: recipient.id,
    number: 1,
    beganAt: now,
    endedAt: now,
    outcome: 'delivered',
    class: null,
    stage: 'dot',
    host: 'mx.example.org',
    address: '127.0.0.1',
    tls: 'TLSv1.3',
    reply: '250 ok',
    mayBeDuplicate: false,
    ...change,
  };
}

export function finishOf(
  { message }: NewMessage,
  recipient: Recipient,
  change: Partial<FinishAttempt> = {},
): FinishAttempt {
  return {
    recipientId: recipient.id,
    messageId: message.id,
    accountId: message.accountId,
    now: Date.now(),
    status: 'delivered',
    nextAttemptAt: null,
    lastReason: '250 ok',
    delayedAt: null,
    owner: null,
    attempt: newAttempt(recipient),
    events: [newEvent(message, recipient.id, 'email.delivered')],
    suppress: null,
    ...change,
  };
}

export function newKey(accountId: string): Key {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    name: 'ci',
    permission: 'sending_access',
    isTest: true,
    prefix: 'pr_test_abcd',
    last4: 'wxyz',
    lastUsedAt: null,
    revokedAt: null,
    createdAt,
  };
}

export function newDomain(accountId: string, name: string): Domain {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    name,
    status: 'pending',
    selector: 's1',
    dkimPublicKey: 'MIIB',
    sealedDkimKey: new Uint8Array([9, 8, 7]),
    recordStates: { DKIM: 'pending', SPF: 'not_started' },
    createdAt,
    verifiedAt: null,
    lastCheckedAt: null,
    nextCheckAt: createdAt,
    failingSince: null,
    pendingSince: createdAt,
    deletedAt: null,
  };
}

export function newEndpoint(accountId: string, change: Partial<Endpoint> = {}): Endpoint {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    url: 'https://hooks.example.com/in',
    events: [],
    status: 'active',
    sealedSecret: Buffer.from('sealed'),
    sealedPreviousSecret: null,
    previousUntil: null,
    failureCount: 0,
    lastFailureAt: null,
    createdAt,
    deletedAt: null,
    ...change,
  };
}

export function newSuppression(
  accountId: string,
  email: string,
  change: Partial<Suppression> = {},
): Suppression {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    email,
    reason: 'manual',
    source: null,
    note: null,
    createdAt,
    ...change,
  };
}

export function newLogRecord(accountId: string, change: Partial<LogRecord> = {}): LogRecord {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    accountId,
    keyId: null,
    keyName: 'ci',
    isSandbox: false,
    keyPermission: 'full_access',
    method: 'POST',
    path: '/emails',
    status: 200,
    durationMs: 4,
    messageId: null,
    userAgent: 'test',
    ip: '127.0.0.1',
    requestBody: '{}',
    responseBody: '{}',
    createdAt,
    ...change,
  };
}

/** A seeded generator, and the seed in the name of whatever fails. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 0x100000000) * below);
  };
}
