/**
 * What one client, one address and all together may cost the SMTP doors.
 *
 * Promises bounded memory whatever comes in: tables have a cap, and addresses of one IPv6 network count
 * as one. Plain counting; never talks to a socket.
 */
import { BODY_BYTES_MAX } from '../base/limits.ts';
import type { Clock } from '../base/clock.ts';
import { addressUnit } from '../wire/address-unit.ts';

export interface DoorLimits {
  /** Sessions in all. */
  connections: number;
  connectionsPerAddress: number;
  /** Longest session, whatever the client does: smtp-server's own timeout is re-armed by each byte. */
  sessionMs: number;
  /** Longest silence (RFC 5321 section 4.5.3.2.7 asks for 5 minutes of patience with an idle client). */
  idleMs: number;
  messageBytes: number;
  recipients: number;
  /** Bytes of messages that may be under way in all sessions together. */
  bufferedBytes: number;
}

/** Submission. One address may be a whole company behind NAT. The size is that of an API request. */
export const SUBMISSION_LIMITS: Omit<DoorLimits, 'recipients'> = {
  connections: 1_000,
  connectionsPerAddress: 100,
  sessionMs: 15 * 60_000,
  idleMs: 5 * 60_000,
  messageBytes: BODY_BYTES_MAX,
  bufferedBytes: 256 * 1024 * 1024,
};

/**
 * Port 25. Reports carry the whole original at times, so the size is beyond ours; of each message only
 * `REPORT_BYTES` are kept. RFC 5321 section 4.5.3.1.8 asks for 100 recipients.
 */
export const INBOUND_LIMITS: DoorLimits = {
  connections: 1_000,
  connectionsPerAddress: 50,
  sessionMs: 10 * 60_000,
  idleMs: 5 * 60_000,
  messageBytes: 32 * 1024 * 1024,
  recipients: 100,
  bufferedBytes: 128 * 1024 * 1024,
};

/** What is read of a report; the facts stand at its beginning, the original behind them. */
export const REPORT_BYTES = 1024 * 1024;

/** Failed logins of one address within the window after which it must wait. */
const MAX_FAILURES = 10;
const FAILURE_WINDOW_MS = 15 * 60_000;
const MAX_ADDRESSES = 20_000;

/** How many of something each address has open. */
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

/** Failed logins, so that keys can not be guessed at leisure. */
export class FailedLogins {
  readonly #failures = new Map<string, { count: number; since: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isBlocked(address: string): boolean {
    const entry = this.#current(addressUnit(address));
    return entry !== undefined && entry.count >= MAX_FAILURES;
  }

  note(address: string): void {
    const unit = addressUnit(address);
    const entry = this.#current(unit);
    if (entry !== undefined) {
      entry.count += 1;
      return;
    }
    // Oldest first out: the map keeps the order of insertion.
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(unit, { count: 1, since: this.#clock.now() });
  }

  #current(unit: string): { count: number; since: number } | undefined {
    const entry = this.#failures.get(unit);
    if (entry === undefined) return undefined;
    if (Math.abs(this.#clock.now() - entry.since) < FAILURE_WINDOW_MS) return entry;
    this.#failures.delete(unit);
    return undefined;
  }
}

/** A number of bytes that all sessions share. */
export class ByteBudget {
  readonly #total: number;
  #used = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** False when they are not there; then nothing is taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#total) return false;
    this.#used += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
  }
}
