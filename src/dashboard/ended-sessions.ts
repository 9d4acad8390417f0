/**
 * Sessions that were signed out before they expired, kept in the store.
 *
 * Promises that one which was ended stays ended over restarts, until it would have expired by itself. Bounded: of more
 * than `ENDED_MAX`, each of which took the right password, those that expire first are forgotten. Fails as the store
 * fails.
 */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

import type { Context } from '../flow/context.ts';

const SETTING = 'dashboard_ended_sessions';
const ENDED_MAX = 5_000;

const Stored = Type.Object({
  /** Nonce, and when the session would have expired: epoch milliseconds. */
  ended: Type.Array(Type.Tuple([Type.String(), Type.Number()])),
});

export class EndedSessions {
  readonly #ctx: Pick<Context, 'store' | 'clock'>;
  /** Null until it was read. */
  #ended: Map<string, number> | null = null;

  constructor(ctx: Pick<Context, 'store' | 'clock'>) {
    this.#ctx = ctx;
  }

  async has(nonce: string): Promise<boolean> {
    return (await this.#read()).has(nonce);
  }

  /** Ends a session that would have expired at `expiresAt`; on disk when this resolves. */
  async add(nonce: string, expiresAt: number): Promise<void> {
    const ended = await this.#read();
    const now = this.#ctx.clock.steady();
    for (const [one, until] of ended) if (until <= now) ended.delete(one);
    ended.set(nonce, expiresAt);
    // In the order in which they were ended, which is nearly that of their expiry.
    for (const one of [...ended.keys()].slice(0, -ENDED_MAX)) ended.delete(one);
    await this.#ctx.store.setSetting(SETTING, JSON.stringify({ ended: [...ended] }));
  }

  async #read(): Promise<Map<string, number>> {
    if (this.#ended !== null) return this.#ended;
    const text = await this.#ctx.store.setting(SETTING);
    const value: unknown = text === null ? null : JSON.parse(text);
    this.#ended ??= new Map(Value.Check(Stored, value) ? value.ended : []);
    return this.#ended;
  }
}
