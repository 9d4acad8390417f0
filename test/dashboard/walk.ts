/**
 * A walk over every page and form of the dashboard on a clock that stands still, and its transcript: status, headers and
 * text of each response as they are, but for ids and secrets, which are numbered, and what the machine is like.
 *
 *   bun test/dashboard/walk.ts
 *
 * writes the files of walk/ anew, one for each part of it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TestClock } from '../rig/clock.ts';
import { startNames } from '../rig/names.ts';
import { startDashboardRig, type DashboardRig, type Seen } from './dashboard-rig.ts';
import { furnish } from './walk-furniture.ts';
import { STEPS, type Step } from './walk-steps.ts';

export const FOLDER = join(import.meta.dir, 'walk');

const TOML = '[api]\nsingle_send = "full"\n';
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

class Walk {
  readonly #dashboard: DashboardRig;
  readonly #named: Map<string, string>;
  readonly #numbers = new Map<string, string>();

  constructor(dashboard: DashboardRig, named: Map<string, string>) {
    this.#dashboard = dashboard;
    this.#named = named;
  }

  /** The block of one step in the transcript. */
  async take({ method = 'GET', path, form, as, headers }: Step): Promise<string> {
    const filled = this.#filled(path);
    const seen =
      method === 'GET'
        ? await this.#dashboard.visit(filled, headers)
        : await this.#dashboard.submit(filled, this.#fields(form), headers);
    if (as !== undefined) this.#note(as, seen);
    const fields = form === undefined ? '' : ` ${JSON.stringify(form)}`;
    return this.#masked(`> ${method} ${path}${fields}\n${seen.status}\n${shown(seen)}\n`);
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
function shown({ headers, text }: Seen): string {
  const lines: string[] = [];
  for (const [name, value] of headers) {
    if (USUAL[name] !== value && !UNSHOWN.has(name)) lines.push(`${name}: ${value}`);
  }
  for (const name of Object.keys(USUAL)) if (!headers.has(name)) lines.push(`no ${name}`);
  const title = /<title>(.*?)<\/title>/s.exec(text)?.[1];
  const main = /<main.*<\/main>/s.exec(text)?.[0];
  const body = main === undefined ? text : `${title}\n${main.replaceAll(/>\s+</g, '>\n<')}`;
  return [...lines.toSorted(), body].join('\n');
}

/** The blocks of each part, in the order of the steps. */
export async function walk(): Promise<Map<string, string[]>> {
  const clock = new TestClock(Date.parse('2026-11-21T09:30:00.000Z'));
  const names = await startNames();
  names.set('hook.example', 'A', ['8.8.8.8']);
  const { host, port } = names.listen;
  const dns = `[dns]\nservers = ["${host}:${port}"]\n`;
  const dashboard = await startDashboardRig({ clock, config: TOML + dns });
  try {
    const walker = new Walk(dashboard, await furnish(dashboard, clock));
    const parts = new Map<string, string[]>();
    for (const step of STEPS) {
      const blocks = parts.get(step.part) ?? [];
      parts.set(step.part, [...blocks, await walker.take(step)]);
    }
    return parts;
  } finally {
    await dashboard.stop();
    await names.stop();
  }
}

if (import.meta.main) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [part, blocks] of await walk()) {
    writeFileSync(join(FOLDER, `${part}.txt`), blocks.join('\n'));
  }
}
