/**
 * The keys of an account that pages show: all that work, which are few by their limit, and the newest of the revoked.
 *
 * Promises that an account which changes its keys every hour has no page that grows with them. All of them are read,
 * with other work between them, since which of them work is known of each alone.
 */
import type { Context } from '../../flow/context.ts';
import type { Key } from '../../store/rows.ts';

const MOST_REVOKED = 50;

export interface ShownKeys {
  /** Oldest first. */
  keys: Key[];
  /** How many older revoked ones there are. */
  more: number;
}

/** `wanted`: the id of one that is shown in any case, if the account has it. */
export async function shownKeys(
  store: Pick<Context['store'], 'keys'>,
  accountId: string,
  wanted: string | null = null,
): Promise<ShownKeys> {
  const all = await store.keys(accountId);
  let older = all.filter(({ revokedAt }) => revokedAt !== null).length - MOST_REVOKED;
  const keys = all.filter(({ id, revokedAt }) => {
    if (revokedAt === null) return true;
    older -= 1;
    return older < 0 || id === wanted;
  });
  return { keys, more: all.length - keys.length };
}
