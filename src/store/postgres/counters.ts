/**
 * Reads of the counters that the transactions keep.
 *
 * Promises a walk over the hours asked for and nothing else, whatever is stored.
 */
import { MS_PER_HOUR, hourOf } from '../counted.ts';
import type { CounterStore, Harm, OutcomeBucket } from '../counters.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { part } from './statement.ts';

const HOURS = { hour: 1, day: 24 };

/** The verbs over the database. */
export function counterVerbs(database: Access): CounterStore {
  return {
    async harmedAccounts(since, least) {
      const rows = await database.all<{ id: string }>(
        part(
          'SELECT account_id AS id FROM harm_hours WHERE hour >= $1 GROUP BY account_id' +
            ' HAVING sum(hard_bounces) >= $2 OR sum(complaints) >= $3',
          hourOf(since),
          least.hardBounces,
          least.complaints,
        ),
      );
      return rows.map(({ id }) => id);
    },
    async harm(accountId, since) {
      const row = await database.first<Harm>(
        part(
          'SELECT COALESCE(sum(hard_bounces), 0) AS "hardBounces", COALESCE(sum(complaints), 0) AS complaints' +
            ' FROM harm_hours WHERE hour >= $1 AND account_id = $2',
          hourOf(since),
          idOrNull(accountId),
        ),
      );
      return row ?? { hardBounces: 0, complaints: 0 };
    },
    async outcomes({ accountId, from, until, bucket }) {
      const of = accountId === null ? null : idOrNull(accountId);
      // No account has it; null would mean all of them together.
      if (of === null && accountId !== null) return [];
      const hours = HOURS[bucket];
      const first = Math.floor(hourOf(from) / hours) * hours;
      const rows = await database.all<Omit<OutcomeBucket, 'start'> & { bucket: number }>(
        part(
          'SELECT hour / $1::int4 AS bucket, destination, provider, sum(delivered) AS delivered, sum(delayed) AS delayed,' +
            ' sum(bounced) AS bounced, sum(complained) AS complained, sum(failed) AS failed FROM outcome_hours' +
            ' WHERE account_id IS NOT DISTINCT FROM $2 AND hour >= $3 AND hour < $4' +
            ' GROUP BY bucket, destination, provider ORDER BY bucket, destination, provider',
          hours,
          of,
          first,
          Math.ceil(until / MS_PER_HOUR),
        ),
      );
      return rows.map(({ bucket: at, ...row }) => ({ start: at * hours * MS_PER_HOUR, ...row }));
    },
  };
}
