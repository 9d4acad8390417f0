/**
 * The `Idempotency-Key` header: which values are valid, and what makes two requests the same.
 *
 * Never decides about replays: the accept commit does. Fails with `validation_failed`, name `invalid_idempotency_key`
 * (docs/contract.md C6.1).
 */
import { validationFailed } from '../../base/errors.ts';
import type { AcceptOptions } from '../../flow/accept/accept.ts';
import type { Call } from './route.ts';

const MAX_KEY_LENGTH = 256;

/** Key, route and hash of the body of a call to `route` (`POST /emails`); null without the header. */
export function idempotencyOf(call: Call, route: string): AcceptOptions['idempotency'] {
  const key = call.headers.get('idempotency-key');
  if (key === null) return null;
  if (key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw validationFailed(
      [{ path: 'Idempotency-Key', message: 'Idempotency-Key must have 1 to 256 characters.' }],
      { status: 400, name: 'invalid_idempotency_key' },
    );
  }
  return { key, route, bodyHash: call.bodyHash() };
}
