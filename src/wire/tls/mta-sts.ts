/**
 * MTA-STS policies (RFC 8461): announced in DNS, fetched over HTTPS, kept for as long as they say.
 *
 * Promises that a kept policy outlives failures of DNS and of its web server until it expires (section 5.1),
 * which is what protects against someone who suppresses them. The certificate of the policy host is
 * verified against the public CAs by the guarded client. What is kept is bounded (`sts-cache.ts`); policies that are
 * enforced survive a restart where the caller gives a `memory` for them.
 */
import type { Clock } from '../../base/clock.ts';
import type { GuardedAgent } from '../https/guarded-agent.ts';
import { guardedGet } from '../https/post.ts';
import { isStsPolicy, parseStsPolicy, readStsRecord } from './mta-sts-policy.ts';
import type { StsPolicy } from './mta-sts-policy.ts';
import type { Resolver } from '../dns/resolver.ts';
import { StsCache } from './sts-cache.ts';
import type { KeptPolicy } from './sts-cache.ts';

/** Keeps one text over a restart. A rejection does no harm: what is missing is fetched anew. */
export interface PolicyMemory {
  /** Whether other nodes write it, too: then what they have found is kept here, and none writes over another's. */
  isShared?: boolean;
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
}

export interface MtaStsOptions {
  resolver: Pick<Resolver, 'txt'>;
  clock: Clock;
  /** Connects to public addresses only; without redirects (section 3.3). */
  agent: GuardedAgent;
  /** Port of the policy hosts, for tests; section 3.3 knows only 443. */
  policyPort?: number;
  memory?: PolicyMemory;
}

/** Section 3.3 suggests a minute; delivery waits for this. */
const FETCH_TIMEOUT_MS = 30_000;
/** Section 3.3: senders should bound the file; real ones are below 1 KiB. */
const MAX_POLICY_BYTES = 65_536;
/** For this long after a failed fetch the same id is not tried again (section 3.3: "a suitable back-off"). */
const RETRY_MS = 5 * 60_000;
/** Kept policies are refreshed this often, so that `max_age` starts anew (section 5.1). */
const REFRESH_MS = 24 * 60 * 60_000;
const KEPT = { policies: 10_000, bytes: 4 * 1024 * 1024 };
const MAX_FAILURES = 10_000;
/** A text of at least this length is written at most once in `SAVE_PAUSE_MS`. */
const LONG_TEXT = 32_768;
const SAVE_PAUSE_MS = 60_000;

export class MtaSts {
  readonly #options: MtaStsOptions;
  readonly #kept = new StsCache(KEPT);
  readonly #pending = new Map<string, Promise<StsPolicy | null>>();
  /** When the fetch for `<domain> <id>` failed last. */
  readonly #failedAt = new Map<string, number>();
  #recalled: Promise<void> | null = null;
  #isSaving = false;
  #hasChanged = false;

  constructor(options: MtaStsOptions) {
    this.#options = options;
  }

  /** The policy for mail to `domain` (lower-case A-labels), or null. Never throws. */
  policyFor(domain: string): Promise<StsPolicy | null> {
    let finding = this.#pending.get(domain);
    if (finding === undefined) {
      finding = this.#find(domain).finally(() => this.#pending.delete(domain));
      this.#pending.set(domain, finding);
    }
    return finding;
  }

  async #find(domain: string): Promise<StsPolicy | null> {
    await (this.#recalled ??= this.#recall());
    const kept = this.#unexpired(domain);
    const answer = await this.#options.resolver.txt(`_mta-sts.${domain}`);
    const id = answer.kind === 'found' ? readStsRecord(answer.records) : null;
    const now = this.#options.clock.steady();
    if (id === null) return kept?.policy ?? null;
    if (kept?.id === id && now - kept.fetchedAt < REFRESH_MS) return kept.policy;
    const key = `${domain} ${id}`;
    const failedAt = this.#failedAt.get(key);
    if (failedAt !== undefined && Math.abs(now - failedAt) < RETRY_MS) return kept?.policy ?? null;
    const policy = await this.#fetch(domain);
    if (policy === null) {
      this.#noteFailure(key, now);
      return kept?.policy ?? null;
    }
    this.#failedAt.delete(key);
    this.#kept.set(domain, { id, policy, fetchedAt: now });
    if (policy.mode === 'enforce' || kept?.policy.mode === 'enforce') void this.#save();
    return policy;
  }

  async #recall(): Promise<void> {
    try {
      const text = (await this.#options.memory?.read()) ?? '[]';
      for (const [domain, kept] of readKept(JSON.parse(text))) {
        const known = this.#kept.get(domain);
        if (known === null || known.fetchedAt < kept.fetchedAt) this.#kept.set(domain, kept);
      }
    } catch {
      // Only the protection against someone who suppresses a policy is lost, until it is fetched again.
    }
  }

  /** One write at a time; a change that comes meanwhile goes into the next one. */
  async #save(): Promise<void> {
    this.#hasChanged = true;
    if (this.#isSaving) return;
    this.#isSaving = true;
    while (this.#hasChanged) {
      this.#hasChanged = false;
      if (this.#options.memory?.isShared === true) await this.#recall();
      const text = JSON.stringify(this.#kept.enforced());
      await this.#options.memory?.write(text).catch(() => undefined);
      // What is not written yet when the process ends is fetched anew.
      if (text.length >= LONG_TEXT) {
        await new Promise<void>((over) => this.#options.clock.after(SAVE_PAUSE_MS, over));
      }
    }
    this.#isSaving = false;
  }

  /** Drops the oldest beyond the limit. */
  #noteFailure(key: string, now: number): void {
    this.#failedAt.delete(key);
    this.#failedAt.set(key, now);
    const oldest = this.#failedAt.keys().next();
    if (this.#failedAt.size > MAX_FAILURES && oldest.done !== true) {
      this.#failedAt.delete(oldest.value);
    }
  }

  #unexpired(domain: string): KeptPolicy | null {
    const kept = this.#kept.get(domain);
    if (kept === null) return null;
    const ageMs = this.#options.clock.steady() - kept.fetchedAt;
    if (ageMs < kept.policy.maxAgeSeconds * 1000) return kept;
    this.#kept.delete(domain);
    return null;
  }

  async #fetch(domain: string): Promise<StsPolicy | null> {
    const { policyPort = 443 } = this.#options;
    const result = await guardedGet({
      url: `https://mta-sts.${domain}:${policyPort}/.well-known/mta-sts.txt`,
      headers: { accept: 'text/plain' },
      agent: this.#options.agent,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxResponseBytes: MAX_POLICY_BYTES,
    });
    // Section 3.3: 200 only, and redirects are never followed.
    if (result.kind !== 'responded' || result.statusCode !== 200) return null;
    if (result.contentType !== 'text/plain') return null;
    return parseStsPolicy(result.body.toString('utf8'));
  }
}

/** The entries that `#save` writes; anything else is left out. */
function readKept(value: unknown): [string, KeptPolicy][] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (entry): entry is [string, KeptPolicy] =>
      Array.isArray(entry) && typeof entry[0] === 'string' && isKept(entry[1]),
  );
}

function isKept(value: unknown): value is KeptPolicy {
  if (typeof value !== 'object' || value === null) return false;
  if (!('id' in value && 'policy' in value && 'fetchedAt' in value)) return false;
  const { id, policy, fetchedAt } = value;
  return typeof id === 'string' && typeof fetchedAt === 'number' && isStsPolicy(policy);
}
