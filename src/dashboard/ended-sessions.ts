/**
 * Sessions that were signed out before they expired, kept in the store.
 *
 * Promises that one which was ended stays ended over restarts and on every node, until it would have expired by itself.
 * Each took the right password, and retention forgets it afterwards. Fails as the store fails.
 */
import type { Context } from '../flow/context.ts';
import { EXPIRING } from '../store/settings.ts';

const SETTING = `${EXPIRING}ended_session:`;

export class EndedSessions {
  readonly #ctx: Pick<Context, 'store'>;

  constructor(ctx: Pick<Context, 'store'>) {
    this.#ctx = ctx;
  }

  async has(nonce: string): Promise<boolean> {
    return (await this.#ctx.store.setting(SETTING + nonce)) !== null;
  }

  /** Ends a session that would have expired at `expiresAt`; on disk when this resolves. */
  async add(nonce: string, expiresAt: number): Promise<void> {
    await this.#ctx.store.setSetting(SETTING + nonce, String(expiresAt));
  }
}
