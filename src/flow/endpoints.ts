/**
 * Webhook endpoints of an account: adding, changing, enabling, rotating the secret, removing.
 *
 * Promises that an endpoint's URL is https and leads to public addresses (or to networks the operator
 * admits) at the moment it is registered; the dispatcher checks again at each connection. The signing
 * secret is stored sealed and shown once. Fails with `ApiError`.
 */
import type { EndpointStatus } from '../base/status.ts';
import type { Endpoint } from '../store/rows.ts';
import type { Context } from './context.ts';

/** Who must hear that an endpoint was changed: the dispatcher, so that no stale state is used. */
export interface EndpointWatcher {
  endpointChanged(endpointId: string): void;
}

/** Endpoints an account may have (interface, Limits). */
export declare const MAX_ENDPOINTS: 10;

/**
 * Registers an endpoint. Throws `validation_failed` (issues at `endpoint` and `events[n]`) or `forbidden` for an
 * eleventh. `secret` is `whsec_…` and is never readable again.
 */
export declare function addEndpoint(
  ctx: Context,
  accountId: string,
  input: { url: string; events: readonly string[] },
): Promise<{ endpoint: Endpoint; secret: string }>;

/** All endpoints of the account, newest first. */
export declare function listEndpoints(ctx: Context, accountId: string): Promise<Endpoint[]>;

/** Throws `not_found`. */
export declare function getEndpoint(ctx: Context, accountId: string, id: string): Promise<Endpoint>;

/** Changes what is given. Throws `not_found` or `validation_failed`. */
export declare function updateEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
  change: { url?: string; events?: readonly string[]; status?: EndpointStatus },
): Promise<Endpoint>;

/** Makes it active again with a failure count of 0; what is open goes on. Throws `not_found`. */
export declare function enableEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<Endpoint>;

/** A new secret; the old one signs beside it for 24 hours. Throws `not_found`. */
export declare function rotateEndpointSecret(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<{ endpoint: Endpoint; secret: string; previousUntil: number }>;

/** Throws `not_found`. */
export declare function removeEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<void>;
