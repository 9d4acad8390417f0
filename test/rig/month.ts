/**
 * A data directory with a month of mail as a server has it: three accounts, several destinations and providers, every
 * outcome, late bounces and complaints, webhooks, suppressions, a request log, and recipients that still wait.
 *
 * Promises the same month for the same seed and time. Goes through acceptance and outcome as mail does, on a clock of its
 * own that walks through the month, so that every page has what it really would have. Nothing may have the directory
 * open.
 */
import { openContext } from '../../src/appliance/context.ts';
import { loadConfig } from '../../src/base/config-file.ts';
import { createLog } from '../../src/base/log.ts';
import { acceptEmails } from '../../src/flow/accept/accept.ts';
import { createAccount } from '../../src/flow/accounts/accounts.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { planOf } from '../../src/flow/accounts/plans.ts';
import type { Context } from '../../src/flow/context.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { addDomain } from '../../src/flow/domains/domains.ts';
import { settle } from '../../src/flow/outcome/outcome.ts';
import { settleBounce } from '../../src/flow/reports/bounces.ts';
import { settleComplaint } from '../../src/flow/reports/complaints.ts';
import { endpointLabel } from '../../src/flow/seal-labels.ts';
import { addSuppression } from '../../src/flow/suppressions/suppressions.ts';
import type { Account, Domain, Message, Recipient } from '../../src/store/rows.ts';
import type { CallRef } from '../../src/store/webhooks.ts';
import { mailbox, silentResolver } from '../flow/fixture.ts';
import { newEndpoint, newLogRecord, randomFrom } from '../store/samples.ts';
import { TestClock } from './clock.ts';
import { arrivalTimes, draftOf, fateOf, SHOPS, type Fate, type Shop } from './month-plan.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** How long an attempt takes that finds nobody. */
const NO_CONNECTION_MS = 30_000;
/** Owner of the leases that this file takes. */
const OWNER = 'month';

export interface Month {
  /** The config file of the data directory. */
  config: string;
  /** Epoch milliseconds at which the month ends. */
  now: number;
  messages: number;
  seed: number;
}

interface Sending {
  shop: Shop;
  account: Account;
  domain: Domain;
  sender: Sender;
  keyId: string;
}

/** Something that is still to happen to a recipient. */
interface Coming {
  at: number;
  messageId: string;
  recipientId: string;
  kind: 'attempt' | 'bounce' | 'complaint';
  fate: Fate;
}

/** Fills the directory; the account `default` of `init` is one of the three. Returns their domains. */
export async function fillMonth(month: Month): Promise<Domain[]> {
  const clock = new TestClock(month.now - 31 * DAY_MS);
  const config = loadConfig(month.config);
  const log = createLog(
    () => undefined,
    () => clock.now(),
  );
  const ctx = await openContext(config, { clock, log, resolver: silentResolver() });
  try {
    const random = randomFrom(month.seed);
    const sendings: Sending[] = [];
    for (const shop of SHOPS) sendings.push(await opened(ctx, shop, month.now));
    await clock.advance(DAY_MS);
    await new Walk(ctx, clock, sendings, random, month.now).through(arrivalTimes(month, random));
    await clock.advance(Math.max(0, month.now - clock.now()));
    const domains = sendings.map(({ domain }) => domain);
    for (const sending of sendings) {
      await logged(ctx, sending, random);
      await ctx.store.touchKeys([{ id: sending.keyId, usedAt: ctx.clock.now() }]);
      domains.push(await addDomain(ctx, sending.account, `new.${sending.shop.domain}`));
    }
    return domains;
  } finally {
    ctx.signing.stop();
    await ctx.store.close();
  }
}

