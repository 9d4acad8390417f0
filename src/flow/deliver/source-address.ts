/**
 * Which local address mail leaves from.
 *
 * Promises one of the configured addresses of the right family, the same one for the same site, so that a receiver
 * always sees the same sender; and IPv6 only from the address whose reverse DNS was found correct (wire/ipv6), because
 * large receivers refuse any other. Never throws.
 */
import { isIPv6 } from 'node:net';
import type { Ipv6State } from '../../wire/dns/ipv6.ts';

/** `from` null: the system's choice. `unusable`: the address is of a family that cannot be used. */
export type Source = { kind: 'usable'; from: string | null } | { kind: 'unusable'; reason: string };

export class Sources {
  readonly #v4: string[];
  readonly #isV4Usable: boolean;
  readonly #ipv6: { state(): Promise<Ipv6State> };

  /** `addresses` of the config; empty: the system's choice. */
  constructor(addresses: readonly string[], ipv6: { state(): Promise<Ipv6State> }) {
    this.#v4 = addresses.filter((address) => !isIPv6(address));
    this.#isV4Usable = addresses.length === 0 || this.#v4.length > 0;
    this.#ipv6 = ipv6;
  }

  /** The source for `target` (an IP address); `key` is that of its site. */
  async sourceFor(target: string, key: string): Promise<Source> {
    if (!isIPv6(target)) {
      return this.#isV4Usable
        ? { kind: 'usable', from: pick(this.#v4, key) }
        : { kind: 'unusable', reason: 'no IPv4 address is configured to send from' };
    }
    // A host on this machine: no receiver checks reverse DNS there.
    if (target === '::1') return { kind: 'usable', from: null };
    const state = await this.#ipv6.state();
    return state.isUsable
      ? { kind: 'usable', from: state.address }
      : { kind: 'unusable', reason: state.reason };
  }
}

function pick(list: readonly string[], key: string): string | null {
  if (list.length < 2) return list[0] ?? null;
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) {
    hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  }
  return list[hash % list.length] ?? null;
}
