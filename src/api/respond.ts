/**
 * From a request to its response: what all routes have in common, in one order.
 *
 * Declared length, key, permission, rate, body, route, error, log. Promises that every response, for every path and
 * every status, is JSON with `X-Request-Id`, that nothing thrown leaves this file, and that a body is read only for a
 * caller who is allowed to send it. Never returns 204 (client libraries fail on it).
 */
import { ApiError } from '../base/errors.ts';
import { audit } from '../flow/people/audit.ts';
import { tooBusy, type Share } from '../flow/byte-budget.ts';
import type { Identity } from '../flow/draft.ts';
import { inChunks, inPieces, isLarge } from '../flow/large-response.ts';
import { checkLength, readBody, RequestBody } from './body.ts';
import { refusalOf } from './errors.ts';
import { checkPermission, checkSandbox, identify } from './guard.ts';
import { LargeJson } from './large-json.ts';
import { LongList } from './routes/long-list.ts';
import { errorBody } from './shapes/error-body.ts';
import type { RateWindows } from './rate-windows.ts';
import { mayHaveRow, spendRate } from './spend-rate.ts';
import type { RequestsUnderWay } from './requests-under-way.ts';
import type { TrustedProxies } from './client-address.ts';
import { logRow } from './log/log-row.ts';
import type { RequestLog } from './log/request-log.ts';
import type { RouteResult, ApiParts, Call, Route } from './routes/route.ts';

/** On every response: none is a page, and no cache may store one. */
const COMMON_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

export interface ResponderParts extends ApiParts {
  requestLog: RequestLog;
  rates: RateWindows;
  proxies: TrustedProxies;
  underWay: RequestsUnderWay;
}

/** A request as it arrives, before a route handles it. Nothing in it was checked. */
export interface Incoming {
  request: Request;
  /** As the client sent it: a HEAD is routed as GET. */
  method: string;
  /** Path as the client wrote it, without query. */
  path: string;
  /** The client's address on the socket; null without a socket. */
  peer: string | null;
  params: Record<string, string>;
}

/** What the log needs to know about a request, filled in step by step. */
interface Progress {
  requestId: string;
  startedAt: number;
  /** The client's address; null without a socket. */
  ip: string | null;
  identity: Identity | null;
  headers: Record<string, string>;
  body: RequestBody;
  /** What the body has taken of the memory budget; null before it is read. */
  share: Share | null;
  /** It has counted against a limit of its account: of such requests the log has all. */
  isCounted: boolean;
}

/** The response to `incoming`, which `route` handles. Never rejects. */
export async function respond(
  parts: ResponderParts,
  route: Route,
  incoming: Incoming,
): Promise<Response> {
  const startedAt = parts.ctx.clock.now();
  const progress: Progress = {
    requestId: parts.ctx.ids.next(startedAt),
    startedAt,
    ip: parts.proxies.clientOf(incoming),
    identity: null,
    headers: {},
    body: new RequestBody([]),
    share: null,
    isCounted: false,
  };
  const end = parts.ctx.doing.begin(route.text.id);
  try {
    return await answer(parts, route, incoming, progress);
  } finally {
    end();
    progress.share?.release();
  }
}

async function answer(
  parts: ResponderParts,
  route: Route,
  incoming: Incoming,
  progress: Progress,
): Promise<Response> {
  const { startedAt, ip } = progress;
  const most = parts.ctx.config.live.http.requestsPerAddress;
  const { result, payload } = await parts.underWay
    .during(ip ?? '', most, () => run(parts, route, incoming, progress))
    .then((made) => paidFor(parts, made, progress))
    .catch((error: unknown) =>
      refused(refusalOf(error, progress.requestId, parts.ctx.log), progress),
    );
  // Labels come from the route, not the request: clients could invent any number of method names.
  parts.ctx.metrics.requestSeconds.observe(
    {
      method: route.method,
      status: `${Math.floor(result.status / 100)}xx`,
    },
    (parts.ctx.clock.now() - startedAt) / 1000,
  );
  const { identity } = progress;
  if (identity !== null && (progress.isCounted || mayHaveRow(parts.rates, identity))) {
    const known = { ...progress, identity };
    parts.requestLog.add(logRow(parts.ctx, incoming, known, result, payload));
  }
  return new Response(bodyOf(payload, progress), {
    status: result.status,
    headers: {
      ...COMMON_HEADERS,
      'X-Request-Id': progress.requestId,
      ...progress.headers,
      ...result.headers,
    },
  });
}