/** The account with a verified domain that is checked again at `end`, keys, an endpoint and suppressions. */
async function opened(ctx: Context, shop: Shop, end: number): Promise<Sending> {
  const known = (await ctx.store.accounts()).find(({ name }) => name === shop.account);
  const account = known ?? (await createAccount(ctx, { name: shop.account }));
  const domain = await addDomain(ctx, account, shop.domain);
  const now = ctx.clock.now();
  await ctx.store.finishDomainCheck({
    id: domain.id,
    now,
    status: 'verified',
    recordStates: { DKIM: 'verified', SPF: 'verified', DMARC: 'verified' },
    verifiedAt: now,
    nextCheckAt: end,
    failingSince: null,
    pendingSince: now,
  });
  const { key } = await createKey(ctx, account.id, {
    name: 'production',
    permission: 'sending_access',
  });
  await createKey(ctx, account.id, {
    name: 'sandbox of the tests',
    permission: 'full_access',
    isTest: true,
  });
  const url = `https://hooks.${shop.domain}/postrider`;
  const endpoint = newEndpoint(account.id, { url, createdAt: now, events: [...shop.events] });
  const sealedSecret = ctx.secrets.seal('whsec_bW9udGg=', endpointLabel(endpoint.id));
  ctx.subscribers.note(account.id);
  await ctx.store.createEndpoint({ ...endpoint, sealedSecret }, 10);
  for (const name of ['former.customer', 'wrong.address', 'left-the-company']) {
    const email = `${name}@receiver.example`;
    await addSuppression(ctx, account.id, {
      email,
      source: 'operator',
      note: 'Asked by telephone.',
    });
  }
  const plan = planOf(ctx.config.live.plans, account);
  const sender = { key: { id: key.id, isTest: false }, account, plan, requestId: null };
  return { shop, account, domain, sender, keyId: key.id };
}

class Walk {
  readonly #ctx: Context;
  readonly #clock: TestClock;
  readonly #sendings: readonly Sending[];
  readonly #random: (below: number) => number;
  /** Epoch milliseconds at which the month is over. */
  readonly #end: number;
  readonly #messages = new Map<string, Message>();
  /** Soonest first. */
  readonly #coming: Coming[] = [];

  constructor(
    ctx: Context,
    clock: TestClock,
    sendings: readonly Sending[],
    random: (below: number) => number,
    end: number,
  ) {
    this.#end = end;
    this.#ctx = ctx;
    this.#clock = clock;
    this.#sendings = sendings;
    this.#random = random;
  }

  async through(arrivals: readonly number[]): Promise<void> {
    for (const at of arrivals) {
      await this.#until(at);
      await this.#accept();
    }
    await this.#until(arrivals.at(-1) ?? 0);
  }

