/**
 * What a route is: where it stands, who may use it, what it takes, what it answers, what does the work.
 *
 * A resource file is a list of these; everything that all routes have in common (keys, limits, bodies,
 * errors, the log) happens in `answer.ts`, so that no route can forget it. Holds no behaviour.
 */
import type { TSchema } from '@sinclair/typebox';
import type { ErrorCode } from '../base/errors.ts';
import type { AcceptedSink } from '../flow/accept.ts';
import type { Context } from '../flow/context.ts';
import type { Draft } from '../flow/draft.ts';
import type { Identity } from '../flow/keys.ts';
import type { WebhookDispatcher } from '../flow/webhooks.ts';
import type { GuardedAgent } from '../wire/guarded-agent.ts';
import type { RequestLog } from './request-log.ts';

/** What the API hands work to, made by the appliance. */
export interface Doors {
  queue: AcceptedSink;
  webhooks: WebhookDispatcher;
}

/** What every route may use. */
export interface ApiParts {
  ctx: Context;
  doors: Doors;
  requestLog: RequestLog;
  /** For attachments by `path`: public addresses only. */
  agent: GuardedAgent;
}

/** One request on its way through a route. */
export interface Call<Body = unknown, Query = unknown> {
  api: ApiParts;
  identity: Identity;
  /** The value of `X-Request-Id`. */
  requestId: string;
  headers: Headers;
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** The body as it came, for hashes; empty when there was none. */
  rawBody: Uint8Array;
}

export interface Answer {
  status: number;
  /** JSON text that is sent as it is, a value that becomes JSON, or bytes (with their own type in `headers`). */
  body: string | object | Uint8Array;
  headers?: Record<string, string>;
  /** Id of the first message this request made, for the log. */
  messageId?: string;
  /** What that message holds, where it is the only one: the log need not keep it too. */
  content?: Pick<Draft, 'html' | 'text'>;
}

/** How a JSON body or a query becomes a value. `read` throws ApiError with every issue. */
export interface Reader<T> {
  schema: TSchema;
  read(value: unknown, api: ApiParts): T;
}

export interface RouteText {
  /** Heading of the reference page that it stands under. */
  tag: string;
  summary: string;
  description?: string;
}

export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Without `/v1`; parameters as `:name`. */
  path: string;
  /** `open`: no key; `send`: any key; `full`: a full-access key. */
  access: 'open' | 'send' | 'full';
  /** Counts against the account's sends per second. */
  isSend: boolean;
  query: Reader<unknown> | null;
  body: Reader<unknown> | null;
  text: RouteText;
  /** The successful answer, for the reference page. */
  success: { status: number; schema: TSchema; description: string };
  /** Refusals of its own, beside those that every route of its kind has; for the reference page. */
  errors: readonly ErrorCode[];
  handle(call: Call): Promise<Answer>;
}

interface RouteInput<Body, Query> {
  method: Route['method'];
  path: string;
  access: Route['access'];
  isSend?: boolean;
  query?: Reader<Query>;
  body?: Reader<Body>;
  text: RouteText;
  success: Route['success'];
  errors?: Route['errors'];
  handle(call: Call<Body, Query>): Promise<Answer>;
}

/** A route whose handler sees the types of its own readers. */
export function defineRoute<Body = undefined, Query = undefined>(
  route: RouteInput<Body, Query>,
): Route {
  return {
    ...route,
    isSend: route.isSend ?? false,
    query: route.query ?? null,
    body: route.body ?? null,
    errors: route.errors ?? [],
    // The readers of this very route made the values, so their types are what the handler expects.
    handle: (call) => route.handle(call as Call<Body, Query>),
  };
}
