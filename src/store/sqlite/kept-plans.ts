/**
 * Statements whose plan SQLite keeps from run to run.
 *
 * SQLite prepares a statement anew at each run with new values when the plan might depend on one: when a parameter stands
 * where the planner compared it (a join, an ORDER BY, a partial index of the table), or as the LIMIT. That took five
 * times as long as the run itself. Promises the same rows by the same plan, that of values not known. Cannot fail.
 */

/** A parameter that is compared, or bounds the rows; in a SET it is harmless. */
const COMPARED = /(=|<|>|LIMIT) \?(\d*)/g;

/** The planner does not look behind a unary plus, which changes no value ("Operators" in SQLite's expression syntax). */
export function withKeptPlan(sql: string): string {
  return sql.replace(COMPARED, '$1 +?$2');
}
