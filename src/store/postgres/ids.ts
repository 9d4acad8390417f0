/**
 * Ids on their way into a statement.
 *
 * Promises that what is no id finds nothing, as anywhere else: PostgreSQL would refuse the whole statement.
 */
import { idBound, isId } from '../../base/ids.ts';

/** The id; null, which no row has, for any other text. */
export function idOrNull(text: string): string | null {
  return isId(text) ? text : null;
}

/** Those of the texts that are ids. */
export function idsOf(texts: readonly string[]): string[] {
  return texts.filter((text) => isId(text));
}

/** Sorts before every id made at `timeMs` (epoch milliseconds) or later, and after every earlier one. */
export function boundId(timeMs: number): string {
  return `${idBound(timeMs)}-0000-0000-000000000000`;
}
