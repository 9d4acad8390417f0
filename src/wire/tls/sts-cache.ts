/**
 * MTA-STS policies that are kept, within a number and a number of bytes.
 *
 * Promises that both bounds hold after every change, whatever policies say and however many domains have one; and an
 * order of eviction that keeps what protects longest: first policies that are not enforced, then long ones that are
 * (anyone can publish such), then the others, of each kind the one that was asked for least lately. Knows no time: the
 * caller asks whether what it gets has expired. Cannot fail.
 */
import type { StsPolicy } from './mta-sts-policy.ts';

export interface KeptPolicy {
  id: string;
  policy: StsPolicy;
  /** Epoch milliseconds. */
  fetchedAt: number;
}

export interface StsCacheLimits {
  policies: number;
  bytes: number;
}

/** Real policies are below 1 KiB (RFC 8461 section 3.2 shows some 100 bytes). */
const LONG_BYTES = 1_024;
/** What an entry costs beside its texts. */
const ENTRY_BYTES = 200;

/** In the order in which they are evicted. */
const RANKS = ['unenforced', 'long', 'enforced'] as const;
type Rank = (typeof RANKS)[number];

export class StsCache {
  readonly #limits: StsCacheLimits;
  /** By domain, the one asked for least lately first. */
  readonly #ranks: Record<Rank, Map<string, KeptPolicy>> = {
    unenforced: new Map(),
    long: new Map(),
    enforced: new Map(),
  };
  #bytes = 0;

  constructor(limits: StsCacheLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return RANKS.reduce((sum, rank) => sum + this.#ranks[rank].size, 0);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The policy of `domain`, which counts as asked for now; null when there is none. */
  get(domain: string): KeptPolicy | null {
    for (const rank of RANKS) {
      const of = this.#ranks[rank];
      const kept = of.get(domain);
      if (kept === undefined) continue;
      of.delete(domain);
      of.set(domain, kept);
      return kept;
    }
    return null;
  }

  /** Keeps it, and evicts what does not fit any more; that may be this one. */
  set(domain: string, kept: KeptPolicy): void {
    this.delete(domain);
    this.#ranks[rankOf(domain, kept)].set(domain, kept);
    this.#bytes += bytesOf(domain, kept);
    for (const rank of RANKS) {
      for (const oldest of this.#ranks[rank].keys()) {
        if (this.#bytes <= this.#limits.bytes && this.size <= this.#limits.policies) return;
        this.delete(oldest);
      }
    }
  }

  delete(domain: string): void {
    for (const rank of RANKS) {
      const kept = this.#ranks[rank].get(domain);
      if (kept === undefined) continue;
      this.#ranks[rank].delete(domain);
      this.#bytes -= bytesOf(domain, kept);
    }
  }

  /** Those that are enforced, in an order in which they may be set again. */
  enforced(): [domain: string, kept: KeptPolicy][] {
    return [...this.#ranks.long, ...this.#ranks.enforced];
  }
}

function rankOf(domain: string, kept: KeptPolicy): Rank {
  if (kept.policy.mode !== 'enforce') return 'unenforced';
  return bytesOf(domain, kept) > LONG_BYTES ? 'long' : 'enforced';
}

function bytesOf(domain: string, { id, policy }: KeptPolicy): number {
  const texts = policy.mxPatterns.reduce((sum, pattern) => sum + pattern.length + 8, 0);
  return ENTRY_BYTES + domain.length + id.length + texts;
}
