/** The smarthost within one attempt: which hosts are dialled, in which order, and what the attempt has at its end. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { deliver } from '../../../src/flow/deliver/deliver.ts';
import type { Site } from '../../../src/flow/deliver/site.ts';
import { Fallback } from '../../../src/flow/pacing/fallback.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { hostOf, lost, OK, OPEN_TLS, refusal, startScripted } from './scripted-site.ts';
import type { Answer } from './scripted-site.ts';

let rig: Awaited<ReturnType<typeof startScripted>>;
beforeAll(async () => {
  rig = await startScripted([
    hostOf(10, ['192.0.2.1', '192.0.2.2'], OPEN_TLS),
    hostOf(20, ['192.0.2.3'], OPEN_TLS),
  ]);
});
afterAll(() => rig.fixture.close());

const RELAY_HOSTS = [hostOf(0, ['198.51.100.1', '198.51.100.2'])];
const BLOCKED: Answer = {
  result: {
    kind: 'refused',
    stage: 'mail',
    reply: { code: 554, enhanced: '5.7.1', text: 'Your IP is on a blocklist' },
  },
};
const DEAD: Answer = { failed: {} };

/** An attempt at the site; each address answers as `answers` says, and takes the message where they say nothing. */
async function attempt(
  answers: Record<string, Answer>,
  change: Partial<Site> & { isClosed?: boolean; relay?: Site | null } = {},
) {
  const { fixture, sessions, sites, siteOf, recipient, tools } = rig;
  const { isClosed = false, relay = siteOf(RELAY_HOSTS, false), ...siteChange } = change;
  const { clock, ctx } = fixture;
  const fallback = new Fallback({ clock, log: ctx.log, hasSmarthost: true });
  if (isClosed) for (const key of ['a', 'b', 'c']) fallback.noteSilent(key);
  const lane = new Lane('mx:receiver', OTHERS, clock);
  sites.relay = relay;
  sessions.script = (address) => answers[address] ?? {};
  for (const list of [sessions.seen, sessions.envelopes, sessions.deadlines, fixture.logged]) {
    list.length = 0;
  }
  const steps = { mayBegin: () => true, made: () => undefined, begun: () => undefined, over: null };
  const found = { kind: 'site', site: { ...rig.site, ...siteChange } } as const;
  const { outcome } = await deliver({ ...tools, fallback }, recipient, found, lane, steps);
  return { outcome, lane, fallback, seen: sessions.seen.slice() };
}

const AT_RELAY = { host: 'mx0.receiver.example', tls: null, throttle: null, mayBeDuplicate: false };

test('a refusal of our address is followed by the smarthost, its first host first; the one that took it is recorded', async () => {
  const { outcome, seen } = await attempt({ '192.0.2.1': BLOCKED, '198.51.100.1': DEAD });
  expect(seen).toEqual(['192.0.2.1 opportunistic', '198.51.100.1 none', '198.51.100.2 none']);
  expect(outcome).toEqual({
    ...AT_RELAY,
    kind: 'relayed',
    stage: 'dot',
    address: '198.51.100.2',
    reply: { code: 250, enhanced: '2.0.0', text: 'OK' },
    cause: null,
  });
  // Only the relay reports what becomes of it.
  expect(rig.sessions.envelopes.map(({ dsn }) => dsn)).toEqual([false, true]);
});

test('where no host of the smarthost answers, its last one is recorded', async () => {
  const { outcome, seen } = await attempt({
    '192.0.2.1': BLOCKED,
    '198.51.100.1': DEAD,
    '198.51.100.2': DEAD,
  });
  expect(seen).toHaveLength(3);
  expect(outcome).toEqual({
    ...AT_RELAY,
    kind: 'unreached',
    stage: 'connect',
    address: '198.51.100.2',
    reply: null,
    cause: 'failed',
  });
});

test.each([
  ['refuses it', refusal(550, '5.1.1'), 'refused', false],
  ['breaks off', lost(false), 'unreached', false],
  ['breaks off after the final dot', lost(true), 'unreached', true],
] as const)(
  'a host of the smarthost that %s has the last word',
  async (_words, result, kind, is) => {
    const { outcome, seen } = await attempt({ '192.0.2.1': BLOCKED, '198.51.100.1': { result } });
    expect(seen).toEqual(['192.0.2.1 opportunistic', '198.51.100.1 none']);
    expect(outcome).toMatchObject({ kind, address: '198.51.100.1', mayBeDuplicate: is });
  },
);

