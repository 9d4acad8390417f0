/**
 * Answers for requests that meet no route: unknown paths, wrong methods, OPTIONS.
 *
 * Promises the same JSON error body as everywhere (client libraries fail on an HTML 404), and `Allow`
 * where the path is known. They need no key and are never logged.
 */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../base/errors.ts';
import type { Route } from './route.ts';

const BASE = {
  path: '',
  access: 'open',
  isSend: false,
  query: null,
  body: null,
  errors: [],
  text: { tag: '', summary: '' },
  success: { status: 200, schema: Type.Object({}), description: '' },
} as const;

/** 404 for a path that is no route. */
export const missingRoute: Route = {
  ...BASE,
  method: 'GET',
  handle: () => Promise.reject(new ApiError('not_found', 'There is no such route.')),
};

/** 405 for a known path with another method. */
export function wrongMethod(methods: readonly string[]): Route {
  const allow = allowed(methods);
  return {
    ...BASE,
    method: 'GET',
    handle: () =>
      Promise.reject(
        new ApiError('not_found', `This route answers to ${allow}.`, {
          status: 405,
          name: 'method_not_allowed',
          headers: { Allow: allow },
        }),
      ),
  };
}

/** What OPTIONS answers: the methods, in header and body. */
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
