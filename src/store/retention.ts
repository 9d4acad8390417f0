/**
 * The port for retention: takes out what has been kept long enough.
 *
 * Promises small steps with other writes between them, each verb returning how many rows went. Never decides how long
 * anything is kept: bounds are epoch milliseconds from the caller. What went before a failure is gone.
 */

export interface RetentionStore {
  /** Makes what the store needs for mail of `now` and the next days. */
  prepareDays(now: number): Promise<void>;
  /**
   * Content of messages accepted before `before`, unless they still wait for delivery. Some of it may stay for `mayWaitMs`
   * longer (default: 0), where the store can then drop a whole day at once.
   */
  purgeBodies(before: number, mayWaitMs?: number): Promise<number>;
  /**
   * Events, attempts and webhook calls of messages accepted before `before`, and call attempts made before. `mayWaitMs`:
   * as above.
   */
  purgeHistory(before: number, mayWaitMs?: number): Promise<number>;
  /**
   * Messages accepted before `before` with all that hangs on them, unless they still wait for delivery. The newest
   * message of all stays, since positions and the search index go on from it. `mayWaitMs`: as above.
   */
  purgeMessages(before: number, mayWaitMs?: number): Promise<number>;
  /**
   * What has expired: idempotency records and settings (`EXPIRING`) by `steadyNow` (steady time; absent: `now`), marks of removed suppressions a
   * week and counters 92 days before `now`.
   */
  purgeExpired(now: number, steadyNow?: number): Promise<number>;
  /**
   * Takes what was deleted out of the raw files, too: no byte of it is left in them or in their logs. Does nothing while
   * a backup reads; call it again in the next round.
   */
  scrub(): Promise<void>;
  /** An account's request log from before `before`. */
  purgeLogs(accountId: string, before: number): Promise<number>;
}
