/**
 * The scheduler under random use: no recipient lost or picked twice, lanes kept to their claims, and round robin among the
 * destinations of a lane, among lanes, and between unproven and proven sites. A failing test prints its seed;
 * POSTRIDER_SEED repeats it.
 */
import { expect, test } from 'bun:test';

import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { outcomeWithoutSession } from '../../../src/flow/outcome/kinds.ts';
import { Scheduler } from '../../../src/flow/queue/scheduler.ts';
import type { Picked } from '../../../src/flow/queue/scheduler.ts';
import { Waiting } from '../../../src/flow/queue/waiting.ts';
import { seeded } from '../../mail/random.ts';
import type { Random } from '../../mail/random.ts';
import { TestClock } from '../../rig/clock.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 20;

/** `siteOf`: the key of a domain's site; null for a domain without one. `faults`: the share of look-ups that fail. */
function start(siteOf: (domain: string) => string | null, random: Random, faults = 0) {
  const clock = new TestClock();
  const waiting = new Waiting();
  const find = async (domain: string): Promise<SiteResult> => {
    for (let turn = random.int(4); turn > 0; turn -= 1) await Promise.resolve();
    if (random.chance(faults)) throw new Error('the resolver is gone');
    const key = siteOf(domain);
    if (key === null) {
      return { kind: 'none', outcome: outcomeWithoutSession('impossible', 'dns', 'no host') };
    }
    const site = {
      key,
      addresses: [],
      limits: OTHERS,
      isShared: false,
      isRelay: false,
      isDirect: true,
    };
    return { kind: 'site', site };
  };
  const scheduler = new Scheduler({
    ctx: { clock, node: null },
    sites: { find },
    waiting,
    wake: () => undefined,
    fill: () => undefined,
  });
  let last = 0;
  const add = (domain: string, accountId = 'a'): string => {
    const id = `r${(last += 1)}`;
    const destination = waiting.add({ id, accountId, domain, dueAt: clock.now() });
    if (destination === null) throw new Error('turned away');
    scheduler.ready(destination);
    return id;
  };
  const end = ({ lane, ref }: Picked): void => {
    lane.unclaim();
    scheduler.noteAnswer(lane);
    waiting.release(ref.id);
  };
  return { clock, scheduler, add, end };
}

const always = (): boolean => true;

/** Lets every look-up end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test(`no recipient is lost or picked twice, whatever happens to lanes and sites (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED);
  for (let round = 0; round < ROUNDS; round += 1) {
    const sites = 1 + random.int(6);
    const siteOf = (domain: string): string | null => {
      const number = Number(domain.slice(1));
      return number % 7 === 0 ? null : `mx:s${number % sites}`;
    };
    const { clock, scheduler, add, end } = start(siteOf, random, 0.02);
    const waits = new Set<string>();
    const underWay: Picked[] = [];
    const claimed = new Map<string, number>();
    const pump = (): void => {
      for (;;) {
        const picked = scheduler.next(clock.now(), random.chance(0.7), always);
        if (picked === null) return;
        expect(waits.delete(picked.ref.id)).toBe(true);
        picked.lane.claim();
        const count = (claimed.get(picked.lane.key) ?? 0) + 1;
        claimed.set(picked.lane.key, count);
        expect(count).toBeLessThanOrEqual(2 * OTHERS.connections);
        underWay.push(picked);
      }
    };
    const endOne = (): void => {
      const [picked] = underWay.splice(random.int(underWay.length), 1);
      if (picked === undefined) return;
      const { lane } = picked;
      if (random.chance(0.5)) lane.noteAnswer();
      else if (random.chance(0.3)) lane.noteUnreached();
      else if (random.chance(0.1)) lane.slowDown({ cause: 'x', class: 'rate', hint: null });
      claimed.set(lane.key, (claimed.get(lane.key) ?? 0) - 1);
      end(picked);
    };
    for (let step = 0; step < 300; step += 1) {
      const what = random.int(10);
      if (what < 5)
        for (let more = random.int(6); more > 0; more -= 1)
          waits.add(add(`d${random.int(20)}`, `a${random.int(3)}`));
      else if (what < 8) for (let more = random.int(8); more > 0; more -= 1) endOne();
      // Beyond the time for which a look-up is used, now and then.
      else if (what === 8) clock.pass(random.int(80_000));
      else scheduler.liftThrottles();
      if (random.chance(0.5)) await settle();
      pump();
    }
    for (let turn = 0; turn < 1_000 && waits.size + underWay.length > 0; turn += 1) {
      while (underWay.length > 0) endOne();
      await settle();
      // Unproven sites may always be picked now.
      for (let picked = scheduler.next(clock.now(), true, always); picked !== null;) {
        expect(waits.delete(picked.ref.id)).toBe(true);
        picked.lane.claim();
        claimed.set(picked.lane.key, (claimed.get(picked.lane.key) ?? 0) + 1);
        underWay.push(picked);
        picked = scheduler.next(clock.now(), true, always);
      }
    }
    expect(waits.size).toBe(0);
  }
}, 20_000);

test(`round robin: each destination of a lane once before one comes again (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED + 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { clock, scheduler, add, end } = start(() => 'mx:one', random);
    const left = new Map<string, number>();
    const destinations = 2 + random.int(10);
    for (let number = 0; number < destinations; number += 1) {
      const count = 1 + random.int(40);
      left.set(`d${number}`, count);
      for (let more = 0; more < count; more += 1) add(`d${number}`);
    }
    await settle();
    await settle();
    /** Destinations that have waited since, and how often others were picked in that time. */
    const passedOver = new Map<string, Set<string>>();
    for (let picks = 0; left.size > 0; picks += 1) {
      const picked = scheduler.next(clock.now(), true, always);
      if (picked === null) throw new Error(`nothing to pick after ${picks}`);
      picked.lane.claim();
      end(picked);
      const { domain } = picked.ref;
      for (const other of left.keys()) {
        if (other === domain) continue;
        const since = passedOver.get(other) ?? new Set<string>();
        expect(since.has(domain)).toBe(false);
        passedOver.set(other, since.add(domain));
      }
      passedOver.set(domain, new Set());
      const rest = (left.get(domain) ?? 0) - 1;
      if (rest > 0) left.set(domain, rest);
      else left.delete(domain);
    }
    expect(scheduler.next(clock.now(), true, always)).toBeNull();
  }
});

