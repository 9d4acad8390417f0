/**
 * What a route is: its method and path, who may use it, what it reads, what it returns, and its handler.
 *
 * Each resource file of this folder is a list of routes; everything that all routes share (keys, limits, bodies,
 * errors, the log) happens in `respond.ts`, so that no route can forget it. A handler gets checked values, calls flow/,
 * and returns a `RouteResult`; it throws `ApiError` to refuse. Holds no behaviour.
 */
import type { TSchema } from '@sinclair/typebox';
import type { ErrorCode } from '../../base/errors.ts';
import type { AcceptedSink } from '../../flow/accept/accept.ts';
import type { Context } from '../../flow/context.ts';
import type { Draft, Identity } from '../../flow/draft.ts';
import type { WebhookDispatcher } from '../../flow/webhooks/dispatcher.ts';
import type { GuardedAgent } from '../../wire/https/guarded-agent.ts';
import type { RequestLog } from '../log/request-log.ts';
import type { QueryReader, Reader } from '../shapes/reader.ts';

/** What takes over the work of the API, made by the appliance. */
export interface Engines {
  queue: AcceptedSink;
  webhooks: WebhookDispatcher;
}

/** What every route may use. */
export interface ApiParts {
  ctx: Context;
  engines: Engines;
  requestLog: Pick<RequestLog, 'flush'>;
  /** For attachments by `path`: public addresses only. */
  agent: GuardedAgent;
}

/** One request, as the handler of a route gets it. */
export interface Call<Body = unknown, Query = unknown> {
  api: ApiParts;
  /** Whose key it is. A route with open access has none: reading it there throws. */
  identity: Identity;
  /** The value of `X-Request-Id`. */
  requestId: string;
  headers: Headers;
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** SHA-256 of the body as it was received, in hexadecimal. */
  bodyHash: () => string;
  /** Takes bytes of the memory budget until the response is made; false when there are none. */
  takes: (bytes: number) => boolean;
}

/** What a handler returns; `respond.ts` makes the response from it. */
export interface RouteResult {
  status: number;
  /** JSON text that is sent unchanged, a value that becomes JSON, or bytes (with their type in `headers`). */
  body: string | object | Uint8Array;
  headers?: Record<string, string>;
  /** Id of the first message this request created, for the log. */
  messageId?: string;
  /** The content of that message, where it is the only one: the log need not keep it too. */
  content?: Pick<Draft, 'html' | 'text'>;
}

export interface RouteText {
  /** Name of the operation, for generated clients: unique, camelCase. */
  id: string;
  /** Its clauses in docs/contract.md. */
  clauses: readonly string[];
  /** Heading on the reference page. */
  tag: string;
  summary: string;
  description?: string;
}

/** The text of a route that the reference does not show. */
export const NO_TEXT: RouteText = { id: '', clauses: [], tag: '', summary: '' };

export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Without `/v1`; parameters as `:name`. */
  path: string;
  /** `open`: no key; `send`: any key; `full`: a full-access key. */
  access: 'open' | 'send' | 'full';
  /** Whether what it is about exists live only: nothing there is found for a sandbox key, which creates none either. */
  isLiveOnly: boolean;
  /** Whether it counts against the send requests per second of the account. */
  isSend: boolean;
  /** A limit of its own for each account, beside that on all writes; null for none. */
  perMinute: number | null;
  query: QueryReader<unknown> | null;
  body: Reader<unknown> | null;
  text: RouteText;
  /** The successful response, for the reference page. */
  success: {
    status: number;
    schema: TSchema;
    description: string;
    /** Where it is no JSON. */
    mediaType?: string;
  };
  /** Error codes beyond those that every route of its kind has; for the reference page. */
  errors: readonly ErrorCode[];
  handle(call: Call): Promise<RouteResult>;
}

interface RouteInput<Body, Query> {
  method: Route['method'];
  path: string;
  access: Route['access'];
  isLiveOnly?: boolean;
  isSend?: boolean;
  perMinute?: number;
  query?: QueryReader<Query>;
  body?: Reader<Body>;
  text: RouteText;
  success: Route['success'];
  errors?: Route['errors'];
  handle(call: Call<Body, Query>): Promise<RouteResult>;
}

/** A route whose handler has the types of its own readers. */
export function defineRoute<Body = undefined, Query = undefined>(
  route: RouteInput<Body, Query>,
): Route {
  return {
    ...route,
    isLiveOnly: route.isLiveOnly ?? false,
    isSend: route.isSend ?? false,
    perMinute: route.perMinute ?? null,
    query: route.query ?? null,
    body: route.body ?? null,
    errors: route.errors ?? [],
    // The readers of this route made the values, so they have the types that the handler expects.
    handle: (call) => route.handle(call as Call<Body, Query>),
  };
}
