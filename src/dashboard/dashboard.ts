/**
 * The dashboard: sign-in, which page opens, and the headers of every response.
 *
 * A request comes in with its client's address. Without a session (`session.ts`; wrong passwords are limited by
 * `guesses.ts`) only the sign-in page and the files of `frame/assets.ts` are shown. With one, `pages/routes.ts` finds the page, which
 * reads the store or calls flow/ and returns HTML made by `frame/`, a redirect, or a document. Every change is a form;
 * a crash loses nothing that a page has confirmed, since the flow commits before the redirect.
 *
 * Promises that a form is accepted only from our own pages, and that no response may run a script that is not ours, load
 * anything from another host or be framed by another site. Faults of ours are logged and shown without their cause.
 */
import { ApiError } from '../base/errors.ts';
import type { Context } from '../flow/context.ts';
import { storeRefusal } from '../flow/store-refusal.ts';
import { assetResponse } from './frame/assets.ts';
import type { Html } from './frame/html.ts';
import { frame, MOST_IN_MENU, signInPage, type FrameView } from './frame/layout.ts';
import { ROOT } from './frame/navigation.ts';
import { noticeOf } from './frame/notices.ts';
import { audit } from '../flow/people/audit.ts';
import type { Operator } from '../store/people.ts';
import { accessTo, ALL_RIGHTS, mayOf } from './access.ts';
import { documentResponse } from './document.ts';
import { findPage, formPage } from './pages/routes.ts';
import { errorPage, refusalPage, shownAgain } from './refusal.ts';
import { Sessions } from './session.ts';
import { isUpload, MAX_UPLOAD_BYTES, withUpload } from './upload.ts';
import { Backups } from '../flow/upkeep/backups.ts';
import { SuppressionImports } from '../flow/suppressions/imports.ts';
import type { DashboardParts, PageResponse, Visit, VisitResponse } from './frame/visit.ts';

/** The response to a request at or below `/dashboard` (`front.ts`). `client`: the client's address. */
export type Dashboard = (request: Request, client: string | null) => Promise<Response>;

/** The parts that are not the dashboard's own. */
type OutsideParts = Omit<DashboardParts, 'imports' | 'backups'>;

const UPLOAD_REFUSALS = {
  too_large: [
    413,
    `A file may have at most ${MAX_UPLOAD_BYTES / 1024 / 1024} MB. Import it in parts, or by the command line.`,
  ],
  busy: [503, 'The server is handling too much at the moment. Try again later.'],
  unreadable: [400, 'The form could not be read.'],
} as const;

const FORM_REFUSALS = {
  too_large: [413, 'The form is too large.'],
  unreadable: UPLOAD_REFUSALS.unreadable,
} as const;

/** Largest form that is read, in bytes. */
const MAX_FORM_BYTES = 65_536;

const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
/** A year, for this host alone: others below its name may speak plain HTTP. */
const HSTS = 'max-age=31536000';
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** Creates the dashboard. `parts`: what its pages act on. */
export function createDashboard(ctx: Context, parts: OutsideParts): Dashboard {
  const app = new DashboardApp(ctx, parts);
  return (request, client) => app.open(request, new URL(request.url), client ?? '');
}

/** Around a page for which nothing is known of who asks. */
const NOBODYS_FRAME: FrameView = {
  accounts: [],
  hasNodes: false,
  operator: null,
  may: () => false,
  path: '',
  notice: null,
  halt: null,
};

/** One request of someone who may use the dashboard; `operator` is null in an emulator, which asks nobody. */
interface Asked {
  /** Of a HEAD too. */
  method: 'GET' | 'POST';
  isHead: boolean;
  path: string;
  url: URL;
  form: URLSearchParams;
  file: File | null;
  operator: Operator | null;
  peer: string;
}

type Found = NonNullable<ReturnType<typeof findPage>>;

class DashboardApp {
  readonly #ctx: Context;
  readonly #parts: DashboardParts;
  readonly #sessions: Sessions;