test('with port 25 closed every host is tried, then the smarthost', async () => {
  const dead = { '192.0.2.1': DEAD, '192.0.2.2': DEAD, '192.0.2.3': DEAD };
  const { outcome, seen } = await attempt(dead, { isClosed: true });
  expect(seen.map((line) => line.split(' ')[0])).toEqual([...Object.keys(dead), '198.51.100.1']);
  expect(outcome).toMatchObject({ kind: 'relayed', address: '198.51.100.1' });
  const open = await attempt(dead);
  expect(open.seen).toHaveLength(3);
  expect(open.outcome).toMatchObject({ kind: 'unreached', address: '192.0.2.3' });
});

test.each([
  ['answers about the recipient', { result: refusal(550, '5.1.1') }, {}],
  ['may have taken the message', { result: lost(true) }, {}],
  ['broke off before that', { result: lost(false) }, {}],
  ['has no smarthost beside it', BLOCKED, { relay: null }],
  ['is not found by DNS', BLOCKED, { isDirect: false }],
] as const)('a host that %s is the only one', async (_words, answer, change) => {
  const { seen, outcome } = await attempt({ '192.0.2.1': answer }, { isClosed: true, ...change });
  expect(seen).toEqual(['192.0.2.1 opportunistic']);
  expect(outcome?.address).toBe('192.0.2.1');
});

test('what is learnt is learnt of the site, not of the smarthost: its sessions, its refusal, the open port', async () => {
  const reached = await attempt({ '192.0.2.1': BLOCKED });
  expect(reached.lane.throttleNow()).toMatchObject({ class: 'reputation' });
  expect(reached.fallback.isRelayed('mx:receiver')).toBe(true);
  const until = new Date(rig.fixture.clock.now() + 60_000).toISOString();
  const cause =
    'mx10.receiver.example (192.0.2.1) replied 554 5.7.1 Your IP is on a blocklist at MAIL FROM';
  expect(rig.fixture.logged).toMatchObject([
    { level: 'warn', event: 'provider_relayed', provider: 'receiver', reason: cause },
    { level: 'warn', event: 'site_throttled', site: 'receiver', until, cause },
  ]);
  const dead = { '192.0.2.1': DEAD, '192.0.2.2': DEAD, '192.0.2.3': DEAD };
  const closed = await attempt(dead, { isClosed: true });
  expect([closed.lane.hasAnswered, closed.fallback.isPortClosed]).toEqual([false, true]);
  const probed = await attempt({}, { isClosed: true });
  expect([probed.lane.hasAnswered, probed.fallback.isPortClosed]).toEqual([true, false]);
  expect(rig.fixture.logged.map(({ event }) => event)).toEqual(['port_25_open']);
  // What a relay does says nothing of port 25.
  const relayed = await attempt({}, { isClosed: true, isDirect: false, isRelay: true });
  expect([relayed.outcome?.kind, relayed.fallback.isPortClosed]).toEqual(['relayed', true]);
});

test('in a crowd the smarthost is waited for as long as ever', async () => {
  const { concurrency } = rig.tools;
  const crowd = Array.from({ length: concurrency.limits.crowd }, () => concurrency.take('b', true));
  await attempt({ '192.0.2.1': BLOCKED });
  expect(rig.sessions.deadlines).toEqual([
    [10_000, 10_000],
    [30_000, 300_000],
  ]);
  for (const slot of crowd) concurrency.leave(slot);
});

test('a host that takes it at once is the only one, and nothing is said of it', async () => {
  const { outcome, seen, lane } = await attempt({ '192.0.2.1': { result: OK } });
  expect([seen, outcome?.kind, rig.fixture.logged]).toEqual([
    ['192.0.2.1 opportunistic'],
    'accepted',
    [],
  ]);
  expect([lane.pausesInRow, lane.hasAnswered]).toEqual([0, true]);
});
