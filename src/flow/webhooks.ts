/**
 * The dispatcher: takes webhook calls that are due, signs and posts them, records every attempt.
 *
 * Promises at least ten attempts over about three hours for every call that is not acknowledged, the same
 * id and bytes on each, and that a dead, slow or hostile endpoint delays nobody else's calls. Holds
 * only references in memory, a bounded number; the rest waits in the store. Never follows an endpoint
 * into the operator's network (wire/https-post). A crash repeats at most the calls in flight.
 */
import type { CallRef } from '../store/store.ts';
import type { Context } from './context.ts';
import type { EndpointWatcher } from './endpoints.ts';

/** What a test call came to (decisions, Webhooks). `error` never repeats what the endpoint answered. */
export interface TestResult {
  id: string;
  ok: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

export declare class WebhookDispatcher implements EndpointWatcher {
  constructor(ctx: Context);
  /** Begins with what the store holds. Call once. */
  start(): void;
  /** Takes no new call, resolves when those in flight have ended (10 s at most). */
  stop(): Promise<void>;
  /** Takes calls that a commit has just made; never blocks, never throws. */
  offer(calls: readonly CallRef[]): void;
  /** Forgets what it knows of the endpoint and looks for its open calls: after enable, change, removal, rotation. */
  endpointChanged(endpointId: string): void;
  /** Posts a signed `webhook.test` and records it; counts for nothing. Throws `not_found`. */
  test(accountId: string, endpointId: string): Promise<TestResult>;
}

/**
 * Opens calls again, with the same event id and bytes: one event, or every failed or missed one since a time
 * (epoch milliseconds). Returns how many. Throws `not_found`.
 */
export declare function replayCalls(
  ctx: Context,
  dispatcher: WebhookDispatcher,
  accountId: string,
  endpointId: string,
  what: { eventId: string } | { failedSince: number },
): Promise<number>;
