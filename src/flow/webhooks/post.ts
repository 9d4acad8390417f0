/**
 * One attempt of one call: the endpoint's secret, the signature, the post, and the words for its end.
 *
 * Promises a fresh timestamp on each attempt over the same id and bytes. The reason that is recorded, shown over the API
 * and logged is ours and repeats nothing of what the endpoint answered; the first words of its answer are kept beside
 * it for the dashboard alone (docs/decisions.md D256). While a rotation is fresh both secrets sign. Never throws: every end is a result.
 */
import type { Endpoint } from '../../store/rows.ts';
import { GuardedAgent } from '../../wire/https/guarded-agent.ts';
import { loopbackPost, loopbackUrl } from '../../wire/https/loopback-post.ts';
import { guardedPost, type PostResult } from '../../wire/https/post.ts';
import { parseNetworks } from '../../wire/addresses/networks.ts';
import type { Context } from '../context.ts';
import { endpointLabel } from '../seal-labels.ts';
import { readExtraCa } from '../extra-ca.ts';
import { signatureHeaders } from './signing.ts';

/** Receipt time (docs/contract.md C13.7): lookup, connection, and the whole response. */
export const RECEIPT_TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 65_536;
/** How long an endpoint's row is used once read: a burst of calls reads it once. */
const ROW_MAX_AGE_MS = 1_000;
const MAX_ROWS = 1_000;

interface Known {
  readAt: number;
  url: string;
  secret: string;
  previous: { secret: string; until: number } | null;
}

export class CallPoster {
  readonly #ctx: Context;
  readonly #timeoutMs: number;
  readonly #agent: GuardedAgent;
  readonly #known = new Map<string, Known>();
  readonly #stopping = new AbortController();

  /** Throws `OperatorError` when the extra CA cannot be read. */
  constructor(ctx: Context, timeoutMs: number) {
    this.#ctx = ctx;
    this.#timeoutMs = timeoutMs;
    this.#agent = new GuardedAgent({
      resolver: ctx.resolver,
      allowNetworks: parseNetworks(ctx.config.startup.webhooks.allowNetworks),
      ca: readExtraCa(ctx.config.startup.tls.extraCaFile),
    });
  }

  /** Posts `body` under `id` to the endpoint as it is now. */
  async post(endpointId: string, id: string, body: string): Promise<PostResult> {
    const endpoint = await this.#endpoint(endpointId);
    if (endpoint === null) {
      const reason = 'the endpoint is gone';
      return { kind: 'failed', reason, durationMs: 0, isRefused: false, isLocal: false };
    }
    const now = this.#ctx.clock.now();
    const { secret, previous } = endpoint;
    const old =
      previous !== null && this.#ctx.clock.steady() < previous.until ? [previous.secret] : [];
    const request = {
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Postrider-Webhooks',
        ...signatureHeaders({ id, now, body, secrets: [secret, ...old] }),
      },
      body,
      timeoutMs: this.#timeoutMs,
      signal: this.#stopping.signal,
    };
    const local = this.#ctx.emulation === null ? null : loopbackUrl(endpoint.url);
    if (local !== null) return loopbackPost(local, request);
    return guardedPost({
      ...request,
      url: endpoint.url,
      agent: this.#agent,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
  }

  /** The endpoint was changed: its row is read again. */
  forget(endpointId: string): void {
    this.#known.delete(endpointId);
  }

  /** Cuts what is in flight and closes idle connections. */
  close(): void {
    this.#stopping.abort();
    this.#agent.destroy();
  }

  async #endpoint(id: string): Promise<Known | null> {
    const readAt = performance.now();
    const known = this.#known.get(id);
    if (known !== undefined && readAt - known.readAt < ROW_MAX_AGE_MS) return known;
    const row = await this.#ctx.store.endpointById(id);
    if (row === null || row.deletedAt !== null) return null;
    if (this.#known.size >= MAX_ROWS) this.#known.clear();
    const opened = this.#open(row, readAt);
    this.#known.set(id, opened);
    return opened;
  }

  #open(row: Endpoint, readAt: number): Known {
    const label = endpointLabel(row.id);
    const { sealedPreviousSecret: sealed, previousUntil: until } = row;
    return {
      readAt,
      url: row.url,
      secret: this.#ctx.secrets.open(row.sealedSecret, label),
      previous:
        sealed === null || until === null
          ? null
          : { secret: this.#ctx.secrets.open(sealed, label), until },
    };
  }
}

/** What is recorded and shown of a result: our own words and a status code. */
export function errorOf(result: PostResult): string | null {
  if (result.kind === 'failed') return result.reason;
  const { statusCode } = result;
  if (statusCode >= 200 && statusCode <= 299) return null;
  const isRedirect = statusCode >= 300 && statusCode <= 399;
  const addition = isRedirect ? '; redirects are not followed' : '';
  return `the endpoint answered with status ${statusCode}${addition}`;
}
