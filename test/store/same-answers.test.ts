/**
 * What stores of every kind are told by chance, in any order, they answer alike: mail of two accounts under limits, its
 * attempts by two owners, webhook calls, suppressions, and what is read of it.
 *
 * Where an order is free (of what is due at the same moment) answers are compared without it.
 */
import { expect, test } from 'bun:test';

import type { MessageStatus } from '../../src/base/status.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import type { Account, Call, Endpoint, Event, NewEvent, Recipient } from '../../src/store/rows.ts';
import type { Store } from '../../src/store/store.ts';
import type { EndpointChange } from '../../src/store/webhooks.ts';
import { newId } from '../rig/ids.ts';
import {
  batchOf,
  dueRequest,
  finishOf,
  newAccount,
  newAttempt,
  newEndpoint,
  newEvent,
  newMessage,
  newSuppression,
  randomFrom,
} from './samples.ts';
import { finished } from './call-steps.ts';
import { withAllStores } from './stores.ts';
import { everyCallDue, nextCallDue } from './due-calls.ts';

const OWNERS = ['one', 'two'] as const;
const ADDRESSES = ['ann@a.example', 'bob@b.example', 'cyd@gmail.com', 'dan@a.example'] as const;
const ENDS: readonly [MessageStatus, Event['type']][] = [
  ['delivered', 'email.delivered'],
  ['bounced', 'email.bounced'],
  ['failed', 'email.failed'],
  ['complained', 'email.complained'],
  ['delivery_delayed', 'email.delivery_delayed'],
];

/** Keys in order; when a recipient was changed last is each engine's own where nothing about it changed. */
function textOf(answer: unknown): string {
  return (
    JSON.stringify(answer, (_, value: unknown) => {
      if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      // A Buffer writes itself so.
      if ('data' in value && Array.isArray(value.data)) return `${value.data.length} bytes`;
      const isRecipient = 'nextAttemptAt' in value && 'expiresAt' in value;
      return Object.fromEntries(
        Object.entries(value)
          .filter(([name]) => !(isRecipient && name === 'updatedAt'))
          .toSorted(([a], [b]) => (a < b ? -1 : 1)),
      );
    }) ?? 'nothing'
  );
}

class Life {
  readonly below: (most: number) => number;
  readonly #stores: readonly Store[];
  now = Date.now();
  readonly #accounts: Account[] = [newAccount('one'), newAccount('two')];
  readonly #endpoints: Endpoint[] = [];
  readonly #sent: { message: NewMessage; recipient: Recipient }[] = [];
  readonly #events: string[] = [];
  readonly #calls: Call[] = [];

  constructor(stores: readonly Store[], seed: number) {
    this.#stores = stores;
    this.below = randomFrom(seed);
  }

