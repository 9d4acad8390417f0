/**
 * What is told to a store in one moment, so that it shares a commit: each of it is decided in the state that the one before
 * it has left, and one that is impossible, or whose account is gone, leaves the others whole.
 */
import type {
  AcceptBatch,
  NewIdempotencyRecord,
  NewMessage,
  SentAttempt,
} from '../../src/store/journey.ts';
import type { Account } from '../../src/store/rows.ts';
import { at, type Story } from './story.ts';
import { event, written } from './story-mail.ts';
import { newEndpoint, newKey } from './samples.ts';

/** Content of a written message, in bytes. */
const CONTENT_BYTES = 34;

/** Messages by their names. */
export type Told = Record<string, NewMessage>;

export async function tellOwners(story: Story): Promise<void> {
  for (const [index, name] of ['shop', 'other'].entries()) {
    const account: Account = {
      id: story.id(name, index),
      name,
      plan: 'small',
      status: 'active',
      statusReason: null,
      createdAt: at(index),
    };
    await story.tell('createAccount', account);
    for (const [seconds, each] of ['key a', 'key b'].entries()) {
      const id = story.id(`${each} of ${name}`, seconds);
      const key = { ...newKey(account.id), id, createdAt: at(seconds) };
      await story.tell('createKey', key, Buffer.from(id), 2);
    }
    const events = [[], ['email.bounced', 'email.complained']];
    for (const [seconds, wanted] of events.entries()) {
      const id = story.id(`hook ${seconds} of ${name}`, seconds);
      const change = { id, events: wanted, createdAt: at(seconds) };
      await story.tell('createEndpoint', newEndpoint(account.id, change), 2);
    }
  }
  // The latest of each key counts, and a key that is gone keeps no other from being touched.
  const uses = (...of: [key: string, seconds: number][]) =>
    of.map(([key, seconds]) => ({ id: story.id(key), usedAt: at(seconds) }));
  await story.tellTogether(
    'touchKeys',
    [
      uses(
        ['key b of shop', 12],
        ['key a of shop', 10],
        ['key a of other', 16],
        ['key b of shop', 14],
      ),
    ],
    [uses(['key a of shop', 11], ['no key', 13], ['key b of shop', 13], ['key b of other', 15])],
  );
  await story.tell('touchKeys', uses(['key a of shop', 11], ['key b of shop', 9]));
}

function recordOf(seconds: number, change: Partial<NewIdempotencyRecord>): NewIdempotencyRecord {
  return {
    key: 'k1',
    route: 'POST /emails',
    bodyHash: 'hash',
    status: 200,
    response: `{"at":${seconds}}`,
    createdAt: at(seconds),
    expiresAt: at(seconds + 1000),
    ...change,
  };
}

/** One message of `account`, owned by the node that accepts it where `owner` says so. */
export function mail(story: Story, name: string, account: string, to: string[], owner?: string) {
  const seconds = 100 + Number(name.slice(1));
  const message = written(story, { name, account, seconds, to });
  message.events.push(event(story, message.message, null, 'email.sent', seconds));
  return owner === undefined ? message : { ...message, owner };
}

const usageOf = (count: number, day: string, daily: number | null, monthly: number | null) => ({
  usage: { count, day, dailyLimit: daily, monthlyLimit: monthly },
});

