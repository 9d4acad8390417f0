/**
 * The port for counters: what became of recipients, by the hour, as the commits of the events have counted it.
 *
 * Promises figures that agree with the events after every commit, and an answer whose time does not grow with the mail
 * that is stored. Counts events, not messages: a recipient that was delayed and then delivered is in both. Sandbox sends
 * are not counted. What was stored before the counters were introduced is added within minutes of the first start.
 */

/** How many recipients an event of each kind was recorded for. */
export interface Outcomes {
  delivered: number;
  /** `email.delivery_delayed`: at most one in a while for each recipient that waits. */
  delayed: number;
  bounced: number;
  complained: number;
  failed: number;
}

export interface OutcomeBucket extends Outcomes {
  /** Epoch milliseconds at which the bucket begins, on a whole UTC hour or day. */
  start: number;
  /** Kind of the recipients' domain: `gmail`, `microsoft`, `yahoo`, `apple` or `other`. */
  destination: string;
  /** Who runs the mail host that was last tried, as `base/provider-hosts` names it; empty: nobody it knows, or no host. */
  provider: string;
}

export interface OutcomeQuery {
  /** Null: all accounts together. */
  accountId: string | null;
  /** Epoch milliseconds: the buckets that hold `from`, up to and without the one that begins at `until`. */
  from: number;
  until: number;
  bucket: 'hour' | 'day';
}

/** Addresses that were suppressed because a message of the account bounced, or was complained about. */
export interface Harm {
  hardBounces: number;
  complaints: number;
}

export interface CounterStore {
  /** Oldest first; a bucket in which nothing happened has no row. Kept for 92 days. */
  outcomes(query: OutcomeQuery): Promise<OutcomeBucket[]>;
  /** Ids of the accounts with at least as many hard bounces, or complaints, since the hour of `since`. Kept for 9 days. */
  harmedAccounts(since: number, least: Harm): Promise<string[]>;
  /** The account's, since the hour of `since` (epoch milliseconds). */
  harm(accountId: string, since: number): Promise<Harm>;
}
