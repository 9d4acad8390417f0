/** What the walk over a busy server finds: a queue, calls that failed, domains in every state, operators of every role. */
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { addOperator, setPassword } from '../../src/flow/people/operators.ts';
import type { Attempt, Event, Message, Recipient } from '../../src/store/rows.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Store } from '../../src/store/store.ts';
import { batchOf, newAttempt, newEvent, newMessage } from '../store/samples.ts';
import { furnishAccount } from './busy-account.ts';
import { idAt } from './busy-ids.ts';
import type { DashboardRig } from './dashboard-rig.ts';

const HOUR_MS = 3_600_000;
export const PASSWORD = 'long enough for anyone';

export interface Furnished {
  /** Ids by the names that steps use. */
  named: Map<string, string>;
  /** Of the operators who are signed in. */
  cookies: Record<string, string>;
}

type Waits = Pick<Recipient, 'address'> & Partial<Recipient>;

/** Makes it all; nothing of it moves by itself while the clock stands still. */
export async function furnish(dashboard: DashboardRig, now: number): Promise<Furnished> {
  const { ctx } = dashboard.rig.appliance;
  const second = await createAccount(ctx, { name: 'Second & Co', plan: 'small' });
  const named = new Map([
    ['account', dashboard.rig.account],
    ['second', second.id],
    ['nobody', '01913c7e-89ab-7cde-8f01-23456789abce'],
  ]);
  await furnishAccount(dashboard, named, now);
  await furnishQueue(ctx.store, named, now);
  const cookies: Record<string, string> = {};
  for (const [name, role, accountId] of [
    ['reader', 'read_only', null],
    ['owner', 'admin', dashboard.rig.account],
    ['guest', 'read_only', second.id],
  ] as const) {
    await addOperator(ctx, { name, role, accountId });
    await setPassword(ctx, name, PASSWORD);
    cookies[name] = await signIn(dashboard, name);
  }
  const guest = await ctx.store.operatorNamed('guest');
  await ctx.store.setOperatorTotp(guest?.id ?? '', Buffer.of(1), ['a', 'b', 'c']);
  return { named, cookies };
}

async function signIn({ url }: DashboardRig, name: string): Promise<string> {
  const answer = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ name, password: PASSWORD }),
  });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Three destinations: one where all wait for the same reason, one where each has its own, one that was not tried yet. */
async function furnishQueue(store: Store, named: Map<string, string>, now: number): Promise<void> {
  const account = named.get('account') ?? '';
  const refused = '451 4.7.1 <Try> later';
  const slowed = `Slowed down until ${new Date(now + HOUR_MS).toISOString()}: 421 too much`;
  const tried = { attempts: 3, status: 'delivery_delayed', lastReason: refused } as const;
  await waiting(store, account, now, [
    { address: 'ann@busy.example', ...tried },
    { address: 'ben@busy.example', ...tried },
  ]);
  await waiting(store, account, now - HOUR_MS, [
    { address: 'cy@mixed.example', ...tried, attempts: 1 },
    { address: 'dee@mixed.example', ...tried, lastReason: slowed },
    { address: 'eve@mixed.example' },
  ]);
  await waiting(store, named.get('second') ?? '', now, [{ address: 'fay@fresh.example' }]);
  named.set('story', await story(store, account, now));
  const [first] = await store.queue({ domain: 'mixed.example', limit: 1, after: null });
  named.set('recipient', first?.id ?? '');
}

/** A message whose recipients wait for an hour. */
async function waiting(
  store: Store,
  accountId: string,
  at: number,
  rows: readonly Waits[],
): Promise<NewMessage> {
  const made = messageAt(accountId, at, {}, rows);
  await store.accept({ ...batchOf(accountId, made), now: at });
  return made;
}

function messageAt(
  accountId: string,
  at: number,
  change: Partial<Message>,
  rows: readonly Waits[],
): NewMessage {
  const times = { id: idAt(at), createdAt: at, updatedAt: at, logId: null };
  const to = rows.map(({ address }) => address);
  const made = newMessage(accountId, { ...times, ...change }, to);
  for (const [position, recipient] of made.recipients.entries()) {
    Object.assign(recipient, {
      id: idAt(at),
      updatedAt: at,
      nextAttemptAt: at + HOUR_MS * (position + 2),
      expiresAt: at + 48 * HOUR_MS,
      ...rows[position],
    });
  }
  for (const event of made.events) Object.assign(event, { id: idAt(at), occurredAt: at });
  return made;
}

/** An email of four recipients: one was delivered, one bounced, one was put off three times, one was not tried. */
async function story(store: Store, accountId: string, now: number): Promise<string> {
  const at = now - 6 * HOUR_MS;
  const made = messageAt(accountId, at, { subject: 'A <long> story', bcc: ['zed@end.example'] }, [
    { address: 'good@end.example' },
    { address: 'bad@end.example' },
    { address: 'slow@end.example', kind: 'cc' },
    { address: 'zed@end.example', kind: 'bcc', nextAttemptAt: now + HOUR_MS },
  ]);
  await store.accept({ ...batchOf(accountId, made), now: at });
  const [good, bad, slow] = made.recipients;
  if (good === undefined || bad === undefined || slow === undefined) throw new Error('four');
  const tls = JSON.stringify({ version: 'TLSv1.3', verified: true, policy: 'dane' });
  await end(store, made, good, at + 60_000, 'delivered', { outcome: 'delivered', tls });
  const never = '550 5.1.1 No <such> user';
  const failed = { outcome: 'failed', class: 'recipient', reply: never, stage: 'rcpt' } as const;
  await end(store, made, bad, at + 120_000, 'bounced', { ...failed, tls: null });
  const put = { outcome: 'deferred', class: 'rate', reply: '421 slow', stage: 'mail' } as const;
  for (const number of [1, 2, 3]) {
    const when = at + number * 10 * 60_000;
    await end(store, made, slow, when, 'delivery_delayed', { ...put, number, tls: null });
  }
  return made.message.id;
}

async function end(
  store: Store,
  made: NewMessage,
  recipient: Recipient,
  at: number,
  status: 'delivered' | 'bounced' | 'delivery_delayed',
  change: Partial<Attempt>,
): Promise<void> {
  const times = { beganAt: at - 250, endedAt: at };
  const attempt = newAttempt(recipient, { id: idAt(at), ...times, ...change });
  const type: Event['type'] = `email.${status}`;
  const { number, stage, reply } = attempt;
  const facts = { recipient: recipient.address, attempt: number, stage, reply };
  const event = { ...newEvent(made.message, recipient.id, type), payload: JSON.stringify(facts) };
  await store.finish({
    recipientId: recipient.id,
    messageId: made.message.id,
    accountId: made.message.accountId,
    now: at,
    status,
    nextAttemptAt: status === 'delivery_delayed' ? at + 7 * HOUR_MS : null,
    lastReason: reply,
    delayedAt: status === 'delivery_delayed' ? at : null,
    owner: null,
    attempt,
    events: [{ ...event, id: idAt(at), occurredAt: at }],
    suppress: null,
  });
}
