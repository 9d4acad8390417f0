/**
 * Whether the appliance may dial an address that somebody else's DNS or URL leads to.
 *
 * The story of this folder. Mail hosts, webhook endpoints and attachment links are chosen by others, who could name
 * this machine or its network. Whoever dials asks a guard about each address first: `networks.ts` reads addresses and
 * CIDR blocks in one spelling, `public-address.ts` knows the ranges that are not public, and the operator's config
 * allows exceptions. `address-unit.ts` groups the addresses of peers for limits. Pure but for the list of this
 * machine's own addresses.
 *
 * Promises that only public addresses are allowed, never one of this machine, except in the networks that the
 * operator admits. Reads the machine's own addresses anew every few seconds. Never resolves a name: ask about the
 * very address that is about to be dialled. Anything that is not an IP address is refused.
 */
import { networkInterfaces } from 'node:os';
import { type Networks, parseNetworks } from './networks.ts';
import { isPublicAddress } from './public-address.ts';

/** How long the list of the machine's own addresses is believed, in milliseconds. */
const OWN_ADDRESSES_MAX_AGE_MS = 5_000;

export class AddressGuard {
  readonly #admitted: Networks;
  #own: { readAt: number; networks: Networks } | null = null;

  /** `admitted`: networks that the operator allows in addition to the public internet. */
  constructor(admitted: Networks) {
    this.#admitted = admitted;
  }

  /** Whether `ip` may be dialled: admitted by the operator, or public and not the machine's own. */
  allows(ip: string): boolean {
    return this.#admitted.has(ip) || (isPublicAddress(ip) && !this.isOwn(ip));
  }

  /** Whether `ip` belongs to an interface of this machine. */
  isOwn(ip: string): boolean {
    const now = performance.now();
    if (this.#own === null || now - this.#own.readAt > OWN_ADDRESSES_MAX_AGE_MS) {
      this.#own = { readAt: now, networks: readOwnAddresses() };
    }
    return this.#own.networks.has(ip);
  }
}

function readOwnAddresses(): Networks {
  return parseNetworks(
    Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .map((entry) => entry.address.replace(/%.*$/, '')),
  );
}
