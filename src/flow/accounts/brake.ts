/**
 * The brake: an account is paused when too much of its mail bounces or is marked as spam, before receivers
 * slow down or refuse the mail of every account of this appliance.
 *
 * Looks at the last day and the last week of each active account. Promises to count only what happened
 * since the last pause, so that an account the operator resumed is not paused again for old harm. The
 * reason is shown with the account, in every refusal and in the log. The limits are the config's; their defaults are
 * where Amazon SES pauses an account ("Reputation metrics", SES developer guide: about 10 % bounces, 0.5 %
 * complaints), and Gmail asks bulk senders to stay below 0.3 % complaints.
 */
import type { Job } from '../../base/periodic.ts';
import type { Account } from '../../store/rows.ts';
import { setAccountStatus } from './accounts.ts';
import { BrakeWindow, DAY_MS, WEEK_DAYS, sentOver } from './brake-window.ts';
import type { Context } from '../context.ts';
import { dayOf } from './usage.ts';

const EVERY_MS = 60_000;
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
}

export class Brake implements Job {
  readonly firstMs = EVERY_MS;
  readonly failure = {
    event: 'brake_failed',
    hint: 'Bounce and complaint rates are not watched now; it is tried again in a minute.',
  };
  readonly #ctx: BrakeContext;
  readonly #windows = new Map<string, BrakeWindow>();

  constructor(ctx: BrakeContext) {
    this.#ctx = ctx;
  }

  everyMs(): number {
    return EVERY_MS;
  }

  /** Looks at every active account once. */
  async run(): Promise<void> {
    for (const account of await this.#ctx.store.accounts()) {
      if (account.status === 'active') await this.#checkAccount(account);
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
    const { bouncesPer1000, complaintsPer1000 } = this.#ctx.config.live.brake;
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
    log.error('account_braked', {
      account: account.name,
      reason,
      hint: 'Ask its owner where the addresses come from, then run: postrider account resume',
    });
  }

  async #lastPause(accountId: string): Promise<LastPause | null> {
    const text = await this.#ctx.store.setting(settingOf(accountId));
    return text === null ? null : parsePause(text);
  }
}

/** Null for what no brake has written: every bounce then counts. */
function parsePause(text: string): LastPause | null {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) return null;
  if (!('at' in value && 'sentThatDay' in value)) return null;
  const { at, sentThatDay } = value;
  return typeof at === 'number' && typeof sentThatDay === 'number' ? { at, sentThatDay } : null;
}

function settingOf(accountId: string): string {
  return `brake:${accountId}`;
}
