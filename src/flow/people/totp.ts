/**
 * The second factor: one-time codes by time (RFC 6238) from an authenticator app, and recovery codes for its loss.
 *
 * Promises that a code and a recovery code are taken once, that the secret is stored sealed and recovery codes as
 * hashes (each has 80 random bits, so a plain hash is enough), and that wrong codes of one operator are limited
 * whatever addresses they come from: who knows the password must not try all million codes. Codes one step early or
 * late count (RFC 6238 section 5.2).
 */
import { createHash, randomBytes } from 'node:crypto';

import { Secret, TOTP } from 'otpauth';
import { encode } from 'uqr';

import type { Operator } from '../../store/people.ts';
import type { Context } from '../context.ts';
import { totpLabel } from '../seal-labels.ts';

const ISSUER = 'Postrider';
const STEP_S = 30;
/** RFC 4226 section 4, R6: 160 bits. */
const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;
const WRONG_MAX = 10;
const WINDOW_MS = 10 * 60_000;

type Sealing = Pick<Context, 'store' | 'secrets' | 'clock'>;

/** What an authenticator app takes. */
export interface Enrolment {
  /** Base32, for typing. */
  secret: string;
  /** `otpauth://totp/…`, for the QR code. */
  uri: string;
  /** Rows of the QR code; true is dark. */
  modules: boolean[][];
}

/** A secret in base32 that nobody has yet. */
export function newSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32;
}

/** What is shown for `secret`. `host`: of the appliance, so that the app tells two of them apart. */
export function enrolmentOf(secret: string, name: string, host: string): Enrolment {
  const uri = totpOf(secret, `${name}@${host}`).toString();
  return { secret, uri, modules: encode(uri, { border: 4 }).data };
}

/**
 * Turns the second factor on and returns the recovery codes, which cannot be read again. Null when `code` is not one of
 * `secret`, or `secret` is none.
 */
export async function enableTotp(
  ctx: Sealing,
  operator: Pick<Operator, 'id'>,
  secret: string,
  code: string,
): Promise<string[] | null> {
  if (!/^[A-Z2-7]{32}$/.test(secret)) return null;
  const step = stepOf(totpOf(secret, ''), code, ctx.clock.now());
  if (step === null || !(await ctx.store.takeTotpStep(operator.id, step))) return null;
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  const sealed = ctx.secrets.seal(secret, totpLabel(operator.id));
  await ctx.store.setOperatorTotp(operator.id, sealed, codes.map(hashOf));
  return codes;
}

/** Turns it off, recovery codes too. */
export async function disableTotp(
  { store }: Pick<Context, 'store'>,
  { id }: Pick<Operator, 'id'>,
): Promise<void> {
  await store.setOperatorTotp(id, null, []);
}

/** Checks the codes of sign-ins. One per dashboard. */
export class SecondFactor {
  readonly #ctx: Sealing;
  /** Of operators, who are few. */
  readonly #wrong = new Map<string, { count: number; untilMs: number }>();

  constructor(ctx: Sealing) {
    this.#ctx = ctx;
  }

  /** Whether `code` is right; true for an operator without a second factor. */
  async passes(operator: Operator, code: string): Promise<boolean> {
    if (operator.sealedTotp === null) return true;
    const { clock } = this.#ctx;
    const before = this.#wrong.get(operator.id);
    const count = before !== undefined && before.untilMs > clock.steady() ? before.count : 0;
    if (count >= WRONG_MAX) return false;
    // Counted before it is checked, as with passwords.
    this.#wrong.set(operator.id, { count: count + 1, untilMs: clock.steady() + WINDOW_MS });
    if (!(await this.#takes(operator, operator.sealedTotp, code, clock.now()))) return false;
    this.#wrong.delete(operator.id);
    return true;
  }

  async #takes({ id }: Operator, sealed: Uint8Array, code: string, now: number): Promise<boolean> {
    const { store, secrets } = this.#ctx;
    const plain = code.replaceAll(/[\s-]/g, '').toUpperCase();
    if (!/^\d{6}$/.test(plain)) return await store.takeRecoveryHash(id, hashOf(plain));
    const secret = secrets.open(sealed, totpLabel(id));
    const step = stepOf(totpOf(secret, ''), plain, now);
    return step !== null && (await store.takeTotpStep(id, step));
  }
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: Secret.fromBase32(secret), period: STEP_S });
}

/** The time step that `code` belongs to; null for a wrong one. */
function stepOf(totp: TOTP, code: string, now: number): number | null {
  const delta = totp.validate({ token: code.trim(), timestamp: now, window: 1 });
  return delta === null ? null : totp.counter({ timestamp: now }) + delta;
}

/** `ABCD-EFGH-JKLM-NPQR`, in base32. */
function newRecoveryCode(): string {
  const text = new Secret({ buffer: new Uint8Array(randomBytes(RECOVERY_BYTES)).buffer }).base32;
  return (text.match(/.{4}/g) ?? []).join('-');
}

function hashOf(code: string): string {
  return createHash('sha256').update(code.replaceAll('-', '')).digest('hex');
}
