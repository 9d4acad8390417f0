/**
 * API keys: made, found, revoked.
 *
 * Promises that a key's text is returned once and never stored: the store has its SHA-256. A key is
 * found by that hash, so that comparing takes the same time for every wrong key. What is kept in memory
 * is forgotten when a key or its account changes. `last_used_at` is written in batches and may lag.
 */
import { randomBytes } from 'node:crypto';
import type { Plan } from '../base/config.ts';
import { ApiError, validationFailed } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Permission } from '../base/status.ts';
import type { Account, Key } from '../store/rows.ts';
import type { Context } from './context.ts';
import { knownPerStore } from './known.ts';
import { planOf } from './plans.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/**
 * Characters behind `pr_live_`: 214 random bits, of which `prefix` and `last4` show 48, so that more
 * than the 160 of decisions ("Names") stay secret.
 */
const SECRET_LENGTH = 36;
const KEY_TEXT = /^pr_(?:live|test)_[A-Za-z0-9]{20,200}$/;
const USES_EVERY_MS = 10_000;

/** A key that may be used, with the account and plan it acts for. */
export interface Identity {
  key: Key;
  account: Account;
  plan: Plan;
}

type KeyContext = Pick<Context, 'store' | 'clock' | 'config' | 'log'>;

const identities = knownPerStore<Identity>();

/**
 * Whose key this is; null for a text that is no key, and for an unknown or revoked one. Says nothing
 * about the account's status: `acceptEmails` refuses for accounts that may not send.
 */
export async function authenticate(ctx: KeyContext, token: string): Promise<Identity | null> {
  if (!KEY_TEXT.test(token)) return null;
  const hash = hashOf(token);
  const identity = await identities(ctx).find(hash, async () => {
    const found = await ctx.store.keyByHash(Buffer.from(hash, 'base64'));
    if (found === null || found.key.revokedAt !== null) return null;
    return { ...found, plan: planOf(ctx.config, found.account) };
  });
  if (identity !== null) noteUse(ctx, identity.key.id);
  return identity;
}

/**
 * Makes a key. `name`: 1 to 60 characters. The text (`token`) is in this answer and nowhere else.
 * Throws ApiError `validation_failed`.
 */
export async function createKey(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  input: { name: string; permission: Permission; isTest?: boolean },
): Promise<{ key: Key; token: string }> {
  checkName(input.name);
  const isTest = input.isTest ?? false;
  const token = `pr_${isTest ? 'test' : 'live'}_${randomText(SECRET_LENGTH)}`;
  const now = ctx.clock.now();
  const key: Key = {
    id: newId(now),
    accountId,
    name: input.name,
    permission: input.permission,
    isTest,
    prefix: token.slice(0, 12),
    last4: token.slice(-4),
    lastUsedAt: null,
    revokedAt: null,
    createdAt: now,
  };
  await ctx.store.createKey(key, Buffer.from(hashOf(token), 'base64'));
  return { key, token };
}

/** Revokes a key at once; twice is fine. Throws ApiError `not_found`. */
export async function revokeKey(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  id: string,
): Promise<void> {
  const isFound = await ctx.store.revokeKey(accountId, id, ctx.clock.now());
  forgetKeys(ctx);
  if (!isFound) throw new ApiError('not_found', 'There is no such API key.');
}

/** Gives a key another name. Throws ApiError `validation_failed` or `not_found`. */
export async function renameKey(
  ctx: Pick<Context, 'store' | 'clock'>,
  accountId: string,
  id: string,
  name: string,
): Promise<void> {
  checkName(name);
  const isFound = await ctx.store.renameKey(accountId, id, name);
  forgetKeys(ctx);
  if (!isFound) throw new ApiError('not_found', 'There is no such API key.');
}

/** Forgets what is kept in memory of every key and its account. */
export function forgetKeys(ctx: Pick<Context, 'store' | 'clock'>): void {
  identities(ctx).forget();
}

interface Uses {
  latest: Map<string, number>;
  cancel: (() => void) | null;
  /** The write under way or the last one. */
  written: Promise<void>;
}

const usesOf = new WeakMap<object, Uses>();

/** Writes the uses noted since the last time. Call it when the appliance stops. Never rejects. */
export function flushKeyUses(ctx: Pick<Context, 'store' | 'log'>): Promise<void> {
  const uses = usesOf.get(ctx.store);
  if (uses === undefined) return Promise.resolve();
  uses.cancel?.();
  uses.cancel = null;
  const rows = [...uses.latest].map(([id, usedAt]) => ({ id, usedAt }));
  uses.latest.clear();
  if (rows.length > 0) {
    const write = ctx.store.touchKeys(rows).catch((error: unknown) => {
      // A use that is not recorded harms nobody; a full disk must not turn a read into a failure.
      ctx.log.warn('key uses not written', { error });
    });
    uses.written = Promise.all([uses.written, write]).then(() => undefined);
  }
  return uses.written;
}

function noteUse(ctx: KeyContext, keyId: string): void {
  let uses = usesOf.get(ctx.store);
  if (uses === undefined) {
    uses = { latest: new Map(), cancel: null, written: Promise.resolve() };
    usesOf.set(ctx.store, uses);
  }
  const now = ctx.clock.now();
  uses.latest.set(keyId, now);
  uses.cancel ??= ctx.clock.at(now + USES_EVERY_MS, () => void flushKeyUses(ctx));
}

function checkName(name: string): void {
  if (/^[^\p{Cc}]{1,60}$/u.test(name)) return;
  throw validationFailed([
    { path: 'name', message: 'name must have 1 to 60 characters and no control characters.' },
  ]);
}

/** SHA-256 in base64: as text it is a place to look at in memory. */
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
