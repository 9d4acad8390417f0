/**
 * Checks the DNS of every domain without being asked, as often as its state requires.
 *
 * Promises that a resolver that fails changes no domain's status, that one domain's fault does not keep the others from
 * being checked, and that accounts are served round robin: however many domains of one are due, and however slowly their
 * name servers answer, those of another wait for a few of them.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { Job } from '../../base/periodic.ts';
import type { Domain } from '../../store/rows.ts';
import type { DomainCheck } from '../../store/domains.ts';
import type { Context } from '../context.ts';
import { checkDns } from './check.ts';
import { afterCheck } from './state.ts';

/** How often due domains are looked for, how many are checked at once, and how many of one account before another's. */
const EVERY_MS = 30_000;
const AT_ONCE = 8;
const OF_ONE = 4;
/** A domain that cannot be checked is tried again after this. */
const PUT_OFF_MS = 3_600_000;

type CheckerContext = Pick<
  Context,
  'config' | 'store' | 'clock' | 'log' | 'resolver' | 'secrets' | 'senderDomains' | 'emulation'
>;

export class DomainChecker implements Job {
  readonly firstMs = 0;
  readonly failure = {
    event: 'domain_checks_failed',
    hint: 'The next round is tried in half a minute; look at the disk and the database.',
  };
  readonly #ctx: CheckerContext;

  constructor(ctx: CheckerContext) {
    this.#ctx = ctx;
  }

  everyMs(): number {
    return EVERY_MS;
  }

  /** Checks every domain that is due, some at a time; ends after those under way when `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while ((await this.#round(signal)) > 0 && !signal.aborted);
  }

  /** Checks the domains of `#due`. Returns how many there were. */
  async #round(signal: AbortSignal): Promise<number> {
    const due = this.#due(signal);
    let count = 0;
    const checkSome = async () => {
      for await (const domain of due) {
        count += 1;
        await this.#check(domain);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, checkSome));
    return count;
  }

  /** Of each account that has domains due, those that are due longest. */
  async *#due(signal: AbortSignal): AsyncGenerator<Domain> {
    const { store, clock } = this.#ctx;
    let after: string | null = null;
    do {
      const { accountIds, last } = await store.accountsToCheck(clock.steady(), after);
      for (const accountId of accountIds) {
        for (const id of await store.domainsDue(accountId, clock.steady(), OF_ONE)) {
          if (signal.aborted) return;
          // It may have been verified or removed while others were checked.
          const domain = await store.domain(accountId, id);
          if (isDue(domain, clock)) yield domain;
        }
      }
      after = last;
      if (after !== null) await nextTick();
    } while (after !== null && !signal.aborted);
  }

  /** Checks and stores. A domain that cannot be checked is put off, so that it never crowds out others. */
  async #check(domain: Domain): Promise<void> {
    const { store, clock, log } = this.#ctx;
    const check = await this.#findings(domain);
    await store.finishDomainCheck(check ?? putOff(domain, clock));
    this.#ctx.senderDomains.forget();
    if (check !== null && check.status !== domain.status) {
      log.info('domain_status', { domain: domain.name, status: check.status });
    }
  }

  async #findings(domain: Domain): Promise<DomainCheck | null> {
    const { clock, log } = this.#ctx;
    try {
      return afterCheck(domain, await checkDns(this.#ctx, domain), clock, false);
    } catch (error) {
      log.error('domain_check_failed', {
        domain: domain.name,
        error,
        hint: 'If the stored key cannot be opened, the secret key file is not the one it was sealed with.',
      });
      return null;
    }
  }
}

function isDue(domain: Domain | null, clock: Clock): domain is Domain {
  const at = domain?.nextCheckAt ?? null;
  return at !== null && at <= clock.steady();
}

function putOff(domain: Domain, clock: Clock): DomainCheck {
  const { id, status, recordStates, verifiedAt, failingSince, pendingSince } = domain;
  const [now, nextCheckAt] = [clock.now(), clock.steady() + PUT_OFF_MS];
  return { id, now, status, recordStates, verifiedAt, nextCheckAt, failingSince, pendingSince };
}