  constructor(ctx: Context, parts: OutsideParts) {
    this.#ctx = ctx;
    this.#parts = {
      ...parts,
      imports: new SuppressionImports(ctx),
      backups: new Backups(ctx),
    };
    this.#sessions = new Sessions(ctx);
  }

  /** The response with what https adds. */
  async open(request: Request, url: URL, peer: string): Promise<Response> {
    const response = await this.respond(request, url, peer).catch((error: unknown) =>
      this.#failed(error, url),
    );
    // RFC 6797 section 7.2: never over plain HTTP.
    if (this.#isHttps(url)) response.headers.set('Strict-Transport-Security', HSTS);
    return response;
  }

  /** What is left to say where not even the menu can be read from the store, or where the fault is ours. */
  #failed(error: unknown, { pathname: path }: URL): Response {
    const refused = storeRefusal(error);
    if (refused !== null) {
      return page({ ...refusalPage(refused), status: refused.status }, NOBODYS_FRAME);
    }
    this.#ctx.log.error('dashboard_fault', {
      error,
      path,
      hint: 'This is a bug in Postrider. Report it together with this log line and those around it.',
    });
    const words = 'The page could not be shown. The server log has the details.';
    return page({ ...errorPage('Internal error', words), status: 500 }, NOBODYS_FRAME);
  }

  async respond(request: Request, url: URL, peer: string): Promise<Response> {
    const asset = assetResponse(request, url, SAFE_HEADERS);
    if (asset !== null) return asset;
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
    // A file is read only when the operator is known.
    const hasFile = method === 'POST' && isUpload(request);
    const form = method === 'POST' && !hasFile ? await readForm(request) : new URLSearchParams();
    if (typeof form === 'string') return refusal(FORM_REFUSALS[form]);
    if (url.href.includes('%00') || hasNul(form)) return refusal(UPLOAD_REFUSALS.unreadable);
    const path = url.pathname.slice(ROOT.length).replace(/\/$/, '');
    const isHttps = this.#isHttps(url);
    if (path === '/sign-in' && method === 'POST') {
      return this.#signIn(form, peer, isHttps);
    }
    const isOpen = this.#ctx.emulation !== null;
    const operator = isOpen ? null : await this.#sessions.operatorOf(request);
    if (!isOpen && operator === null) {
      return signIn(path === '' ? 200 : 401, null, pageToReturnTo(path, url.search));
    }
    if (path === '/sign-out' && method === 'POST') {
      return redirect(ROOT, { 'Set-Cookie': await this.#sessions.close(request, isHttps) });
    }
    const asked: Omit<Asked, 'form' | 'file'> = {
      method,
      isHead: request.method === 'HEAD',
      path,
      url,
      operator,
      peer,
    };
    if (!hasFile) return this.#open({ ...asked, form, file: null });
    const response = await withUpload(this.#ctx, request, async ({ fields, file }) =>
      hasNul(fields) ? 'unreadable' : await this.#open({ ...asked, form: fields, file }),
    );
    return typeof response === 'object' ? response : refusal(UPLOAD_REFUSALS[response]);
  }

  /** Whether browsers come by https: to this listener, or to a proxy in front of it. */
  #isHttps(url: URL): boolean {
    return url.protocol === 'https:' || this.#ctx.config.live.http.publicUrl.startsWith('https:');
  }

  async #open(asked: Asked): Promise<Response> {
    const { method, isHead, path, url, form, file, operator } = asked;
    const { accountId } = operator ?? ALL_RIGHTS;
    if (accountId !== null && path === '') return redirect(`${ROOT}/accounts/${accountId}/emails`);
    const view = (): Promise<FrameView> => this.#view(asked);
    const found = findPage(method, path);
    const access = found && accessTo(operator ?? ALL_RIGHTS, found.page, found.params);
    if (found === null || access === 'hidden') {
      const words = 'The dashboard has no page at this address.';
      return page({ ...errorPage('Page not found', words), status: 404 }, await view());
    }
    if (access === 'forbidden') {
      const words = 'Your sign-in may look at everything here, and change nothing.';
      return page({ ...errorPage('Read-only', words), status: 403 }, await view());
    }
    const visit: Visit = {
      ctx: this.#ctx,
      parts: this.#parts,
      params: found.params,
      query: url.searchParams,
      form,
      file,
      refused: null,
      operator,
      may: mayOf(operator ?? ALL_RIGHTS),
    };
    let result: VisitResponse;
    try {
      const { page: opened } = found;
      result = await this.#ctx.doing.during(`page ${opened.path}`, () => opened.open(visit));
      if (result.kind === 'document') {
        return documentResponse(isHead ? null : this.#ctx.budget, result, SAFE_HEADERS);
      }
    } catch (thrown) {
      const error = storeRefusal(thrown) ?? thrown;
      if (!(error instanceof ApiError)) throw error;
      const again = method === 'GET' ? null : await shownAgain(visit, found.page, path, error);
      return page({ ...(again ?? refusalPage(error)), status: error.status }, await view());
    }
    if (method === 'POST') await this.#note(asked, found);
    return result.kind === 'page' ? page(result, await view()) : redirect(locationOf(result));
  }

  async #view({ path, url, operator }: Asked): Promise<FrameView> {
    const { store, halt } = this.#ctx;
    const { accountId } = operator ?? ALL_RIGHTS;
    const accounts =
      accountId === null
        ? await store.accounts({ limit: MOST_IN_MENU })
        : [await store.account(accountId)].filter((account) => account !== null);
    return {
      accounts,
      path,
      notice: noticeOf(url.searchParams),
      halt: accountId === null ? halt.state : null,
      hasNodes: this.#ctx.nodes !== null,
      operator,
      may: mayOf(operator ?? ALL_RIGHTS),
    };
  }

  /** In the log and in the audit log: a change that was made. */
  async #note(
    { path, form, operator, peer }: Asked,
    { page: { path: pattern }, params }: Found,
  ): Promise<void> {
    this.#ctx.log.info('dashboard_action', { path, operator: operator?.name });
    await audit(this.#ctx, {
      via: 'dashboard',
      who: operator?.name ?? '',
      action: actionOf(pattern),
      accountId: params['account'] ?? null,
      address: peer,
      facts: { ...Object.fromEntries(form), ...params },
    });
  }

  async #signIn(form: URLSearchParams, peer: string, isHttps: boolean): Promise<Response> {
    const text = (field: string): string => form.get(field) ?? '';
    const credentials = {
      name: text('name').trim().toLowerCase(),
      password: text('password'),
      code: text('code'),
    };
    const opened = await this.#sessions.open(credentials, peer, isHttps);
    const to = URL.parse(form.get('to') ?? '', 'http://dashboard.invalid');
    const path = to?.pathname.startsWith(`${ROOT}/`) === true ? to.pathname.slice(ROOT.length) : '';
    const back = pageToReturnTo(path, to?.search ?? '');
    if (typeof opened === 'object') {
      await this.#noteSignIn(opened.operator, peer);
      return redirect(back, { 'Set-Cookie': opened.cookie });
    }
    this.#ctx.log.warn('dashboard_sign_in_refused', { peer, reason: opened });
    switch (opened) {
      case 'wrong':
        return signIn(401, 'The name, the password or the code is wrong.', back);
      case 'slow_down':
        return signIn(429, 'Too many wrong passwords. Try again in a minute.', back);
      case 'busy':
        return signIn(503, 'Too many sign-in attempts right now. Try again in a moment.', back);
    }
  }

  async #noteSignIn({ id, name, accountId }: Operator, peer: string): Promise<void> {
    const { store, clock, log } = this.#ctx;
    log.info('dashboard_sign_in', { peer, operator: name });
    await store.noteSignIn(id, clock.now());
    const entry = { via: 'dashboard' as const, who: name, action: 'sign_in', address: peer };
    await audit(this.#ctx, { ...entry, accountId, facts: {} });
  }

  /**
   * Refuses forms of other sites. Browsers send `Sec-Fetch-Site` over https and to loopback; without it the origin must
   * be the requested address, or the public one behind a proxy.
   */
  #isOwnForm(request: Request, url: URL): boolean {
    const site = request.headers.get('sec-fetch-site');
    if (site !== null) return site === 'same-origin';
    const origin = request.headers.get('origin') ?? '';
    const host = request.headers.get('host') ?? url.host;
    const isRequested = origin === `http://${host}` || origin === `https://${host}`;
    return isRequested || origin === URL.parse(this.#ctx.config.live.http.publicUrl)?.origin;
  }
}

