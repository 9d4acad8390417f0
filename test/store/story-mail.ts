/** The story's mail: five messages of two accounts, and what becomes of each. */
import type { Recipient } from '../../src/store/rows.ts';
import type { FinishAttempt, NewMessage } from '../../src/store/journey.ts';
import type { EventType, MessageStatus } from '../../src/base/status.ts';
import { at, type Story } from './story.ts';

const IDEMPOTENCY = {
  key: 'k1',
  route: 'POST /emails',
  bodyHash: 'hash',
  status: 202,
  response: '{"id":1}',
};

export interface Written {
  name: string;
  account: string;
  seconds: number;
  to: string[];
  isSandbox?: boolean;
  isBare?: boolean;
  /** With a copy and a blind copy. */
  isFull?: boolean;
}

/** A message with something in every field, or (bare) in as few as there may be. */
export function written(
  story: Story,
  { name, account, seconds, to, isSandbox = false, isBare = false, isFull = false }: Written,
): NewMessage {
  const id = story.id(name, seconds);
  const accountId = story.id(account);
  const cc = isFull ? ['copy@cc.example'] : [];
  const bcc = isFull ? ['blind@bcc.example'] : [];
  const message: NewMessage['message'] = {
    id,
    accountId,
    keyId: isBare ? null : story.id('key'),
    logId: isBare ? null : story.id('log1'),
    domainId: isBare ? null : story.id('domain1'),
    isSandbox,
    from: `Shop <${name}@shop.example>`,
    to,
    cc,
    bcc,
    replyTo: isBare ? [] : ['help@shop.example'],
    subject: `Order ${name} für Ann`,
    tags: isBare ? [] : [{ name: 'kind', value: name }],
    eventHeaders: isBare ? [] : [['X-Order', name]],
    messageId: `<${name}@mail.example>`,
    status: 'queued',
    failureReason: null,
    createdAt: at(seconds),
    updatedAt: at(seconds),
  };
  const recipients = [...to, ...cc, ...bcc].map((address, index): Recipient => ({
    id: story.id(`${name}.r${index}`, seconds),
    messageId: id,
    accountId,
    address,
    domain: address.slice(address.indexOf('@') + 1),
    kind: cc.includes(address) ? 'cc' : bcc.includes(address) ? 'bcc' : 'to',
    status: 'queued',
    attempts: 0,
    nextAttemptAt: at(seconds + index),
    expiresAt: at(seconds + 3600),
    lastReason: null,
    delayedAt: null,
    updatedAt: at(seconds),
  }));
  const attachments = [
    {
      filename: 'a.txt',
      contentType: 'text/plain',
      contentId: null,
      content: Buffer.from('abc'),
    },
    {
      filename: 'b.png',
      contentType: 'image/png',
      contentId: 'logo',
      content: Buffer.of(0, 255, 1),
    },
  ];
  const body = isBare
    ? {
        html: null,
        text: null,
        headers: [],
        attachments: [],
        raw: Buffer.from('Subject: raw\r\n\r\n'),
      }
    : {
        html: `<p>${name}</p>`,
        text: name,
        headers: [['X-Order', '1']] as [string, string][],
        attachments,
        raw: null,
      };
  const events = [event(story, message, null, 'email.queued', seconds)];
  return { message, recipients, body, events };
}

export function event(
  story: Story,
  { id: messageId, accountId, subject }: NewMessage['message'],
  recipientId: string | null,
  type: EventType,
  seconds: number,
): NewMessage['events'][number] {
  const id = story.id(`${type} ${subject.slice(6, 8)} ${seconds}`, seconds);
  const webhookBody = type === 'email.queued' ? null : `{"type":"${type}"}`;
  return {
    id,
    messageId,
    accountId,
    recipientId,
    type,
    occurredAt: at(seconds),
    payload: `{"at":${seconds}}`,
    webhookBody,
  };
}

