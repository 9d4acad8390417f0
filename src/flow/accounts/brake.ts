/**
 * The brake: an account is paused when too much of its mail bounces or is marked as spam, before receivers
 * slow down or refuse the mail of every account of this appliance.
 *
 * Looks at the last day and the last week of each active account, in counters that the store keeps: of hard bounces and
 * complaints those that suppressed an address because of a message of the account; imports, manual rows and the sandbox
 * are none. Promises to count only what happened since the last pause, so that an account which the operator resumed is
 * not paused again for old harm. The reason is shown with the account, in every refusal and in the log. The limits are
 * the config's; their defaults are where Amazon SES pauses an account ("Reputation metrics", SES developer guide: about
 * 10 % bounces, 0.5 % complaints), and Gmail asks bulk senders to stay below 0.3 % complaints.
 */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Job } from '../../base/periodic.ts';
import type { Harm } from '../../store/counters.ts';
import type { Account } from '../../store/rows.ts';
import { setAccountStatus } from './accounts.ts';
import type { Context } from '../context.ts';
import { dayOf } from './usage.ts';

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Longest window, in days. */
const WEEK_DAYS = 7;
/** With fewer emails, bounces or complaints than these, a rate means nothing. Figures of our own. */
const MIN_SENT = 200;
const MIN_BOUNCES = 20;
const MIN_COMPLAINTS = 5;

type BrakeContext = Pick<Context, 'config' | 'store' | 'clock' | 'log' | 'identities'>;

/** What was true when the brake last paused an account; only later things count. */
interface LastPause {
  at: number;
  /** Sent on that UTC day until then. */
  sentThatDay: number;
  /** Counted in that hour until then; null where an older release paused: nothing of that hour counts. */
  harmThatHour: Harm | null;
}

export class Brake implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure = {
    event: 'brake_failed',
    hint: 'Bounce and complaint rates are not watched now; it is tried again in a minute.',
  };
  readonly #ctx: BrakeContext;

  constructor(ctx: BrakeContext) {
    this.#ctx = ctx;
  }

  everyMs(): number {
    return EVERY_MS;
  }

  /** Looks once at every active account that has caused enough harm for a rate. */
  async run(): Promise<void> {
    const { store, clock } = this.#ctx;
    const least = { hardBounces: MIN_BOUNCES, complaints: MIN_COMPLAINTS };
    const harmed = await store.harmedAccounts(windowStart(clock.now(), WEEK_DAYS), least);
    for (const id of harmed) {
      const account = await store.account(id);
      if (account?.status === 'active') await this.#checkAccount(account);
    }
  }

  async #checkAccount(account: Account): Promise<void> {
    const pause = await this.#lastPause(account.id);
    for (const days of [2, WEEK_DAYS]) {
      const reason = await this.#reasonFor(account, days, pause);
      if (reason !== null) return this.#pause(account, reason);
    }
  }

  /** `days`: of 2, the present UTC day and the one before it, which is at least the last 24 hours. */
  async #reasonFor(
    account: Account,
    days: number,
    pause: LastPause | null,
  ): Promise<string | null> {
    const now = this.#ctx.clock.now();
    const start = windowStart(now, days);
    const isPaused = pause !== null && pause.at >= start;
    const since = isPaused ? pause.at + 1 : start;
    const sinceDays = Math.floor(now / DAY_MS) - Math.floor(since / DAY_MS) + 1;
    const all = await sentOver(this.#ctx, account.id, now, sinceDays);
    const sent = all - (isPaused ? pause.sentThatDay : 0);
    if (sent < MIN_SENT) return null;
    const { hardBounces, complaints } = await this.#harmSince(account.id, start, pause);
    const { bouncesPer1000, complaintsPer1000 } = this.#ctx.config.live.brake;
    const rows = [
      ['bounced', hardBounces, bouncesPer1000, MIN_BOUNCES],
      ['were complained about', complaints, complaintsPer1000, MIN_COMPLAINTS],
    ] as const;
    for (const [what, count, per1000, least] of rows) {
      if (per1000 === 0 || count < least || count * 1_000 < per1000 * sent) continue;
      const share = ((count / sent) * 100).toFixed(1);
      return `${count} of ${sent} emails since ${dayOf(since)} ${what} (${share} %; the limit is ${per1000 / 10} %).`;
    }
    return null;
  }

  /** Since the start of a window, or since the pause in it. The counters know hours. */
  async #harmSince(accountId: string, start: number, pause: LastPause | null): Promise<Harm> {
    const { store } = this.#ctx;
    if (pause === null || pause.at < start) return await store.harm(accountId, start);
    const { harmThatHour: before } = pause;
    if (before === null) return await store.harm(accountId, pause.at + HOUR_MS);
    const { hardBounces, complaints } = await store.harm(accountId, pause.at);
    return {
      hardBounces: hardBounces - before.hardBounces,
      complaints: complaints - before.complaints,
    };
  }

  async #pause(account: Account, reason: string): Promise<void> {
    const { store, clock, log } = this.#ctx;
    const at = clock.now();
    const pause: LastPause = {
      at,
      sentThatDay: await store.usedOnDay(account.id, dayOf(at)),
      harmThatHour: await store.harm(account.id, at),
    };
    await store.setSetting(brakeSetting(account.id), JSON.stringify(pause));
    await setAccountStatus(this.#ctx, account.id, 'paused', reason);
    log.error('account_braked', {
      account: account.name,
      reason,
      hint: 'Ask its owner where the addresses come from, then run: postrider account resume',
    });
  }

  async #lastPause(accountId: string): Promise<LastPause | null> {
    const text = await this.#ctx.store.setting(brakeSetting(accountId));
    return text === null ? null : parsePause(text);
  }
}

/** The start of the first of `days` UTC days, the present one among them. */
function windowStart(now: number, days: number): number {
  return Math.floor(now / DAY_MS - (days - 1)) * DAY_MS;
}

/** Live recipients accepted on the UTC day of `now` and the `days - 1` before it. */
async function sentOver(
  { store }: Pick<Context, 'store'>,
  accountId: string,
  now: number,
  days: number,
): Promise<number> {
  let sum = 0;
  for (let back = 0; back < days; back += 1) {
    sum += await store.usedOnDay(accountId, dayOf(now - back * DAY_MS));
  }
  return sum;
}

const PAUSE = Type.Object({
  at: Type.Number(),
  sentThatDay: Type.Number(),
  harmThatHour: Type.Optional(
    Type.Object({ hardBounces: Type.Number(), complaints: Type.Number() }),
  ),
});

/** Null for what no brake has written: every bounce then counts. */
function parsePause(text: string): LastPause | null {
  const value: unknown = JSON.parse(text);
  if (!Value.Check(PAUSE, value)) return null;
  return { ...value, harmThatHour: value.harmThatHour ?? null };
}

/** The name of the setting that remembers an account's last pause. */
export function brakeSetting(accountId: string): string {
  return `brake:${accountId}`;
}
