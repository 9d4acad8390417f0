/**
 * Reads of what waits: due recipients for the queue, and the whole of it for the operator.
 *
 * Promises the soonest first where it is asked for what is due, without what is another owner's or under a lease. Never
 * takes or claims: that is the writer's.
 */
import type { Database } from 'bun:sqlite';
import { destinationKind } from '../../base/destination-kind.ts';
import { idTime } from '../../base/ids.ts';
import type { DueRow } from '../due-choice.ts';
import type { JourneyStore } from '../journey.ts';
import type { OperatorStore, QueueKind } from '../operator.ts';
import { SELECT_RECIPIENT } from '../sql/columns.ts';
import type { RecipientRow } from '../sql/columns.ts';
import type { DueSteps } from '../take-due.ts';

const DUE =
  'SELECT id, account_id AS accountId, domain, next_attempt_at AS dueAt, owner FROM recipients';
/** Of the rows of a page: free, or of the owner that asks. */
const IS_WITHIN_REACH =
  ' WHERE next_attempt_at IS NOT NULL AND (next_attempt_at, id) > (?1, ?2) AND next_attempt_at <= ?3' +
  ' AND (lease_until IS NULL OR lease_until <= ?3) AND (owner IS NULL OR owner = ?4 OR lease_until <= ?3)';
const PAGE = ' ORDER BY next_attempt_at, id LIMIT ?5';

/**
 * The queue's verbs over a reading connection; statements are prepared once, here. `dueRows` for one destination is slow
 * where much is due for others.
 */
export function dueReads(
  db: Database,
): Pick<DueSteps, 'dueRows'> & Pick<JourneyStore, 'nextRecipientDue'> {
  const due = db.prepare<DueRow, [number, string, number, string, number]>(
    DUE + IS_WITHIN_REACH + PAGE,
  );
  // By the same index: it passes over what is due for others, but only over that.
  const dueOf = db.prepare<DueRow, [number, string, number, string, number, string, string]>(
    DUE +
      ' INDEXED BY recipients_by_due' +
      IS_WITHIN_REACH +
      ' AND domain = ?6 AND account_id = ?7' +
      PAGE,
  );
  const nextDue = db.prepare<{ at: number | null }, [number]>(
    'SELECT min(next_attempt_at) AS at FROM recipients WHERE next_attempt_at > ?',
  );
  return {
    async dueRows({ owner, now, limit, after, of }) {
      const page = [after?.dueAt ?? 0, after?.id ?? '', now, owner, limit] as const;
      return of === undefined ? due.all(...page) : dueOf.all(...page, of.domain, of.accountId);
    },
    nextRecipientDue: async (after) => nextDue.get(after)?.at ?? null,
  };
}

/** The operator's verbs over a reading connection; statements are prepared once, here. */
export function queueReads(db: Database): Pick<OperatorStore, 'queue' | 'queueCounts'> {
  const queueAll = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND (domain, id) > (?, ?) ORDER BY domain, id LIMIT ?',
  );
  const queueOf = db.prepare<RecipientRow, [string, string, number]>(
    SELECT_RECIPIENT +
      ' WHERE next_attempt_at IS NOT NULL AND domain = ? AND id > ? ORDER BY id LIMIT ?',
  );
  const domainOf = db.prepare<{ domain: string }, [string]>(
    'SELECT domain FROM recipients WHERE id = ?',
  );
  // The index has them by destination: nothing is sorted, and no row of the table is looked at.
  const counts = db.prepare<Destination, []>(
    'SELECT domain, count(*) AS waiting, min(id) AS oldestId FROM recipients' +
      ' INDEXED BY recipients_by_domain WHERE next_attempt_at IS NOT NULL GROUP BY domain',
  );
  const reasonOf = db.prepare<{ reason: string | null }, [string]>(
    'SELECT last_reason AS reason FROM recipients WHERE id = ?',
  );
  return {
    async queue({ domain, limit, after }) {
      if (domain !== null) return queueOf.all(domain, after ?? '', limit);
      if (after === null) return queueAll.all('', '', limit);
      return queueAll.all(domainOf.get(after)?.domain ?? '', after, limit);
    },
    async queueCounts(wanted, limit) {
      const kinds = new Map<string, QueueKind>();
      const largest = new Largest(limit);
      for (const row of counts.iterate()) {
        const { domain, waiting } = row;
        const oldestCreatedAt = idTime(row.oldestId);
        addTo(kinds, { kind: destinationKind(domain), destinations: 1, waiting, oldestCreatedAt });
        if ((wanted ?? domain) === domain) largest.add(row);
      }
      return {
        kinds: [...kinds.values()],
        largest: largest.rows().map(({ domain, waiting, oldestId }) => ({
          domain,
          waiting,
          oldestCreatedAt: idTime(oldestId),
          reason: reasonOf.get(oldestId)?.reason ?? null,
        })),
      };
    },
  };
}

interface Destination {
  domain: string;
  waiting: number;
  oldestId: string;
}

/** The destinations with most waiting recipients; those with as many as another stay in the order they came. */
class Largest {
  readonly #limit: number;
  #rows: Destination[] = [];
  /** Fewer than these are not among the largest. */
  #least = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(row: Destination): void {
    if (row.waiting <= this.#least) return;
    this.#rows.push(row);
    if (this.#rows.length > 2 * this.#limit) this.#keepLargest();
  }

  /** The largest first. */
  rows(): readonly Destination[] {
    this.#keepLargest();
    return this.#rows;
  }

  #keepLargest(): void {
    this.#rows.sort((a, b) => b.waiting - a.waiting);
    this.#rows.length = Math.min(this.#rows.length, this.#limit);
    if (this.#rows.length === this.#limit) this.#least = this.#rows.at(-1)?.waiting ?? Infinity;
  }
}

function addTo(kinds: Map<string, QueueKind>, { kind, ...more }: QueueKind): void {
  const sum = kinds.get(kind) ?? { kind, destinations: 0, waiting: 0, oldestCreatedAt: Infinity };
  kinds.set(kind, {
    kind,
    destinations: sum.destinations + more.destinations,
    waiting: sum.waiting + more.waiting,
    oldestCreatedAt: Math.min(sum.oldestCreatedAt, more.oldestCreatedAt),
  });
}
