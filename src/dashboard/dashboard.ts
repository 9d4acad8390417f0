/**
 * The dashboard's door: who may enter, which page opens, and the headers every answer carries.
 *
 * Promises that nothing but the sign-in page and the style sheet is shown without a session, that a form is
 * taken only from our own pages, and that no answer may run a script, load anything from elsewhere or be
 * framed by another site. Faults of ours are logged and shown without their inside.
 */
import { createHash } from 'node:crypto';
import { ApiError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import { html, type Html } from './html.ts';
import { frame, noticeOf, ROOT, signInPage, STYLE_PATH } from './layout.ts';
import { findPage } from './routes.ts';
import { Sessions } from './session.ts';
import style from './style.css' with { type: 'text' };
import type { Answer, Doors, PageAnswer, Visit } from './visit.ts';

/** Answers requests at and below `/dashboard`; null for every other path. `client`: the address it comes from. */
export type Dashboard = (request: Request, client: () => string | null) => Promise<Response> | null;

/** Longest form that is read, in bytes. */
const MAX_FORM_BYTES = 65_536;

const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; frame-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'";
/** Of what others wrote: no script, no form, no network, an origin of its own. */
const DOCUMENT_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

const STYLE_TAG = `"${createHash('sha256').update(style).digest('base64url').slice(0, 16)}"`;

export function createDashboard(ctx: Context, doors: Doors): Dashboard {
  const sessions = new Sessions(ctx);
  return (request, client) => {
    if (!request.url.includes(ROOT)) return null;
    const url = new URL(request.url);
    if (url.pathname !== ROOT && !url.pathname.startsWith(`${ROOT}/`)) return null;
    const door = new Door(ctx, doors, sessions);
    return door.answer(request, url, client() ?? '').catch((error: unknown) => {
      ctx.log.error('dashboard_fault', {
        error,
        path: url.pathname,
        hint: 'Report this with the lines around it; nothing was left half done.',
      });
      return page(500, errorPage('Something went wrong', 'The log says what.'), [], null);
    });
  };
}

class Door {
  readonly #ctx: Context;
  readonly #doors: Doors;
  readonly #sessions: Sessions;

  constructor(ctx: Context, doors: Doors, sessions: Sessions) {
    this.#ctx = ctx;
    this.#doors = doors;
    this.#sessions = sessions;
  }

  async answer(request: Request, url: URL, peer: string): Promise<Response> {
    if (url.pathname === STYLE_PATH) return styleSheet(request);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (method !== 'GET' && method !== 'POST') {
      return plain(405, 'Method not allowed.', { Allow: 'GET, HEAD, POST' });
    }
    if (method === 'POST' && !this.#isOwnForm(request, url)) {
      return plain(
        403,
        'This form did not come from the dashboard. Open the dashboard and try again.',
      );
    }
    const form = method === 'POST' ? await readForm(request) : new URLSearchParams();
    if (form === null) return plain(413, 'The form is too long.');
    const path = url.pathname.slice(ROOT.length).replace(/\/$/, '');
    if (path === '/sign-in' && method === 'POST') {
      return this.#signIn(form.get('password') ?? '', peer);
    }
    if (!(await this.#sessions.has(request))) return signIn(path === '' ? 200 : 401, null);
    if (path === '/sign-out' && method === 'POST') {
      return redirect(ROOT, { 'Set-Cookie': await this.#sessions.close(request) });
    }
    return this.#open(method, path, url, form);
  }

  async #open(
    method: 'GET' | 'POST',
    path: string,
    url: URL,
    form: URLSearchParams,
  ): Promise<Response> {
    const accounts = await this.#ctx.store.accounts();
    const found = findPage(method, path);
    if (found === null) {
      return page(404, errorPage('Not found', 'There is no such page.'), accounts, null);
    }
    const visit: Visit = {
      ctx: this.#ctx,
      doors: this.#doors,
      params: found.params,
      query: url.searchParams,
      form,
    };
    let answer: Answer;
    try {
      answer = await found.page.open(visit);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return page(error.status, errorPage('That did not work', wordsOf(error)), accounts, null);
    }
    if (method === 'POST') this.#ctx.log.info('dashboard_action', { path });
    switch (answer.kind) {
      case 'page':
        return page(200, answer, accounts, noticeOf(url.searchParams));
      case 'redirect':
        return redirect(locationOf(answer));
      case 'document':
        return new Response(answer.body, {
          headers: {
            ...SAFE_HEADERS,
            'Content-Type': answer.contentType,
            'Content-Security-Policy': DOCUMENT_POLICY,
          },
        });
    }
  }

  async #signIn(password: string, peer: string): Promise<Response> {
    const opened = await this.#sessions.open(password, peer);
    if (typeof opened === 'object') {
      this.#ctx.log.info('dashboard_sign_in', { peer });
      return redirect(ROOT, { 'Set-Cookie': opened.cookie });
    }
    this.#ctx.log.warn('dashboard_sign_in_refused', { peer, reason: opened });
    switch (opened) {
      case 'wrong':
        return signIn(401, 'That is not the password.');
      case 'slow_down':
        return signIn(429, 'Too many wrong passwords. Wait a minute.');
      case 'busy':
        return signIn(503, 'Too many try to sign in just now. Try again in a moment.');
    }
  }

  /**
   * Against forms of other sites. Browsers send `Sec-Fetch-Site` over https and to loopback; elsewhere the
   * origin must be the address that was asked, or the public one behind a proxy.
   */
  #isOwnForm(request: Request, url: URL): boolean {
    const site = request.headers.get('sec-fetch-site');
    if (site !== null) return site === 'same-origin';
    const origin = request.headers.get('origin') ?? '';
    const host = request.headers.get('host') ?? url.host;
    const isAsked = origin === `http://${host}` || origin === `https://${host}`;
    return isAsked || origin === URL.parse(this.#ctx.config.http.publicUrl)?.origin;
  }
}

async function readForm(request: Request): Promise<URLSearchParams | null> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!(length <= MAX_FORM_BYTES)) return null;
  return new URLSearchParams(await request.text());
}

function page(
  status: number,
  answer: PageAnswer,
  accounts: Parameters<typeof frame>[1],
  notice: string | null,
): Response {
  return markup(status, frame(answer, accounts, notice));
}

function signIn(status: number, problem: string | null): Response {
  return markup(status, signInPage(problem));
}

function markup(status: number, body: Html): Response {
  const headers = {
    ...SAFE_HEADERS,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': PAGE_POLICY,
  };
  return new Response(body.toString(), { status, headers });
}

function plain(status: number, text: string, headers: Record<string, string> = {}): Response {
  const type = { 'Content-Type': 'text/plain; charset=utf-8' };
  return new Response(text, { status, headers: { ...SAFE_HEADERS, ...type, ...headers } });
}

function redirect(to: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { ...SAFE_HEADERS, ...headers, Location: to },
  });
}

function locationOf({ to, done, count }: { to: string; done?: string; count?: number }): string {
  if (done === undefined) return to;
  const query = new URLSearchParams({ done, ...(count !== undefined && { count: String(count) }) });
  return `${to}?${query.toString()}`;
}

function styleSheet(request: Request): Response {
  const headers = {
    ...SAFE_HEADERS,
    'Content-Type': 'text/css; charset=utf-8',
    'Cache-Control': 'no-cache',
    ETag: STYLE_TAG,
  };
  if (request.headers.get('if-none-match') === STYLE_TAG) {
    return new Response(null, { status: 304, headers });
  }
  return new Response(style, { headers });
}

function errorPage(title: string, words: string): PageAnswer {
  const body = html`<p class="notice bad" role="alert">${words}</p>`;
  return { kind: 'page', title, account: null, body };
}

/** Every issue of a refusal, not only the first. */
function wordsOf(error: ApiError): string {
  const issues = error.detail?.['issues'];
  if (!Array.isArray(issues)) return error.message;
  return (issues as { message: string }[]).map(({ message }) => message).join(' ');
}
