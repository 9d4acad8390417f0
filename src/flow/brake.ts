/**
 * The brake: an account whose mail bounces or is complained about too much is paused, before receivers
 * take it out on everybody who sends from this appliance.
 *
 * Looks at the last day and the last week of each active account. Promises to count only what happened
 * since the last pause, so that an account the operator resumed is not paused again for old harm. The
 * reason stands in the account, in every refusal and in the log.
 */
import type { Account } from '../store/rows.ts';
import { setAccountStatus } from './accounts.ts';
import { BrakeWindow, DAY_MS, WEEK_DAYS, sentOver } from './brake-window.ts';
import type { Context } from './context.ts';
import { dayOf } from './usage.ts';

const EVERY_MS = 60_000;
/**
 * Amazon SES pauses an account at about 10 % bounces and 0.5 % complaints ("Reputation metrics", SES
 * developer guide); Gmail asks bulk senders to stay below 0.3 % complaints.
 */
const DEFAULTS = { bouncesPer1000: 100, complaintsPer1000: 5 };
/** Below this much mail, and this much harm, a rate says nothing. Figures of our own. */
const MIN_SENT = 200;
const MIN_BOUNCES = 20;
const MIN_COMPLAINTS = 5;

/** What was true when the brake last paused an account; only later things count. */
interface LastPause {
  at: number;
  /** Sent on that UTC day until then. */
  sentThatDay: number;
}

export class Brake {
  readonly #ctx: Context;
  readonly #windows = new Map<string, BrakeWindow>();
  #cancel: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = true;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  start(): void {
    this.#isStopped = false;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  #arm(): void {
    const { clock } = this.#ctx;
    this.#cancel = clock.at(clock.now() + EVERY_MS, () => {
      this.#running = this.check().finally(() => {
        if (!this.#isStopped) this.#arm();
      });
    });
  }

  /** Looks at every active account once. Never rejects. */
  async check(): Promise<void> {
    const { store, log } = this.#ctx;
    try {
      for (const account of await store.accounts()) {
        if (account.status === 'active') await this.#checkAccount(account);
      }
    } catch (error) {
      log.error('brake failed', { error, hint: 'Bounce and complaint rates are not watched now.' });
    }
  }

  async #checkAccount(account: Account): Promise<void> {
    let window = this.#windows.get(account.id);
    if (window === undefined) {
      window = new BrakeWindow(account.id);
      this.#windows.set(account.id, window);
    }
    // Without a new bounce or complaint no rate can have risen.
    if (!(await window.look(this.#ctx))) return;
    const pause = await this.#lastPause(account.id);
    for (const days of [2, WEEK_DAYS]) {
      const reason = await this.#reasonFor(account, window, days, pause);
      if (reason !== null) return this.#pause(account, reason);
    }
  }

  /** `days`: of 2, the present UTC day and the one before it, which is at least the last 24 hours. */
  async #reasonFor(
    account: Account,
    window: BrakeWindow,
    days: number,
    pause: LastPause | null,
  ): Promise<string | null> {
    const now = this.#ctx.clock.now();
    const windowStart = Math.floor(now / DAY_MS - (days - 1)) * DAY_MS;
    const since = pause === null ? windowStart : Math.max(windowStart, pause.at + 1);
    const sinceDays = Math.floor(now / DAY_MS) - Math.floor(since / DAY_MS) + 1;
    const isPauseDay = pause !== null && pause.at >= windowStart;
    const all = await sentOver(this.#ctx, account.id, now, sinceDays);
    const sent = all - (isPauseDay ? pause.sentThatDay : 0);
    if (sent < MIN_SENT) return null;
    const { bouncesPer1000, complaintsPer1000 } = this.#ctx.config.brake ?? DEFAULTS;
    const rows = [
      ['bounced', window.count('hard_bounce', since), bouncesPer1000, MIN_BOUNCES],
      [
        'were complained about',
        window.count('complaint', since),
        complaintsPer1000,
        MIN_COMPLAINTS,
      ],
    ] as const;
    for (const [what, count, per1000, least] of rows) {
      if (per1000 === 0 || count < least || count * 1_000 < per1000 * sent) continue;
      const share = ((count / sent) * 100).toFixed(1);
      return `${count} of ${sent} emails since ${dayOf(since)} ${what} (${share} %; the limit is ${per1000 / 10} %).`;
    }
    return null;
  }

  async #pause(account: Account, reason: string): Promise<void> {
    const { store, clock, log } = this.#ctx;
    const at = clock.now();
    const pause: LastPause = { at, sentThatDay: await store.usedOnDay(account.id, dayOf(at)) };
    await store.setSetting(settingOf(account.id), JSON.stringify(pause));
    await setAccountStatus(this.#ctx, account.id, 'paused', reason);
    log.error('account paused by the brake', {
      account: account.name,
      reason,
      hint: 'See with its owner where the addresses come from, then: postrider account resume',
    });
  }

  async #lastPause(accountId: string): Promise<LastPause | null> {
    const text = await this.#ctx.store.setting(settingOf(accountId));
    return text === null ? null : (JSON.parse(text) as LastPause);
  }
}

function settingOf(accountId: string): string {
  return `brake:${accountId}`;
}
