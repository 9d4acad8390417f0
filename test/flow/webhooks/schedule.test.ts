/**
 * The retry schedule of calls with a clock that is moved by hand: exact times, exact number of attempts, what is
 * retried, what `Retry-After` may do, and that the calls are the same ones on every attempt.
 */
import { afterEach, describe, expect, test } from 'bun:test';

import { waitMs } from '../../../src/flow/webhooks/schedule.ts';
import { TestClock } from '../../rig/clock.ts';
import { type Hook, type HookAnswer, startHook } from '../../rig/hook.ts';
import { found, startWebhookRig, type WebhookRig } from './webhook-rig.ts';

const SCHEDULE_S = [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600];

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(
  random: () => number,
  answer: (attempt: number) => HookAnswer,
): Promise<{ rig: WebhookRig; hook: Hook; clock: TestClock }> {
  const clock = new TestClock();
  const rig = await startWebhookRig({ clock, dispatcher: { random } });
  const hook = await startHook();
  hook.script.answer = () => answer(hook.calls.items.length + 1);
  await rig.endpoint(hook.url);
  ends.push(
    () => rig.stop(),
    () => hook.stop(),
  );
  return { rig, hook, clock };
}

/** Moves the clock to one due time after the other; returns the seconds from the first attempt to each. */
async function followThrough(rig: WebhookRig, clock: TestClock): Promise<number[]> {
  const beganAt = clock.now();
  const times: number[] = [];
  await rig.happen(1);
  for (;;) {
    const seen = times.length;
    const end = (await rig.ended.atLeast(seen + 1))[seen];
    times.push((clock.now() - beganAt) / 1000);
    if (end === undefined || end.nextAttemptAt === null) return times;
    // A millisecond early nothing may happen; at the due time it must.
    await clock.advance(end.nextAttemptAt - clock.now() - 1);
    expect(rig.ended.items).toHaveLength(seen + 1);
    await clock.advance(1);
  }
}

