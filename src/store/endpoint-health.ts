/**
 * What attempts and changes make of an endpoint: failures in a row, disabling, a clean start when it is enabled again.
 *
 * Promises that one success ends a row of failures, and that only its account enables an endpoint that was disabled.
 * Reads and writes nothing; cannot fail.
 */
import type { EndpointStatus } from '../base/status.ts';
import type { CallAttempt, Endpoint } from './rows.ts';
import type { EndpointChange } from './webhooks.ts';

export interface EndpointHealth {
  status: EndpointStatus;
  /** Failures since the last success. */
  failureCount: number;
  lastFailureAt: number | null;
}

/** The endpoint after an attempt; the object that was given when nothing changes. */
export function healthAfter(
  health: EndpointHealth,
  { ok, createdAt }: Pick<CallAttempt, 'ok' | 'createdAt'>,
  disableAfter: number,
): EndpointHealth {
  if (ok) return health.failureCount === 0 ? health : { ...health, failureCount: 0 };
  const failureCount = health.failureCount + 1;
  const status = failureCount >= disableAfter ? 'disabled' : health.status;
  return { status, failureCount, lastFailureAt: createdAt };
}

/** The endpoint after a change by its account. */
export function changedEndpoint(endpoint: Endpoint, change: EndpointChange): Endpoint {
  const next: Endpoint = { ...endpoint, ...change };
  const isEnabled = endpoint.status === 'disabled' && next.status === 'active';
  // It starts with a clean count, or the next failure would disable it at once.
  return isEnabled ? { ...next, failureCount: 0 } : next;
}
