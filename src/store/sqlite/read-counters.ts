/**
 * Reads of the counters that the writer keeps.
 *
 * Promises a walk over the hours asked for and nothing else, whatever is stored.
 */
import type { Database } from 'bun:sqlite';
import type { CounterStore, Harm, OutcomeBucket } from '../counters.ts';
import { ALL_ACCOUNTS, MS_PER_HOUR, hourOf } from '../counted.ts';

const HOURS = { hour: 1, day: 24 };

/** The verbs over a reading connection; statements are prepared once, here. */
export function counterReads(db: Database): CounterStore {
  const outcomes = db.prepare<OutcomeBucket, [number, string, number, number]>(
    'SELECT hour / ?1 * ?1 * ' +
      MS_PER_HOUR +
      ' AS start, destination, provider, sum(delivered) AS delivered, sum(delayed) AS delayed,' +
      ' sum(bounced) AS bounced, sum(complained) AS complained, sum(failed) AS failed FROM outcome_hours' +
      ' WHERE account_id = ?2 AND hour >= ?3 AND hour < ?4 GROUP BY start, destination, provider' +
      ' ORDER BY start, destination, provider',
  );
  const harmed = db.prepare<{ id: string }, [number, number, number]>(
    'SELECT account_id AS id FROM harm_hours WHERE hour >= ? GROUP BY account_id' +
      ' HAVING sum(hard_bounces) >= ? OR sum(complaints) >= ?',
  );
  const harm = db.prepare<Harm, [number, string]>(
    'SELECT COALESCE(sum(hard_bounces), 0) AS hardBounces, COALESCE(sum(complaints), 0) AS complaints' +
      ' FROM harm_hours WHERE hour >= ? AND account_id = ?',
  );
  return {
    harmedAccounts: async (since, least) =>
      harmed.all(hourOf(since), least.hardBounces, least.complaints).map(({ id }) => id),
    harm: async (accountId, since) =>
      harm.get(hourOf(since), accountId) ?? { hardBounces: 0, complaints: 0 },
    async outcomes({ accountId, from, until, bucket }) {
      const hours = HOURS[bucket];
      const first = Math.floor(from / MS_PER_HOUR / hours) * hours;
      return outcomes.all(hours, accountId ?? ALL_ACCOUNTS, first, Math.ceil(until / MS_PER_HOUR));
    },
  };
}
