/**
 * Who may sign in to the dashboard. The story of this room:
 *
 * An operator has a name, a password, a role, and either the whole appliance or one account. `totp.ts` adds a second
 * factor; `audit.ts` keeps what each of them, and every command and API key, has changed. `dashboard/access.ts` decides
 * what a role may open. A change is one commit: a crash leaves it made or not.
 *
 * Promises that only salted Argon2id hashes are stored, that a check takes the same work for every wrong password and
 * for a name that nobody has, and that an operator with all rights always remains. The appliance makes a password and
 * shows it once, or takes the operator's own. Fails with `ApiError` and `OperatorError`.
 */
import { randomBytes } from 'node:crypto';

import { ApiError, OperatorError, validationFailed } from '../../base/errors.ts';
import type { Operator, OperatorRole } from '../../store/people.ts';
import type { Context } from '../context.ts';

/** The operator that `init` makes. */
export const ADMIN = 'admin';
export const MAX_OPERATORS = 100;
/** 18 bytes are 144 random bits: too many to guess, whatever the hash costs. */
const PASSWORD_BYTES = 18;
/** Of a password that the operator chooses; NIST SP 800-63B section 3.1.1.2 asks for 15 where it stands alone. */
const PASSWORD_MIN = 15;
const PASSWORD_MAX_BYTES = 1024;
const NAME = /^[a-z0-9][a-z0-9._@+-]{0,59}$/;
/** Of no password that anybody has; with the work of every other hash. */
const NOBODY =
  '$argon2id$v=19$m=65536,t=2,p=1$Q+F2RDDkyCyBRRbpGxoQD/RqprO5eokLIO1sbdGqQfs$pa5utMbr70CB1gor6g9GdQ5dFl3H+sWhwgrB1OY2hLM';

type Stored = Pick<Context, 'store'>;
type Making = Pick<Context, 'store' | 'clock' | 'ids'>;

export interface NewOperator {
  name: string;
  role: OperatorRole;
  /** The only account to see; null: all. */
  accountId: string | null;
}

/** Adds an operator and returns the password that was made. Throws `ApiError`. */
export async function addOperator(
  { store, clock, ids }: Making,
  { name, role, accountId }: NewOperator,
): Promise<{ operator: Operator; password: string }> {
  if (!NAME.test(name)) {
    const message =
      'name must have 1 to 60 characters: lower-case letters, digits and . _ @ + -, with a letter or digit first.';
    throw validationFailed([{ path: 'name', message }]);
  }
  const password = newPassword();
  const now = clock.now();
  const operator: Operator = {
    id: ids.next(now),
    name,
    role,
    accountId,
    passwordHash: await hashOf(password),
    sealedTotp: null,
    recoveryCodes: 0,
    createdAt: now,
    signedInAt: null,
  };
  const made = await store.createOperator(operator, MAX_OPERATORS);
  if (made === 'exists') throw new ApiError('conflict', `There is an operator ${name} already.`);
  if (made === 'too_many') {
    throw new ApiError('conflict', `There are ${MAX_OPERATORS} operators, the most there may be.`);
  }
  return { operator, password };
}

/** Throws `ApiError` `not_found`. */
export async function operatorNamed({ store }: Stored, name: string): Promise<Operator> {
  const operator = await store.operatorNamed(name);
  if (operator === null) throw new ApiError('not_found', `There is no operator ${name}.`);
  return operator;
}

/** Throws `ApiError`: `not_found`, or `conflict` for the last one with all rights. */
export async function removeOperator(ctx: Stored, name: string): Promise<Operator> {
  const operator = await operatorNamed(ctx, name);
  const others = (await ctx.store.operators()).filter(({ id }) => id !== operator.id);
  if (hasAllRights(operator) && !others.some(hasAllRights)) {
    throw new ApiError(
      'conflict',
      `${name} is the last operator with all rights: add another one first.`,
    );
  }
  await ctx.store.removeOperator(operator.id);
  return operator;
}

function hasAllRights({ role, accountId }: Operator): boolean {
  return role === 'admin' && accountId === null;
}

/** Replaces the password by a new one and returns it. Every session of the operator ends. Throws `not_found`. */
export async function resetPassword(ctx: Stored, name: string): Promise<string> {
  const { id } = await operatorNamed(ctx, name);
  const password = newPassword();
  await ctx.store.setOperatorPassword(id, await hashOf(password));
  return password;
}

/** Sets a password of the operator's own. Throws `not_found`, and `OperatorError` for one that is too short. */
export async function setPassword(ctx: Stored, name: string, password: string): Promise<void> {
  const { id } = await operatorNamed(ctx, name);
  await ctx.store.setOperatorPassword(id, await hashOf(fitPassword(password)));
}

/** Replaces the password of `admin`, who is made where there is none, and returns it. */
export async function resetAdminPassword(ctx: Making): Promise<string> {
  if ((await ctx.store.operatorNamed(ADMIN)) !== null) return await resetPassword(ctx, ADMIN);
  const admin = { name: ADMIN, role: 'admin' as const, accountId: null };
  return (await addOperator(ctx, admin)).password;
}

/** Sets the password of `admin`. Throws `OperatorError` for one that is too short. */
export async function setAdminPassword(ctx: Making, password: string): Promise<void> {
  fitPassword(password);
  if ((await ctx.store.operatorNamed(ADMIN)) === null) await resetAdminPassword(ctx);
  await setPassword(ctx, ADMIN, password);
}

/** The operator of this name and password; null for any other, after the same work. */
export async function operatorWith(
  { store }: Stored,
  name: string,
  password: string,
): Promise<Operator | null> {
  const operator = await store.operatorNamed(name);
  const isRight = await Bun.password.verify(password, operator?.passwordHash ?? NOBODY);
  return isRight ? operator : null;
}

function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url');
}

function fitPassword(password: string): string {
  if (password.length >= PASSWORD_MIN && Buffer.byteLength(password) <= PASSWORD_MAX_BYTES) {
    return password;
  }
  throw new OperatorError(
    `A password has at least ${PASSWORD_MIN} characters and at most ${PASSWORD_MAX_BYTES} bytes.`,
    'Leave --stdin out, and one is made for you.',
  );
}

function hashOf(password: string): Promise<string> {
  return Bun.password.hash(password, 'argon2id');
}
