/** What the dispatcher asks of the store at each step, over a store that notes it: looks, claims, ends, the stop. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { replayCalls } from '../../../src/flow/webhooks/dispatcher.ts';
import type { Endpoint } from '../../../src/store/rows.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import type { CallRef } from '../../../src/store/webhooks.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';
import { refs, startNoted } from './noted-dispatcher.ts';

/** The first wait of the schedule, with half of its jitter. */
const WAIT_MS = 31_500;

let fixture: Fixture;
// One for all: its store is asked for nothing, and each dispatcher begins with the time of its own.
beforeAll(async () => {
  fixture = await openFixture();
});
beforeEach(() => {
  fixture.logged.length = 0;
});
afterAll(() => fixture.close());

const start = (change?: Parameters<typeof startNoted>[1]) => startNoted(fixture, change);

/** Only the looks at what is due. */
const looks = (asked: unknown[][]) => asked.filter(([what]) => what === 'due');

test('a claim is for a minute and a half, and due again after the first wait of the schedule', async () => {
  const { dispatcher, begun, ended, settle, now } = start({ due: [refs(2)] });
  dispatcher.start();
  await settle();
  const [claims = []] = begun;
  const [{ owner } = { owner: '' }] = claims;
  expect(owner).toMatch(/^[0-9a-f-]{36}$/);
  expect(claims).toEqual(
    ['e 0', 'e 1'].map((id) => ({
      id,
      owner,
      leaseUntil: now + 90_000,
      nextAttemptAt: now + WAIT_MS,
    })),
  );
  expect(
    ended.map(({ call, status, nextAttemptAt, disableAfter, response }) => [
      call.id,
      status,
      nextAttemptAt,
      disableAfter,
      response,
    ]),
  ).toEqual(['e 0', 'e 1'].map((id) => [id, 'open', now + WAIT_MS, 20, null]));
  expect(ended[0]?.attempt).toMatchObject({
    callId: 'e 0',
    endpointId: 'e',
    eventType: 'email.sent',
    messageId: 'message',
    attempt: 1,
    statusCode: null,
    ok: false,
    createdAt: now,
  });
  const counted = (await fixture.ctx.metrics.render()).split('\n');
  expect(counted.filter((line) => /^postrider_webhook_\w+_count/.test(line))).toEqual([
    expect.stringMatching(/\{result="refused"\} 2$/),
  ]);
  // Added one by one as they were counted: sums of fractions differ by their order.
  const took = ended.reduce(
    (sum, { attempt: { durationMs } }) => sum + (durationMs ?? 0) / 1000,
    0,
  );
  expect(counted).toContain(`postrider_webhook_call_seconds_sum{result="refused"} ${took}`);
  const { time: _, duration_ms: __, ...line } = fixture.logged[0] ?? {};
  expect(line).toEqual({
    level: 'info',
    event: 'webhook_call',
    request_id: 'request',
    message_id: 'message',
    event_id: 'event of e 0',
    event_type: 'email.sent',
    endpoint_id: 'e',
    attempt: 1,
    ok: false,
    status_code: null,
    error: 'the host does not lead to a public address',
    next_attempt_at: new Date(now + WAIT_MS).toISOString(),
  });
  await dispatcher.stop();
});

test('at most 1,024 calls are in flight over all endpoints', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, begun, settle, noted } = start({ gate: gate.promise });
  dispatcher.start();
  await settle();
  dispatcher.offer(noted(Array.from({ length: 300 }, (_, n) => refs(4, `e${n}`)).flat()));
  await settle();
  expect(begun.flat()).toHaveLength(1_024);
  gate.resolve();
  await settle();
  await settle();
  expect(begun.flat()).toHaveLength(1_200);
  await dispatcher.stop();
});

test('the store is looked at when the next call is due, or after a failed one, and each minute', async () => {
  const { dispatcher, script, asked, settle, now } = start({ nextDue: null });
  script.nextDue = now + 7_000;
  dispatcher.start();
  await settle();
  script.nextDue = null;
  await fixture.clock.advance(6_999);
  expect(looks(asked)).toHaveLength(1);
  script.due = [refs(1)];
  await fixture.clock.advance(1);
  expect(looks(asked)).toHaveLength(2);
  // Its attempt failed: it is due again after the first wait. Then nothing is known, and a minute is the longest pause.
  for (const [wait, count] of [
    [WAIT_MS - 1, 2],
    [1, 3],
    [59_999, 3],
    [1, 4],
  ] as const) {
    await fixture.clock.advance(wait);
    expect(looks(asked)).toHaveLength(count);
  }
  await dispatcher.stop();
});

