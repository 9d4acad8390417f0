/**
 * Whether mail may leave over IPv6: the machine has an IPv6 address, and its reverse DNS is right.
 *
 * Promises a cautious answer: large receivers refuse IPv6 senders without matching reverse DNS outright, so
 * "not known" means no, and IPv4 is used. Sends no packet to anyone but the resolver.
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { isSameAddress } from '../addresses/networks.ts';
import type { Resolver } from './resolver.ts';

export type Ipv6State =
  | { isUsable: true; address: string; name: string }
  | { isUsable: false; address: string | null; reason: string };

/** A global unicast address to look up in the routing table: a root name server's. */
const FAR_AWAY = '2001:500:2::c';
const ANY_PORT = 53;
const KEEP_MS = 15 * 60_000;
/** When DNS could not answer. */
const RETRY_MS = 60_000;

/** Keeps the answer for a quarter of an hour; equal questions under way share one lookup. */
export class Ipv6Check {
  readonly #resolver: Pick<Resolver, 'ptr' | 'aaaa'>;
  readonly #clock: Clock;
  readonly #sources: readonly string[];
  #state: Ipv6State | null = null;
  #askAgainAt = 0;
  #asking: Promise<Ipv6State> | null = null;

  /** `sourceAddresses` as configured: with any, only IPv6 ones among them count. */
  constructor(
    resolver: Pick<Resolver, 'ptr' | 'aaaa'>,
    clock: Clock,
    sourceAddresses: readonly string[],
  ) {
    this.#resolver = resolver;
    this.#clock = clock;
    this.#sources = sourceAddresses;
  }

  /** Never throws. */
  async state(): Promise<Ipv6State> {
    if (this.#state !== null && this.#clock.steady() < this.#askAgainAt) return this.#state;
    this.#asking ??= this.#check().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #check(): Promise<Ipv6State> {
    const address = await this.#source();
    let keepMs = KEEP_MS;
    let state: Ipv6State;
    if (address === null) {
      state = { isUsable: false, address, reason: 'this machine has no IPv6 to send from' };
    } else {
      const confirmed = await confirmReverse(this.#resolver, address);
      if (confirmed.kind === 'failed') keepMs = RETRY_MS;
      state =
        confirmed.kind === 'confirmed'
          ? { isUsable: true, address, name: confirmed.name }
          : { isUsable: false, address, reason: confirmed.reason };
    }
    this.#state = state;
    this.#askAgainAt = this.#clock.steady() + keepMs;
    return state;
  }

  async #source(): Promise<string | null> {
    if (this.#sources.length > 0) return this.#sources.find((ip) => isIPv6(ip)) ?? null;
    return routedSource(FAR_AWAY);
  }
}

export type ReverseResult =
  | { kind: 'confirmed'; name: string }
  | { kind: 'wrong'; reason: string }
  | { kind: 'failed'; reason: string };

/** Whether the IPv6 `address` has a reverse name that leads back to it (forward-confirmed reverse DNS). */
export async function confirmReverse(
  resolver: Pick<Resolver, 'ptr' | 'aaaa'>,
  address: string,
): Promise<ReverseResult> {
  const names = await resolver.ptr(address);
  if (names.kind === 'failed') return { kind: 'failed', reason: names.reason };
  if (names.kind !== 'found') return { kind: 'wrong', reason: `${address} has no reverse DNS` };
  let failure: string | null = null;
  for (const name of names.records) {
    const forward = await resolver.aaaa(name);
    if (forward.kind === 'failed') failure = forward.reason;
    if (forward.kind === 'found' && forward.records.some((ip) => isSameAddress(ip, address))) {
      return { kind: 'confirmed', name };
    }
  }
  if (failure !== null) return { kind: 'failed', reason: failure };
  const said = names.records.join(', ');
  return { kind: 'wrong', reason: `${said}, the reverse name of ${address}, does not lead back` };
}

/** The local address the system would use towards `far`; null without a route. Connecting UDP sends nothing. */
function routedSource(far: string): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket('udp6');
    const end = (address: string | null): void => {
      socket.close();
      resolve(address);
    };
    socket.once('error', () => end(null));
    socket.connect(ANY_PORT, far, () => {
      const { address } = socket.address();
      // Only 2000::/3 is routed on the internet (RFC 4291 section 2.4).
      end(/^[23]/.test(address) ? address : null);
    });
  });
}
