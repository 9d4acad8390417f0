/**
 * When each API key was last used, gathered in memory and written to the store in batches.
 *
 * Promises that every use is written within `USES_EVERY_MS`, or at `flush`, the newest time of each key. A crash
 * loses the uses of the last batch. A failed write is logged and its uses are lost: it must not turn a read into
 * a failure.
 */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { AccountStore } from '../store/accounts.ts';

const USES_EVERY_MS = 10_000;

interface Parts {
  store: Pick<AccountStore, 'touchKeys'>;
  clock: Clock;
  log: Log;
}

export class KeyUses {
  readonly #parts: Parts;
  readonly #latest = new Map<string, number>();
  #cancel: (() => void) | null = null;
  /** The writes under way and before. */
  #written: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Notes that a key was used now. */
  note(keyId: string): void {
    const { clock } = this.#parts;
    const now = clock.now();
    this.#latest.set(keyId, now);
    this.#cancel ??= clock.after(USES_EVERY_MS, () => void this.flush());
  }

  /** Writes the uses noted since the last time. Call it when the appliance stops. Never rejects. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    const rows = [...this.#latest].map(([id, usedAt]) => ({ id, usedAt }));
    this.#latest.clear();
    if (rows.length > 0) {
      const write = this.#parts.store.touchKeys(rows).catch((error: unknown) => {
        this.#parts.log.warn('key_uses_not_written', { error });
      });
      this.#written = Promise.all([this.#written, write]).then(() => undefined);
    }
    return this.#written;
  }
}
