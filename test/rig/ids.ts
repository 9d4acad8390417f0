/** Ids for rows that a test makes by itself: one source for the whole process, so that they stay in order. */
import { IdSource } from '../../src/base/ids.ts';

const source = new IdSource();

/** A new id for the moment `nowMs` (epoch milliseconds). */
export function newId(nowMs: number): string {
  return source.next(nowMs);
}
