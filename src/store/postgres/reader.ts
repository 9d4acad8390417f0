/**
 * The reads that every engine of SQL shares (`store/sql/`), on PostgreSQL.
 *
 * Turns `?` into `$1` and on, once for each text. Promises that what is no id finds no row where a column of ids is compared:
 * PostgreSQL would refuse the statement, and write so into its log.
 */
import type { SqlReader } from '../sql/reader.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { parameter } from './values.ts';
import type { Value } from './values.ts';

/** A text in PostgreSQL's form, and which of its values are compared with ids. */
interface Translated {
  text: string;
  ids: readonly boolean[];
}

/** Columns of the type uuid that the shared reads compare. */
const IDS =
  /\b(?:id|account_id|domain_id|message_id|recipient_id|endpoint_id|event_id|call_id) [=<>]+ $/;

/** `SqlReader` over the database. */
export function sqlReader(database: Access): SqlReader {
  const known = new Map<string, Translated>();
  const statement = (text: string, values: readonly Value[]) => {
    const translated = known.get(text) ?? translate(text);
    known.set(text, translated);
    const params = values.map((value, at) =>
      translated.ids[at] === true && typeof value === 'string' ? idOrNull(value) : parameter(value),
    );
    return { text: translated.text, params };
  };
  return {
    all: (text, ...values) => database.all(statement(text, values)),
    one: (text, ...values) => database.first(statement(text, values)),
  };
}

/** No shared text has a question mark but for a value. */
function translate(text: string): Translated {
  const pieces = text.split('?');
  // The ids of operators are texts: the first one of an old installation is "admin".
  const hasIds = !text.includes(' FROM operators');
  const ids = pieces.slice(0, -1).map((piece) => hasIds && IDS.test(piece));
  const [first = '', ...rest] = pieces;
  return { text: rest.reduce((sum, piece, at) => `${sum}$${at + 1}${piece}`, first), ids };
}