interface Made {
  result: RouteResult;
  payload: string | Uint8Array<ArrayBuffer> | LargeJson | LongList;
}

/** A long list has a part of itself in memory, whatever its length. */
const NO_SHARE = { release: () => undefined };

/** The result with its bytes, which take from the budget where they are many. Throws `platform_halted`. */
function paidFor({ ctx }: ResponderParts, result: RouteResult, progress: Progress): Made {
  const payload = payloadOf(result.body);
  if (!(payload instanceof LongList) && isLarge(payload)) {
    progress.share ??= ctx.budget.open(progress.identity?.account.id ?? '');
    if (!progress.share.grow(payload.length)) throw tooBusy();
  }
  return { result, payload };
}

function refused(refusal: ApiError, { requestId }: Progress): Made {
  const { status, headers } = refusal;
  const result = { status, body: errorBody(refusal, requestId), headers };
  return { result, payload: payloadOf(result.body) };
}

/** A large body takes the share with it. */
function bodyOf(
  payload: Made['payload'],
  progress: Progress,
): string | Uint8Array<ArrayBuffer> | ReadableStream {
  const { share } = progress;
  if (payload instanceof LongList) return inPieces(payload.pieces(), NO_SHARE);
  if (share !== null && isLarge(payload)) {
    progress.share = null;
    const isJson = payload instanceof LargeJson;
    return isJson ? inPieces(payload.pieces(), share) : inChunks(payload, share);
  }
  if (payload instanceof LargeJson) throw new Error('a large response took nothing of the budget');
  return payload;
}

function payloadOf(body: RouteResult['body']): Made['payload'] {
  if (typeof body === 'string') return body;
  if (body instanceof LongList) return body;
  if (!(body instanceof Uint8Array)) return LargeJson.of(body) ?? JSON.stringify(body);
  // Not a copy: it may be 10 MB.
  const { buffer, byteOffset, byteLength } = body;
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(body);
}

async function run(
  parts: ResponderParts,
  route: Route,
  incoming: Incoming,
  progress: Progress,
): Promise<RouteResult> {
  const { request, params } = incoming;
  // A send compares the revision in its commit; whatever else is asked is asked by keys and accounts as they are now.
  if (!route.isSend && request.headers.has('authorization')) await parts.ctx.revision.check();
  const caller = await identify(parts.ctx, request.headers);
  if (!(caller instanceof ApiError)) progress.identity = caller;
  checkLength(request);
  if (route.access === 'open') {
    return route.handle(await callOf(parts, route, request, params, progress, null));
  }
  if (caller instanceof ApiError) throw caller;
  checkPermission(caller, route.access);
  spendRate(parts.rates, route, caller, progress);
  progress.isCounted = true;
  checkSandbox(caller, route);
  const result = await route.handle(await callOf(parts, route, request, params, progress, caller));
  if (route.method !== 'GET' && !route.isSend) {
    await note(parts, route, incoming, progress, caller);
  }
  return result;
}

/** In the audit log: a change that an API key has made. Sending is no change. */
async function note(
  { ctx }: ResponderParts,
  { text }: Route,
  { params }: Incoming,
  { body: { value }, ip }: Progress,
  { key, account }: Identity,
): Promise<void> {
  const body = typeof value === 'object' && value !== null ? value : {};
  await audit(ctx, {
    via: 'api',
    who: key.name,
    action: text.id,
    accountId: account.id,
    address: ip,
    facts: { ...body, ...params },
  });
}

async function callOf(
  parts: ResponderParts,
  route: Route,
  request: Request,
  params: Record<string, string>,
  progress: Progress,
  identity: Identity | null,
): Promise<Call> {
  let body: unknown;
  if (route.method === 'POST' || route.method === 'PATCH') {
    progress.share = parts.ctx.budget.open(identity?.account.id ?? '');
    progress.body = await readBody(request, progress.share);
    await progress.share.begin();
    if (route.body !== null) {
      body = route.body.read(await progress.body.readJson(parts.ctx.large), parts.ctx.config);
    }
  }
  const query =
    route.query === null
      ? undefined
      : route.query.read(new URL(request.url).searchParams, parts.ctx.config);
  return {
    api: parts,
    get identity(): Identity {
      if (identity === null) throw new Error('a route with open access asked for its caller');
      return identity;
    },
    requestId: progress.requestId,
    headers: request.headers,
    params,
    query,
    body,
    bodyHash: () => progress.body.hash(),
    takes: (bytes) => progress.share?.grow(bytes) ?? false,
  };
}
