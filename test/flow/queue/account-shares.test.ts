/**
 * One account with mail for thousands of destinations, whose hosts and name servers do not answer: another account finds
 * attempts and look-ups free, and nothing that was put aside is forgotten.
 */
import { expect, test } from 'bun:test';

import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import type { Slot } from '../../../src/flow/pacing/concurrency.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import { Scheduler } from '../../../src/flow/queue/scheduler.ts';
import type { Picked } from '../../../src/flow/queue/scheduler.ts';
import { SiteLookups } from '../../../src/flow/queue/site-lookups.ts';
import { Destination, Waiting } from '../../../src/flow/queue/waiting.ts';
import { seeded } from '../../mail/random.ts';
import { TestClock } from '../../rig/clock.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const DESTINATIONS = 3_000;

const siteOf = (domain: string): SiteResult => ({
  kind: 'site',
  site: {
    key: `mx:${domain}`,
    addresses: [],
    limits: OTHERS,
    isShared: false,
    isRelay: false,
    isDirect: true,
  },
});

/** A scheduler with a site of its own for each domain, and the attempts that it begins. */
function start() {
  const clock = new TestClock();
  const waiting = new Waiting();
  const concurrency = new Concurrency();
  const scheduler = new Scheduler({
    ctx: { clock, node: null },
    sites: { find: (domain) => Promise.resolve(siteOf(domain)) },
    waiting,
    wake: () => undefined,
    fill: () => undefined,
  });
  const add = (accountId: string, domain: string): void => {
    const id = `${accountId} ${domain}`;
    const destination = waiting.add({ id, accountId, domain, dueAt: clock.now() });
    if (destination !== null) scheduler.ready(destination);
  };
  /** Begins what may begin. */
  const begin = (): { picked: Picked; slot: Slot }[] => {
    const begun: { picked: Picked; slot: Slot }[] = [];
    while (concurrency.isFree) {
      const picked = scheduler.next(clock.now(), concurrency.isFreeForUnproven, (...of) =>
        concurrency.mayTake(...of),
      );
      if (picked === null) break;
      picked.lane.claim();
      begun.push({ picked, slot: concurrency.take(picked.ref.accountId, picked.isUnproven) });
    }
    return begun;
  };
  const end = ({ picked, slot }: { picked: Picked; slot: Slot }): void => {
    picked.lane.unclaim();
    scheduler.noteAnswer(picked.lane);
    waiting.release(picked.ref.id);
    concurrency.leave(slot);
    scheduler.noteFreed(slot.accountId);
  };
  return { scheduler, concurrency, add, begin, end };
}

/** Lets every look-up end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('an account takes four fifths of the attempts at most, and a newcomer begins at once', async () => {
  const { concurrency, add, begin, scheduler } = start();
  for (let at = 0; at < DESTINATIONS; at += 1) add('a', `d${at}.test`);
  await settle();
  const ofA = begin();
  const { attempts, reserved } = concurrency.limits;
  expect(ofA).toHaveLength(((attempts - reserved) * 4) / 5);
  add('b', 'own.test');
  await settle();
  expect(begin().map(({ picked }) => picked.ref.accountId)).toEqual(['b']);
  // All take long: as many again begin beside them, and a third account still finds something free.
  for (let round = 0; round < 10; round += 1) {
    for (const { slot } of ofA) {
      if (slot.isSlow) continue;
      concurrency.slow(slot);
      scheduler.noteFreed('a');
    }
    ofA.push(...begin());
  }
  expect(ofA.length).toBeGreaterThan(concurrency.limits.slowMax);
  for (const account of ['c', 'd', 'e']) {
    add(account, 'd0.test');
    add(account, `${account}.test`);
    await settle();
    expect(begin().some(({ picked }) => picked.ref.accountId === account)).toBe(true);
  }
});

test(`everything that was put aside is begun in the end (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED);
  const { add, begin, end, concurrency } = start();
  let wanted = 0;
  for (let at = 0; at < DESTINATIONS; at += 1) {
    // Some domains are shared by accounts.
    for (let account = 0; account <= random.int(3); account += 1) {
      add(`account ${account}`, `d${at}.test`);
      wanted += 1;
    }
  }
  await settle();
  const seen = new Set<string>();
  const underWay = begin();
  while (underWay.length > 0) {
    for (const { picked } of underWay) seen.add(picked.ref.id);
    const [one] = underWay.splice(random.int(underWay.length), 1);
    if (one !== undefined) end(one);
    underWay.push(...begin());
  }
  expect(seen.size).toBe(wanted);
  expect(concurrency.taken).toBe(0);
});

test('name servers that do not answer for one account leave look-ups to others', async () => {
  const asked: string[] = [];
  const found: string[] = [];
  const lookups = new SiteLookups({
    sites: {
      find: (domain) => {
        asked.push(domain);
        return domain.startsWith('silent')
          ? new Promise(() => undefined)
          : Promise.resolve(siteOf(domain));
      },
    },
    found: ({ domain }) => found.push(domain),
  });
  for (let at = 0; at < DESTINATIONS; at += 1) lookups.add(new Destination('a', `silent${at}`));
  expect(asked).toHaveLength(80);
  for (let at = 0; at < 50; at += 1) {
    lookups.add(new Destination('b', `answers${at}`));
    await settle();
    expect(found).toHaveLength(at + 1);
  }
});
