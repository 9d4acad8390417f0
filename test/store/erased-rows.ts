/** Mail, lists and log rows that name one person in every way, beside others', and what erasing the person leaves. */
import type { Message } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { newAttempt, newEndpoint, newLogRecord, newSuppression } from './samples.ts';
import { at, type Story } from './story.ts';
import { event, written } from './story-mail.ts';

const ANN = 'ann@gmail.com';

async function accepted(
  story: Story,
  name: string,
  account: string,
  to: string[],
  change: Partial<Message> = {},
): Promise<NewMessage> {
  const seconds = 100 * Number(name.slice(1));
  const one = written(story, { name, account, seconds, to, isFull: to.length > 2 });
  Object.assign(one.message, change);
  await story.tell('accept', {
    accountId: one.message.accountId,
    now: at(seconds),
    usage: null,
    idempotency: null,
    messages: [one],
  });
  return one;
}

/** Each of the recipients ends, with an attempt and an event that becomes a call. */
async function ended(story: Story, { message, recipients }: NewMessage, count: number) {
  for (const [index, recipient] of recipients.slice(0, count).entries()) {
    const now = Math.round((message.createdAt - at(0)) / 1000) + 10 + index;
    const times = { beganAt: at(now - 1), endedAt: at(now) };
    await story.tell('finish', {
      recipientId: recipient.id,
      messageId: message.id,
      accountId: message.accountId,
      now: at(now),
      status: index === 0 ? 'bounced' : 'delivered',
      nextAttemptAt: null,
      lastReason: `said ${now}`,
      delayedAt: null,
      owner: null,
      attempt: newAttempt(recipient, { ...times, id: story.id(`attempt ${now}`, now) }),
      events: [event(story, message, recipient.id, 'email.delivered', now)],
      suppress: null,
    });
  }
}

export async function tellPerson(story: Story): Promise<void> {
  for (const [index, name] of ['shop', 'other'].entries()) {
    const id = story.id(name, index);
    const rest = { plan: 'small', status: 'active', statusReason: null } as const;
    await story.tell('createAccount', { id, name, ...rest, createdAt: at(index) });
    const hook = { id: story.id(`hook of ${name}`, index), createdAt: at(index) };
    await story.tell('createEndpoint', newEndpoint(id, hook), 2);
    await story.tell('addConfirmedRecipient', id, ANN, at(index));
    await story.tell('addConfirmedRecipient', id, `x${ANN}`, at(index));
  }
  // Named in every list; the others stay.
  const lists = {
    cc: [`"Ann" <${ANN}>`, 'copy@cc.example'],
    replyTo: ['ANN@Gmail.com', 'help@x.example'],
  };
  const shared = await accepted(
    story,
    'm1',
    'shop',
    ['Ann@gmail.com', 'cyd@c.example', 'bob@b.example'],
    lists,
  );
  await ended(story, shared, 5);
  await ended(story, await accepted(story, 'm2', 'shop', [ANN]), 1);
  await ended(story, await accepted(story, 'm3', 'shop', ['ANN@gmail.com', 'Ann@Gmail.com']), 2);
  await ended(story, await accepted(story, 'm4', 'shop', [ANN, 'bob@b.example']), 1);
  await ended(story, await accepted(story, 'm5', 'other', [ANN]), 1);
  await ended(story, await accepted(story, 'm6', 'shop', [`x${ANN}`]), 1);
}

export async function tellNamed(story: Story): Promise<void> {
  const [shop, other] = [story.id('shop'), story.id('other')];
  const row = (account: string, index: number, email: string) =>
    newSuppression(account, email, {
      id: story.id(`suppression ${index}`, 1000 + index),
      reason: 'complaint',
      source: `source ${index}`,
      note: `note ${index}`,
      createdAt: at(1000 + index),
    });
  await story.tell('addSuppressions', [
    row(shop, 1, ANN),
    row(other, 2, ANN),
    row(shop, 3, `x${ANN}`),
  ]);
  await story.tell('removeSuppression', other, ANN, at(1010));
  const log = (account: string, index: number, change: object) =>
    newLogRecord(account, {
      id: story.id(`log ${index}`, 2000 + index),
      createdAt: at(2000 + index),
      ...change,
    });
  await story.tell('appendLogs', [
    log(shop, 1, { path: `/suppressions/${encodeURIComponent('Ann@gmail.com')}` }),
    log(shop, 2, { requestBody: '{"to":"ANN@GMAIL.COM"}' }),
    log(shop, 3, { responseBody: `{"to":"Ann <${ANN}>"}`, requestBody: null }),
    log(other, 4, { requestBody: `{"to":"${ANN}"}`, responseBody: null }),
    log(shop, 5, { requestBody: `{"to":"x${ANN}"}` }),
    log(shop, 6, { requestBody: '{"to":"ann_gmail.com, annagmail.com"}', responseBody: null }),
    log(shop, 7, { path: `/x?to=${encodeURIComponent(ANN)}.example`, requestBody: null }),
  ]);
}

export async function tellErasure(story: Story, account: string | null): Promise<void> {
  await story.ask('eraseAddress', ANN, account === null ? null : story.id(account));
  await story.ask('eraseAddress', ANN, account === null ? null : story.id(account));
  for (const name of ['m1', 'm4']) {
    await story.ask('message', story.id('shop'), story.id(name));
    await story.ask('events', story.id(name));
    await story.ask('callsOfMessage', story.id(name));
  }
  const page = { limit: 9, after: null, before: null, status: null };
  for (const q of ['gmail', 'bob', 'order', 'erased'])
    await story.ask('emails', story.id('shop'), { ...page, q });
}
