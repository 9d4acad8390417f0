/**
 * Sign-in: an operator's name, password and, where there is one, second factor; and a session in a signed cookie.
 *
 * Promises that a session ends after twelve hours, at sign-out, and for all browsers when the operator's password is
 * changed or the operator removed; that scripts and other sites cannot read the cookie. Guesses are counted before they
 * are checked. Never stores a session on disk: sessions survive a restart, since the signature needs only the key file.
 * What was signed out is stored, so that a copy of its cookie stays useless after a restart (`ended-sessions.ts`).
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from '../flow/context.ts';
import { ADMIN, operatorWith } from '../flow/people/operators.ts';
import { SecondFactor } from '../flow/people/totp.ts';
import type { Operator } from '../store/people.ts';
import { EndedSessions } from './ended-sessions.ts';
import { Guesses } from './guesses.ts';
import type { Guess } from './guesses.ts';

const COOKIE = 'postrider_session';
const SESSION_MS = 12 * 3_600_000;
const PURPOSE = 'dashboard session';

/** What a sign-in form holds. */
export interface Credentials {
  /** Empty: `admin`. */
  name: string;
  password: string;
  /** Of the second factor; empty without one. */
  code: string;
}

/** One guess, and whose it turned out to be. */
interface Attempt extends Credentials {
  operator: Operator | null;
}

interface Session {
  operator: Operator;
  nonce: string;
  expiresAt: number;
}

/** Opens, checks and ends sessions. */
export class Sessions {
  readonly #ctx: Context;
  readonly #ended: EndedSessions;
  readonly #guesses: Guesses<Attempt>;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#ended = new EndedSessions(ctx);
    const factor = new SecondFactor(ctx);
    this.#guesses = new Guesses(ctx.clock, async (attempt: Attempt) => {
      const { name, password, code } = attempt;
      attempt.operator = await operatorWith(ctx, name === '' ? ADMIN : name, password);
      return attempt.operator !== null && (await factor.passes(attempt.operator, code));
    });
  }

  /** Whose valid session the request has; null without one. */
  async operatorOf(request: Request): Promise<Operator | null> {
    return (await this.#sessionOf(request))?.operator ?? null;
  }

  /** The operator with the cookie of a new session, or why there is none. `isHttps`: the browser speaks https. */
  async open(
    credentials: Credentials,
    peer: string,
    isHttps: boolean,
  ): Promise<{ operator: Operator; cookie: string } | Exclude<Guess, 'right'>> {
    const attempt: Attempt = { ...credentials, operator: null };
    const guess = await this.#guesses.check(attempt, peer);
    if (guess !== 'right') return guess;
    const { operator } = attempt;
    if (operator === null) throw new Error('a right guess has no operator');
    const expiresAt = this.#ctx.clock.steady() + SESSION_MS;
    const nonce = randomBytes(16).toString('base64url');
    const mac = this.#mac(operator, expiresAt, nonce);
    const value = `${operator.id}.${expiresAt}.${nonce}.${mac}`;
    return { operator, cookie: this.#cookie(value, SESSION_MS / 1000, isHttps) };
  }

  /** Ends the session of the request, for good; returns the cookie that deletes it in the browser. */
  async close(request: Request, isHttps: boolean): Promise<string> {
    const session = await this.#sessionOf(request);
    if (session !== null) await this.#ended.add(session.nonce, session.expiresAt);
    return this.#cookie('', 0, isHttps);
  }

  async #sessionOf(request: Request): Promise<Session | null> {
    const [id = '', expires = '', nonce = '', mac = ''] = cookieOf(request).split('.');
    const expiresAt = Number(expires);
    if (!/^\d{1,16}$/.test(expires) || expiresAt <= this.#ctx.clock.steady()) return null;
    const operator = await this.#ctx.store.operator(id);
    if (operator === null || !isEqual(mac, this.#mac(operator, expiresAt, nonce))) return null;
    return (await this.#ended.has(nonce)) ? null : { operator, nonce, expiresAt };
  }

  #mac({ id, passwordHash }: Operator, expiresAt: number, nonce: string): string {
    const signed = `${id}.${expiresAt}.${nonce}.${passwordHash}`;
    return this.#ctx.secrets.mac(PURPOSE, signed).toString('base64url');
  }

  #cookie(value: string, maxAgeSeconds: number, isHttps: boolean): string {
    // Browsers ignore a Secure cookie over plain HTTP.
    const secure = isHttps ? '; Secure' : '';
    return `${COOKIE}=${value}; Path=/dashboard; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  }
}

function cookieOf(request: Request): string {
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE) return value ?? '';
  }
  return '';
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
