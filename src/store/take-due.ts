/**
 * Taking due recipients: a page is read on a reading connection, and what is free in it is taken in one write.
 *
 * Promises that only what the write has marked, or what was the owner's before, is answered: a row that another took or
 * began between the two is neither. Writes nothing when nothing is free. Fails as the store fails.
 */
import { chooseDue, destinationOf, refOf } from './due-choice.ts';
import type { DueRow } from './due-choice.ts';
import type { DueRequest, JourneyStore } from './journey.ts';

export interface DueSteps {
  /** Due rows that nobody has under a lease and that are free or the owner's, soonest first. */
  dueRows(request: Omit<DueRequest, 'most' | 'without'>): Promise<DueRow[]>;
  /** Takes those that are still due and free; returns their ids. */
  takeStep(owner: string, ids: string[], now: number): Promise<string[]>;
}

/** The verb over its two steps. */
export function takingDue(steps: DueSteps): Pick<JourneyStore, 'takeDue'> {
  return {
    async takeDue(request) {
      const { owner, now, limit, after, of } = request;
      const page = { owner, now, limit, after };
      // It may cross threads: what crosses is what is asked for, whatever else the caller's objects are.
      const rows = await steps.dueRows(
        of === undefined ? page : { ...page, of: destinationOf(of) },
      );
      const { chosen, left } = chooseDue(rows, request);
      const free = chosen.filter((row) => row.owner !== owner).map(({ id }) => id);
      const taken = new Set(free.length === 0 ? [] : await steps.takeStep(owner, free, now));
      const last = rows.at(-1);
      return {
        ours: chosen.filter((row) => row.owner === owner || taken.has(row.id)).map(refOf),
        left,
        last: last === undefined ? null : refOf(last),
        isEnd: rows.length < limit,
      };
    },
  };
}
