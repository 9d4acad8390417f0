/**
 * The waiting lines under random use: bounded whatever comes, no recipient twice, none forgotten without a mark. A failing
 * test prints its seed; POSTRIDER_SEED repeats it.
 */
import { expect, test } from 'bun:test';

import { LINE_MAX, TOTAL_MAX, Waiting } from '../../../src/flow/queue/waiting.ts';
import type { Destination } from '../../../src/flow/queue/waiting.ts';
import type { RecipientRef } from '../../../src/store/journey.ts';
import { seeded } from '../../mail/random.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);

function refOf(number: number, domain: string, accountId = 'a'): RecipientRef {
  return { id: `r${number}`, accountId, domain, dueAt: number };
}

test(`bounded, no recipient twice, none lost without a mark (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED);
  const waiting = new Waiting();
  const destinations = new Map<string, Destination>();
  const inLines = new Map<string, RecipientRef>();
  const taken = new Map<string, RecipientRef>();
  let [next, turnedAway, missed] = [0, 0, false];
  const expectThat = (what: string, isTrue: boolean): void => {
    if (!isTrue) throw new Error(`not true: ${what}`);
  };
  const add = (ref: RecipientRef): void => {
    const before = waiting.size;
    const isKnown = inLines.has(ref.id) || taken.has(ref.id);
    const isFull = waiting.isFullFor(ref.accountId);
    const destination = waiting.add(ref);
    if (isKnown) expectThat('a known one is not added', destination === null);
    if (waiting.size > before) {
      inLines.set(ref.id, ref);
    } else if (!isKnown) {
      // What gets no slot in a line is marked: at its destination, and for all when all lines together are full.
      turnedAway += 1;
      if (isFull) missed = true;
      expectThat('it is marked', destination === null ? isFull : destination.hasMore);
    }
    if (destination !== null) destinations.set(ref.domain, destination);
  };
  for (let step = 0; step < 200_000; step += 1) {
    const what = random.int(100);
    if (what < 70) {
      // A few domains get most of it, so that single lines fill up as well as all together.
      const domain = `d${random.chance(0.1) ? 0 : random.int(400)}.example`;
      const known = random.chance(0.05) ? inLines.get(`r${random.int(next + 1)}`) : undefined;
      add(known ?? refOf((next += 1), domain));
    } else if (what < 85 && destinations.size > 0) {
      const destination = destinations.get(`d${random.int(400)}.example`);
      const first = destination?.line[0];
      const ref = destination === undefined ? null : waiting.take(destination);
      expectThat('the first is taken', ref === (first ?? null));
      if (ref !== null) {
        expectThat('it is in an attempt', waiting.isInAttempt(ref.id));
        inLines.delete(ref.id);
        taken.set(ref.id, ref);
      }
    } else if (taken.size > 0) {
      const [id = ''] = taken.keys();
      taken.delete(id);
      waiting.release(id);
      expectThat('its attempt has ended', !waiting.isInAttempt(id));
    }
    expectThat('the lines have what was added', waiting.size === inLines.size);
    expectThat('all lines together are bounded', waiting.size <= TOTAL_MAX);
  }
  for (const { line } of destinations.values()) expect(line.length).toBeLessThanOrEqual(LINE_MAX);
  expect(waiting.size).toBeGreaterThan(TOTAL_MAX / 2);
  expect(turnedAway).toBeGreaterThan(0);
  // When half of it is free again, and not before, whoever was turned away for want of capacity is asked for.
  for (const destination of destinations.values()) while (waiting.take(destination) !== null);
  expect(waiting.size).toBe(0);
  if (missed) expect(waiting.takeMissed()).toBe(true);
  expect(waiting.takeMissed()).toBe(false);
});

test(`an account with very much leaves capacity to every other, and gets more when there is (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED + 1);
  const waiting = new Waiting();
  let next = 0;
  const lines = new Set<Destination>();
  const add = (accountId: string, domain: string): boolean => {
    const before = waiting.size;
    const destination = waiting.add(refOf((next += 1), domain, accountId));
    if (destination !== null) lines.add(destination);
    return waiting.size > before;
  };
  for (let more = 0; more < 100_000; more += 1) add('much', `d${random.int(1_000)}.example`);
  expect(waiting.size).toBe(40_000);
  expect(waiting.isFullFor('much')).toBe(true);
  // Others come, one after the other, each with a little, then one more with very much.
  for (let account = 0; account < 20; account += 1) {
    for (let more = 0; more < 100; more += 1) expect(add(`a${account}`, 'd0.example')).toBe(true);
  }
  for (let more = 0; more < 50_000; more += 1) add('more', `d${random.int(1_000)}.example`);
  expect(add('last', 'd0.example')).toBe(true);
  expect(waiting.size).toBeLessThan(TOTAL_MAX);
  // Whoever was turned away is asked for when there is as much capacity as it has references.
  expect(waiting.takeMissed()).toBe(false);
  let left = 40_000;
  for (const line of lines) {
    if (line.accountId !== 'much') continue;
    while (left > 5_000 && waiting.take(line) !== null) left -= 1;
  }
  expect(waiting.takeMissed()).toBe(true);
  expect(waiting.takeMissed()).toBe(false);
  expect(add('much', 'd0.example')).toBe(true);
});
