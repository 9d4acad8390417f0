/**
 * Which of the due recipients that a look finds an owner takes: at most so many of each destination.
 *
 * Promises that what is the owner's already is always among its own, so that a lost answer is given again; and that one
 * long line leaves rows for other owners. Reads and writes nothing; cannot fail.
 */
import type { DestinationRef, DueRequest, RecipientRef } from './journey.ts';

/** A due row that nobody has under a lease: its owner's, or null when it is free to be taken. */
export interface DueRow extends RecipientRef {
  owner: string | null;
}

export interface DueChoice {
  /** The owner's already, and those to be taken, in the order of the rows. */
  chosen: DueRow[];
  /** The soonest of each destination of which rows are left to others. */
  left: RecipientRef[];
}

/** Chooses among `rows`, soonest first. Rows of another owner are free: its lease is over. */
export function chooseDue(rows: readonly DueRow[], request: DueRequest): DueChoice {
  const { owner, most, without } = request;
  const accounts = new Set(without.accountIds);
  const taken = new Map(without.destinations.map((of) => [destinationKey(of), most]));
  const left = new Map<string, RecipientRef>();
  const chosen = rows.filter((row) => {
    if (row.owner === owner) return true;
    const key = destinationKey(row);
    const count = taken.get(key) ?? 0;
    if (count >= most || accounts.has(row.accountId)) {
      if (!left.has(key)) left.set(key, refOf(row));
      return false;
    }
    taken.set(key, count + 1);
    return true;
  });
  return { chosen, left: [...left.values()] };
}

/** The row without its owner. */
export function refOf({ id, accountId, domain, dueAt }: RecipientRef): RecipientRef {
  return { id, accountId, domain, dueAt };
}

/** Whose mail for which domain, and nothing else of what is given. */
export function destinationOf({ accountId, domain }: DestinationRef): DestinationRef {
  return { accountId, domain };
}

/** Tells a destination from all others: no domain has a blank in it. */
export function destinationKey({ accountId, domain }: DestinationRef): string {
  return `${domain} ${accountId}`;
}
