/**
 * Whether a response has exactly the shape that the reference page shows for its route: no member missing, none that
 * is not documented, ids and times in their formats.
 *
 * Promises nothing about refusals: `expectError` checks those.
 */
import { FormatRegistry, Kind, type TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Route } from '../../src/api/routes/route.ts';
import { ROUTES } from '../../src/api/routes/routes.ts';

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

FormatRegistry.Set('uuid', (text) => UUID7.test(text));
FormatRegistry.Set('date-time', (text) => TIME.test(text));
FormatRegistry.Set('binary', () => true);

/** Literal parts first, as the router does: `/emails/batch` is no `/emails/:id`. */
const MATCHERS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^(?:/v1)?${route.path.replaceAll(/:[a-z]+/g, '[^/]+')}/?$`),
})).toSorted((one, other) => countOf(one.route) - countOf(other.route));

function countOf({ path }: Route): number {
  return path.split(':').length;
}

/** Throws when `body`, a successful response to this request, is not what the reference shows. */
export function checkShape(method: string, path: string, status: number, body: unknown): void {
  const [pathname = ''] = path.replaceAll(/\/{2,}/g, '/').split('?', 1);
  const found = MATCHERS.find(
    ({ route, pattern }) => route.method === method && pattern.test(pathname),
  );
  if (found === undefined) return;
  const { success } = found.route;
  // Bytes, not JSON.
  if (success.schema[Kind] === 'String') return;
  if (status !== success.status) {
    throw new Error(
      `${method} ${pathname} answered ${status}, the reference says ${success.status}`,
    );
  }
  const [error] = [...Value.Errors(closed(success.schema), body)];
  if (error !== undefined) {
    throw new Error(
      `${method} ${pathname} is not as documented at ${error.path}: ${error.message}`,
    );
  }
}

/** The schema in which every object has the members it names and no other. */
function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map((item) => closed<unknown>(item)) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = { ...schema } as Record<PropertyKey, unknown>;
  for (const [name, value] of Object.entries(schema)) copy[name] = closed<unknown>(value);
  const isObject = (schema as Partial<TSchema>)[Kind] === 'Object';
  if (isObject && copy['additionalProperties'] === undefined) copy['additionalProperties'] = false;
  return copy as T;
}
