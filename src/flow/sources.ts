/**
 * Which local address mail leaves from.
 *
 * Promises one of the configured addresses of the right family, the same one for the same place, so that
 * a receiver sees a steady sender; and IPv6 only from an address whose reverse DNS name leads back to
 * it, because large receivers refuse any other. Looks again after an hour.
 */
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Resolver } from '../wire/resolver.ts';
import { isPublicAddress } from '../wire/public-address.ts';

const RECHECK_MS = 60 * 60_000;

export interface SourcesOptions {
  clock: Clock;
  resolver: Resolver;
  /** From the config; empty: the system's choice. */
  addresses: readonly string[];
  /** The machine's addresses; a seam for tests. */
  ownAddresses?: () => string[];
}

/** `from` null: the system's choice. `unusable`: the address is of a family that can not be used. */
export type Source = { kind: 'usable'; from: string | null } | { kind: 'unusable'; reason: string };

export class Sources {
  readonly #options: SourcesOptions;
  readonly #v4: string[];
  #v6: string[] = [];
  #v6Reason = 'IPv6 was not checked yet';
  #checkedAt = -Infinity;
  #checking: Promise<void> | null = null;

  constructor(options: SourcesOptions) {
    this.#options = options;
    this.#v4 = options.addresses.filter((address) => !isIPv6(address));
  }

  /** Looks at the machine's IPv6 addresses and their names, at most once an hour. Never throws. */
  async refresh(): Promise<void> {
    const now = this.#options.clock.now();
    if (now - this.#checkedAt < RECHECK_MS && now >= this.#checkedAt) return;
    this.#checking ??= this.#check().finally(() => (this.#checking = null));
    await this.#checking;
  }

  /** The source for `target` (an IP address); `key` names the place it belongs to. */
  sourceFor(target: string, key: string): Source {
    if (!isIPv6(target)) {
      const { addresses } = this.#options;
      if (addresses.length > 0 && this.#v4.length === 0) {
        return { kind: 'unusable', reason: 'no IPv4 address is configured to send from' };
      }
      return { kind: 'usable', from: pick(this.#v4, key) };
    }
    // Tests and on-premises hosts on the machine itself: no receiver looks at names there.
    if (target === '::1') return { kind: 'usable', from: null };
    const from = pick(this.#v6, key);
    return from === null ? { kind: 'unusable', reason: this.#v6Reason } : { kind: 'usable', from };
  }

  async #check(): Promise<void> {
    const { addresses, clock, ownAddresses = publicIpv6 } = this.#options;
    const configured = addresses.filter((address) => isIPv6(address));
    const candidates = addresses.length > 0 ? configured : ownAddresses();
    const good: string[] = [];
    let reason = 'the machine has no public IPv6 address';
    for (const address of candidates) {
      const problem = await this.#reverseProblem(address);
      if (problem === null) good.push(address);
      else reason = problem;
    }
    this.#v6 = good;
    this.#v6Reason = reason;
    this.#checkedAt = clock.now();
  }

  /** Why the reverse DNS of `address` is not right (RFC 1912 section 2.1); null when it is. */
  async #reverseProblem(address: string): Promise<string | null> {
    const { resolver } = this.#options;
    const names = await resolver.ptr(address);
    if (names.kind !== 'found') return `${address} has no reverse DNS name`;
    for (const name of names.records) {
      const back = await resolver.aaaa(name);
      if (back.kind !== 'found') continue;
      if (back.records.some((record) => canonical(record) === canonical(address))) return null;
    }
    return `the reverse DNS name of ${address} does not lead back to it`;
  }
}

function publicIpv6(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((entry) => entry.family === 'IPv6' && isPublicAddress(entry.address))
    .map((entry) => entry.address);
}

/** The one spelling of RFC 5952, as URLs have it. */
function canonical(address: string): string {
  return new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname;
}

function pick(list: readonly string[], key: string): string | null {
  if (list.length < 2) return list[0] ?? null;
  let hash = 0;
  for (let place = 0; place < key.length; place += 1) {
    hash = (hash * 31 + key.charCodeAt(place)) >>> 0;
  }
  return list[hash % list.length] ?? null;
}
