/**
 * What one session, one address and all clients together may use of the SMTP listeners.
 *
 * Promises bounded memory for any traffic: tables have a maximum size, and the addresses of one IPv6 network count
 * as one. Only counts; never touches a socket.
 */
import { BODY_BYTES_MAX } from '../base/limits.ts';
import type { Clock } from '../base/clock.ts';
import { addressUnit } from '../wire/addresses/address-unit.ts';

export interface ListenerLimits {
  /** Sessions at once, from all addresses. */
  connections: number;
  connectionsPerAddress: number;
  /** Longest session, whatever the client does: each byte resets the timeout of smtp-server. */
  sessionMs: number;
  /** Longest silence (RFC 5321 section 4.5.3.2.7 asks servers to wait 5 minutes for an idle client). */
  idleMs: number;
  messageBytes: number;
  recipients: number;
}

/** Submission. One address may be a whole company behind NAT. A message may be as large as an API request. */
export const SUBMISSION_LIMITS: Omit<ListenerLimits, 'recipients' | 'connectionsPerAddress'> = {
  connections: 1_000,
  sessionMs: 15 * 60_000,
  idleMs: 5 * 60_000,
  messageBytes: BODY_BYTES_MAX,
};

/**
 * Port 25. Some reports contain the whole original message, so the limit is above that of submission; of each message
 * only `REPORT_BYTES` are kept. RFC 5321 section 4.5.3.1.8 asks for 100 recipients.
 */
export const INBOUND_LIMITS: Omit<ListenerLimits, 'connectionsPerAddress'> = {
  connections: 1_000,
  sessionMs: 10 * 60_000,
  idleMs: 5 * 60_000,
  messageBytes: 32 * 1024 * 1024,
  recipients: 100,
};

/** Bytes kept of a report: the facts come first, the original message after them. */
export const REPORT_BYTES = 1024 * 1024;

/** Failed logins of one address within the window, after which further wrong ones are turned away. */
const MAX_FAILURES = 10;
const FAILURE_WINDOW_MS = 15 * 60_000;
const MAX_ADDRESSES = 20_000;

/** How many sessions each address has open. */
export class AddressCounts {
  readonly #counts = new Map<string, number>();

  /** Counts one more; returns how many there are now. */
  add(unit: string): number {
    const count = (this.#counts.get(unit) ?? 0) + 1;
    this.#counts.set(unit, count);
    return count;
  }

  remove(unit: string): void {
    const count = (this.#counts.get(unit) ?? 0) - 1;
    if (count > 0) this.#counts.set(unit, count);
    else this.#counts.delete(unit);
  }
}

/** Failed logins per address, so that keys cannot be guessed by trying. Says nothing about logins with a valid key. */
export class FailedLogins {
  readonly #failures = new Map<string, { count: number; since: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether `address` has used up its failed logins. */
  isBlocked(address: string): boolean {
    const entry = this.#current(addressUnit(address));
    return entry !== undefined && entry.count >= MAX_FAILURES;
  }

  /** Counts one failed login of `address`. */
  note(address: string): void {
    const unit = addressUnit(address);
    const entry = this.#current(unit);
    if (entry !== undefined) {
      entry.count += 1;
      return;
    }
    // The oldest entry goes first: a map keeps the order of insertion.
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(unit, { count: 1, since: this.#clock.steady() });
  }

  #current(unit: string): { count: number; since: number } | undefined {
    const entry = this.#failures.get(unit);
    if (entry === undefined) return undefined;
    if (this.#clock.steady() - entry.since < FAILURE_WINDOW_MS) return entry;
    this.#failures.delete(unit);
    return undefined;
  }
}
