/** When the host is checked: a minute after the start and every hour, once at a time, never after a stop; and what is counted and logged. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import type { Context } from '../../src/flow/context.ts';
import * as doctor from '../../src/health/doctor.ts';
import type { Finding, Level } from '../../src/health/finding.ts';
import { HostCheck } from '../../src/health/host-check.ts';
import { TestClock } from '../rig/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let clock: TestClock;
let startedAt: number;
let made: number[];
let found: Finding[] | Error;
let logged: unknown[];
let counted: Record<string, number>;
let check: HostCheck;
let examine: { mockRestore(): void };

const finding = (name: string, level: Level, advice: string | null = null): Finding => ({
  check: name,
  level,
  summary: `${name}.`,
  advice,
});

beforeEach(() => {
  clock = new TestClock();
  startedAt = clock.now();
  made = [];
  found = [];
  logged = [];
  counted = {};
  const note =
    (level: string) =>
    (event: string, facts: object): void => {
      logged.push([level, event, facts]);
    };
  const findings = {
    set: ({ level }: { level: string }, count: number) => (counted[level] = count),
  };
  const ctx = {
    clock,
    log: { error: note('error'), warn: note('warn'), info: note('info') },
    metrics: { findings },
  } as unknown as Context;
  examine = spyOn(doctor, 'examine').mockImplementation(async () => {
    made.push(clock.now() - startedAt);
    await Promise.resolve();
    if (found instanceof Error) throw found;
    return found;
  });
  check = new HostCheck(ctx);
});
afterEach(() => {
  check.stop();
  examine.mockRestore();
});

test('the first check comes a minute after the start, each other an hour after the one before', async () => {
  check.start();
  await clock.advance(MINUTE_MS - 1);
  expect([made, check.last]).toEqual([[], null]);
  await clock.advance(1);
  expect([made, check.last?.checkedAt]).toEqual([[MINUTE_MS], startedAt + MINUTE_MS]);
  await clock.advance(HOUR_MS - 1);
  expect(made).toHaveLength(1);
  await clock.advance(1);
  expect(made).toEqual([MINUTE_MS, MINUTE_MS + HOUR_MS]);
});

test('a check that fails is logged once and followed by the next', async () => {
  found = new Error('no answer');
  check.start();
  await clock.advance(MINUTE_MS);
  expect([logged.length, check.last]).toEqual([1, null]);
  expect(logged[0]).toMatchObject([
    'error',
    'doctor_failed',
    {
      hint: 'The host was not checked. The next check is in an hour; run `postrider doctor` to check now.',
    },
  ]);
  found = [];
  await clock.advance(HOUR_MS);
  expect([made.length, check.last?.findings]).toEqual([2, []]);
});

test('after a stop nothing is checked any more', async () => {
  check.start();
  check.stop();
  await clock.advance(MINUTE_MS + HOUR_MS);
  expect(made).toEqual([]);
  expect(clock.pending()).toEqual([]);
});

test('a check that is asked for while one is made is that one, and later another', async () => {
  await Promise.all([check.checkNow(), check.checkNow()]);
  expect(made).toHaveLength(1);
  await check.checkNow();
  expect(made).toHaveLength(2);
});

test('a check that is asked for while the hourly one is made is that one, and its problem is logged once', async () => {
  const { promise: asking, resolve: answer } = Promise.withResolvers<void>();
  examine.mockRestore();
  examine = spyOn(doctor, 'examine').mockImplementation(async () => {
    made.push(clock.now() - startedAt);
    await asking;
    return [finding('a', 'error')];
  });
  check.start();
  await clock.advance(MINUTE_MS);
  const asked = check.checkNow();
  answer();
  await asked;
  expect([made, logged.length]).toEqual([[MINUTE_MS], 1]);
});

test('the findings of each level are counted, and those that are gone no more', async () => {
  found = [
    finding('a', 'ok'),
    finding('b', 'ok'),
    finding('c', 'ok'),
    finding('d', 'error'),
    finding('e', 'error'),
    finding('f', 'warning'),
  ];
  await check.checkNow();
  expect(counted).toEqual({ ok: 3, warning: 1, error: 2, unchecked: 0 });
  found = [finding('a', 'unchecked')];
  await check.checkNow();
  expect(counted).toEqual({ ok: 0, warning: 0, error: 0, unchecked: 1 });
});

test('of errors that are new the question, what was seen and what to do are logged', async () => {
  found = [
    finding('a', 'error', 'Do it.'),
    finding('b', 'error'),
    finding('c', 'warning', 'Look.'),
  ];
  await check.checkNow();
  await check.checkNow();
  expect(logged).toEqual([
    ['error', 'host_problem_found', { check: 'a', summary: 'a.', hint: 'Do it.' }],
    ['error', 'host_problem_found', { check: 'b', summary: 'b.', hint: '' }],
  ]);
});

test('of several addresses each is a problem of its own; a number that changes is no news', async () => {
  const of = (address: string, level: Level): Finding => ({
    ...finding('reverse_dns_ipv4', level),
    summary: `${address} has no reverse DNS.`,
  });
  const disk = (mib: number): Finding => ({ ...finding('disk', 'error'), summary: `${mib} MiB.` });
  const summaries = async (...now: Finding[]): Promise<unknown[]> => {
    found = now;
    logged = [];
    await check.checkNow();
    return logged.map((line) => (line as [string, string, Finding])[2].summary);
  };
  const [one, other] = ['192.0.2.1', '192.0.2.2'];
  expect(await summaries(of(one, 'ok'), of(other, 'error'), disk(9))).toEqual([
    `${other} has no reverse DNS.`,
    '9 MiB.',
  ]);
  expect(await summaries(of(one, 'error'), of(other, 'error'), disk(8))).toEqual([
    `${one} has no reverse DNS.`,
  ]);
  expect(await summaries(of(one, 'error'), of(other, 'ok'), disk(7))).toEqual([]);
  expect(await summaries(of(one, 'error'), of(other, 'error'), disk(6))).toEqual([
    `${other} has no reverse DNS.`,
  ]);
});
