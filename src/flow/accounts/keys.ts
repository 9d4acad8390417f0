/**
 * API keys: made, found, revoked.
 *
 * Promises that a key's text is returned once and never stored: the store has its SHA-256. A key is
 * found by that hash, so that comparing takes the same time for every wrong key. What is kept in memory
 * is forgotten when a key or its account changes. `last_used_at` is written in batches and may lag.
 */
import { randomBytes } from 'node:crypto';
import { ApiError } from '../../base/errors.ts';
import { isKeyText, keyText, shownPrefix } from '../../base/key-text.ts';
import type { Permission } from '../../base/status.ts';
import type { Key } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import type { Identity, Sender } from '../draft.ts';
import { badName, isName } from './names.ts';
import { planOf } from './plans.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/**
 * Characters behind `pr_live_` (the prefix is the operator's choice): 214 random bits, of which `prefix` and `last4` show 48, so that more
 * than the 160 of docs/decisions.md D2 stay secret.
 */
const SECRET_LENGTH = 36;
/** Unrevoked keys of an account, sandbox keys counted apart (docs/contract.md C11.7). */
export const MAX_KEYS = 100;

/** Renaming or revoking a key changes what is remembered of it. */
type KeyChange = Pick<Context, 'store' | 'clock' | 'ids' | 'identities'>;

/**
 * The key with this text, its account and plan; null for a text that is no key, and for an unknown or revoked one.
 * The account's status is not checked: `acceptEmails` refuses for accounts that may not send.
 */
export async function authenticate(
  ctx: Pick<Context, 'config' | 'store' | 'identities' | 'keyUses' | 'emulation' | 'revision'>,
  token: string,
): Promise<Identity | null> {
  if (!isKeyText(token) && ctx.emulation === null) return null;
  const hash = hashOf(token);
  const identity = await ctx.identities.find(hash, async () => {
    const revision = ctx.revision.number;
    const found = await ctx.store.keyByHash(Buffer.from(hash, 'base64'));
    if (found === null) return (await ctx.emulation?.identify(token)) ?? null;
    if (found.key.revokedAt !== null) return null;
    return { ...found, plan: planOf(ctx.config.live.plans, found.account), revision };
  });
  if (identity !== null) ctx.keyUses.note(identity.key.id);
  return identity;
}

/**
 * Makes a key with the prefix of the config. `name`: as in `names`. The text (`token`) is returned here and stored nowhere.
 * Throws ApiError `validation_failed` or `forbidden` (the account has `MAX_KEYS` already).
 */
export async function createKey(
  ctx: Pick<Context, 'config' | 'store' | 'clock' | 'ids'>,
  accountId: string,
  input: { name: string; permission: Permission; isTest?: boolean },
): Promise<{ key: Key; token: string }> {
  checkName(input.name);
  const isTest = input.isTest ?? false;
  const token = keyText(ctx.config.live.api.keyPrefix, isTest, randomText(SECRET_LENGTH));
  const now = ctx.clock.now();
  const key: Key = {
    id: ctx.ids.next(now),
    accountId,
    name: input.name,
    permission: input.permission,
    isTest,
    prefix: shownPrefix(token),
    last4: token.slice(-4),
    lastUsedAt: null,
    revokedAt: null,
    createdAt: now,
  };
  const hash = Buffer.from(hashOf(token), 'base64');
  if ((await ctx.store.createKey(key, hash, MAX_KEYS)) === 'too_many') {
    const kind = isTest ? 'sandbox' : 'live';
    throw new ApiError(
      'forbidden',
      `An account has at most ${MAX_KEYS} ${kind} keys that are not revoked. Revoke one first.`,
    );
  }
  return { key, token };
}

/** The refusal of a key that is unknown or revoked; `headers`: of the response. */
export function invalidKey(headers: Record<string, string> = {}): ApiError {
  return new ApiError('unauthorized', 'The API key is invalid or has been revoked.', { headers });
}

/**
 * The sender as account and key are now, where another node may have changed them since they were read. Throws
 * `unauthorized` for a key that was revoked meanwhile, or whose account is gone.
 */
export async function currentSender(
  ctx: Pick<Context, 'config' | 'store' | 'revision'>,
  sender: Sender,
): Promise<Sender> {
  const revision = ctx.revision.number;
  if (revision === null || sender.revision === revision) return sender;
  const account = await ctx.store.account(sender.account.id);
  if (account === null) throw invalidKey();
  const plan = planOf(ctx.config.live.plans, account);
  const { key } = sender;
  // The operator needs none.
  if (key.id === null) return { ...sender, account, plan, revision };
  const found = await ctx.store.key(key.id);
  if (found === null || found.accountId !== account.id || found.revokedAt !== null) {
    throw invalidKey();
  }
  return { ...sender, account, plan, revision };
}

/** Revokes a key at once; twice is fine. Throws ApiError `not_found`. */
export async function revokeKey(ctx: KeyChange, accountId: string, id: string): Promise<void> {
  const isFound = await ctx.store.revokeKey(accountId, id, ctx.clock.now());
  ctx.identities.forget();
  if (!isFound) throw new ApiError('not_found', 'There is no such API key.');
}

/** Renames a key. Throws ApiError `validation_failed` or `not_found`. */
export async function renameKey(
  ctx: KeyChange,
  accountId: string,
  id: string,
  name: string,
): Promise<void> {
  checkName(name);
  const isFound = await ctx.store.renameKey(accountId, id, name);
  ctx.identities.forget();
  if (!isFound) throw new ApiError('not_found', 'There is no such API key.');
}

function checkName(name: string): void {
  if (!isName(name)) throw badName();
}

/** SHA-256 in base64: a text, so that it can be the key of a map. */
function hashOf(token: string): string {
  return Bun.SHA256.hash(token, 'base64');
}

/** Text of `length` letters and digits, each equally likely. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 = 4 × 62: a larger byte would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
    }
  }
  return text;
}
