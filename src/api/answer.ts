/**
 * From a request to its answer: what all routes have in common, in one order.
 *
 * Length from the head, key, permission, rate, body, route, error, log. Promises that every answer, on
 * every path and for every status, is JSON with `X-Request-Id`, that no throw leaves this file, and that
 * a body is only read for a caller who may send it. Never answers 204 (client libraries fail on it).
 */
import { ApiError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Identity } from '../flow/keys.ts';
import { checkLength, readBody } from './body.ts';
import { errorBody, refusalOf } from './errors.ts';
import { checkPermission, identify } from './guard.ts';
import { decodeText, parseJson } from './json.ts';
import type { RateWindows, Verdict } from './rate-windows.ts';
import type { Incoming } from './incoming.ts';
import { logRow } from './log-row.ts';
import type { Answer, ApiParts, Call, Route } from './route.ts';

/** On every answer: nothing here is a page, and nothing here may be kept by a cache. */
const COMMON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export interface AnswererParts extends ApiParts {
  rates: RateWindows;
}

/** The state of one request that the log needs, filled in as it becomes known. */
interface Progress {
  requestId: string;
  startedAt: number;
  identity: Identity | null;
  headers: Record<string, string>;
  rawBody: Uint8Array;
  /** The text of `rawBody` once it was read as JSON. */
  json: string | null;
  /** What that text says. */
  value: unknown;
}

/** Answers `incoming` by `route`. Never rejects. */
export async function answer(
  parts: AnswererParts,
  route: Route,
  incoming: Incoming,
): Promise<Response> {
  const startedAt = parts.ctx.clock.now();
  const progress: Progress = {
    requestId: newId(startedAt),
    startedAt,
    identity: null,
    headers: {},
    rawBody: new Uint8Array(0),
    json: null,
    value: undefined,
  };
  let result: Answer;
  try {
    result = await run(parts, route, incoming, progress);
  } catch (error) {
    const refusal = refusalOf(error, progress.requestId, parts.ctx.log);
    result = {
      status: refusal.status,
      body: errorBody(refusal, progress.requestId),
      headers: refusal.headers,
    };
  }
  const payload = payloadOf(result.body);
  // Labels from the route, not the request: a stranger's method names would be labels without end.
  parts.ctx.metrics.requestSeconds.observe((parts.ctx.clock.now() - startedAt) / 1000, {
    method: route.method,
    status: `${Math.floor(result.status / 100)}xx`,
  });
  if (progress.identity !== null) {
    parts.requestLog.add(
      logRow(parts.ctx, incoming, { ...progress, identity: progress.identity }, result, payload),
    );
  }
  return new Response(payload, {
    status: result.status,
    headers: {
      ...COMMON_HEADERS,
      'X-Request-Id': progress.requestId,
      ...progress.headers,
      ...result.headers,
    },
  });
}

function payloadOf(body: Answer['body']): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

async function run(
  parts: AnswererParts,
  route: Route,
  { request, params }: Incoming,
  progress: Progress,
): Promise<Answer> {
  const caller = await identify(parts.ctx, request.headers);
  if (!(caller instanceof ApiError)) progress.identity = caller;
  checkLength(request);
  if (route.access === 'open')
    return route.handle(await callOf(parts, route, request, params, progress, null));
  if (caller instanceof ApiError) throw caller;
  checkPermission(caller, route.access);
  spendRate(parts, route, caller, progress);
  return route.handle(await callOf(parts, route, request, params, progress, caller));
}

async function callOf(
  parts: AnswererParts,
  route: Route,
  request: Request,
  params: Record<string, string>,
  progress: Progress,
  identity: Identity | null,
): Promise<Call> {
  let body: unknown;
  if (route.method === 'POST' || route.method === 'PATCH') {
    progress.rawBody = await readBody(request);
    if (route.body !== null) {
      body = route.body.read(readJson(progress), parts);
    }
  }
  const query =
    route.query === null ? undefined : route.query.read(new URL(request.url).searchParams, parts);
  return {
    api: parts,
    // Routes without a key never look at it; all others were given one above.
    identity: identity as Identity,
    requestId: progress.requestId,
    headers: request.headers,
    params,
    query,
    body,
    rawBody: progress.rawBody,
  };
}

/** The value in the body; undefined for an empty one. */
function readJson(progress: Progress): unknown {
  if (progress.rawBody.length === 0) return undefined;
  const text = decodeText(progress.rawBody);
  const value = parseJson(text);
  progress.json = text;
  progress.value = value;
  return value;
}

/** Counts the request and throws `rate_limited` beyond the limit (interface, Limits). */
function spendRate(
  { rates }: AnswererParts,
  route: Route,
  { key, account, plan }: Identity,
  progress: Progress,
): void {
  if (route.method === 'GET') {
    const verdict = rates.take(`read ${key.id}`, plan.readsPerMinute, MINUTE_MS);
    progress.headers = rateHeaders(verdict);
    if (!verdict.isAllowed) {
      throw overRate(verdict, `This key may read ${verdict.limit} times a minute.`);
    }
  } else if (route.isSend) {
    const verdict = rates.take(`send ${account.id}`, plan.ratePerSecond, SECOND_MS);
    progress.headers = rateHeaders(verdict);
    if (!verdict.isAllowed) {
      throw overRate(verdict, `This account may send ${plan.ratePerSecond} requests a second.`);
    }
  }
}

function rateHeaders({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

function overRate({ retrySeconds }: Verdict, message: string): ApiError {
  return new ApiError('rate_limited', `${message} Try again in ${retrySeconds} s.`, {
    headers: { 'Retry-After': String(retrySeconds) },
  });
}