describe('the schedule', () => {
  test('without jitter: 10 attempts in 11,010 s, each with the same id and bytes', async () => {
    const { rig, hook, clock } = await start(
      () => 0,
      () => ({ status: 500 }),
    );
    const times = await followThrough(rig, clock);
    let sum = 0;
    expect(times).toEqual([0, ...SCHEDULE_S.map((wait) => (sum += wait))]);
    expect(times.at(-1)).toBe(11_010);
    const calls = hook.calls.items;
    expect(calls).toHaveLength(10);
    expect(new Set(calls.map((call) => call.headers['webhook-id'])).size).toBe(1);
    expect(new Set(calls.map((call) => call.body)).size).toBe(1);
    expect(new Set(calls.map((call) => call.headers['webhook-timestamp'])).size).toBe(10);
    expect(rig.ended.items.map(({ attempt }) => attempt.attempt)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    expect(rig.ended.items.at(-1)).toMatchObject({ status: 'failed', nextAttemptAt: null });
    await clock.advance(24 * 3_600_000);
    expect(hook.calls.items).toHaveLength(10);
  });

  test('with jitter: never sooner than the table, at most a tenth later', () => {
    for (const [at, wait] of SCHEDULE_S.entries()) {
      expect(waitMs(at + 1, 0)).toBe(wait * 1000);
      expect(waitMs(at + 1, 0.999_999)).toBeLessThanOrEqual(wait * 1100);
      expect(waitMs(at + 1, 0.5)).toBe(wait * 1050);
    }
  });

  test('a success after failures ends the call and clears the count', async () => {
    const { rig, clock } = await start(
      () => 0,
      (attempt) => ({ status: attempt < 3 ? 503 : 204 }),
    );
    expect(await followThrough(rig, clock)).toEqual([0, 30, 90]);
    expect(rig.ended.items.at(-1)).toMatchObject({
      status: 'done',
      attempt: { ok: true, error: null },
    });
    const [endpoint] = await rig.ctx.store.endpoints(rig.accountId);
    expect(endpoint).toMatchObject({ failureCount: 0, status: 'active' });
    expect(endpoint?.lastFailureAt).not.toBeNull();
  });
});

describe('what is tried again', () => {
  test.each([
    [400, false],
    [401, false],
    [404, false],
    [410, false],
    [422, false],
    [429, true],
    [500, true],
    [501, true],
    [503, true],
    [599, true],
    [301, false],
    [302, false],
    [307, false],
    [308, false],
  ])('status %d: %p', async (status, isRetried) => {
    const { rig } = await start(
      () => 0,
      () => ({ status, headers: { location: 'https://elsewhere.test/' } }),
    );
    await rig.happen(1);
    const [end] = await rig.ended.atLeast(1);
    expect(end?.status).toBe(isRetried ? 'open' : 'failed');
    expect(end?.attempt).toMatchObject({ ok: false, statusCode: status });
    expect(end?.attempt.error).toStartWith(`the endpoint answered with status ${status}`);
  });

  test.each([200, 201, 202, 204, 299])('status %d acknowledges', async (status) => {
    const { rig } = await start(
      () => 0,
      () => ({ status }),
    );
    await rig.happen(1);
    expect((await rig.ended.atLeast(1))[0]).toMatchObject({
      status: 'done',
      attempt: { ok: true },
    });
  });

  test('a connection that is dropped', async () => {
    const { rig } = await start(
      () => 0,
      () => 'drop',
    );
    await rig.happen(1);
    const [end] = await rig.ended.atLeast(1);
    expect(end).toMatchObject({ status: 'open', attempt: { statusCode: null, ok: false } });
    expect(end?.attempt.error).toBe('the connection was closed before a response came');
  });
});

describe('Retry-After', () => {
  test.each([
    [429, '100', 100],
    [503, '100', 100],
    [503, '5', 30],
    [429, '0', 30],
    [503, 'soon', 30],
    // Only these two statuses give the header a meaning.
    [500, '100', 30],
    // At most a day.
    [503, '999999999', 86_400],
  ])('%d with %s: waits %d s', async (status, value, waitS) => {
    const { rig, clock } = await start(
      () => 0,
      () => ({ status, headers: { 'retry-after': value } }),
    );
    await rig.happen(1);
    const [end] = await rig.ended.atLeast(1);
    expect(((end?.nextAttemptAt ?? 0) - clock.now()) / 1000).toBe(waitS);
  });
});

test('a restart in the middle of the schedule goes on with it, under the same id', async () => {
  const { rig, hook, clock } = await start(
    () => 0,
    (attempt) => ({ status: attempt < 3 ? 500 : 200 }),
  );
  const [event] = await rig.happen(1);
  await rig.ended.atLeast(1);
  await rig.restart();
  await clock.advance(30_000);
  await rig.ended.atLeast(2);
  await rig.restart();
  await clock.advance(60_000);
  const end = (await rig.ended.atLeast(3))[2];
  expect(end).toMatchObject({ status: 'done', attempt: { attempt: 3, ok: true } });
  expect(hook.calls.items.map((call) => call.headers['webhook-id'])).toEqual(
    Array.from({ length: 3 }, () => event?.id),
  );
});

test('a shortage of sockets here is not counted against the endpoint, and the call is made later', async () => {
  const clock = new TestClock();
  const hook = await startHook();
  let isOut = true;
  const rig = await startWebhookRig({
    clock,
    dispatcher: { random: () => 0 },
    a() {
      if (isOut) throw Object.assign(new Error('socket'), { code: 'EMFILE' });
      return found('127.0.0.1');
    },
  });
  ends.push(
    () => rig.stop(),
    () => hook.stop(),
  );
  isOut = false;
  const { endpoint } = await rig.endpoint(hook.url);
  isOut = true;
  const [event] = await rig.happen(1);
  while (!rig.logLines.some((line) => line.includes('webhook_dispatch_failed'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  isOut = false;
  await clock.advance(120_000);
  const call = await hook.calls.first((one) => one.headers['webhook-id'] === event?.id);
  expect(call.method).toBe('POST');
  await rig.ended.atLeast(1);
  expect(await rig.ctx.store.endpointById(endpoint.id)).toMatchObject({ failureCount: 0 });
  expect(rig.ended.items).toHaveLength(1);
});
