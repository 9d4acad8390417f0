/**
 * Parts that many responses share: times, ids, the list envelope, the response to a deletion.
 *
 * This folder turns JSON into checked values and rows into JSON. In: `json.ts` parses strictly, `check.ts` and
 * `query.ts` check against the schema of a route and report every fault, `read-email.ts` makes the draft of an email.
 * Out: the `*-response.ts` files hold the schema of each resource and the function that builds it; `error-body.ts` has
 * the errors. The same schemas make the reference page. Nothing here touches the store or the network.
 *
 * Promises ISO 8601 in UTC for every time that a client sees.
 */
import { Type, type SchemaOptions, type TSchema } from '@sinclair/typebox';

export const Id = Type.String({
  format: 'uuid',
  examples: ['01913c7e-89ab-7cde-8f01-23456789abcd'],
});
export const Time = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] });

/** A schema that may also be null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** The schema of a fixed set of words. */
export function words<const T extends readonly string[]>(values: T, options: SchemaOptions = {}) {
  return Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    options,
  );
}

/** The schema of a list of a titled `item` that is returned whole (docs/contract.md C17.8). */
export function wholeList(item: TSchema) {
  const fields = {
    object: Type.Literal('list'),
    has_more: Type.Boolean(),
    data: Type.Array(item),
  };
  return Type.Object(fields, { title: `${item.title}List` });
}

/** The schema of a list of a titled `item` by cursor. */
export function pagedList(item: TSchema) {
  const fields = {
    object: Type.Literal('list'),
    has_more: Type.Boolean(),
    next: nullable(Type.String({ description: 'Send it as `after` to get the next page.' })),
    data: Type.Array(item),
  };
  return Type.Object(fields, { title: `${item.title}Page` });
}

/** The schema of the response to a deletion; `status` as in the contract. */
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

/** Which rows of a whole list a client asks for; all of them where nothing is set. */
export interface WholeListPart {
  limit?: number;
  after?: string;
  before?: string;
}

/** The envelope of a list that is returned whole, or of the part that is asked for. `rows`: all, by rising id. */
export function wholePage<T extends { id: string }>(
  rows: readonly T[],
  { limit = rows.length, after, before }: WholeListPart,
): { object: 'list'; has_more: boolean; data: T[] } {
  // By order, not by equality: a cursor holds when its row has been removed.
  const from = after === undefined ? 0 : rows.filter(({ id }) => id <= after).length;
  const until = before === undefined ? rows.length : rows.filter(({ id }) => id < before).length;
  const found = rows.slice(from, until);
  const data = before === undefined ? found.slice(0, limit) : found.slice(-limit);
  return { object: 'list', has_more: data.length < found.length, data };
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
