/**
 * Looks up the sites of destinations, a bounded number at once.
 *
 * Promises that accounts are served one after the other, and that one whose domains' name servers do not answer, however
 * many they are, leaves look-ups to the others. A look-up that fails becomes the outcome of the attempt. Never throws.
 */
import type { SiteResult, Sites } from '../deliver/site.ts';
import { outcomeWithoutSession } from '../outcome/kinds.ts';
import { FairShare } from '../pacing/fair-share.ts';
import { Rotation } from './rotation.ts';
import type { Destination } from './waiting.ts';

/** Look-ups at once. */
const LOOKUPS_MAX = 100;

export interface SiteLookupsOptions {
  sites: Pick<Sites, 'find'>;
  /** Called with the site of a destination, in whatever order they are found. */
  found: (destination: Destination, found: SiteResult) => void;
}

export class SiteLookups {
  readonly #options: SiteLookupsOptions;
  readonly #toFind = new Rotation();
  readonly #shares = new FairShare();
  #finding = 0;

  constructor(options: SiteLookupsOptions) {
    this.#options = options;
  }

  /** Finds the destination's site, after those before it. Not before `found` was called for it again. */
  add(destination: Destination): void {
    this.#toFind.push(destination);
    this.#next();
  }

  #next(): void {
    for (;;) {
      const free = LOOKUPS_MAX - this.#finding;
      if (free <= 0) return;
      const destination = this.#toFind.shift((accountId) =>
        this.#shares.leavesEnough(this.#shares.of(accountId), free),
      );
      if (destination === null) return;
      this.#finding += 1;
      this.#shares.take(destination.accountId);
      void this.#find(destination);
    }
  }

  async #find(destination: Destination): Promise<void> {
    let found: SiteResult;
    try {
      found = await this.#options.sites.find(destination.domain);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      found = { kind: 'none', outcome: outcomeWithoutSession('unreached', 'dns', cause) };
    }
    this.#finding -= 1;
    this.#shares.giveBack(destination.accountId);
    this.#options.found(destination, found);
    this.#next();
  }
}
