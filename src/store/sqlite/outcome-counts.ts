/**
 * What became of recipients, by account, hour, kind of destination and provider, updated with every event.
 *
 * Promises sums that agree with the events after every commit (`group-sums.ts`), each account's and that of all together.
 * Sandbox sends are not counted. Messages from before the counter are left to `recounts.ts` until it has reached them.
 */
import type { Database } from 'bun:sqlite';
import { destinationKind } from '../../base/destination-kind.ts';
import { providerOfHost } from '../../base/provider-hosts.ts';
import type { EventType } from '../../base/status.ts';
import type { Outcomes } from '../counters.ts';
import { GroupSums } from './group-sums.ts';

export const MS_PER_HOUR = 3_600_000;

/** Stands for all accounts together. */
export const ALL_ACCOUNTS = '';

/** The events that are counted, and where. */
const COLUMNS: Partial<Record<EventType, keyof Outcomes>> = {
  'email.delivered': 'delivered',
  'email.delivery_delayed': 'delayed',
  'email.bounced': 'bounced',
  'email.complained': 'complained',
  'email.failed': 'failed',
};

/** The types of the counted events, as a list of SQL. */
export const COUNTED_EVENTS = Object.keys(COLUMNS)
  .map((type) => `'${type}'`)
  .join(', ');

/** One event of one recipient. */
export interface CountedEvent {
  accountId: string;
  type: EventType;
  occurredAt: number;
  /** Of the recipient. */
  domain: string;
  /** Of the last attempt; null: it reached none, or there was none. */
  host: string | null;
}

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

  /** Whether events of this type are counted. */
  counts(type: EventType): boolean {
    return COLUMNS[type] !== undefined;
  }

  /** An event was recorded. */
  note({ accountId, type, occurredAt, domain, host }: CountedEvent): void {
    const column = COLUMNS[type];
    if (column === undefined) return;
    const hour = Math.floor(occurredAt / MS_PER_HOUR);
    const destination = destinationKind(domain);
    const provider = providerOfHost(host);
    const key = `${hour} ${destination} ${provider}`;
    for (const owner of [accountId, ALL_ACCOUNTS]) {
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
      sum[column] = 1;
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
