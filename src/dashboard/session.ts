/**
 * Sign-in: the operator's password, and a session in a signed cookie.
 *
 * Promises that a session ends after twelve hours, at sign-out, and for all browsers when the password is changed; that
 * scripts and other sites cannot read the cookie. Guesses are counted before they are checked. Never stores a session
 * on disk: sessions survive a restart, since the signature needs only the key file. What was signed out is stored, so
 * that a copy of its cookie stays useless after a restart (`ended-sessions.ts`).
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { adminPasswordHash, isAdminPassword } from '../flow/accounts/admin.ts';
import type { Context } from '../flow/context.ts';
import { EndedSessions } from './ended-sessions.ts';
import { Guesses } from './guesses.ts';
import type { Guess } from './guesses.ts';

const COOKIE = 'postrider_session';
const SESSION_MS = 12 * 3_600_000;
const PURPOSE = 'dashboard session';

/** Opens, checks and ends sessions. */
export class Sessions {
  readonly #ctx: Context;
  readonly #ended: EndedSessions;
  readonly #guesses: Guesses;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#ended = new EndedSessions(ctx);
    this.#guesses = new Guesses(ctx.clock, (password) => isAdminPassword(ctx, password));
  }

  /** Whether the request has a valid session. */
  async has(request: Request): Promise<boolean> {
    return (await this.#sessionOf(request)) !== null;
  }

  /** The cookie of a new session, or why there is none. `isHttps`: the browser speaks https. */
  async open(
    password: string,
    peer: string,
    isHttps: boolean,
  ): Promise<{ cookie: string } | Exclude<Guess, 'right'>> {
    const guess = await this.#guesses.check(password, peer);
    if (guess !== 'right') return guess;
    const expiresAt = this.#ctx.clock.steady() + SESSION_MS;
    const nonce = randomBytes(16).toString('base64url');
    const mac = await this.#mac(expiresAt, nonce);
    return { cookie: this.#cookie(`${expiresAt}.${nonce}.${mac}`, SESSION_MS / 1000, isHttps) };
  }

  /** Ends the session of the request, for good; returns the cookie that deletes it in the browser. */
  async close(request: Request, isHttps: boolean): Promise<string> {
    const session = await this.#sessionOf(request);
    if (session !== null) await this.#ended.add(session.nonce, session.expiresAt);
    return this.#cookie('', 0, isHttps);
  }

  async #sessionOf(request: Request): Promise<{ nonce: string; expiresAt: number } | null> {
    const [expires = '', nonce = '', mac = ''] = cookieOf(request).split('.');
    const expiresAt = Number(expires);
    if (!/^\d{1,16}$/.test(expires) || expiresAt <= this.#ctx.clock.steady()) return null;
    if (!isEqual(mac, await this.#mac(expiresAt, nonce))) return null;
    return (await this.#ended.has(nonce)) ? null : { nonce, expiresAt };
  }

  async #mac(expiresAt: number, nonce: string): Promise<string> {
    const hash = (await adminPasswordHash(this.#ctx)) ?? '';
    const signed = `${expiresAt}.${nonce}.${hash}`;
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