test(`round robin: each account of a lane once before one comes again, whatever it has waiting (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED + 3);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { clock, scheduler, add, end } = start(() => 'mx:one', random);
    const accounts = 2 + random.int(5);
    const left = new Map<string, number>();
    for (let number = 0; number < accounts; number += 1) {
      // One account has very much, to many destinations; the others have little, to the same ones or to their own.
      const count = number === 0 ? 300 : 1 + random.int(20);
      left.set(`a${number}`, count);
      for (let more = 0; more < count; more += 1) add(`d${random.int(8)}`, `a${number}`);
    }
    await settle();
    await settle();
    const since = new Map<string, Set<string>>();
    for (let picks = 0; left.size > 0; picks += 1) {
      const picked = scheduler.next(clock.now(), true, always);
      if (picked === null) throw new Error(`nothing to pick after ${picks}`);
      picked.lane.claim();
      end(picked);
      const { accountId } = picked.ref;
      for (const other of left.keys()) {
        if (other === accountId) continue;
        const passed = since.get(other) ?? new Set<string>();
        expect(passed.has(accountId)).toBe(false);
        since.set(other, passed.add(accountId));
      }
      since.set(accountId, new Set());
      const rest = (left.get(accountId) ?? 0) - 1;
      if (rest > 0) left.set(accountId, rest);
      else left.delete(accountId);
    }
    expect(scheduler.next(clock.now(), true, always)).toBeNull();
  }
});

test(`unproven and proven sites alternate while both have mail (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED + 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { clock, scheduler, add, end } = start((domain) => `mx:${domain}`, random);
    const [proven, unproven] = [1 + random.int(5), 1 + random.int(30)];
    for (let number = 0; number < proven; number += 1) add(`p${number}`);
    await settle();
    await settle();
    for (let picked = scheduler.next(clock.now(), true, always); picked !== null;) {
      picked.lane.claim();
      picked.lane.noteAnswer();
      end(picked);
      picked = scheduler.next(clock.now(), true, always);
    }
    const each = 10;
    for (let more = 0; more < each; more += 1) {
      for (let number = 0; number < proven; number += 1) add(`p${number}`);
      for (let number = 0; number < unproven; number += 1) add(`u${number}`);
    }
    await settle();
    await settle();
    const kinds: boolean[] = [];
    for (let count = 0; count < 2 * each * Math.min(proven, unproven); count += 1) {
      const picked = scheduler.next(clock.now(), true, always);
      if (picked === null) throw new Error('nothing to pick');
      picked.lane.claim();
      end(picked);
      kinds.push(picked.isUnproven);
    }
    for (const [at, isUnproven] of kinds.entries()) {
      if (at > 0) expect(isUnproven).toBe(!(kinds[at - 1] ?? false));
    }
    // Reserved for proven sites, no unproven one is picked.
    for (let picked = scheduler.next(clock.now(), false, always); picked !== null;) {
      expect(picked.isUnproven).toBe(false);
      picked.lane.claim();
      end(picked);
      picked = scheduler.next(clock.now(), false, always);
    }
  }
});
