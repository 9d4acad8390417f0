/**
 * What a caller is told when the store cannot do something now, however it was asked: API, dashboard or command.
 *
 * Promises `platform_halted` (503) with the seconds after which another try makes sense, and that nothing of it is called
 * a fault of ours: the store itself logs why. Null for anything else.
 */
import { ApiError } from '../base/errors.ts';
import { StoreRefusalError } from '../store/store.ts';

const RETRY_SECONDS = '30';

/** The refusal for what the store threw; null: it is none of its refusals. */
export function storeRefusal(error: unknown): ApiError | null {
  if (!(error instanceof StoreRefusalError)) return null;
  return new ApiError('platform_halted', `${error.said} Try again later.`, {
    headers: { 'Retry-After': RETRY_SECONDS },
  });
}
