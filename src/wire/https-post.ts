/**
 * HTTPS requests to places that somebody else named: webhook endpoints, policy hosts, attachments.
 *
 * Promises that only addresses which passed `isAllowed` are ever connected to, checked on the address
 * of the socket before a byte of the request is written; TLS 1.2 or later, verified against the public
 * roots and the operator's own CA. Never follows a redirect, never reads a proxy from the environment,
 * never lasts longer than its deadline however the answer drips, never keeps more of it than allowed,
 * and no error text ever repeats what the other side said. Every end is a value; nothing throws.
 */
import type { Networks } from './networks.ts';
import type { Resolver } from './resolver.ts';

export interface GuardedRequest {
  /** Must be https without user info; anything else is a refused failure. */
  url: string;
  headers: Record<string, string>;
  resolver: Resolver;
  /** Networks the operator admits beside the public internet. */
  allowNetworks: Networks;
  /** PEM certificates of private CAs, beside the public roots. */
  ca: readonly string[];
  /** Absolute, from the call to the last byte of the answer, name lookup and drip included. */
  timeoutMs: number;
  /** Bytes of the answer's body that are read. */
  maxAnswerBytes: number;
  signal?: AbortSignal;
}

export interface GuardedPost extends GuardedRequest {
  body: string | Uint8Array;
}

/** Short, fixed words for the caller; `isRefused`: our own rules forbade it, nothing was sent. */
export interface RequestFailure {
  kind: 'failed';
  reason: string;
  durationMs: number;
  isRefused: boolean;
}

export type PostResult =
  | {
      kind: 'answered';
      statusCode: number;
      durationMs: number;
      /** From `Retry-After`, seconds or date; null when absent or unreadable. */
      retryAfterSeconds: number | null;
    }
  | RequestFailure;

export type GetResult =
  | {
      kind: 'answered';
      statusCode: number;
      durationMs: number;
      /** Lower-case media type without parameters; empty when absent. */
      contentType: string;
      body: Buffer;
    }
  /** An answer longer than `maxAnswerBytes` is a failure here, never cut. */
  | RequestFailure;

/** Posts `body`. The answer's body is read up to the cap and thrown away. Never throws. */
export declare function guardedPost(request: GuardedPost): Promise<PostResult>;

/** Gets a document whole. Never throws. */
export declare function guardedGet(request: GuardedRequest): Promise<GetResult>;