test('leases that another server has lost are looked for at once', async () => {
  let freed: () => void = () => undefined;
  const node = { id: 'session', isCurrent: true, onFreed: (told: () => void) => (freed = told) };
  const { dispatcher, script, asked, begun, settle } = start({ node });
  dispatcher.start();
  await settle();
  expect(looks(asked)).toHaveLength(1);
  script.due = [refs(1)];
  freed();
  await settle();
  expect([looks(asked).length, begun.flat().map(({ owner }) => owner)]).toEqual([2, ['session']]);
  // What is offered while it is cut off waits, and is begun as soon as it is told.
  node.isCurrent = false;
  dispatcher.offer(refs(1, 'f'));
  await settle();
  expect(begun).toHaveLength(1);
  node.isCurrent = true;
  freed();
  await settle();
  expect(begun).toHaveLength(2);
  await dispatcher.stop();
  // Its session ends by itself.
  expect(asked.some(([what]) => what === 'released')).toBe(false);
});

test('the end frees what this process owns, and takes nothing before the start or after it', async () => {
  const { dispatcher, asked, begun, settle, now } = start();
  dispatcher.offer(refs(1));
  await settle();
  expect(asked).toEqual([]);
  dispatcher.start();
  await settle();
  asked.length = 0;
  dispatcher.offer([]);
  await settle();
  expect(asked).toEqual([]);
  await fixture.clock.advance(1_000);
  await dispatcher.stop();
  expect(asked).toEqual([['released', expect.stringMatching(/^[0-9a-f-]{36}$/), now + 1_000]]);
  dispatcher.offer(refs(1));
  dispatcher.endpointChanged('e');
  await settle();
  expect([begun.length, asked.length]).toEqual([0, 1]);
});

test('a call that was claimed and not yet posted when the stop came is not posted', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, begun, ended, settle, noted } = start({ gate: gate.promise });
  dispatcher.start();
  await settle();
  const tests = [1, 2].map(() => dispatcher.test('account', 'e'));
  await settle();
  // Four at once: two of these wait for a slot.
  dispatcher.offer(noted(refs(4)));
  await settle();
  const stopped = dispatcher.stop();
  gate.resolve();
  await stopped;
  expect([begun.flat().length, ended.map(({ call }) => call.id)]).toEqual([4, ['e 0', 'e 1']]);
  expect((await Promise.all(tests)).map(({ ok }) => ok)).toEqual([false, false]);
});

test('a test that is under way is cut by the stop', async () => {
  const { dispatcher, asked, settle } = start({ gate: new Promise(() => undefined) });
  dispatcher.start();
  const under = dispatcher.test('account', 'e');
  await settle();
  await dispatcher.stop();
  expect((await under).ok).toBe(false);
  expect(asked.at(-1)).toEqual(['test']);
});

test('an end that cannot be recorded is logged, and the call is looked for no sooner than its lease', async () => {
  const { dispatcher, asked, ended, settle } = start({
    due: [refs(1)],
    faults: [new Error('the database is away')],
  });
  dispatcher.start();
  await settle();
  expect(ended).toEqual([]);
  expect(fixture.logged).toEqual([
    {
      time: expect.any(String),
      level: 'error',
      event: 'webhook_dispatch_failed',
      step: 'finish',
      error: expect.objectContaining({ message: 'the database is away' }),
      hint: 'Check the disk of data_dir and the limit of open files; calls stay and are tried again.',
    },
  ]);
  expect(looks(asked)).toHaveLength(1);
  await dispatcher.stop();
});

test('an endpoint that a failure disables is logged with the reason, and its waiting calls stay in the store', async () => {
  const { dispatcher, asked, begun, settle, noted } = start({ endpointStatus: 'disabled' });
  dispatcher.start();
  await settle();
  dispatcher.offer(noted([...refs(10), ...refs(1, 'other')]));
  await settle();
  // Four of the first were claimed already.
  expect(begun.flat().map(({ id }) => id)).toEqual(['e 0', 'other 0', 'e 1', 'e 2', 'e 3']);
  const disabled = fixture.logged.filter(({ event }) => event === 'webhook_endpoint_disabled');
  expect(disabled[0]).toEqual({
    time: expect.any(String),
    level: 'warn',
    event: 'webhook_endpoint_disabled',
    endpoint: 'e',
    reason: 'the host does not lead to a public address',
  });
  // Nothing of it is due again, as far as this process knows.
  await fixture.clock.advance(59_999);
  expect(looks(asked)).toHaveLength(1);
  await dispatcher.stop();
});

