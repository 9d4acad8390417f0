/** The steps of one attempt in their order: what is asked, told and given back, and where it stops. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deliver, type DeliverTools, type Steps } from '../../../src/flow/deliver/deliver.ts';
import type { Site } from '../../../src/flow/deliver/site.ts';
import type { NodeSession } from '../../../src/flow/node-session.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { Fallback } from '../../../src/flow/pacing/fallback.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { hostOf, lost, OK, refusal, startScripted, type Script } from './scripted-site.ts';

type Scripted = Awaited<ReturnType<typeof startScripted>>;

let rig: Scripted;
beforeAll(async () => {
  rig = await startScripted([]);
});
afterAll(() => rig.fixture.close());

const THROTTLE = { cause: 'slow down', class: 'rate', hint: null } as const;
const DIRECT = ['192.0.2.1', '192.0.2.2'];

/** An attempt at a site with two addresses; `seen` lists what happened, in order. */
function start(script: Script = () => ({}), node: NodeSession | null = null) {
  const { fixture, sessions, messages, signed } = rig;
  const { clock, ctx } = fixture;
  const seen: string[] = [];
  Object.assign(messages, { signed, users: 0 });
  Object.assign(sessions, { isBackingOff: false, release: () => void seen.push('session back') });
  sessions.script = (address, dial) => {
    seen.push(`dial ${address}`);
    return script(address, dial);
  };
  for (const list of [sessions.envelopes, sessions.deadlines, sessions.seen]) list.length = 0;
  const lane = new Lane('mx:receiver', { ...OTHERS, connections: 1 }, clock);
  const fallback = new Fallback({ clock, log: ctx.log, hasSmarthost: true });
  const concurrency = new Concurrency({
    attempts: 9,
    slowMs: 9,
    slowMax: 9,
    reserved: 0,
    crowd: 0,
    crowdWaitMs: 700,
    unsigned: 9_999,
  });
  const tools: DeliverTools = { ...rig.tools, ctx: { ...ctx, node }, fallback, concurrency };
  const site = (key = 'mx:receiver'): Site => ({ ...rig.siteOf([hostOf(10, DIRECT)], true), key });
  const steps: Steps = {
    mayBegin: () => (seen.push('may begin'), true),
    made: () => undefined,
    begun: ({ id }) => void seen.push(`begun ${id === signed.message.id}`),
    over: null,
  };
  const attempt = (change: Partial<Steps> = {}, recipient = rig.recipient, at = site()) =>
    deliver(tools, recipient, { kind: 'site', site: at }, lane, { ...steps, ...change });
  /** Whether the lane's only session is free. */
  const isFree = async (): Promise<boolean> => {
    let isIn = false;
    void lane.enter().then(() => (isIn = true));
    await new Promise((resolve) => setImmediate(resolve));
    return isIn;
  };
  return { ...rig, seen, lane, fallback, tools, site, attempt, isFree };
}

test('it is asked, told and dialled in this order, and gives all back at once', async () => {
  const { attempt, seen, signed, messages, isFree } = start();
  const done = await attempt();
  expect([done.outcome?.kind, done.signed]).toEqual(['accepted', signed]);
  expect(seen).toEqual(['may begin', 'begun true', 'dial 192.0.2.1', 'session back']);
  expect([messages.users, await isFree()]).toEqual([0, true]);
});

test('where giving back is for later, session and slot of the lane are kept until then', async () => {
  const { attempt, seen, messages, isFree } = start();
  const later: (() => void)[] = [];
  await attempt({ over: (giveBack) => void later.push(giveBack) });
  expect([seen.at(-1), messages.users, later.length]).toEqual(['dial 192.0.2.1', 0, 2]);
  later[0]?.();
  expect(seen.at(-1)).toBe('session back');
  const waiting = isFree();
  expect(await waiting).toBe(false);
  later[1]?.();
  await new Promise((resolve) => setImmediate(resolve));
});

test.each<[words: string, happens: (at: ReturnType<typeof start>) => void]>([
  ['asked us to slow down', ({ lane }) => void lane.slowDown(THROTTLE)],
  [
    'could not be reached',
    ({ sessions }) =>
      Object.assign(sessions, {
        isBackingOff: true,
        backoffOf: () => ({ untilMs: 5, failure: { stage: 'connect', reply: null, cause: 'x' } }),
      }),
  ],
])(
  'a site that %s while this one waited for its session is not dialled',
  async (_words, happens) => {
    const at = start();
    const mayBegin = () => {
      happens(at);
      return true;
    };
    const { outcome, signed } = await at.attempt({ mayBegin });
    expect([outcome?.kind, outcome?.stage, signed]).toEqual(['throttled', 'throttled', at.signed]);
    expect([at.seen, at.messages.users]).toEqual([[], 0]);
    Object.assign(at.sessions, { isBackingOff: false });
    expect(await at.isFree()).toBe(true);
  },
);