async function readForm(request: Request): Promise<URLSearchParams | keyof typeof FORM_REFUSALS> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!(length <= MAX_FORM_BYTES)) return 'too_large';
  // Whoever leaves before the end of the form hears nothing, and is no fault of ours.
  const text = await request.text().catch(() => null);
  return text === null ? 'unreadable' : new URLSearchParams(text);
}

/** The one character that PostgreSQL takes in no text, and SQLite in no search; nobody types it. */
function hasNul(form: URLSearchParams): boolean {
  return [...form].flat().some((text) => text.includes('\0'));
}

function page(content: PageResponse, view: FrameView): Response {
  return markup(content.status ?? 200, frame(content, view));
}

function signIn(status: number, problem: string | null, to: string): Response {
  return markup(status, signInPage(problem, to));
}

/** Where sign-in leads: the page that was asked for, or that the form stood on; never anywhere but to a page of ours. */
function pageToReturnTo(path: string, search: string): string {
  const isPage = findPage('GET', path) !== null;
  return isPage ? ROOT + path + search : ROOT + (formPage(path)?.path ?? '');
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

function refusal([status, words]: readonly [status: number, words: string]): Response {
  return plain(status, words);
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
  return `${to}${to.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** `keys.revoke` for `/accounts/:account/keys/:id/revoke`; the path of a list adds to it, that of a form does not. */
function actionOf(pattern: string): string {
  const own = pattern.replace(/^\/accounts\/:account\//, '/');
  const words = own.split('/').filter((word) => word !== '' && !word.startsWith(':'));
  const shown = findPage('GET', pattern.replaceAll(':', ''))?.page;
  const isList = words.length === 1 && shown !== undefined && shown.isForm !== true;
  return isList ? `${words.join('')}.add` : words.join('.');
}