/** Batches that share limits and keys. */
export async function tellAcceptances(story: Story): Promise<Told> {
  const told: Told = {
    m1: mail(story, 'm1', 'shop', ['ann@gmail.com', 'bob@b.example'], 'node'),
    m2: mail(story, 'm2', 'shop', ['cyd@b.example']),
    m3: mail(story, 'm3', 'shop', ['dan@d.example']),
    m4: mail(story, 'm4', 'other', ['eve@gmail.com', 'fay@b.example']),
    m5: mail(story, 'm5', 'shop', ['gil@gmail.com']),
    m6: mail(story, 'm6', 'shop', ['hal@h.example']),
    m7: mail(story, 'm7', 'other', ['ida@gmail.com']),
  };
  const batch = (seconds: number, names: string, change: Partial<AcceptBatch>): [AcceptBatch] => {
    const messages = names.split(' ').flatMap((name) => told[name] ?? []);
    const accountId = messages[0]?.message.accountId ?? '';
    const none = { usage: null, idempotency: null };
    return [{ accountId, now: at(seconds), ...none, messages, ...change }];
  };
  const record = recordOf(110, {});
  const withRecord = (change: Partial<NewIdempotencyRecord>) => ({
    idempotency: { ...record, ...change },
  });
  const january = (count: number, daily: number | null, monthly: number | null) =>
    usageOf(count, '2026-01-31', daily, monthly);
  await story.tellTogether(
    'accept',
    batch(110, 'm1', { idempotency: record, ...january(2, 3, null), steadyNow: at(115) }),
    batch(111, 'm2', withRecord({ response: 'another' })),
    batch(111, 'm2', withRecord({ route: 'POST /emails/batch' })),
    batch(112, 'm2', january(2, 3, null)),
    batch(112, 'm2', january(1, 3, 3)),
    batch(113, 'm3', usageOf(1, '2026-01-30', 1, 3)),
    batch(113, 'm3', { ...usageOf(1, '2026-02-01', 1, 1), storageBytes: 3 * CONTENT_BYTES }),
    batch(114, 'm5', { ...usageOf(1, '2026-02-02', 1, 1), storageBytes: null }),
    batch(114, 'm5', { storageBytes: 4 * CONTENT_BYTES - 1 }),
    batch(114, 'm4', { ...withRecord({}), ...january(5, 5, 5), storageBytes: CONTENT_BYTES }),
  );
  // The record ends at 1110; what comes after it writes another over it, whole.
  const fresh = recordOf(1110, {
    route: 'POST /emails/batch',
    bodyHash: 'fresh',
    status: 202,
  });
  await story.tellTogether(
    'accept',
    batch(1109, 'm5', { idempotency: fresh, steadyNow: at(1109) }),
    batch(1100, 'm5', { idempotency: fresh, steadyNow: at(1110) }),
    batch(1111, 'm6', { idempotency: fresh }),
    batch(1111, 'm6', { idempotency: recordOf(1111, { key: 'k2' }) }),
    batch(1111, 'm7', { idempotency: recordOf(1111, { key: 'k2', status: 201 }) }),
  );
  for (const [account, key] of [
    ['shop', 'k1'],
    ['shop', 'k2'],
    ['other', 'k1'],
    ['other', 'k2'],
  ] as const) {
    await story.ask('idempotencyRecord', story.id(account), key, at(1109));
  }
  return told;
}

export const part = (message: string, index: number): string => `${message}.r${index}`;

/** Attempts begin, and are said to be under way. */
export async function tellBeginnings(story: Story, told: Told): Promise<void> {
  const claim = (recipient: string, owner: string, lease: number) => ({
    recipientId: story.id(recipient),
    owner,
    leaseUntil: at(lease),
    nextAttemptAt: at(lease + 30),
  });
  await story.tellTogether(
    'begin',
    // Its own since the acceptance; then under a lease, and not due, until another takes it over.
    [[claim('m1.r0', 'node', 1260), claim('m1.r0', 'node', 1260)], at(1200)],
    [[claim('m1.r0', 'another', 1400), claim('m1.r1', 'another', 1400)], at(1259)],
    [[claim('m1.r0', 'another', 1400), claim('m2.r0', 'another', 1420)], at(1290)],
    [
      [
        claim('no recipient', 'node', 1400),
        claim('m4.r0', 'node', 1400),
        claim('m3.r0', 'x', 1290),
      ],
      at(1250),
    ],
    [
      [claim('m4.r1', 'node', 1401), claim('m7.r0', 'node', 1402), claim('m2.r0', 'x', 1500)],
      at(1251),
    ],
  );
  const sent = (name: string, index: number, seconds: number): SentAttempt => {
    const { message } = told[name === 'm9' ? 'm1' : name] ?? mail(story, name, 'shop', []);
    const recipientId = story.id(part(name, index));
    const { id: messageId, accountId } = message;
    return {
      recipientId,
      messageId: name === 'm9' ? story.id('m9') : messageId,
      accountId,
      now: at(seconds),
      dueAt: at(seconds + 3),
      event: event(story, message, recipientId, 'email.sent', seconds),
    };
  };
  await story.tellTogether(
    'noteSent',
    [[sent('m1', 0, 1290), sent('m1', 0, 1291)]],
    [[sent('m1', 0, 1292), sent('m1', 1, 1293), sent('m9', 0, 1294)]],
    [[sent('m4', 1, 1295)]],
    [[]],
    [[sent('m2', 0, 1296)]],
  );
}