  /** What all of them answer; fails where one answers something else. */
  async ask<T>(what: string, question: (store: Store) => Promise<T>, isInOrder = true): Promise<T> {
    const answers = await Promise.all(this.#stores.map(question));
    const texts = answers.map((answer) =>
      isInOrder || !Array.isArray(answer) ? textOf(answer) : answer.map(textOf).toSorted(),
    );
    for (const text of texts) expect([what, text]).toEqual([what, texts[0] ?? '']);
    const [first] = answers;
    return first as T;
  }

  #one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }

  async begin(): Promise<void> {
    for (const account of this.#accounts) {
      await this.ask('createAccount', (store) => store.createAccount(account));
      for (const events of [[], ['email.bounced', 'email.sent']]) {
        const endpoint = newEndpoint(account.id, { events });
        this.#endpoints.push(endpoint);
        await this.ask('createEndpoint', (store) => store.createEndpoint(endpoint, 9));
      }
    }
  }

  async step(): Promise<void> {
    this.now += this.below(1_500);
    const steps = [
      () => this.#accept(),
      () => this.#beginAttempts(),
      () => this.#finish(),
      () => this.#finish(),
      () => this.#takeOrFree(),
      () => this.#call(),
      () => this.#changeEndpoint(),
      () => this.#suppress(),
      () => this.#read(),
    ];
    // Without mail there is nothing to try.
    await (this.#sent.length === 0 ? this.#accept() : this.#one(steps)());
  }

  #event({ message }: NewMessage, recipientId: string | null, type: Event['type']): NewEvent {
    const id = newId(this.now);
    this.#events.push(id);
    return { ...newEvent(message, recipientId, type), id, occurredAt: this.now };
  }

  async #accept(): Promise<void> {
    const { now } = this;
    const { id } = this.#one(this.#accounts);
    const messages = Array.from({ length: 1 + this.below(2) }, () => {
      const to = new Set([this.#one(ADDRESSES), this.#one(ADDRESSES)]);
      const isSandbox = this.below(6) === 0;
      const times = { createdAt: now, updatedAt: now };
      const subject = this.#one(['Alpha', 'beta 5%']);
      const message = newMessage(id, { ...times, isSandbox, subject }, [...to]);
      for (const recipient of message.recipients) {
        Object.assign(recipient, { nextAttemptAt: now + this.below(3) * 1_000, updatedAt: now });
      }
      message.events = [this.#event(message, null, 'email.sent')];
      return this.below(3) === 0 ? { ...message, owner: this.#one(OWNERS) } : message;
    });
    const record = { route: 'r', status: 200, createdAt: now, expiresAt: now + 20_000 };
    const [key, bodyHash] = [this.#one(['k', 'l']), this.#one(['g', 'h'])];
    const batch = {
      ...batchOf(id, ...messages),
      now,
      usage: {
        count: messages.length,
        day: new Date(now).toISOString().slice(0, 10),
        dailyLimit: this.#one([null, 20]),
        monthlyLimit: this.#one([null, 30]),
      },
      storageBytes: this.#one([null, 500]),
      idempotency: this.below(3) === 0 ? { ...record, key, bodyHash, response: newId(now) } : null,
    };
    const { kind } = await this.ask('accept', (store) => store.accept(batch));
    if (kind !== 'accepted') return;
    for (const message of messages) {
      for (const recipient of message.recipients) this.#sent.push({ message, recipient });
    }
  }

  async #beginAttempts(): Promise<void> {
    const { now } = this;
    const attempts = Array.from({ length: 1 + this.below(3) }, () => ({
      recipientId: this.#one(this.#sent).recipient.id,
      owner: this.#one(OWNERS),
      leaseUntil: now + 1 + this.below(8_000),
      nextAttemptAt: now + this.below(9_000),
      isFirst: this.below(4) === 0,
    }));
    await this.ask('begin', (store) => store.begin(attempts, now), false);
    const { message, recipient } = this.#one(this.#sent);
    const { id: messageId, accountId } = message.message;
    const event = this.#event(message, recipient.id, 'email.sent');
    const sent = { recipientId: recipient.id, messageId, accountId, now, dueAt: now + 3, event };
    await this.ask('noteSent', (store) => store.noteSent([sent]));
  }

  async #finish(): Promise<void> {
    const { now } = this;
    const { message, recipient } = this.#one(this.#sent);
    const [status, type] = this.#one(ENDS);
    const { id, accountId } = message.message;
    const harm = { id: newId(now), createdAt: now, source: this.#one([id, 'x', null]) };
    const reason = this.#one(['hard_bounce', 'complaint'] as const);
    const attempt = newAttempt(recipient, { id: newId(now), host: this.#one(['mx.x', null]) });
    const end = finishOf(message, recipient, {
      status,
      now,
      dueAt: now + 7,
      nextAttemptAt: status === 'delivery_delayed' ? now + this.below(9_000) : null,
      lastReason: this.#one(['why', null]),
      owner: this.#one([null, ...OWNERS]),
      attempt: this.#one([attempt, null]),
      events: [this.#event(message, recipient.id, type)],
      suppress:
        this.below(3) === 0
          ? newSuppression(accountId, recipient.address, { ...harm, reason })
          : null,
      ...(this.below(4) === 0 ? { spares: { owner: this.#one([null, ...OWNERS]), now } } : {}),
    });
    await this.ask('finish', (store) => store.finish(end));
  }

  async #takeOrFree(): Promise<void> {
    const { now } = this;
    const without = {
      accountIds: this.below(4) === 0 ? [this.#one(this.#accounts).id] : [],
      destinations: [],
    };
    const limits = { limit: this.#one([2, 100]), most: this.#one([1, 2, 100]) };
    // One process has one owner.
    const request = dueRequest(OWNERS[0], now, { ...limits, without });
    await this.ask('takeDue', (store) => store.takeDue(request));
    const { message, recipient } = this.#one(this.#sent);
    const target = this.#one([
      { id: recipient.id, domain: null },
      { id: message.message.id, domain: null },
      { id: null, domain: 'a.example' },
    ]);
    if (this.below(2) === 0) await this.ask('retryNow', (store) => store.retryNow(target, now));
    const owner = this.#one(OWNERS);
    if (this.below(4) === 0)
      await this.ask('releaseLeases', (store) => store.releaseLeases(owner, now));
  }

  async #call(): Promise<void> {
    const { now } = this;
    const until = now + this.below(9_000);
    const due = await this.ask('callsDue', (store) => everyCallDue(store, now, until), false);
    if (due.length > 0) {
      const claims = Array.from({ length: 1 + this.below(3) }, () => ({
        id: this.#one(due).id,
        owner: this.#one(OWNERS),
        leaseUntil: now + 1 + this.below(5_000),
        nextAttemptAt: now + this.below(6_000),
      }));
      const begun = await this.ask('beginCalls', (store) => store.beginCalls(claims, now), false);
      this.#calls.push(...begun);
    }
    const call = this.#calls.length === 0 ? undefined : this.#one(this.#calls);
    if (call === undefined) return;
    const status = this.#one(['open', 'done', 'failed'] as const);
    const end = finished(call, status === 'done', {
      status,
      nextAttemptAt: status === 'open' ? now + this.below(5_000) : null,
      response: this.#one(['thanks', null]),
      disableAfter: 4,
    });
    await this.ask('finishCall', (store) => store.finishCall(end));
    const { endpointId } = call;
    await this.ask('attemptDetail', (store) => store.attemptDetail(endpointId, end.attempt.id));
  }

  async #changeEndpoint(): Promise<void> {
    const { now } = this;
    const { accountId, id } = this.#one(this.#endpoints);
    const change = this.#one<EndpointChange>([
      { status: 'active' },
      { status: 'disabled' },
      { events: ['email.delivered'] },
    ]);
    await this.ask('missCalls', (store) => store.missCalls(accountId, id, now - 2_000, null));
    await this.ask('updateEndpoint', (store) => store.updateEndpoint(accountId, id, change, now));
    const what = this.#one([
      { eventId: this.#one(this.#events) },
      { failedSince: now - this.below(30_000) },
    ]);
    if (this.below(3) === 0)
      await this.ask('replay', (store) => store.replayCalls(accountId, id, what, now), false);
  }

  async #suppress(): Promise<void> {
    const { now } = this;
    const { id: accountId } = this.#one(this.#accounts);
    const rows = Array.from({ length: 1 + this.below(3) }, () =>
      newSuppression(accountId, this.#one(ADDRESSES), {
        id: newId(now),
        createdAt: now,
        reason: this.#one(['manual', 'hard_bounce', 'complaint'] as const),
        source: this.#one([null, this.#one(this.#sent).message.message.id]),
      }),
    );
    await this.ask('addSuppressions', (store) => store.addSuppressions(rows));
    const email = this.#one(ADDRESSES);
    if (this.below(2) === 0)
      await this.ask('remove', (store) => store.removeSuppression(accountId, email, now));
    const page = { limit: this.#one([1, 9]), after: null, before: this.#one([null, email]) };
    await this.ask('suppressions', (store) => store.suppressions(accountId, null, page));
  }

  async #read(): Promise<void> {
    const { now } = this;
    const { id: accountId } = this.#one(this.#accounts);
    const { message } = this.#one(this.#sent);
    const { id } = message.message;
    for (const verb of [
      'messageById',
      'recipients',
      'attempts',
      'events',
      'callsOfMessage',
    ] as const)
      await this.ask<unknown>(verb, (store) => store[verb](id));
    const filter = {
      limit: this.#one([1, 9]),
      after: this.#one([null, id]),
      before: null,
      q: this.#one([null, 'ALPHA', '5%', 'gmail']),
      status: this.#one([null, 'queued', 'delivered'] as const),
      isSandboxOnly: this.below(3) === 0,
    };
    await this.ask('emails', (store) => store.emails(accountId, filter));
    await this.ask(
      'queueCounts',
      async (store) => (await store.queueCounts(null, 99)).largest,
      false,
    );
    await this.ask('queueCounts', async (store) => (await store.queueCounts(null, 0)).kinds, false);
    await this.ask('countsByStatus', (store) => store.countsByStatus(accountId, now));
    await this.ask('storedBytes', (store) => store.storedBytes(accountId));
    await this.ask('harm', (store) => store.harm(accountId, now - 3_600_000));
    const span = { from: now - 3_600_000, until: now + 3_600_000, bucket: 'hour' } as const;
    await this.ask('outcomes', (store) => store.outcomes({ accountId, ...span }), false);
    await this.ask('openCalls', (store) => store.openCalls());
    await this.ask('nextRecipientDue', (store) => store.nextRecipientDue(now));
    await this.ask('callsDue', (store) => nextCallDue(store, now));
  }
}

for (const seed of [11, 12, 13]) {
  test(`by chance, from seed ${seed}`, () =>
    withAllStores(async (stores) => {
      expect(stores).toHaveLength(2);
      const life = new Life(stores, seed);
      await life.begin();
      for (let count = 0; count < 120; count += 1) await life.step();
    }));
}
