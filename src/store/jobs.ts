/**
 * The port for jobs that one node at a time does for all that share a store.
 *
 * Promises that at most one holder has a job at any moment, and that one which vanished loses it when its time is over,
 * by the store's own clock. A store that one process has to itself gives every job to who asks.
 */
export interface JobStore {
  /** Takes the job for `forMs`, or keeps it for so long from now on. False: another has it, or it rests. */
  takeJob(name: string, holder: string, forMs: number): Promise<boolean>;
  /** Gives it back. Nobody gets it for `restMs`. */
  endJob(name: string, holder: string, restMs: number): Promise<void>;
}
