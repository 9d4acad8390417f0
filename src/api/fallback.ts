/**
 * Responses for requests that no route handles: unknown paths, wrong methods, OPTIONS.
 *
 * Promises the same JSON error body as everywhere (client libraries fail on an HTML 404), and `Allow` where the path is
 * known. These routes need no key, and requests without a valid key are never logged.
 */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import { NO_TEXT, type Route } from './routes/route.ts';

const BASE = {
  path: '',
  access: 'open',
  isLiveOnly: false,
  isSend: false,
  perMinute: null,
  query: null,
  body: null,
  errors: [],
  text: NO_TEXT,
  success: { status: 200, schema: Type.Object({}), description: '' },
} as const;

/** 404 for an unknown path. */
export const missingRoute: Route = {
  ...BASE,
  method: 'GET',
  handle: () =>
    Promise.reject(
      new ApiError('not_found', 'No route has this path. GET /openapi.json lists all routes.'),
    ),
};

/** 405 for a known path with another method. */
export function wrongMethod(methods: readonly string[]): Route {
  const allow = allowed(methods);
  return {
    ...BASE,
    method: 'GET',
    handle: () =>
      Promise.reject(
        new ApiError('not_found', `This route does not accept this method. Use one of: ${allow}.`, {
          status: 405,
          name: 'method_not_allowed',
          headers: { Allow: allow },
        }),
      ),
  };
}

/** The response to OPTIONS: the methods, in header and body. */
export function methodsOf(methods: readonly string[]): Route {
  const allow = allowed(methods);
  return {
    ...BASE,
    method: 'GET',
    handle: () =>
      Promise.resolve({
        status: 200,
        body: { allow: allow.split(', ') },
        headers: { Allow: allow },
      }),
  };
}

function allowed(methods: readonly string[]): string {
  const all = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  return all.join(', ');
}
