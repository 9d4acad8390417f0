/**
 * The one place that turns a failure into a body.
 *
 * Promises the documented shape for every failure, `name` from the list that client libraries know, and
 * that a fault of ours says nothing of the inside. `error` repeats the three fields that one library
 * reads instead (it takes the text `code` for a number, resend-compat section 1 row 2).
 */
import { ApiError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { StoreFullError } from '../store/store.ts';

const FULL_RETRY_SECONDS = '30';

/** Interface, Error body. */
export interface ErrorBody {
  statusCode: number;
  name: string;
  message: string;
  code: string;
  detail?: Record<string, unknown>;
  request_id: string;
  error: { statusCode: number; name: string; message: string };
}

/** The body of a refusal. */
export function errorBody(error: ApiError, requestId: string): ErrorBody {
  const { status: statusCode, errorName: name, message, code, detail } = error;
  return {
    statusCode,
    name,
    message,
    code,
    ...(detail !== undefined && { detail }),
    request_id: requestId,
    error: { statusCode, name, message },
  };
}

/** Any throw as a refusal. A fault is logged here, once, with its request id. */
export function refusalOf(error: unknown, requestId: string, log: Log): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreFullError) {
    return new ApiError('platform_halted', 'The disk of this service is full; try again later.', {
      headers: { 'Retry-After': FULL_RETRY_SECONDS },
    });
  }
  log.error('request failed', {
    request_id: requestId,
    error,
    hint: 'This is a fault of the program. Please report it with this line.',
  });
  return new ApiError(
    'internal_error',
    'Something went wrong here. The request id finds it in the log.',
  );
}
