/**
 * The operator's password for the dashboard.
 *
 * Promises that only a salted Argon2id hash is stored, and that checking takes the same work for every wrong password.
 * The password is made by the machine and shown once; nobody can read it back.
 */
import { randomBytes } from 'node:crypto';

import type { Context } from './context.ts';

const SETTING = 'admin_password';
/** 18 bytes are 144 random bits: nobody guesses them, whatever the hash costs. */
const PASSWORD_BYTES = 18;

/** Makes a new password in place of the old one, and returns it. */
export async function resetAdminPassword(ctx: Pick<Context, 'store'>): Promise<string> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  await ctx.store.setSetting(SETTING, await Bun.password.hash(password, 'argon2id'));
  return password;
}

/** Whether `password` is the operator's. False too while none has been set. */
export async function isAdminPassword(
  ctx: Pick<Context, 'store'>,
  password: string,
): Promise<boolean> {
  const hash = await ctx.store.setting(SETTING);
  return hash !== null && (await Bun.password.verify(password, hash));
}
