/**
 * Transactions whose statements keep their plans: those that every message needs.
 *
 * Each connection plans such a statement once and not for every group of messages, the checks of foreign keys and what
 * functions ask included (docs/decisions.md D447). Promises that a kept plan walks over no table where there is an
 * index: a plan that was made while a table was small serves when it is large. Only for statements that look rows up by
 * keys, and never read a table in partitions: such a plan would look at all of them.
 */
import { transactingBy } from './database.ts';
import type { Access } from './database.ts';
import { part } from './statement.ts';

/** Until the end of the transaction. Without joins by hash and by merging, what is left is to look each row up. */
const KEPT = part(
  'SELECT ' +
    [
      ['plan_cache_mode', 'force_generic_plan'],
      ['enable_seqscan', 'off'],
      ['enable_hashjoin', 'off'],
      ['enable_mergejoin', 'off'],
    ]
      .map(([name, value]) => `set_config('${name}', '${value}', true)`)
      .join(', '),
);

/** The same database; reads outside of transactions are as before. */
export function withKeptPlans(database: Access): Access {
  return transactingBy(database, (work) =>
    database.transaction((session) => {
      // Without waiting for it: it travels with the first statement.
      session.send(KEPT);
      return work(session);
    }),
  );
}
