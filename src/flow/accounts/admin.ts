/**
 * The operator's password for the dashboard.
 *
 * Promises that only a salted Argon2id hash is stored, and that checking takes the same work for every wrong password.
 * The appliance makes the password and shows it once, or takes the operator's own; it cannot be read back.
 */
import { randomBytes } from 'node:crypto';

import { OperatorError } from '../../base/errors.ts';
import type { Context } from '../context.ts';

const SETTING = 'admin_password';
/** 18 bytes are 144 random bits: too many to guess, whatever the hash costs. */
const PASSWORD_BYTES = 18;
/** Of a password that the operator chooses; NIST SP 800-63B section 3.1.1.2 asks for 15 where it stands alone. */
const PASSWORD_MIN = 15;
const PASSWORD_MAX_BYTES = 1024;

/** Replaces the password by a new one, and returns it. */
export async function resetAdminPassword(ctx: Pick<Context, 'store'>): Promise<string> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  await setAdminPassword(ctx, password);
  return password;
}

/** Sets the operator's own password. Every session ends with the one before. Throws `OperatorError` for a short one. */
export async function setAdminPassword(
  ctx: Pick<Context, 'store'>,
  password: string,
): Promise<void> {
  if (password.length < PASSWORD_MIN || Buffer.byteLength(password) > PASSWORD_MAX_BYTES) {
    throw new OperatorError(
      `A password has at least ${PASSWORD_MIN} characters and at most ${PASSWORD_MAX_BYTES} bytes.`,
      'Leave --stdin out, and one is made for you.',
    );
  }
  await ctx.store.setSetting(SETTING, await Bun.password.hash(password, 'argon2id'));
}

/** The stored hash, which a dashboard session is bound to; null while no password has been set. */
export function adminPasswordHash(ctx: Pick<Context, 'store'>): Promise<string | null> {
  return ctx.store.setting(SETTING);
}

/** Whether `password` is the operator's. False too while none has been set. */
export async function isAdminPassword(
  ctx: Pick<Context, 'store'>,
  password: string,
): Promise<boolean> {
  const hash = await adminPasswordHash(ctx);
  return hash !== null && (await Bun.password.verify(password, hash));
}
