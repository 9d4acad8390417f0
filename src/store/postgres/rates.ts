/**
 * What nodes tell each other of their requests: rows that go with the minute, in a table that is not logged.
 *
 * Written without a transaction of its own, so that no disk is waited for.
 */
import type { HeardTakes, RateStore } from '../rates.ts';
import type { Access } from './database.ts';
import { part } from './statement.ts';

/** The verb over the database. */
export function rateVerbs(database: Access): RateStore {
  return {
    async exchangeTakes(node, own, sinceMs) {
      const rows = await database.all<{ id: number; at: number; windows: string }>(
        part(
          'WITH told AS (INSERT INTO rate_takes (node, at, windows) SELECT $1, $2, $3 WHERE $3::text IS NOT NULL)' +
            ' SELECT seq AS id, at, windows FROM rate_takes WHERE node <> $1' +
            " AND told_at > clock_timestamp() - $4::int8 * interval '1 millisecond'",
          node,
          own?.at ?? 0,
          own === null ? null : JSON.stringify(own.windows),
          Math.ceil(sinceMs),
        ),
      );
      return rows.map(({ id, at, windows }) => ({
        id,
        at,
        // What another node has written above.
        windows: JSON.parse(windows) as HeardTakes['windows'],
      }));
    },
  };
}
