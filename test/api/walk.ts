/**
 * A walk over every route of the API on a clock that stands still between requests, and its transcript: status, headers
 * and body of each response as they are, but for ids and secrets, which are numbered.
 *
 *   bun test/api/walk.ts
 *
 * writes walk.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { TestClock } from '../rig/clock.ts';
import { askApi, openBench, type Bench, type Sent } from './bench.ts';
import { STEPS, type Step } from './walk-steps.ts';

export const TRANSCRIPT_FILE = join(import.meta.dir, 'walk.txt');

/** On every response; the transcript shows the others, and says when one of these is different. */
const USUAL: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'content-type': 'application/json',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

class Walk {
  readonly #named = new Map<string, string>();
  readonly #numbers = new Map<string, string>();

  readonly #bench: Bench;
  readonly #keys: Readonly<Record<NonNullable<Step['by']>, string | null>>;

  constructor(bench: Bench, keys: Readonly<Record<NonNullable<Step['by']>, string | null>>) {
    this.#bench = bench;
    this.#keys = keys;
  }

  /** The block of one step in the transcript. */
  async take(step: Step): Promise<string> {
    const path = this.#filled(step.path);
    const sent = await askApi(
      (request) => this.#bench.api.handle(request, '127.0.0.1'),
      'http://api.test',
      {
        path,
        key: this.#keys[step.by ?? 'full'],
        ...(step.method !== undefined && { method: step.method }),
        ...(step.body !== undefined && { raw: this.#filled(JSON.stringify(step.body)) }),
        ...(step.raw !== undefined && { raw: step.raw }),
        headers: { 'user-agent': 'walker/1.0', ...step.headers },
      },
    );
    if (step.as !== undefined) {
      const [first] = sent.json.data ?? [];
      this.#named.set(step.as, String((first ?? sent.json).id));
      this.#named.set(
        `${step.as}.link`,
        String(first?.download_url).replace(/^https?:..[^/]+/, ''),
      );
      this.#named.set(`${step.as}.request`, sent.headers.get('x-request-id') ?? '');
    }
    const method =
      step.method ?? (step.body === undefined && step.raw === undefined ? 'GET' : 'POST');
    const by = step.by === undefined ? '' : ` (${step.by})`;
    return this.#masked(
      `> ${method} ${step.path}${by}\n${sent.status}\n${headersOf(sent)}${sent.text}\n`,
    );
  }

  /** `{name}` is the id of the response with that name. */
  #filled(text: string): string {
    return text.replaceAll(
      /\{([a-z.]+)\}/g,
      (whole, name: string) => this.#named.get(name) ?? whole,
    );
  }

  #masked(text: string): string {
    return text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) =>
        this.#numberOf(id),
      )
      .replaceAll(/whsec_[\w+/=-]+/g, 'whsec_…')
      .replaceAll(/pr_(live|test)_\w+/g, 'pr_$1_…')
      .replaceAll(/(last4\\?":\\?")\w+/g, '$1…')
      .replaceAll(/pr[0-9a-f]{8}\._domainkey/g, 'pr…._domainkey')
      .replaceAll(/<[\w.-]{16,}@/g, '<…@')
      .replaceAll(/signature=[\w%-]+/g, 'signature=…')
      .replaceAll(/p=[\w+/=]{50,}/g, 'p=…');
  }

  #numberOf(id: string): string {
    const known = this.#numbers.get(id) ?? `id${this.#numbers.size + 1}`;
    this.#numbers.set(id, known);
    return known;
  }
}

function headersOf({ headers }: Sent): string {
  const shown: string[] = [];
  for (const [name, value] of Object.entries(USUAL)) {
    if (headers.get(name) !== value) shown.push(`${name}: ${headers.get(name)}`);
  }
  for (const [name, value] of headers) if (!(name in USUAL)) shown.push(`${name}: ${value}`);
  return shown
    .toSorted()
    .map((line) => `${line}\n`)
    .join('');
}

/** Every block, in the order of the steps. */
export async function walk(): Promise<string[]> {
  const clock = new TestClock(Date.parse('2026-11-21T09:30:00.000Z'));
  const bench = await openBench({ clock, toml: '[api]\nsingle_send = "full"' });
  try {
    const account = await bench.account('walker', 'fast');
    await bench.domain(account, 'own.example');
    const walker = new Walk(bench, {
      full: await bench.key(account),
      send: await bench.key(account, 'sending_access'),
      sandbox: await bench.key(account, 'full_access', true),
      other: await bench.key(await bench.account('other', 'fast')),
      nobody: null,
    });
    const blocks: string[] = [];
    for (const step of STEPS) {
      blocks.push(await walker.take(step));
      await clock.advance(1_000);
    }
    return blocks;
  } finally {
    await bench.close();
  }
}

if (import.meta.main) writeFileSync(TRANSCRIPT_FILE, (await walk()).join('\n'));
