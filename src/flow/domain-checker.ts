/**
 * Looks at the DNS of every domain by itself, as often as its state asks for.
 *
 * Promises that a resolver that fails changes no domain's status, and that one domain's fault does not
 * stop the others. `stop` returns when the look under way has ended.
 */
import type { Domain } from '../store/rows.ts';
import type { DomainCheck } from '../store/store.ts';
import type { Context } from './context.ts';
import { lookAt } from './domain-check.ts';
import { forgetDomains } from './domain-lookup.ts';
import { afterCheck } from './domain-state.ts';

/** How often due domains are looked for, and how many are asked at once. */
const EVERY_MS = 30_000;
const AT_ONCE = 8;
const PUT_OFF_MS = 3_600_000;

export class DomainChecker {
  readonly #ctx: Context;
  #cancel: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopped = true;

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** Starts looking; the first look is due at once. */
  start(): void {
    this.#isStopped = false;
    this.#arm(this.#ctx.clock.now());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #arm(atMs: number): void {
    this.#cancel = this.#ctx.clock.at(atMs, () => {
      this.#running = this.#round().finally(() => {
        if (!this.#isStopped) this.#arm(this.#ctx.clock.now() + EVERY_MS);
      });
    });
  }

  async #round(): Promise<void> {
    const { store, clock, log } = this.#ctx;
    try {
      for (;;) {
        const due = await store.domainsDue(clock.now(), AT_ONCE);
        await Promise.all(due.map((domain) => this.#check(domain)));
        if (due.length < AT_ONCE || this.#isStopped) return;
      }
    } catch (error) {
      log.error('domain checks failed', {
        error,
        hint: 'The next round is tried in half a minute; look at the disk and the database.',
      });
    }
  }

  /** Checks and stores. A domain that can not be checked is put off, so that it never crowds out others. */
  async #check(domain: Domain): Promise<void> {
    const { store, clock, log } = this.#ctx;
    const check = await this.#look(domain);
    await store.finishDomainCheck(check ?? putOff(domain, clock.now()));
    forgetDomains(this.#ctx);
    if (check !== null && check.status !== domain.status) {
      log.info('domain status', { domain: domain.name, status: check.status });
    }
  }

  async #look(domain: Domain): Promise<DomainCheck | null> {
    const { clock, log } = this.#ctx;
    try {
      return afterCheck(domain, await lookAt(this.#ctx, domain), clock.now(), false);
    } catch (error) {
      log.error('domain check failed', {
        domain: domain.name,
        error,
        hint: 'If the stored key can not be opened, the secret key file is not the one it was sealed with.',
      });
      return null;
    }
  }
}

function putOff(domain: Domain, now: number): DomainCheck {
  const { id, status, recordStates, verifiedAt, failingSince, pendingSince } = domain;
  const nextCheckAt = now + PUT_OFF_MS;
  return { id, now, status, recordStates, verifiedAt, nextCheckAt, failingSince, pendingSince };
}
