/** The time of the database, for what is due and leased on all nodes. */
import type { TimeStore } from '../time.ts';
import type { Access } from './database.ts';
import { part } from './statement.ts';

/** The verb over the database. */
export function timeVerbs(database: Access): TimeStore {
  return {
    async storeTime() {
      const now = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS at';
      const row = await database.first<{ at: number }>(part(now));
      if (row === null) throw new Error('the database has no time');
      return row.at;
    },
  };
}
