/** The scheduler, step by step: how long a site is used, who is told of what, and which lane is asked when. */
import { expect, spyOn, test } from 'bun:test';

import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import type { NodeSession } from '../../../src/flow/node-session.ts';
import { outcomeWithoutSession } from '../../../src/flow/outcome/kinds.ts';
import type { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { Scheduler, type MayTake, type Picked } from '../../../src/flow/queue/scheduler.ts';
import { Waiting } from '../../../src/flow/queue/waiting.ts';
import { TestClock } from '../../rig/clock.ts';

const NONE: SiteResult = {
  kind: 'none',
  outcome: outcomeWithoutSession('impossible', 'dns', 'no host'),
};
const always: MayTake = () => true;
const ASKED = { cause: '421 slow down', class: 'rate', hint: null } as const;

/** Each domain has a site of its own unless `siteOf` says otherwise. */
function start(siteOf: (domain: string) => SiteResult | null = () => null, live = 1) {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const waiting = new Waiting();
  const seen: string[] = [];
  const site = (key: string, isShared = false): SiteResult => ({
    kind: 'site',
    site: {
      key,
      addresses: [],
      limits: { ...OTHERS, connections: 6 },
      isShared,
      isRelay: false,
      isDirect: true,
    },
  });
  const scheduler = new Scheduler({
    ctx: { clock, node: { live } as NodeSession },
    sites: {
      find: async (domain) => {
        seen.push(`find ${domain}`);
        return siteOf(domain) ?? site(`mx:${domain}`);
      },
    },
    waiting,
    wake: () => void seen.push('wake'),
    fill: ({ domain }) => void seen.push(`fill ${domain}`),
  });
  let last = 0;
  const destinationFor = (domain: string, accountId: string) => {
    const id = `${domain} ${(last += 1)}`;
    const destination = waiting.add({ id, accountId, domain, dueAt: 0 });
    if (destination === null) throw new Error('turned away');
    return destination;
  };
  /** Puts `count` more into the line of `domain`, and lets its site be found. */
  const add = async (domain: string, count = 1, accountId = 'a') => {
    const all = Array.from({ length: count }, () => destinationFor(domain, accountId));
    for (const destination of all) scheduler.ready(destination);
    await new Promise((resolve) => setImmediate(resolve));
    const [destination] = all;
    if (destination === undefined) throw new Error('nothing was added');
    return destination;
  };
  const pick = (mayBeUnproven = true, mayTake = always): Picked | null =>
    scheduler.next(clock.steady(), mayBeUnproven, mayTake);
  const take = (): Picked => {
    const picked = pick();
    if (picked === null) throw new Error('nothing to pick');
    picked.lane.claim();
    return picked;
  };
  return { clock, waiting, scheduler, seen, site, add, pick, take };
}

test('a site is used for a minute from when it was found, the answer that there is none for five seconds', async () => {
  const { clock, seen, add, pick } = start((domain) => (domain === 'none' ? NONE : null));
  const finds = () => seen.splice(0).filter((one) => one.startsWith('find')).length;
  for (const [domain, keptMs] of [
    ['some', 60_000],
    ['none', 5_000],
  ] as const) {
    await add(domain);
    expect([finds(), pick()?.ref.domain]).toEqual([1, domain]);
    clock.pass(keptMs - 1);
    await add(domain);
    expect([finds(), pick()?.ref.domain]).toEqual([0, domain]);
    await add(domain);
    clock.pass(1);
    // It is in its lane, and its time is over: it is looked up again, and picked afterwards.
    expect(pick()).toBeNull();
    await new Promise((resolve) => setImmediate(resolve));
    expect([finds(), pick()?.ref.domain]).toEqual([1, domain]);
    clock.pass(keptMs);
    await add(domain);
    expect([finds(), pick()?.ref.domain, pick()]).toEqual([1, domain, null]);
  }
});

test('what is found, and its lane, come with the recipient; mail without a site is for no unproven one', async () => {
  const { add, pick, waiting, site } = start((domain) => (domain === 'none' ? NONE : null));
  await add('none');
  expect(pick(false)).toMatchObject({ ref: { domain: 'none' }, found: NONE, isUnproven: false });
  await add('some');
  expect(pick(false)).toBeNull();
  const picked = pick();
  expect(picked).toMatchObject({ found: site('mx:some'), isUnproven: true });
  expect([picked?.lane.key, waiting.isInAttempt(picked?.ref.id ?? '')]).toEqual(['mx:some', true]);
});

test('it wakes for each destination that becomes ready, and looks up a destination once at a time', async () => {
  const { seen, add, pick, scheduler } = start();
  const destination = await add('x', 3);
  expect(seen).toEqual(['find x', 'wake']);
  // It is in its lane: nothing is to be done, neither before nor after the first of its line is picked.
  scheduler.ready(destination);
  pick();
  scheduler.ready(destination);
  expect(seen).toHaveLength(2);
  while (pick() !== null);
  // With nothing in its line neither.
  scheduler.ready(destination);
  expect([seen.length, destination.isInLane, destination.isFinding]).toEqual([2, false, false]);
  await add('x');
  expect(seen.slice(2)).toEqual(['wake']);
});

test('a line that gets short is filled when the store has more', async () => {
  const { seen, add, pick } = start();
  const destination = await add('x', 103);
  const fills = () => {
    pick();
    return seen.filter((one) => one === 'fill x').length;
  };
  destination.hasMore = true;
  expect([fills(), fills(), fills(), fills()]).toEqual([0, 0, 0, 1]);
  destination.hasMore = false;
  expect([fills(), destination.line.length]).toEqual([1, 98]);
});

test('a line whose last recipient is taken is filled too, when the store has more', async () => {
  const { seen, add, pick } = start();
  const destination = await add('x');
  destination.hasMore = true;
  expect([pick()?.ref.domain, destination.line.length]).toEqual(['x', 0]);
  expect(seen).toEqual(['find x', 'wake', 'fill x']);
});

test('a lane without capacity is left alone until it tells that it has some', async () => {
  const { seen, add, pick, take, scheduler } = start();
  await add('x', 30);
  await add('y');
  const taken = Array.from({ length: 21 }, take);
  expect(taken.filter(({ lane }) => lane.key === 'mx:y')).toHaveLength(1);
  expect(pick()).toBeNull();
  seen.length = 0;
  const [first] = taken.filter(({ lane }) => lane.key === 'mx:x');
  first?.lane.unclaim();
  expect(seen).toEqual(['wake']);
  expect(take().ref.domain).toBe('x');
  expect(pick()).toBeNull();
  // With an answer no more may be claimed here, but the lane's mail is for a proven site from now on.
  first?.lane.noteAnswer();
  if (first !== undefined) scheduler.noteAnswer(first.lane);
  if (first !== undefined) {
    const asked = spyOn(first.lane, 'hasCapacity');
    expect([pick(), asked.mock.calls.length]).toEqual([null, 0]);
    asked.mockRestore();
  }
  first?.lane.unclaim();
  expect(pick(false)).toMatchObject({ ref: { domain: 'x' }, isUnproven: false });
});

test('a site that answers is proven at once for what waits for it, and one that falls silent is not any more', async () => {
  const { add, pick, take, scheduler } = start();
  await add('x', 5);
  const { lane } = take();
  expect(pick(false)).toBeNull();
  // It said nothing yet.
  scheduler.noteAnswer(lane);
  expect(pick(false)).toBeNull();
  lane.noteAnswer();
  scheduler.noteAnswer(lane);
  expect(pick(false)?.isUnproven).toBe(false);
  lane.noteUnreached();
  // It was offered as a proven one; after that it is for an unproven one.
  expect(pick(false)?.isUnproven).toBe(true);
  expect(pick(false)).toBeNull();
  expect(pick()?.isUnproven).toBe(true);
});

test('what comes for a site that fell silent takes its lane out of those that answered, and the other way round', async () => {
  const rig = start(() => rig.site('mx:one'));
  const { add, pick, take } = rig;
  await add('x', 2);
  const { lane } = take();
  lane.noteAnswer();
  await add('y');
  expect(pick(false)?.isUnproven).toBe(false);
  await add('x');
  lane.noteUnreached();
  await add('z');
  expect(pick(false)).toBeNull();
  const left: string[] = [];
  for (let picked = pick(); picked !== null; picked = pick()) left.push(picked.ref.domain);
  expect(left.sort()).toEqual(['x', 'y', 'z']);
});

test('where every account has what it may, a lane waits until that account, or another, gets something back', async () => {
  const { add, pick, scheduler } = start();
  await add('x', 2, 'a');
  await add('y', 2, 'a');
  await add('z', 2, 'b');
  const none: MayTake = () => false;
  expect(pick(true, none)).toBeNull();
  // They are put aside: not even who may have all gets them.
  expect(pick()).toBeNull();
  const rest = (): string[] => {
    const domains: string[] = [];
    for (let picked = pick(); picked !== null; picked = pick()) domains.push(picked.ref.domain);
    return domains;
  };
  // One lane of the account that was freed, and one of the account that waits longest: the first goes behind it.
  scheduler.noteFreed('a');
  expect(rest()).toEqual(['x', 'z', 'x', 'z']);
  scheduler.noteFreed('b');
  expect(rest()).toEqual(['y', 'y']);
  scheduler.noteFreed('a');
  expect(rest()).toEqual([]);
});

test('whether an account may have one more is asked with the kind of its site', async () => {
  const { add, pick, take, scheduler } = start();
  await add('x', 2);
  const asked: unknown[] = [];
  const note: MayTake = (...question) => {
    asked.push(question);
    return true;
  };
  const first = pick(true, note);
  first?.lane.noteAnswer();
  if (first !== null) scheduler.noteAnswer(first.lane);
  pick(true, note);
  expect(asked).toEqual([
    ['a', true],
    ['a', false],
  ]);
  expect(() => take()).toThrow('nothing to pick');
});

test('the sites that are slowed down are told with their names, and an operator ends all pauses at once', async () => {
  const { add, take, scheduler, clock } = start();
  await add('x');
  await add('y');
  const [x, y] = [take(), take()];
  x.lane.slowDown(ASKED);
  y.lane.slowDown({ ...ASKED, class: 'reputation', hint: 'Look there.' });
  const untilMs = clock.steady() + 60_000;
  expect(scheduler.throttles()).toEqual([
    { site: 'x', untilMs, ...ASKED },
    { site: 'y', untilMs, ...ASKED, class: 'reputation', hint: 'Look there.' },
  ]);
  clock.pass(30_000);
  scheduler.liftThrottles();
  expect(scheduler.throttles()).toEqual([]);
});

test('of a shared site this node has its part, of any other the whole; with other nodes come or gone it is asked anew', async () => {
  const rig = start((domain) => rig.site(`mx:${domain}`, domain === 'shared'), 3);
  const { add, take, scheduler, seen } = rig;
  const entered = async (domain: string): Promise<number> => {
    await add(domain);
    const { lane } = take();
    let inside = 0;
    for (let count = 0; count < 9; count += 1) void lane.enter().then(() => (inside += 1));
    await new Promise((resolve) => setImmediate(resolve));
    return inside;
  };
  expect([await entered('shared'), await entered('own')]).toEqual([2, 5]);
  seen.length = 0;
  scheduler.nodesChanged();
  expect(seen).toEqual(['wake']);
});

test('beyond two thousand destinations one whose last recipient was picked is forgotten, with its site', async () => {
  const { add, pick, seen } = start();
  const waits = await add('waits', 2);
  const first = await add('first');
  const second = await add('second');
  for (let n = 3; n <= 2_000; n += 1) await add(`d${n}`);
  for (let picked = pick(); picked?.ref.domain !== 'd2000'; picked = pick());
  seen.length = 0;
  // There were two thousand and one: the first that had nothing more was one too many.
  expect(await add('second')).toBe(second);
  expect(await add('waits')).toBe(waits);
  expect(await add('first')).not.toBe(first);
  expect(seen.filter((one) => one.startsWith('find'))).toEqual(['find first']);
});

test('ten thousand lanes are kept; with one more those that have nothing to do are forgotten', async () => {
  const { add, pick, clock, scheduler } = start();
  const laneOf = async (domain: string): Promise<Lane> => {
    await add(domain);
    for (let picked = pick(); picked !== null; picked = pick()) {
      if (picked.ref.domain === domain) return picked.lane;
    }
    throw new Error(`nothing to pick for ${domain}`);
  };
  const names = ['busy', 'slowed', 'waits', 'idle', 'recent'];
  const before: Lane[] = [];
  for (const name of names) before.push(await laneOf(name));
  before[0]?.claim();
  before[1]?.slowDown(ASKED);
  for (let n = names.length; n < 9_999; n += 1) await laneOf(`d${n}`);
  const isKept = async (at: number): Promise<boolean> =>
    (await laneOf(names[at] ?? '')) === before[at];
  await laneOf('the last');
  // Until it is looked up again a destination knows its lane.
  clock.pass(60_000);
  expect([await isKept(3), await isKept(4)]).toEqual([true, true]);
  await add('waits');
  await add('one more');
  // So does this one: the lane that it still knows has its recipients again, and the operator sees it.
  expect(await isKept(4)).toBe(true);
  before[4]?.slowDown(ASKED);
  expect(scheduler.throttles().map(({ site }) => site)).toContain('recent');
  clock.pass(60_000);
  const kept = [await isKept(0), await isKept(1), await isKept(2), await isKept(3)];
  expect(kept).toEqual([true, true, true, false]);
});