/** One attempt for one recipient, from its lease to what came of it. */
async function attempted(
  story: Story,
  { message, recipients }: NewMessage,
  index: number,
  seconds: number,
  status: MessageStatus,
  change: Partial<FinishAttempt> = {},
): Promise<void> {
  const recipient = recipients[index];
  if (recipient === undefined) throw new Error('no such recipient');
  const isDelayed = status === 'delivery_delayed';
  const nextAttemptAt = at(seconds + 300);
  const [begun] = await story.tell(
    'begin',
    [
      {
        recipientId: recipient.id,
        owner: 'node',
        leaseUntil: at(seconds + 60),
        nextAttemptAt,
      },
    ],
    at(seconds),
  );
  await story.tell('finish', {
    recipientId: recipient.id,
    messageId: message.id,
    accountId: message.accountId,
    now: at(seconds + 2),
    status,
    nextAttemptAt: isDelayed ? at(seconds + 100) : null,
    lastReason: `said ${status}`,
    delayedAt: isDelayed ? at(seconds + 2) : null,
    owner: 'node',
    attempt: {
      id: story.id(`attempt ${recipient.address} ${seconds}`, seconds),
      messageId: message.id,
      recipientId: recipient.id,
      number: begun?.attempts ?? 0,
      beganAt: at(seconds),
      endedAt: at(seconds + 2),
      outcome: status === 'delivered' ? 'delivered' : isDelayed ? 'deferred' : 'failed',
      class: status === 'delivered' ? null : 'policy',
      stage: status === 'delivered' ? 'dot' : 'rcpt',
      host: isDelayed ? null : 'aspmx.l.google.com',
      address: isDelayed ? null : '192.0.2.7',
      tls: isDelayed ? null : 'TLSv1.3',
      reply: isDelayed ? null : `answer to ${seconds}`,
      mayBeDuplicate: isDelayed,
    },
    events: [event(story, message, recipient.id, `email.${status}` as EventType, seconds + 2)],
    suppress: null,
    ...change,
  });
}

/** Tells what is accepted and what the deliveries come to; returns the messages. */
export async function tellMail(story: Story): Promise<NewMessage[]> {
  const shop = story.id('shop');
  const first = written(story, {
    name: 'm1',
    account: 'shop',
    seconds: 100,
    to: ['ann@gmail.com', 'bob@b.example'],
  });
  const second = written(story, {
    name: 'm2',
    account: 'shop',
    seconds: 200,
    to: ['cyd@b.example'],
    isBare: true,
  });
  const sandbox = written(story, {
    name: 'm3',
    account: 'shop',
    seconds: 300,
    to: ['dan@d.example'],
    isSandbox: true,
  });
  const late = written(story, {
    name: 'm4',
    account: 'shop',
    seconds: 12_000,
    to: ['ann@gmail.com', 'eve@e.example'],
    isFull: true,
  });
  const other = written(story, {
    name: 'm5',
    account: 'other',
    seconds: 400,
    to: ['ann@gmail.com'],
  });
  const usage = { count: 2, day: '2026-01-31', dailyLimit: 3, monthlyLimit: 5 };
  const idempotency = {
    ...IDEMPOTENCY,
    createdAt: at(100),
    expiresAt: at(90_000),
  };
  const batch = {
    accountId: shop,
    now: at(100),
    usage,
    idempotency,
    messages: [first, second],
  };
  await story.tell('accept', batch);
  await story.tell('accept', batch);
  await story.tell('accept', {
    ...batch,
    idempotency: { ...idempotency, bodyHash: 'another' },
  });
  const more = { ...batch, idempotency: null, messages: [late] };
  await story.tell('accept', { ...more, usage: { ...usage, count: 2 } });
  await story.tell('accept', {
    ...more,
    usage: { ...usage, day: '2026-01-30', count: 4 },
  });
  await story.tell('accept', { ...more, usage: null, storageBytes: 10 });
  const free = { usage: null, idempotency: null };
  await story.tell('accept', {
    ...free,
    accountId: shop,
    now: at(300),
    messages: [sandbox],
  });
  await story.tell('accept', {
    ...free,
    accountId: other.message.accountId,
    now: at(400),
    messages: [other],
  });
  const february = {
    count: 1,
    day: '2026-02-01',
    dailyLimit: 1,
    monthlyLimit: 1,
  };
  await story.tell('accept', {
    ...free,
    accountId: shop,
    now: at(12_000),
    usage: february,
    messages: [late],
  });
  for (const now of [99, 100, 101, 301]) {
    const without = {
      accountIds: [],
      destinations: [{ accountId: shop, domain: 'b.example' }],
    };
    await story.tell('takeDue', {
      owner: 'node',
      now: at(now),
      limit: 10,
      after: null,
      most: 10,
      without,
    });
  }
  await story.ask('queue', { domain: null, limit: 10, after: null });
  await story.ask('queue', { domain: 'b.example', limit: 1, after: null });
  await attempted(story, first, 0, 500, 'delivery_delayed');
  await attempted(story, first, 0, 620, 'delivered');
  await attempted(story, first, 1, 700, 'bounced', {
    suppress: {
      id: story.id('bounce', 702),
      accountId: shop,
      email: 'bob@b.example',
      reason: 'hard_bounce',
      source: first.message.id,
      note: '550 no such user',
      createdAt: at(702),
    },
  });
  await attempted(story, sandbox, 0, 800, 'delivered');
  await attempted(story, late, 0, 12_100, 'complained');
  await attempted(story, other, 0, 900, 'failed');
  return [first, second, sandbox, late, other];
}
