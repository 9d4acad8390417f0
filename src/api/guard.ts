/**
 * The guard: whose request this is, and whether that key has the permission.
 *
 * Promises that a wrong key and a revoked one look the same, and that permission is decided only here, from the
 * `access` of the route; that a sandbox key finds nothing where a route is about what exists live only. Never looks at
 * the body. Fails with `unauthorized`, `forbidden` or `not_found`.
 */
import { ApiError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import { authenticate, invalidKey } from '../flow/accounts/keys.ts';
import type { Identity } from '../flow/draft.ts';
import type { Route } from './routes/route.ts';

/** RFC 6750 section 3: what a client should have sent. */
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

/** The caller, or the refusal to throw when the route needs a key. */
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
  return identity ?? invalidKey(CHALLENGE);
}

/** Throws `forbidden` for a key that may not use the route. */
export function checkPermission(identity: Identity, access: Route['access']): void {
  if (access !== 'full' || identity.key.permission === 'full_access') return;
  throw new ApiError('forbidden', 'This API key can only send email. Use a key with full access.', {
    name: 'restricted_api_key',
  });
}

/**
 * Throws for a sandbox key where only live things are: `not_found` for one of them, `forbidden` for the rest
 * (docs/decisions.md D8).
 */
export function checkSandbox({ key }: Identity, route: Pick<Route, 'isLiveOnly' | 'path'>): void {
  if (!key.isTest || !route.isLiveOnly) return;
  if (route.path.includes(':')) {
    throw new ApiError('not_found', 'A sandbox key finds sandbox data only. Use a live key.');
  }
  throw new ApiError(
    'forbidden',
    'Domains, webhook endpoints and suppressions are live. Use a live key.',
  );
}
