/**
 * How many requests each client address has under way, so that one address cannot use up what all share.
 *
 * Promises that a count goes back when the response is made. Only counts. Connections without a request are not seen:
 * the runtime's server has no hook for them (docs/runtime-hazards.md H6).
 */
import { ApiError } from '../base/errors.ts';
import { addressUnit } from '../wire/addresses/address-unit.ts';

export class RequestsUnderWay {
  readonly #counts = new Map<string, number>();

  /** Counts a request of `address` while `work` runs. Rejects with `rate_limited` where it has `most` already. */
  async during<T>(address: string, most: number, work: () => Promise<T>): Promise<T> {
    const unit = addressUnit(address);
    const count = this.#counts.get(unit) ?? 0;
    if (count >= most) {
      throw new ApiError(
        'rate_limited',
        `Your address has ${count} requests under way. Wait for their responses first.`,
        { headers: { 'Retry-After': '1' } },
      );
    }
    this.#counts.set(unit, count + 1);
    try {
      return await work();
    } finally {
      const left = (this.#counts.get(unit) ?? 1) - 1;
      if (left > 0) this.#counts.set(unit, left);
      else this.#counts.delete(unit);
    }
  }
}
