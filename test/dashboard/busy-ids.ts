/** Ids of the busy server's rows: of the moment that each row says, whatever the machine's clock is. */
import { IdSource } from '../../src/base/ids.ts';

const sources = new Map<number, IdSource>();

/** A new id of that moment; those of one moment are in the order of their making. */
export function idAt(atMs: number): string {
  const source = sources.get(atMs) ?? new IdSource();
  sources.set(atMs, source);
  return source.next(atMs);
}
