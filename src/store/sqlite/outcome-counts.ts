/**
 * What became of recipients, by account, hour, kind of destination and provider, updated with every event.
 *
 * Promises sums that agree with the events after every commit (`group-sums.ts`), each account's and that of all together;
 * what is counted where says `counted.ts`. Messages from before the counter are left to `recounts.ts` until it has
 * reached them.
 */
import type { Database } from 'bun:sqlite';
import { ALL_ACCOUNTS, outcomeSumOf } from '../counted.ts';
import type { CountedEvent } from '../counted.ts';
import type { Outcomes } from '../counters.ts';
import { GroupSums } from './group-sums.ts';

interface Sum extends Outcomes {
  accountId: string;
  hour: number;
  destination: string;
  provider: string;
}

export class OutcomeCounts extends GroupSums<Sum> {
  readonly #add;

  constructor(db: Database) {
    super();
    this.#add = db.prepare(
      'INSERT INTO outcome_hours (account_id, hour, destination, provider, delivered, delayed, bounced, complained,' +
        ' failed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET' +
        ' delivered = delivered + excluded.delivered, delayed = delayed + excluded.delayed,' +
        ' bounced = bounced + excluded.bounced, complained = complained + excluded.complained,' +
        ' failed = failed + excluded.failed',
    );
  }

  /** An event was recorded. */
  note(event: CountedEvent): void {
    const counted = outcomeSumOf(event);
    if (counted === null) return;
    const { hour, destination, provider, outcome } = counted;
    const key = `${hour} ${destination} ${provider}`;
    for (const owner of [event.accountId, ALL_ACCOUNTS]) {
      const sum: Sum = {
        accountId: owner,
        hour,
        destination,
        provider,
        delivered: 0,
        delayed: 0,
        bounced: 0,
        complained: 0,
        failed: 0,
      };
      sum[outcome] = 1;
      this.add(`${owner} ${key}`, sum);
    }
  }

  protected merge(into: Sum, by: Sum): void {
    into.delivered += by.delivered;
    into.delayed += by.delayed;
    into.bounced += by.bounced;
    into.complained += by.complained;
    into.failed += by.failed;
  }

  protected write(sum: Sum): void {
    const { accountId, hour, destination, provider } = sum;
    const { delivered, delayed, bounced, complained, failed } = sum;
    this.#add.run(
      accountId,
      hour,
      destination,
      provider,
      delivered,
      delayed,
      bounced,
      complained,
      failed,
    );
  }
}
