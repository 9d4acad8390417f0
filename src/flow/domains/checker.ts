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
/** How often all accounts are looked at, while some have more domains due than that. */
const WALK_EVERY_MS = 1_000;
/** A domain that cannot be checked is tried again after this. */
const PUT_OFF_MS = 3_600_000;

type CheckerContext = Pick<
  Context,
  'config' | 'store' | 'clock' | 'log' | 'resolver' | 'secrets' | 'senderDomains' | 'emulation'
>;

/** What one round over some accounts has found. */
interface Round {
  /** Accounts that may have more domains due. */
  busy: string[];
  count: number;
}

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
    const { clock } = this.#ctx;
    let busy: readonly string[] = [];
    let walkedAt = -Infinity;
    while (!signal.aborted) {
      // A walk over all accounts costs more than a few checks: in between, those that have more are asked alone.
      const isWalk = busy.length === 0 || clock.steady() - walkedAt >= WALK_EVERY_MS;
      if (isWalk) walkedAt = clock.steady();
      const round: Round = { busy: [], count: 0 };
      await this.#checkAll(this.#due(isWalk ? this.#accounts() : [busy], round, signal));
      if (isWalk && round.count === 0) return;
      busy = round.busy;
    }
  }

  async #checkAll(due: AsyncGenerator<Domain>): Promise<void> {
    const checkSome = async () => {
      for await (const domain of due) await this.#check(domain);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, checkSome));
  }

  /** Accounts with a domain whose check is due, part by part. */
  async *#accounts(): AsyncGenerator<readonly string[]> {
    const { store, clock } = this.#ctx;
    let after: string | null = null;
    do {
      const { accountIds, last } = await store.accountsToCheck(clock.steady(), after);
      yield accountIds;
      after = last;
      if (after !== null) await nextTick();
    } while (after !== null);
  }

  /** Of each of the accounts those domains that are due longest; notes which accounts may have more. */
  async *#due(
    parts: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
    round: Round,
    signal: AbortSignal,
  ): AsyncGenerator<Domain> {
    const { store, clock } = this.#ctx;
    for await (const accountIds of parts) {
      for (const accountId of accountIds) {
        const ids = await store.domainsDue(accountId, clock.steady(), OF_ONE);
        if (ids.length === OF_ONE) round.busy.push(accountId);
        for (const id of ids) {
          if (signal.aborted) return;
          // It may have been verified or removed while others were checked.
          const domain = await store.domain(accountId, id);
          if (!isDue(domain, clock)) continue;
          round.count += 1;
          yield domain;
        }
      }
      if (signal.aborted) return;
    }
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
