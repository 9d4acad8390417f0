/**
 * The kill switch: while it is on, sends are refused with `platform_halted` and the queue delivers nothing.
 *
 * Promises that the state survives a restart (it is a setting in the store) and that `state` answers at once, from
 * memory; what other nodes do to it comes in by `revision.ts`. Until `load` has run, the appliance counts as running. `halt` and `resume` reject when the store
 * cannot be written; a halt is in force all the same.
 */
import type { Clock } from '../base/clock.ts';
import { ApiError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { SettingStore } from '../store/settings.ts';

export interface Halt {
  /** One sentence for people; shown to callers. */
  reason: string;
  /** Epoch milliseconds. */
  since: number;
}

interface Parts {
  store: SettingStore;
  clock: Clock;
  log: Log;
}

const SETTING = 'halt';
/** Seconds after which a client may try again: operators halt for minutes, not for milliseconds. */
export const HALT_RETRY_SECONDS = 60;

export class HaltSwitch {
  readonly #parts: Parts;
  #state: Halt | null = null;
  /** What is in force here is not, or not yet, what the store has. */
  #isAhead = false;
  /** How often it was changed here. */
  #changes = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The halt in force; null while the appliance runs. */
  get state(): Halt | null {
    return this.#state;
  }

  /** Reads the switch from the store: before anything accepts or delivers, and when another node may have changed it. */
  async load(): Promise<void> {
    const changes = this.#changes;
    const text = await this.#parts.store.setting(SETTING);
    // It was changed here while the store was asked: that is newer.
    if (!this.#isAhead && this.#changes === changes)
      this.#state = text === null ? null : parseHalt(text);
  }

  /** Turns the switch on, in force at once; a second halt keeps the time of the first and takes the new reason. */
  async halt(reason: string): Promise<Halt> {
    const since = this.#state?.since ?? this.#parts.clock.now();
    const state: Halt = { reason: reason.trim() || 'Halted by the operator.', since };
    // Memory first: a full disk must not keep an operator from stopping the appliance.
    this.#state = state;
    this.#isAhead = true;
    this.#changes += 1;
    await this.#parts.store.setSetting(SETTING, JSON.stringify(state), { isRemembered: true });
    this.#isAhead = false;
    this.#parts.log.warn('halted', { reason: state.reason });
    return state;
  }

  /** Turns the switch off. False when it was off. The caller wakes the queue. */
  async resume(): Promise<boolean> {
    const wasOn = this.#state !== null;
    await this.#parts.store.setSetting(SETTING, null, { isRemembered: true });
    this.#state = null;
    this.#isAhead = false;
    this.#changes += 1;
    if (wasOn) this.#parts.log.info('resumed');
    return wasOn;
  }

  /** Throws `platform_halted` (503, with `Retry-After`) while the switch is on. */
  refuse(): void {
    if (this.#state === null) return;
    throw new ApiError('platform_halted', `Sending is halted: ${this.#state.reason}`, {
      headers: { 'Retry-After': String(HALT_RETRY_SECONDS) },
    });
  }
}

/** What an older version or another tool wrote may lack a field; a halt without a reason is still a halt. */
function parseHalt(text: string): Halt {
  const value: unknown = JSON.parse(text);
  const fields = typeof value === 'object' && value !== null ? value : {};
  return {
    reason:
      'reason' in fields && typeof fields.reason === 'string'
        ? fields.reason
        : 'Halted by the operator.',
    since: 'since' in fields && typeof fields.since === 'number' ? fields.since : 0,
  };
}