test('a server that may have lost its mail dials no other address, and no second time', async () => {
  const node = { isCurrent: true } as { isCurrent: boolean } & NodeSession;
  const dead = start(() => ({ failed: {} }), node);
  await dead.attempt();
  node.isCurrent = false;
  await dead.attempt();
  const dials = () => dead.seen.filter((one) => one.startsWith('dial'));
  expect(dials()).toEqual(['dial 192.0.2.1', 'dial 192.0.2.2', 'dial 192.0.2.1']);
  node.isCurrent = true;
  const stale = start(() => ({ isReused: true, result: lost(false) }), node);
  expect((await stale.attempt()).outcome?.kind).toBe('accepted');
  expect(stale.sessions.seen).toHaveLength(2);
  node.isCurrent = false;
  expect((await stale.attempt()).outcome?.kind).toBe('unreached');
  expect(stale.sessions.seen).toHaveLength(3);
});

test('whether a message may be handed over is asked of the session of this server, where it has one', async () => {
  const node = { isCurrent: true } as { isCurrent: boolean } & NodeSession;
  const { attempt, sessions } = start(() => ({}), node);
  await attempt();
  const [envelope] = sessions.envelopes;
  expect(envelope?.mayHandOver?.()).toBe(true);
  node.isCurrent = false;
  expect(envelope?.mayHandOver?.()).toBe(false);
  const alone = start();
  await alone.attempt();
  expect(alone.sessions.envelopes[0]?.mayHandOver).toBeUndefined();
});

test('for a recipient beyond ASCII no form in ASCII is made', async () => {
  const { attempt, messages, recipient, signed, seen } = start(() => ({
    result: { kind: 'unsupported', extension: 'SMTPUTF8' },
  }));
  const inAscii = async () => {
    seen.push('made');
    return null;
  };
  messages.signed = { ...signed, inAscii };
  await attempt({}, { ...recipient, address: 'žiga@receiver.example' });
  expect(seen).not.toContain('made');
  const { outcome } = await attempt();
  expect([seen.includes('made'), outcome?.kind]).toEqual([true, 'impossible']);
});

test('sites whose port is closed count as silent, those that greet with a failure do not', async () => {
  for (const [stage, isClosed] of [
    ['banner', false],
    ['connect', true],
  ] as const) {
    const { attempt, site, recipient, fallback } = start(() => ({ failed: { stage } }));
    for (const key of ['a', 'b', 'c']) await attempt({}, recipient, site(key));
    expect([stage, fallback.isPortClosed]).toEqual([stage, isClosed]);
  }
});

test('while the port is closed a message goes through the smarthost, which has its usual time in a crowd too', async () => {
  const { attempt, fallback, sites, siteOf, sessions, lane } = start((address) =>
    address === '192.0.2.99' ? { result: OK } : { failed: {} },
  );
  sites.relay = siteOf([hostOf(0, ['192.0.2.99'])], false);
  for (const key of ['a', 'b', 'c']) fallback.noteSilent(key);
  expect((await attempt()).outcome?.kind).toBe('relayed');
  expect(sessions.deadlines).toEqual([
    [700, 700],
    [700, 700],
    [30_000, 300_000],
  ]);
  expect(lane.hasAnswered).toBe(false);
  sites.relay = null;
  expect((await attempt()).outcome).toMatchObject({ kind: 'unreached', stage: 'connect' });
});

test('a site that answers, be it with a refusal, shows that the port is open', async () => {
  let isSilent = true;
  const { attempt, fallback, site, recipient } = start(() =>
    isSilent ? { failed: {} } : { result: refusal(550, '5.1.1') },
  );
  const closed: boolean[] = [];
  for (const key of ['a', 'b', 'REFUSES', 'c', 'd', 'e', 'REFUSES']) {
    isSilent = key !== 'REFUSES';
    await attempt({}, recipient, site(key));
    closed.push(fallback.isPortClosed);
  }
  expect(closed).toEqual([false, false, false, false, false, true, false]);
});
