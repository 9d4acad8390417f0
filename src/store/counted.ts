/**
 * What is counted of events and suppressions, and in which sum it is.
 *
 * Promises the same figures in every store. Sandbox sends are not counted as outcomes. As harm counts a suppression whose
 * source is a message of its account; a row that names anything else, as a CSV file can, proves nothing. Reads and writes
 * nothing; cannot fail.
 */
import { SANDBOX_DOMAIN, destinationKind } from '../base/destination-kind.ts';
import { isId } from '../base/ids.ts';
import { providerOfHost } from '../base/provider-hosts.ts';
import type { EventType } from '../base/status.ts';
import type { Harm, Outcomes } from './counters.ts';
import type { Suppression } from './rows.ts';

export const MS_PER_DAY = 86_400_000;
export const MS_PER_HOUR = 3_600_000;

/** UTC days since the epoch. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / MS_PER_DAY);
}

/** UTC hours since the epoch. */
export function hourOf(timeMs: number): number {
  return Math.floor(timeMs / MS_PER_HOUR);
}

/** Stands for all accounts together, in the sums of outcomes. */
export const ALL_ACCOUNTS = '';

/** The events that are counted, and as what. */
const OUTCOMES: Partial<Record<EventType, keyof Outcomes>> = {
  'email.delivered': 'delivered',
  'email.delivery_delayed': 'delayed',
  'email.bounced': 'bounced',
  'email.complained': 'complained',
  'email.failed': 'failed',
};

export const COUNTED_TYPES: readonly string[] = Object.keys(OUTCOMES);

/** Whether events of this type are counted. */
export function isCounted(type: EventType): boolean {
  return OUTCOMES[type] !== undefined;
}

/** Whether the mail to a recipient is real: nothing is counted of simulated ones. */
export function isReal(isSandbox: boolean, domain: string): boolean {
  return !isSandbox && domain !== SANDBOX_DOMAIN;
}

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

/** The sum of an account, and of all together, that one is added to. */
export interface OutcomeSum {
  hour: number;
  destination: string;
  provider: string;
  outcome: keyof Outcomes;
}

/** Where the event is counted; null: nowhere. */
export function outcomeSumOf({ type, occurredAt, domain, host }: CountedEvent): OutcomeSum | null {
  const outcome = OUTCOMES[type];
  if (outcome === undefined) return null;
  return {
    hour: hourOf(occurredAt),
    destination: destinationKind(domain),
    provider: providerOfHost(host),
    outcome,
  };
}

/** The message that a suppression would be harm of, if that is its account's; null: it is no harm. */
export function harmfulMessage({
  reason,
  source,
}: Pick<Suppression, 'reason' | 'source'>): string | null {
  if (reason !== 'hard_bounce' && reason !== 'complaint') return null;
  return source !== null && isId(source) ? source : null;
}

/** What a suppression that is harm counts. */
export function harmOf({ reason }: Pick<Suppression, 'reason'>): Harm {
  const isBounce = reason === 'hard_bounce';
  return { hardBounces: isBounce ? 1 : 0, complaints: isBounce ? 0 : 1 };
}
