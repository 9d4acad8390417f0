/**
 * Every control operation on a store without a server, as a transcript: what comes back, on the way and at the end, what
 * is logged and noted; ids and secrets are numbered or left out.
 *
 *   bun test/control/answers.ts
 *
 * writes answers.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Scope } from '../../src/control/operation.ts';
import { runOperation } from '../../src/control/operations.ts';
import { refusalOf } from '../../src/control/protocol.ts';
import type { DnsAnswer } from '../../src/wire/dns/resolver.ts';
import { openFixture, silentResolver } from '../flow/fixture.ts';
import type { Fixture } from '../flow/fixture.ts';
import { newDomain, newLogRecord } from '../store/samples.ts';
import { STEPS } from './answers-steps.ts';
import type { Step } from './answers-steps.ts';

export const FILE = join(import.meta.dir, 'answers.txt');

const TOML = `[[plans]]
id = "small"
included_emails = 100
overage_sen_per_thousand = 400
daily_limit = 10
max_domains = 1
log_retention_days = 7
rate_per_second = 10
storage_bytes = "2 MB"
`;

export interface Answer {
  name: string;
  /** The block of the transcript. */
  text: string;
  /** As it comes over the socket; undefined after a refusal. */
  value: unknown;
  chunks: string[];
}

/** In the order of the steps. */
export async function answers(): Promise<Answer[]> {
  const zone = new Map<string, string>();
  const known = async (name: string): Promise<DnsAnswer<string>> => {
    const text = zone.get(name);
    return text === undefined
      ? { kind: 'nxdomain', isAuthenticated: false }
      : { kind: 'found', records: [text], ttlSeconds: 60, isAuthenticated: false };
  };
  const resolver = { ...silentResolver(), txt: known, cname: known, mx: nothing, a: nothing };
  const fixture = await openFixture({ toml: TOML, resolver });
  try {
    await verified(fixture);
    const named = new Map([['log', await requests(fixture)]]);
    const mask = masking();
    const all: Answer[] = [];
    for (const step of STEPS) {
      await fixture.clock.advance(1_000);
      const one = await answer(fixture, step, named);
      const { text, value } = one;
      publish(zone, value);
      const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(JSON.stringify(value ?? null)) ?? [''];
      if (step.as !== undefined) named.set(step.as, id);
      all.push({ ...one, text: mask(text) });
    }
    return all;
  } finally {
    await fixture.close();
  }
}

async function nothing(): Promise<DnsAnswer<never>> {
  return { kind: 'nxdomain', isAuthenticated: false };
}

/** The account with a verified domain, whose id is of the store's own source: it sorts by its time. */
async function verified(fixture: Fixture): Promise<void> {
  const { ctx, clock } = fixture;
  const { account } = await fixture.sender();
  const now = clock.now();
  const times = { createdAt: now, verifiedAt: now, lastCheckedAt: now, pendingSince: now };
  const domain = { ...newDomain(account.id, 'acme.example'), ...times, nextCheckAt: null };
  await ctx.store.createDomain({ ...domain, id: ctx.ids.next(now), status: 'verified' }, 10);
}

/** Three requests in the log of the account; the id of the second. */
async function requests({ ctx, clock }: Fixture): Promise<string> {
  const account = await ctx.store.account('acme');
  const rows = ['a', 'b', 'c'].map((key, at) => ({
    ...newLogRecord(account?.id ?? '', {
      method: at === 2 ? 'GET' : 'POST',
      path: at === 2 ? '/emails/x' : '/emails',
      status: [200, 422, 404][at] ?? 0,
      durationMs: at * 7,
      ip: `203.0.113.${at}`,
      createdAt: clock.now() + at,
    }),
    id: ctx.ids.next(clock.now() + at),
    keyName: key,
  }));
  await ctx.store.appendLogs(rows);
  return rows[1]?.id ?? '';
}

/** The records of a domain stand in DNS from now on. */
function publish(zone: Map<string, string>, value: unknown): void {
  if (typeof value !== 'object' || value === null || !('records' in value)) return;
  for (const { record, name, value: text } of value.records as Record<string, string>[]) {
    if (record === 'DKIM') zone.set(name ?? '', text ?? '');
  }
}

async function answer(
  { ctx, logged }: Fixture,
  { name, args }: Step,
  named: ReadonlyMap<string, string>,
): Promise<Answer> {
  const chunks: string[] = [];
  const lines = [`> ${name} ${JSON.stringify(args)}`];
  const put = (kind: string, value: unknown): void =>
    void lines.push(`${kind}${JSON.stringify(value, null, 1)}`);
  const scope: Scope = {
    ctx,
    queue: null,
    dispatcher: null,
    sink: {
      progress: (text) => put('progress ', text),
      async chunk(text) {
        chunks.push(text);
        put('chunk ', text);
      },
      left: new AbortController().signal,
    },
    reload: null,
    by: 'tester',
  };
  const filled: unknown = JSON.parse(
    JSON.stringify(args).replaceAll(/"\{([a-z]+)\}"/g, (_, id: string) =>
      JSON.stringify(named.get(id)),
    ),
  );
  logged.length = 0;
  let value: unknown;
  try {
    value = JSON.parse(JSON.stringify(await runOperation(scope, name, filled)));
    put('', value);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    put('refused ', [refusal.message, refusal.hint, refusal.exitCode]);
  }
  for (const line of logged) put('log ', line);
  return { name, text: `${lines.join('\n')}\n`, value, chunks };
}

/** Numbers ids in the order in which they first appear, and leaves out secrets. */
function masking(): (text: string) => string {
  const numbers = new Map<string, string>();
  return (text) =>
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
        const known = numbers.get(id) ?? `id${numbers.size + 1}`;
        numbers.set(id, known);
        return known;
      })
      .replaceAll(/whsec_[\w+/=-]+/g, 'whsec_…')
      .replaceAll(/pr_(live|test)_\w+/g, 'pr_$1_…')
      .replaceAll(/"last4": "\w{4}"/g, '"last4": "…"')
      .replaceAll(/"password": "[\w-]{12,}"/g, '"password": "…"')
      .replaceAll(/\bpr[0-9a-f]{8}\b/g, 'pr…')
      .replaceAll(/p=[\w+/=]{50,}/g, 'p=…');
}

if (import.meta.main) writeFileSync(FILE, (await answers()).map(({ text }) => text).join('\n'));
