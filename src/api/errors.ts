/**
 * Turns anything thrown into a refusal, before it becomes a response.
 *
 * Promises that a fault of ours is logged once, with its request id, and that the response says nothing about its
 * cause.
 */
import { ApiError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { storeRefusal } from '../flow/store-refusal.ts';

/** The refusal for anything thrown. Logs a fault, once, with its request id. */
export function refusalOf(error: unknown, requestId: string, log: Log): ApiError {
  if (error instanceof ApiError) return error;
  const refused = storeRefusal(error);
  if (refused !== null) return refused;
  log.error('request_failed', {
    request_id: requestId,
    error,
    hint: 'This is a bug in Postrider. Report it together with this log line.',
  });
  return new ApiError(
    'internal_error',
    'The service failed to handle this request. Find the cause in its log under the request id.',
  );
}
