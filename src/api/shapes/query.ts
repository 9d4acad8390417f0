/**
 * Checks query parameters against shapes.
 *
 * Promises that a number is digits and in its range, that a repeated parameter is refused, and that nothing malformed
 * is ignored (docs/contract.md C17.7). Ignores parameters that the route does not have. Fails with `validation_failed`
 * and every issue.
 */
import { Type, type Static, type TInteger, type TObject, type TString } from '@sinclair/typebox';
import { isId } from '../../base/ids.ts';
import type { Page } from '../../store/pages.ts';
import type { QueryReader } from './reader.ts';
import { must, refusalFor, Shape, type Fault } from './check.ts';

/** Longest search text, in characters. */
const MAX_SEARCH_LENGTH = 200;

/** A whole number in a query; without `description` the length of a page. */
export function count(
  minimum: number,
  maximum: number,
  byDefault: number,
  description = 'Rows of a page.',
): TInteger {
  const words = `must be a whole number from ${minimum} to ${maximum}`;
  return must(Type.Integer({ minimum, maximum, default: byDefault, description }), words);
}

/** Text to search for, without control characters; empty text finds everything. */
export function search(description: string): TString {
  return must(
    Type.String({
      maxLength: MAX_SEARCH_LENGTH,
      // oxlint-disable-next-line no-control-regex -- refusing control characters is the point
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description,
    }),
    `must be at most ${MAX_SEARCH_LENGTH} characters without control characters`,
  );
}

/** A cursor of a list whose rows have ids. */
export const Cursor = Type.String({
  format: 'uuid',
  description: 'The id of a row. `next` of a page is the id of its last row.',
});

const CURSOR_FIELDS = ['after', 'before'] as const;

/** The schema of a list's cursor parameters, beside its own. */
export const CursorFields = {
  after: Type.Optional(Cursor),
  before: Type.Optional(Cursor),
};

/** A reader for the query of a route. Cursors must be ids, unless `isCursor` says otherwise. */
export function queryOf<T extends TObject>(
  schema: T,
  isCursor: (text: string) => boolean = isId,
): QueryReader<Static<T>> {
  // Formats are for the reference page only; cursors are checked below.
  const shape = new Shape(withoutFormats(schema));
  return {
    schema,
    read(query) {
      const faults: Fault[] = [];
      const fields = fieldsOf(schema, query, faults);
      for (const name of CURSOR_FIELDS) {
        const cursor = fields[name];
        if (typeof cursor === 'string' && !isCursor(cursor)) {
          faults.push({
            path: name,
            message: `${name} must be a cursor from this list: the value of next in an earlier page.`,
            isMissing: false,
          });
        }
      }
      if (fields['after'] !== undefined && fields['before'] !== undefined) {
        faults.push({
          path: 'before',
          message: 'after and before cannot be combined. Send one of them.',
          isMissing: false,
        });
      }
      faults.push(...shape.faults(fields));
      if (faults.length > 0) throw refusalFor(faults);
      return fields;
    },
  };
}

/** Parameters of a list that is returned whole: client libraries page through it all the same. */
export const WholeListQuery = queryOf(
  Type.Object({
    limit: Type.Optional(
      must(
        Type.Integer({ minimum: 1, maximum: 100, description: 'All rows when omitted.' }),
        'must be a whole number from 1 to 100',
      ),
    ),
    ...CursorFields,
  }),
);

/** The page that a checked query requests. */
export function pageOfQuery(query: { limit: number; after?: string; before?: string }): Page {
  return { limit: query.limit, after: query.after ?? null, before: query.before ?? null };
}

function fieldsOf(
  schema: TObject,
  given: URLSearchParams,
  faults: Fault[],
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const values = given.getAll(name);
    const [text] = values;
    if (text === undefined) {
      if (property['default'] !== undefined) fields[name] = property['default'];
      continue;
    }
    if (values.length > 1) {
      faults.push({ path: name, message: `${name} must appear only once.`, isMissing: false });
    }
    // Text that is not a number stays text, and the shape refuses it.
    const isNumber = property['type'] === 'integer' && /^\d{1,16}$/.test(text);
    fields[name] = isNumber ? Number(text) : text;
  }
  return fields;
}

function withoutFormats(schema: TObject): TObject {
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const bare = { ...property };
    delete bare['format'];
    return [name, bare];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}
