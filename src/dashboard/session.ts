/**
 * Signing in: the operator's password, and a session that lives in a signed cookie.
 *
 * Promises that a session ends after twelve hours, at sign-out, and for all when the password is changed; that
 * the cookie is out of reach of scripts and of other sites. Guesses are counted before they are checked. Never
 * stores a session on disk: a restart keeps them, since the signature needs only the key file.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isAdminPassword } from '../flow/admin.ts';
import type { Context } from '../flow/context.ts';
import { Guesses } from './guesses.ts';
import type { Guess } from './guesses.ts';

const COOKIE = 'postrider_session';
const SESSION_MS = 12 * 3_600_000;
const PURPOSE = 'dashboard session';
/** Name of the setting that holds the password's hash: a session is bound to it. */
const PASSWORD_SETTING = 'admin_password';

export class Sessions {
  readonly #ctx: Context;
  /** Nonces of sessions that were signed out, with the time their session would have ended. */
  readonly #ended = new Map<string, number>();
  readonly #guesses: Guesses;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#guesses = new Guesses(ctx.clock, (password) => isAdminPassword(ctx, password));
  }

  /** Whether the request carries a session that is in force. */
  async has(request: Request): Promise<boolean> {
    return (await this.#sessionOf(request)) !== null;
  }

  /** The cookie of a new session, or why there is none. */
  async open(
    password: string,
    peer: string,
  ): Promise<{ cookie: string } | Exclude<Guess, 'right'>> {
    const guess = await this.#guesses.check(password, peer);
    if (guess !== 'right') return guess;
    const expiresAt = this.#ctx.clock.now() + SESSION_MS;
    const nonce = randomBytes(16).toString('base64url');
    const mac = await this.#mac(expiresAt, nonce);
    return { cookie: this.#cookie(`${expiresAt}.${nonce}.${mac}`, SESSION_MS / 1000) };
  }

  /** Ends the request's session; returns the cookie that takes it away. */
  async close(request: Request): Promise<string> {
    const session = await this.#sessionOf(request);
    const now = this.#ctx.clock.now();
    for (const [nonce, until] of this.#ended) if (until <= now) this.#ended.delete(nonce);
    if (session !== null) this.#ended.set(session.nonce, session.expiresAt);
    return this.#cookie('', 0);
  }

  async #sessionOf(request: Request): Promise<{ nonce: string; expiresAt: number } | null> {
    const [expires = '', nonce = '', mac = ''] = cookieOf(request).split('.');
    const expiresAt = Number(expires);
    if (!/^\d{1,16}$/.test(expires) || expiresAt <= this.#ctx.clock.now()) return null;
    if (this.#ended.has(nonce) || !isEqual(mac, await this.#mac(expiresAt, nonce))) return null;
    return { nonce, expiresAt };
  }

  async #mac(expiresAt: number, nonce: string): Promise<string> {
    const hash = (await this.#ctx.store.setting(PASSWORD_SETTING)) ?? '';
    return this.#ctx.secrets.mac(PURPOSE, `${expiresAt}.${nonce}.${hash}`).toString('base64url');
  }

  #cookie(value: string, maxAgeSeconds: number): string {
    // Browsers drop a Secure cookie that comes over plain HTTP: it is set where the public URL is https.
    const secure = this.#ctx.config.http.publicUrl.startsWith('https:') ? '; Secure' : '';
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