  /** Everything that happens up to `end`. What comes later still waits when the month is over. */
  async #until(end: number): Promise<void> {
    for (let next = this.#coming[0]; next !== undefined && next.at <= end; next = this.#coming[0]) {
      this.#coming.shift();
      await this.#moveTo(next.at);
      await this.#happen(next);
    }
    await this.#moveTo(end);
  }

  async #moveTo(at: number): Promise<void> {
    if (at > this.#clock.now()) await this.#clock.advance(at - this.#clock.now());
  }

  async #accept(): Promise<void> {
    const share = this.#random(100);
    const sending = this.#sendings[share < 60 ? 0 : share < 85 ? 1 : 2] ?? this.#sendings[0];
    if (sending === undefined) throw new Error('nobody sends');
    const { shop, sender } = sending;
    const requestId = this.#ctx.ids.next(this.#clock.now());
    const sink = { offerAccepted: () => undefined, offerCalls: () => undefined };
    const { messageIds } = await acceptEmails(
      this.#ctx,
      sink,
      { ...sender, requestId },
      [draftOf(shop, mailbox(`hello@${shop.domain}`, shop.name), this.#random)],
      { isPermissive: false, idempotency: null, respond: () => ({ status: 200, body: null }) },
    );
    for (const id of messageIds) {
      const message = await this.#ctx.store.messageById(id);
      if (message === null) continue;
      this.#messages.set(id, message);
      for (const { id: recipientId, domain, nextAttemptAt } of await this.#ctx.store.recipients(
        id,
      )) {
        if (nextAttemptAt === null) continue;
        const fate = fateOf(domain, this.#random);
        this.#add({
          at: this.#clock.now() + 300,
          messageId: id,
          recipientId,
          kind: 'attempt',
          fate,
        });
      }
    }
  }

  #add(coming: Coming): void {
    const at = this.#coming.findLastIndex((one) => one.at <= coming.at) + 1;
    this.#coming.splice(at, 0, coming);
  }

  async #happen(coming: Coming): Promise<void> {
    const { store } = this.#ctx;
    const message = this.#messages.get(coming.messageId);
    const recipient = await store.recipientById(coming.recipientId);
    if (message === undefined || recipient === null) return;
    if (coming.kind === 'attempt') return this.#attempt(coming, message, recipient);
    const end =
      coming.kind === 'bounce'
        ? settleBounce(this.#ctx, message, recipient, coming.fate.report)
        : settleComplaint(this.#ctx, message, recipient, coming.fate.complaint);
    if (end !== null) await this.#called((await store.finish(end)).calls);
  }

  async #attempt(coming: Coming, message: Message, { id }: Recipient): Promise<void> {
    const { store } = this.#ctx;
    const now = this.#clock.now();
    const lease = { owner: OWNER, leaseUntil: now + MINUTE_MS, nextAttemptAt: now + MINUTE_MS };
    const [recipient] = await store.begin([{ recipientId: id, ...lease }], now);
    if (recipient === undefined) return;
    const outcome = coming.fate.outcomeOf(recipient.attempts, this.#end - now);
    const tookMs = outcome.kind === 'unreached' ? NO_CONNECTION_MS : 180 + this.#random(1400);
    await this.#clock.advance(tookMs);
    const endedAt = now + tookMs;
    // The wall clock of the month is steady.
    const ended = { message, recipient, beganAt: now, endedAt, steadyAt: endedAt, outcome };
    const end = await settle(this.#ctx, ended, this.#random(1000) / 1000);
    const { calls } = await store.finish(end);
    await this.#called(calls);
    if (end.nextAttemptAt !== null) this.#add({ ...coming, at: end.nextAttemptAt });
    else if (end.status === 'delivered' && coming.fate.late !== null) {
      const { kind, afterMs } = coming.fate.late;
      this.#add({ ...coming, kind, at: now + afterMs });
    }
  }

  /** The endpoints respond: nearly always well. */
  async #called(calls: readonly CallRef[]): Promise<void> {
    const { store, ids } = this.#ctx;
    for (const { id } of calls) {
      const now = this.#clock.now();
      const lease = { owner: OWNER, leaseUntil: now + MINUTE_MS, nextAttemptAt: now + MINUTE_MS };
      const [call] = await store.beginCalls([{ id, ...lease }], now);
      if (call === undefined) continue;
      const isFailed = this.#random(40) === 0;
      const attempt = {
        id: ids.next(now),
        callId: call.id,
        endpointId: call.endpointId,
        eventType: call.eventType,
        messageId: call.messageId,
        attempt: call.attempts,
        statusCode: isFailed ? 503 : 200,
        ok: !isFailed,
        error: isFailed ? 'the endpoint responded 503' : null,
        durationMs: 40 + this.#random(200),
        createdAt: now,
      };
      const status = isFailed ? ('failed' as const) : ('done' as const);
      const response = isFailed ? 'Service Unavailable' : '{"ok":true}';
      await store.finishCall({
        call,
        attempt,
        status,
        nextAttemptAt: null,
        response,
        disableAfter: 100,
      });
    }
  }
}

/** The newest requests of the account. */
async function logged(
  ctx: Context,
  { account, domain }: Sending,
  random: (below: number) => number,
): Promise<void> {
  const now = ctx.clock.now();
  const records = Array.from({ length: 120 }, (_, at) => {
    const isRefused = random(12) === 0;
    const createdAt = now - (120 - at) * 7 * MINUTE_MS;
    return newLogRecord(account.id, {
      id: ctx.ids.next(createdAt),
      keyName: 'production',
      keyPermission: 'sending_access',
      status: isRefused ? 422 : 200,
      durationMs: 2 + random(9),
      userAgent: 'resend-node/6.38.0',
      ip: '203.0.113.20',
      requestBody: JSON.stringify({
        from: `hello@${domain.name}`,
        to: ['ann@receiver.example'],
        subject: 'Your order',
      }),
      responseBody: isRefused
        ? JSON.stringify({
            statusCode: 422,
            name: 'validation_error',
            message: 'to must not be empty.',
          })
        : JSON.stringify({ id: ctx.ids.next(createdAt) }),
      createdAt,
    });
  });
  await ctx.store.appendLogs(records);
}
