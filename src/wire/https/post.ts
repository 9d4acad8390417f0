/**
 * HTTPS requests to hosts that somebody else named: webhook endpoints, policy hosts, attachments.
 *
 * The story of this folder. A caller gives a URL. `target.ts` reads it and refuses what is not https or names an inner
 * host. `guarded-agent.ts` looks the name up, asks the `AddressGuard` (wire/addresses) about every address, connects
 * to one of them, verifies TLS, and hands the connection over. This file writes the request and reads the response
 * within one deadline. `acme.ts` orders certificates, with the client of a library; `operator-post.ts` asks what the
 * config names. Nothing is kept but idle connections, so a crash loses the request under way; the caller repeats it.
 *
 * Promises that only addresses that the guard allows are ever connected to. Never follows a redirect, never reads a
 * proxy from the environment, never lasts longer than its deadline however slowly the response drips, never keeps more
 * of it than allowed, and no error text repeats what the other side said. Every end is a value; nothing throws.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ConnectError, type GuardedAgent, type GuardedOptions } from './guarded-agent.ts';
import { parseTarget, type Target } from './target.ts';

/** Bytes of a response to a post that are kept: enough for the message of an error page. */
const EXCERPT_BYTES = 1_024;

export interface GuardedGet {
  /** Must be https without user info; anything else is a refused failure. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Decides about addresses and keeps connections for reuse. */
  agent: GuardedAgent;
  /** Absolute, from the call to the last byte of the response, name lookup included. */
  timeoutMs: number;
  /** Bytes of the response's body that are read. */
  maxResponseBytes: number;
  /** Asked before bytes of it are kept; where it says false, the response ends there. */
  mayKeep?: (bytes: number) => boolean;
  signal?: AbortSignal;
}

export interface GuardedPost extends GuardedGet {
  body: string | Uint8Array;
}

export interface RequestFailure {
  kind: 'failed';
  /** Fixed words for the caller. */
  reason: string;
  durationMs: number;
  /** Our own rules forbade it; nothing was sent. */
  isRefused: boolean;
  /** This machine ran out of something; it says nothing of the other side. */
  isLocal: boolean;
}

export type PostResult =
  | {
      kind: 'responded';
      statusCode: number;
      durationMs: number;
      /** From `Retry-After`, seconds or date; null when absent or unreadable. */
      retryAfterSeconds: number | null;
      /** The first words of the response's body. Whoever answered wrote them: never for logs or other accounts. */
      excerpt: string | null;
    }
  | RequestFailure;

export type GetResult =
  | {
      kind: 'responded';
      statusCode: number;
      durationMs: number;
      /** Lower-case media type without parameters; empty when absent. */
      contentType: string;
      body: Buffer;
    }
  | RequestFailure;

/** Posts `body`. The response's body is read up to the limit; its first words are kept. */
export async function guardedPost(request: GuardedPost): Promise<PostResult> {
  const result = await exchange(request, 'POST', Buffer.from(request.body));
  if (result.kind === 'failed') return result;
  const { statusCode, durationMs, message, chunks } = result;
  const retryAfterSeconds = readRetryAfter(message.headers['retry-after']);
  const excerpt = excerptOf(chunks);
  return { kind: 'responded', statusCode, durationMs, retryAfterSeconds, excerpt };
}

/** The first `EXCERPT_BYTES` as text, without control characters but for tab and line break; null when it is empty. */
export function excerptOf(chunks: readonly Buffer[]): string | null {
  const kept: Buffer[] = [];
  let left = EXCERPT_BYTES;
  for (const chunk of chunks) {
    if (left <= 0) break;
    kept.push(chunk.subarray(0, left));
    left -= chunk.length;
  }
  const text = Buffer.concat(kept).toString('utf8');
  return text.replace(/[^\P{Cc}\t\n]/gu, '').trim() || null;
}

