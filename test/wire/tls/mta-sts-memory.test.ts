/** What an MTA-STS memory gives back after a restart: each entry is checked by itself, and the others count. */
import { afterEach, expect, spyOn, test } from 'bun:test';

import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import * as https from '../../../src/wire/https/post.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { MtaSts } from '../../../src/wire/tls/mta-sts.ts';
import { TestClock } from '../../rig/clock.ts';

const agents: GuardedAgent[] = [];
afterEach(() => agents.splice(0).forEach((agent) => agent.destroy()));

const clock = new TestClock();
const POLICY = { mode: 'enforce', mxPatterns: ['mx.a.test'], maxAgeSeconds: 604_800 };
const KEPT = { id: 'one', policy: POLICY, fetchedAt: clock.steady() };

const nothing = () =>
  Promise.resolve<DnsAnswer<string>>({ kind: 'nodata', isAuthenticated: false });

function agentOf(): GuardedAgent {
  const resolver = { a: nothing, aaaa: nothing };
  const agent = new GuardedAgent({ resolver, allowNetworks: parseNetworks([]), ca: [] });
  agents.push(agent);
  return agent;
}

/** One that finds nothing in DNS, and whose memory is this; `reads` counts how often it was asked for. */
function remembering(text: string | null) {
  const agent = agentOf();
  let reads = 0;
  const memory = {
    read() {
      reads += 1;
      return Promise.resolve(text);
    },
    write: () => Promise.resolve(),
  };
  const sts = new MtaSts({ resolver: { txt: nothing }, clock, agent, memory });
  return { sts, reads: () => reads };
}

const without = (value: object, name: string): object =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
const withPolicy = (change: object): unknown => [
  'a.test',
  { ...KEPT, policy: { ...POLICY, ...change } },
];

const BROKEN: [what: string, entry: unknown][] = [
  ['nothing', null],
  ['a number', 7],
  ['a text', 'a.test'],
  ['no list', { 0: 'a.test', 1: KEPT }],
  ['an empty list', []],
  ['a domain alone', ['a.test']],
  ['a domain that is a number', [1, KEPT]],
  ['what is kept: nothing', ['a.test', null]],
  ['what is kept: a text', ['a.test', 'id policy fetchedAt']],
  ['what is kept: a number', ['a.test', 7]],
  ...['id', 'policy', 'fetchedAt'].map((name): [string, unknown] => [
    `no ${name}`,
    ['a.test', without(KEPT, name)],
  ]),
  ['an id that is a number', ['a.test', { ...KEPT, id: 1 }]],
  ['a time that is a text', ['a.test', { ...KEPT, fetchedAt: String(KEPT.fetchedAt) }]],
  ['a time that is nothing', ['a.test', { ...KEPT, fetchedAt: null }]],
  ['a policy that is nothing', ['a.test', { ...KEPT, policy: null }]],
  ['a policy that is a text', ['a.test', { ...KEPT, policy: 'enforce' }]],
  ...['mode', 'mxPatterns', 'maxAgeSeconds'].map((name): [string, unknown] => [
    `a policy without ${name}`,
    ['a.test', { ...KEPT, policy: without(POLICY, name) }],
  ]),
  ['a mode of another version', withPolicy({ mode: 'strict' })],
  ['patterns that are a text', withPolicy({ mxPatterns: 'mx.a.test' })],
  ['a pattern that is a number', withPolicy({ mxPatterns: ['mx.a.test', 1] })],
  ['an age that is a text', withPolicy({ maxAgeSeconds: '604800' })],
];

test.each(BROKEN)('an entry that is %s is left out, those around it count', async (_, entry) => {
  const { sts } = remembering(JSON.stringify([['before.test', KEPT], entry, ['after.test', KEPT]]));
  const found = [];
  for (const domain of ['before.test', 'a.test', '1', 'after.test']) {
    found.push(await sts.policyFor(domain));
  }
  expect(found).toEqual([POLICY, null, null, POLICY] as never);
});

test.each(['enforce', 'testing', 'none'] as const)(
  'a policy of the mode %s is read back whole, and the memory is read once',
  async (mode) => {
    const policy = { mode, mxPatterns: ['mx.a.test', '*.b.test'], maxAgeSeconds: 60 };
    const { sts, reads } = remembering(JSON.stringify([['a.test', { ...KEPT, policy }]]));
    expect([await sts.policyFor('a.test'), await sts.policyFor('a.test')]).toEqual([
      policy,
      policy,
    ]);
    expect(await sts.policyFor('b.test')).toBeNull();
    expect(reads()).toBe(1);
  },
);

test('an empty memory, or one that cannot be read, is none', async () => {
  for (const text of [null, '', '[]', '{}', '7', 'null']) {
    expect([text, await remembering(text).sts.policyFor('a.test')]).toEqual([text, null]);
  }
});

test('one write at a time: what changes meanwhile goes into the next, also after one that failed', async () => {
  const body = Buffer.from(
    'version: STSv1\nmode: enforce\nmx: mx.a.test\nmax_age: 604800\n',
    'utf8',
  );
  const answered = { kind: 'responded', statusCode: 200, durationMs: 1 } as const;
  const asked = spyOn(https, 'guardedGet').mockResolvedValue({
    ...answered,
    contentType: 'text/plain',
    body,
  });
  const writes: { domains: string[]; done: PromiseWithResolvers<void> }[] = [];
  const memory = {
    read: () => Promise.resolve(null),
    write(text: string): Promise<void> {
      const domains = (JSON.parse(text) as [string][]).map(([domain]) => domain);
      const done = Promise.withResolvers<void>();
      writes.push({ domains, done });
      return done.promise;
    },
  };
  const records = ['v=STSv1; id=1'];
  const announced = { kind: 'found', records, ttlSeconds: 60, isAuthenticated: false } as const;
  const txt = () => Promise.resolve<DnsAnswer<string>>({ ...announced, records });
  const sts = new MtaSts({ resolver: { txt }, clock, agent: agentOf(), memory });
  const rounds = async (): Promise<unknown> => {
    for (let round = 0; round < 3; round += 1) await new Promise((over) => setImmediate(over));
    return writes.map(({ domains }) => domains);
  };
  for (const domain of ['a.test', 'b.test', 'c.test']) await sts.policyFor(domain);
  expect(await rounds()).toEqual([['a.test']]);
  writes[0]?.done.reject(new Error('full'));
  expect(await rounds()).toEqual([['a.test'], ['a.test', 'b.test', 'c.test']]);
  writes[1]?.done.resolve();
  expect(await rounds()).toHaveLength(2);
  asked.mockRestore();
});
