/**
 * The `Idempotency-Key` header: what it may be, and what makes two requests the same.
 *
 * Promises nothing about replays: those are decided in the accept commit. Fails with
 * `validation_failed`, name `invalid_idempotency_key` (decisions, Idempotency).
 */
import { createHash } from 'node:crypto';
import { validationFailed } from '../base/errors.ts';
import type { AcceptOptions } from '../flow/accept.ts';
import type { Call } from './route.ts';

const MAX_KEY_LENGTH = 256;

/** The idempotency of a call to `route` (`POST /emails`); null without the header. */
export function idempotencyOf(call: Call, route: string): AcceptOptions['idempotency'] {
  const key = call.headers.get('idempotency-key');
  if (key === null) return null;
  if (key.length < 1 || key.length > MAX_KEY_LENGTH) {
    throw validationFailed(
      [{ path: 'Idempotency-Key', message: 'Idempotency-Key must have 1 to 256 characters.' }],
      { status: 400, name: 'invalid_idempotency_key' },
    );
  }
  return { key, route, bodyHash: createHash('sha256').update(call.rawBody).digest('hex') };
}