/** Gets a document whole: a response longer than the limit, or cut off, is a failure. */
export async function guardedGet(request: GuardedGet): Promise<GetResult> {
  const result = await exchange(request, 'GET', null);
  if (result.kind === 'failed') return result;
  const { statusCode, durationMs, message, chunks, isWhole } = result;
  if (!isWhole) {
    return failure('the response is too long or was cut off', durationMs, false);
  }
  const contentType = (message.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  return {
    kind: 'responded',
    statusCode,
    durationMs,
    contentType: contentType.toLowerCase(),
    body: Buffer.concat(chunks),
  };
}

interface HttpResponse {
  kind: 'responded';
  statusCode: number;
  durationMs: number;
  message: IncomingMessage;
  chunks: Buffer[];
  isWhole: boolean;
}

async function exchange(
  request: GuardedGet,
  method: 'GET' | 'POST',
  body: Buffer | null,
): Promise<HttpResponse | RequestFailure> {
  const beganAt = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - beganAt);
  const target = parseTarget(request.url);
  if ('refused' in target) return failure(target.refused, 0, true);
  const deadline = new AbortController();
  const abort = (): void => deadline.abort();
  const timer = setTimeout(abort, request.timeoutMs);
  request.signal?.addEventListener('abort', abort, { once: true });
  const noneInTime = (): RequestFailure =>
    failure(`no complete response within ${request.timeoutMs / 1000} s`, elapsedMs(), false);
  try {
    // A signal that was aborted before says nothing any more to those who listen.
    if (request.signal?.aborted === true) return noneInTime();
    for (let isSecondTry = false; ; isSecondTry = true) {
      const end = await once(request, target, method, body, deadline.signal);
      if (end.kind === 'responded') return { ...end, durationMs: elapsedMs() };
      // The server closed an idle connection while we reused it: it has processed nothing of this request.
      if (end.wasReused && !isSecondTry && !deadline.signal.aborted) continue;
      return deadline.signal.aborted ? noneInTime() : failureOf(end.error, elapsedMs());
    }
  } finally {
    clearTimeout(timer);
    request.signal?.removeEventListener('abort', abort);
  }
}

type End = Omit<HttpResponse, 'durationMs'> | { kind: 'failed'; error: Error; wasReused: boolean };

/** One exchange on one connection; always resolves, and leaves no connection behind when it fails. */
function once(
  request: GuardedGet,
  target: Target,
  method: string,
  body: Buffer | null,
  signal: AbortSignal,
): Promise<End> {
  return new Promise((resolve) => {
    const options: GuardedOptions = {
      agent: request.agent,
      host: target.host,
      port: target.port,
      path: target.url.pathname + target.url.search,
      method,
      headers: {
        ...request.headers,
        host: target.url.host,
        ...(body !== null && { 'content-length': String(body.length) }),
      },
      guard: { host: target.host, port: target.port, signal },
    };
    const outgoing: ClientRequest = httpsRequest(options);
    const settle = (end: End): void => {
      signal.removeEventListener('abort', onAbort);
      resolve(end);
    };
    const fail = (error: Error): void => {
      // Before settling: `reusedSocket` is only meaningful while no response has begun.
      settle({ kind: 'failed', error, wasReused: outgoing.reusedSocket });
      outgoing.destroy();
    };
    const onAbort = (): void => fail(new Error('deadline'));
    signal.addEventListener('abort', onAbort, { once: true });
    outgoing.on('error', fail);
    outgoing.on('response', (message) => {
      const { statusCode } = message;
      if (statusCode === undefined) return fail(new Error('no status'));
      const chunks: Buffer[] = [];
      let length = 0;
      const finish = (isWhole: boolean): void =>
        settle({ kind: 'responded', statusCode, message, chunks, isWhole });
      message.on('data', (chunk: Buffer) => {
        length += chunk.length;
        const isKept =
          length <= request.maxResponseBytes && request.mayKeep?.(chunk.length) !== false;
        if (isKept) return void chunks.push(chunk);
        finish(false);
        outgoing.destroy();
      });
      message.on('end', () => finish(message.complete));
      // The status line says what became of the request; a body cut short does not change that.
      message.on('error', () => finish(false));
      message.on('close', () => finish(message.complete));
    });
    outgoing.end(body);
  });
}

/** RFC 9110 section 10.2.3: seconds, or a date. */
function readRetryAfter(value: string | undefined): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  // Every form of HTTP-date begins with the name of a day; Date.parse alone would read `-5` as a year.
  const at = /^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

function failure(reason: string, durationMs: number, isRefused: boolean): RequestFailure {
  return { kind: 'failed', reason, durationMs, isRefused, isLocal: false };
}

function failureOf(error: Error, durationMs: number): RequestFailure {
  const { isRefused, isLocal } =
    error instanceof ConnectError ? error : { isRefused: false, isLocal: false };
  return { kind: 'failed', reason: wordsFor(error), durationMs, isRefused, isLocal };
}

/** By error code. Texts of libraries may quote what the other side sent, so they are never passed on. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ENETUNREACH|EHOSTUNREACH)$/, 'the host is unreachable'],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'the connection was closed before a response came'],
  [/^ETIMEDOUT$/, 'the connection timed out'],
  [/^CERT_HAS_EXPIRED$/, 'the TLS certificate has expired'],
  [/^ERR_TLS_CERT_ALTNAME/, 'the TLS certificate is not for this host'],
  [/(CERT|ISSUER|LEAF_SIGNATURE|CHAIN)/, 'the TLS certificate is not trusted'],
  [/(SSL|TLS)/, 'the TLS handshake failed'],
  [/^HPE_/, 'the response is not valid HTTP'],
];

/** Fixed words for an error of a connection. */
export function wordsFor(error: Error): string {
  if (error instanceof ConnectError) return error.message;
  const code = codeOf(error);
  return WORDS.find(([pattern]) => pattern.test(code))?.[1] ?? 'the connection failed';
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
