/** Who has which job: one row each, with times of the database. */
import type { JobStore } from '../jobs.ts';
import type { Access } from './database.ts';
import { part } from './statement.ts';

/** In `$3` milliseconds. */
const IN_A_WHILE = "now() + $3::int8 * interval '1 millisecond'";

/** The verbs over the database. */
export function jobVerbs(database: Access): JobStore {
  return {
    async takeJob(name, holder, forMs) {
      const take =
        `INSERT INTO jobs (name, holder, until) VALUES ($1, $2, ${IN_A_WHILE})` +
        ' ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until' +
        ' WHERE jobs.holder = excluded.holder OR jobs.until <= now()';
      return (await database.run(part(take, name, holder, forMs))) === 1;
    },
    async endJob(name, holder, restMs) {
      // Its own holder rests, too.
      const rest = `UPDATE jobs SET holder = '', until = ${IN_A_WHILE} WHERE name = $1 AND holder = $2`;
      await database.run(part(rest, name, holder, restMs));
    },
  };
}
