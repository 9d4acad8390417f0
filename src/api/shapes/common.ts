/**
 * Parts that many answers share: times, ids, the list envelope, what a deletion says.
 *
 * Promises ISO 8601 in UTC at the edge and nowhere else.
 */
import { Type, type TSchema } from '@sinclair/typebox';

export const Id = Type.String({
  format: 'uuid',
  examples: ['01913c7e-89ab-7cde-8f01-23456789abcd'],
});
export const Time = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] });

/** A schema that may also be null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A closed set of words. */
export function words<const T extends readonly string[]>(values: T) {
  return Type.Union(values.map((value) => Type.Literal(value as T[number])));
}

/** A list that is returned whole (interface, Limits: domains, keys, endpoints). */
export function wholeList(item: TSchema) {
  return Type.Object({
    object: Type.Literal('list'),
    has_more: Type.Boolean(),
    data: Type.Array(item),
  });
}

/** A list by cursor. */
export function pagedList(item: TSchema) {
  return Type.Object({
    object: Type.Literal('list'),
    has_more: Type.Boolean(),
    next: nullable(Type.String({ description: 'Pass it as `after` for the following page.' })),
    data: Type.Array(item),
  });
}

/** What every deletion answers; `status` is the interface's word for it. */
export function deletion(object: string, status: string) {
  return Type.Object({
    object: Type.Literal(object),
    id: Id,
    deleted: Type.Literal(true),
    status: Type.Literal(status),
  });
}

/** Epoch milliseconds as ISO 8601 in UTC. */
export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** The same for a time that may be absent. */
export function isoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : iso(timeMs);
}

/** The envelope of a whole list. */
export function whole<T>(data: T[]): { object: 'list'; has_more: false; data: T[] } {
  return { object: 'list', has_more: false, data };
}

/** The envelope of a page; `cursorOf` names a row. */
export function paged<Row, T>(
  page: { rows: Row[]; hasMore: boolean },
  cursorOf: (row: Row) => string,
  shape: (row: Row) => T,
): { object: 'list'; has_more: boolean; next: string | null; data: T[] } {
  const last = page.rows.at(-1);
  return {
    object: 'list',
    has_more: page.hasMore,
    next: page.hasMore && last !== undefined ? cursorOf(last) : null,
    data: page.rows.map(shape),
  };
}
