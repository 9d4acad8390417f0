/**
 * The guard: whose request this is, and whether that key may make it.
 *
 * Promises that a wrong key and a revoked one look the same, and that permission is decided here, from
 * the route's own word, and nowhere else. Never looks at the body. Fails with `unauthorized` or
 * `forbidden`.
 */
import { ApiError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import { authenticate, type Identity } from '../flow/keys.ts';
import type { Route } from './route.ts';

/** RFC 6750 section 3: what a client should have sent. */
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

/** The caller, or the refusal to throw when the route needs one. */
export async function identify(ctx: Context, headers: Headers): Promise<Identity | ApiError> {
  const value = headers.get('authorization');
  if (value === null || value.trim() === '') {
    return new ApiError(
      'unauthorized',
      'Missing API key. Send it in the header "Authorization: Bearer <key>".',
      { name: 'missing_api_key', headers: CHALLENGE },
    );
  }
  const token = /^bearer +(\S+) *$/i.exec(value)?.[1];
  const identity = token === undefined ? null : await authenticate(ctx, token);
  return (
    identity ??
    new ApiError('unauthorized', 'The API key is invalid or has been revoked.', {
      headers: CHALLENGE,
    })
  );
}

/** Throws `forbidden` for a key that may not use the route. */
export function checkPermission(identity: Identity, access: Route['access']): void {
  if (access !== 'full' || identity.key.permission === 'full_access') return;
  throw new ApiError('forbidden', 'This API key may only send email.', {
    name: 'restricted_api_key',
  });
}
