/**
 * The port for accounts: accounts, their API keys, confirmed recipients and usage.
 *
 * Promises that each verb touches only the account it is given, except `accounts`, `key` and `keyByHash`. Never deletes an
 * account or a key: one is paused, the other revoked. Writes fail with `StoreFullError` on a full disk.
 */
import type { AccountStatus, MessageStatus } from '../base/status.ts';
import type { ListPart } from './pages.ts';
import type { Account, Key } from './rows.ts';

export interface AccountStore {
  /** `exists`: another account has this name. */
  createAccount(account: Account): Promise<'created' | 'exists'>;
  /** `reason`: one sentence, null for an active account. False when there is no such account. */
  setAccountStatus(id: string, status: AccountStatus, reason: string | null): Promise<boolean>;
  /** `exists`: another account has this name; `absent`: there is no such account. */
  changeAccount(
    id: string,
    change: { name: string; plan: string },
  ): Promise<'changed' | 'exists' | 'absent'>;
  /** Accounts, oldest first: all, with other work between them, or a part. */
  accounts(part?: ListPart): Promise<Account[]>;
  account(idOrName: string): Promise<Account | null>;

  /**
   * `hash`: SHA-256 of the key's whole text; the text itself is never stored. `max`: keys of its kind, sandbox or not,
   * that the account may have unrevoked.
   */
  createKey(key: Key, hash: Uint8Array, max: number): Promise<'created' | 'too_many'>;
  /** False when there is no such key in the account. Revoking a revoked key keeps the first time. */
  revokeKey(accountId: string, id: string, now: number): Promise<boolean>;
  /** False when there is no such key in the account. */
  renameKey(accountId: string, id: string, name: string): Promise<boolean>;
  /** Notes when keys were last used; an earlier time never replaces a later one. */
  touchKeys(uses: { id: string; usedAt: number }[]): Promise<void>;
  /** An account's keys, revoked ones too, oldest first: all, with other work between them, or a part. */
  keys(accountId: string, part?: ListPart): Promise<Key[]>;
  /** The same of its sandbox keys alone. */
  testKeys(accountId: string, part?: ListPart): Promise<Key[]>;
  /** Revoked or not, of any account. */
  key(id: string): Promise<Key | null>;
  /** The key with this hash, revoked or not, and its account. */
  keyByHash(hash: Uint8Array): Promise<{ key: Key; account: Account } | null>;

  /**
   * Adds an address that the account may write to while its plan says "confirmed recipients only". `email` in lower
   * case. False when it was confirmed already.
   */
  addConfirmedRecipient(accountId: string, email: string, createdAt: number): Promise<boolean>;
  /** False when it was not confirmed. */
  removeConfirmedRecipient(accountId: string, email: string): Promise<boolean>;
  /** By address: at most `limit` after the address `after`, or from the first on where that is empty. */
  confirmedRecipients(
    accountId: string,
    part: { limit: number; after: string },
  ): Promise<{ email: string; createdAt: number }[]>;
  /** Which of `emails` (lower case) are confirmed. */
  confirmed(accountId: string, emails: string[]): Promise<Set<string>>;

  /** Sends in the UTC month `YYYY-MM`, as acceptances have claimed them. */
  usedInMonth(accountId: string, month: string): Promise<number>;
  /** Bytes of content that the account keeps now. */
  storedBytes(accountId: string): Promise<number>;
  /** Sends on the UTC day `YYYY-MM-DD`. */
  usedOnDay(accountId: string, day: string): Promise<number>;
  /** Sends on each UTC day from `since` (`YYYY-MM-DD`) on, oldest first; days without any are left out. */
  usedByDay(accountId: string, since: string): Promise<{ day: string; count: number }[]>;
  /** Messages accepted since the UTC day of `since` (epoch milliseconds), by their present status. */
  countsByStatus(accountId: string, since: number): Promise<Record<MessageStatus, number>>;
  /** The same of what sandbox keys sent, which the counts above include. */
  sandboxCountsByStatus(accountId: string, since: number): Promise<Record<MessageStatus, number>>;
}
