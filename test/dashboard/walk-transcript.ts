/**
 * Steps through the dashboard as a transcript: status, headers and text of each response as they are, but for ids and
 * secrets, which are numbered, and what the machine is like.
 */
import type { DashboardRig, Seen } from './dashboard-rig.ts';

export interface Step {
  /** File of the transcript. */
  part: string;
  method?: 'GET' | 'POST';
  /** Below `/dashboard`; `{name}` is the id that has that name. */
  path: string;
  form?: Record<string, string>;
  /** Gives the last id of the response this name. */
  as?: string;
  headers?: Record<string, string>;
  /** The operator who asks; absent: the admin. */
  who?: string;
  /** The page with the frame around it. */
  isWhole?: boolean;
}

/** On every page; the transcript shows the others, and says when one of these is different. */
const USUAL: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  'content-type': 'text/html; charset=utf-8',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
};
/** Of the connection, or as long as what is masked. */
const UNSHOWN = new Set(['content-length', 'date', 'x-request-id']);

export class Walk {
  readonly #dashboard: DashboardRig;
  readonly #named: Map<string, string>;
  readonly #cookies: Readonly<Record<string, string>>;
  readonly #numbers = new Map<string, string>();

  /** `named`: ids by the names that steps use; `cookies`: of operators who are signed in. */
  constructor(
    dashboard: DashboardRig,
    named: Map<string, string>,
    cookies: Readonly<Record<string, string>> = {},
  ) {
    this.#dashboard = dashboard;
    this.#named = named;
    this.#cookies = cookies;
  }

  /** The blocks of each part, in the order of the steps. */
  async takeAll(steps: readonly Step[]): Promise<Map<string, string[]>> {
    const parts = new Map<string, string[]>();
    for (const step of steps) {
      const blocks = parts.get(step.part) ?? [];
      parts.set(step.part, [...blocks, await this.#take(step)]);
    }
    return parts;
  }

  /** The block of one step in the transcript. */
  async #take({ method = 'GET', path, form, as, headers, who, isWhole }: Step): Promise<string> {
    const filled = this.#filled(path);
    const cookie = who === undefined ? {} : { cookie: this.#cookies[who] ?? '' };
    const own = { 'sec-fetch-site': 'same-origin' };
    const seen =
      method === 'GET'
        ? await this.#dashboard.visit(filled, { ...cookie, ...headers })
        : await this.#dashboard.submit(
            filled,
            this.#fields(form),
            headers ?? { ...cookie, ...own },
          );
    if (as !== undefined) this.#note(as, seen);
    const fields = form === undefined ? '' : ` ${JSON.stringify(form)}`;
    const asked = `> ${method} ${path}${fields}${who === undefined ? '' : ` as ${who}`}`;
    return this.#masked(`${asked}\n${seen.status}\n${shown(seen, isWhole)}\n`);
  }

  #fields(form: Record<string, string> = {}): Record<string, string> {
    return Object.fromEntries(
      Object.entries(form).map(([name, value]) => [name, this.#filled(value)]),
    );
  }

  /** Remembers the last id of where it leads, or of what it shows. */
  #note(name: string, { headers, text }: Seen): void {
    const ids = `${headers.get('location') ?? ''} ${text}`.match(/[0-9a-f-]{36}/g) ?? [];
    this.#named.set(name, ids.at(-1) ?? '');
  }

  /** `{name}` is what has that name. */
  #filled(text: string): string {
    return text.replaceAll(/\{([a-z.]+)\}/g, (whole, name: string) => {
      return this.#named.get(name) ?? whole;
    });
  }

  #masked(text: string): string {
    return (
      text
        .replaceAll(this.#dashboard.rig.dataDir, 'DATA_DIR')
        .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
          const known = this.#numbers.get(id) ?? `id${this.#numbers.size + 1}`;
          this.#numbers.set(id, known);
          return known;
        })
        .replaceAll(/whsec_[\w+/=-]+/g, 'whsec_…')
        .replaceAll(/pr_(live|test)_\w+/g, 'pr_$1_…')
        .replaceAll(/pr[0-9a-f]{8}(?=\b|\._domainkey)/g, 'pr…')
        .replaceAll(/p=[\w+/=]{50,}(?:" "[\w+/=]+)?/g, 'p=…')
        .replaceAll(/b-[0-9a-f]{32}-[0-9a-f]{16}/g, 'b-…')
        .replaceAll(/\b[A-Z2-7]{32}\b/g, '…')
        // The dark squares of a QR code, and passwords that were made.
        .replaceAll(/ d="(?:M\d+ \d+h1v1h-1z)+/g, ' d="…')
        .replaceAll(/(<code>|data-copy=")[\w-]{24}(?=[<"])/g, '$1…')
        .replaceAll(/…\w{4}\b/g, '…')
        .replaceAll(/\b(bh?)=[\w+/=]{40,}(?:\r?\n [\w+/=]+)*/g, '$1=…')
        .replaceAll(/=_pr-[0-9a-f]{32}/g, '=_pr-…')
        .replaceAll(/(Free disk<.span.*?<b>).*?(<.li>)/gs, '$1…$2')
        .replaceAll(/<div id="host">.*?<.section>/gs, '<div id="host">…')
        .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:…')
    );
  }
}

/** Of a page its title and its main part, what differs from page to page; other responses whole. */
function shown({ headers, text }: Seen, isWhole = false): string {
  const lines: string[] = [];
  for (const [name, value] of headers) {
    if (USUAL[name] !== value && !UNSHOWN.has(name)) lines.push(`${name}: ${value}`);
  }
  for (const name of Object.keys(USUAL)) if (!headers.has(name)) lines.push(`no ${name}`);
  const title = /<title>(.*?)<\/title>/s.exec(text)?.[1];
  const main = (isWhole ? /<body.*<\/body>/s : /<main.*<\/main>/s).exec(text)?.[0];
  const body = main === undefined ? text : `${title}\n${main.replaceAll(/>\s+</g, '>\n<')}`;
  return [...lines.toSorted(), body].join('\n');
}