test('an end that finds the disk full while the process stops is not waited for', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, ended, settle } = start({
    due: [refs(1)],
    faults: [new StoreFullError('full')],
    gate: gate.promise,
  });
  dispatcher.start();
  await settle();
  const stopped = dispatcher.stop();
  gate.resolve();
  await stopped;
  expect([ended, fixture.logged.map(({ event, step }) => [event, step])]).toEqual([
    [],
    [['webhook_dispatch_failed', 'finish']],
  ]);
});

test('a call that was opened anew in its attempt is looked for at once', async () => {
  const { dispatcher, asked, settle } = start({ due: [refs(1)], isOvertaken: true });
  dispatcher.start();
  await settle();
  expect(looks(asked)).toHaveLength(2);
  await dispatcher.stop();
});

test('a fifth test of an endpoint is told to wait ten seconds', async () => {
  const gate = Promise.withResolvers<void>();
  const { dispatcher, asked, settle } = start({ gate: gate.promise });
  dispatcher.start();
  const tests = Array.from({ length: 4 }, () => dispatcher.test('account', 'e'));
  await settle();
  const { code, message, headers } = await refusal(dispatcher.test('account', 'e'));
  expect({ code, message, headers }).toEqual({
    code: 'rate_limited',
    message: 'Other tests are under way. Try again when they ended.',
    headers: { 'Retry-After': '10' },
  });
  gate.resolve();
  await Promise.all(tests);
  expect((await dispatcher.test('account', 'e')).ok).toBe(false);
  expect(asked.filter(([what]) => what === 'test')).toHaveLength(5);
  await dispatcher.stop();
});

test('what is replayed is counted and offered, and needs no dispatcher', async () => {
  const { ctx, clock } = fixture;
  const calls = refs(3);
  const seen: unknown[] = [];
  const store: typeof ctx.store = {
    ...ctx.store,
    endpoint: async () => null,
    async replayCalls(...args) {
      seen.push(args);
      return { calls, next: null };
    },
  };
  const what = { eventId: 'event' };
  const gone = await refusal(replayCalls({ ...ctx, store }, null, 'account', 'e', what));
  expect([gone.code, gone.message, seen]).toEqual([
    'not_found',
    'There is no such webhook endpoint in this account.',
    [],
  ]);
  const { id } = (await fixture.sender()).account;
  store.endpoint = async () => ({}) as Endpoint;
  const offered: CallRef[] = [];
  const dispatcher = { offer: (some: readonly CallRef[]) => void offered.push(...some) };
  clock.jump(5_000);
  expect(await replayCalls({ ...ctx, store }, dispatcher, id, 'e', what)).toBe(3);
  expect([seen, offered]).toEqual([[[id, 'e', what, clock.steady()]], calls]);
  expect(await replayCalls({ ...ctx, store }, null, id, 'e', what)).toBe(3);
});

test('what failed is replayed a step at a time, each offered when it is open', async () => {
  const { ctx, clock } = fixture;
  const told: unknown[] = [];
  const steps = [
    { calls: refs(2), next: { failedSince: 5, afterId: 'c' } },
    { calls: [], next: { failedSince: 6, afterId: 'd' } },
    { calls: refs(1, 'e', 2), next: null },
  ];
  const store: typeof ctx.store = {
    ...ctx.store,
    endpoint: async () => ({}) as Endpoint,
    async replayCalls(...args) {
      told.push(args);
      return steps.shift() ?? { calls: [], next: null };
    },
  };
  const dispatcher = { offer: (some: readonly CallRef[]) => void told.push(some) };
  const what = { failedSince: 3 };
  expect(await replayCalls({ ...ctx, store }, dispatcher, 'account', 'e', what)).toBe(3);
  const now = clock.steady();
  expect(told).toEqual([
    ['account', 'e', what, now],
    refs(2),
    ['account', 'e', { failedSince: 5, afterId: 'c' }, now],
    [],
    ['account', 'e', { failedSince: 6, afterId: 'd' }, now],
    refs(1, 'e', 2),
  ]);
});
