/**
 * Signing in: the operator's password, and a session that lives in a signed cookie.
 *
 * Promises that a session ends after twelve hours, at sign-out, and for all when the password is changed; that
 * the cookie is out of reach of scripts and of other sites; and that guessing is slowed for each peer. Never
 * stores a session on disk: a restart keeps them, since the signature needs only the key file.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isAdminPassword } from '../flow/admin.ts';
import type { Context } from '../flow/context.ts';

const COOKIE = 'postrider_session';
const SESSION_MS = 12 * 3_600_000;
const PURPOSE = 'dashboard session';
/** Name of the setting that holds the password's hash: a session is bound to it. */
const PASSWORD_SETTING = 'admin_password';
/** Wrong passwords of one peer within the window; each costs the machine a tenth of a second. */
const MAX_FAILURES = 10;
const FAILURE_WINDOW_MS = 60_000;
const MAX_PEERS = 1_000;

export class Sessions {
  readonly #ctx: Context;
  /** Nonces of sessions that were signed out, with the time their session would have ended. */
  readonly #ended = new Map<string, number>();
  readonly #failures = new Map<string, { count: number; until: number }>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** Whether the request carries a session that is in force. */
  async has(request: Request): Promise<boolean> {
    return (await this.#sessionOf(request)) !== null;
  }

  /** The cookie of a new session; `wrong` or `slow_down` when there is none to be had. */
  async open(password: string, peer: string): Promise<{ cookie: string } | 'wrong' | 'slow_down'> {
    const now = this.#ctx.clock.now();
    const failures = this.#failures.get(peer);
    const isRecent = failures !== undefined && failures.until > now;
    if (isRecent && failures.count >= MAX_FAILURES) return 'slow_down';
    if (this.#failures.size >= MAX_PEERS) this.#failures.clear();
    const count = isRecent ? failures.count + 1 : 1;
    // Counted before it is checked: guesses made at once are slowed like those made one by one.
    this.#failures.set(peer, { count, until: now + FAILURE_WINDOW_MS });
    if (!(await isAdminPassword(this.#ctx, password))) return 'wrong';
    this.#failures.delete(peer);
    const expiresAt = now + SESSION_MS;
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
