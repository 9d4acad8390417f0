/** One attempt from its claim to its commit: its time, what is given back and when, and what happens when the store fails. */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test';

import { Metrics } from '../../../src/base/metrics.ts';
import { Attempts } from '../../../src/flow/queue/attempts.ts';
import type { AttemptsOptions, Claim } from '../../../src/flow/queue/attempts.ts';
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import type { FinishAttempt } from '../../../src/store/journey.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import type { SmtpSession } from '../../../src/wire/smtp/client.ts';
import { hostOf, OK, refusal, startScripted } from '../deliver/scripted-site.ts';

type Scripted = Awaited<ReturnType<typeof startScripted>>;

let scripted: Scripted;
beforeAll(async () => {
  scripted = await startScripted([hostOf(10, ['192.0.2.1'])]);
  // The wall clock is half a minute behind: what is due goes by steady time.
  scripted.fixture.clock.jump(-30_000);
});
afterAll(() => scripted.fixture.close());

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

const LIMITS = { attempts: 9, slowMs: 5, slowMax: 9, reserved: 0, crowd: 99, crowdWaitMs: 1 };
const CALL = { id: 'call', endpointId: 'hook', accountId: 'acc' } as never;

type FinishAnswer = Error | { isOvertaken?: boolean; calls?: never[] };

/** A context whose store writes nothing and answers `finish` as it is told, and who was told of what. */
function unwritten(answers: readonly FinishAnswer[]) {
  const ends: FinishAttempt[] = [];
  const waits: unknown[] = [];
  const told: string[] = [];
  const real = scripted.fixture.ctx;
  const metrics = new Metrics();
  const ctx = {
    ...real,
    metrics,
    store: {
      ...real.store,
      async finish(end: FinishAttempt, mayWait?: boolean) {
        ends.push(end);
        waits.push(mayWait);
        const answer = answers[ends.length - 1] ?? {};
        if (answer instanceof Error) throw answer;
        return { calls: [], messageStatus: 'sent' as const, isOvertaken: false, ...answer };
      },
    },
    followers: {
      tell: (events: { type: string }[]) => told.push(...events.map(({ type }) => type)),
    },
  } as unknown as typeof real;
  return { ctx, ends, waits, told, metrics };
}

/** Attempts at a site that answers by a script. */
function start(answers: FinishAnswer[] = []) {
  const { messages, sessions, signed } = scripted;
  const { clock, logged: lines } = scripted.fixture;
  const rig = { ...scripted, lane: new Lane('mx:receiver', OTHERS, clock) };
  Object.assign(messages, { signed, users: 0 });
  sessions.script = () => ({});
  lines.length = 0;
  const seen: string[] = [];
  const state = { mayBegin: true, isAlone: false };
  const abort = new AbortController();
  const { ctx, ends, waits, told, metrics } = unwritten(answers);
  const concurrency = new Concurrency({ ...LIMITS, unsigned: 9 });
  const slowed = Promise.withResolvers<undefined>();
  const freed = Promise.withResolvers<Lane>();
  const options: AttemptsOptions = {
    ctx,
    owner: 'me',
    tools: { ...rig.tools, ctx },
    concurrency,
    random: () => 0.5,
    mayBegin: () => state.mayBegin,
    signal: abort.signal,
    isAlone: () => state.isAlone,
    signed: () => undefined,
    offerCalls: (calls) => seen.push(`calls ${calls.length}`),
    laneFreed(lane) {
      seen.push('lane freed');
      freed.resolve(lane);
    },
    slowed({ accountId }) {
      seen.push(`slowed ${accountId}`);
      if (accountId === 'acc') slowed.resolve(undefined);
    },
    diskFull: (error) => seen.push(`disk full: ${error.message}`),
    ended: ({ ref }) => seen.push(`ended ${ref.id === rig.recipient.id}`),
  };
  const recipient = { ...rig.recipient, attempts: 1, nextAttemptAt: clock.steady() + 15_000 };
  const claimNow = (of: string): Claim => {
    rig.lane.claim();
    const { id, accountId, domain } = recipient;
    return {
      ref: { id, accountId, domain, dueAt: 0 },
      isFirst: false,
      lane: rig.lane,
      found: { kind: 'site', site: rig.site },
      slot: concurrency.take(of, true),
    };
  };
  const attempts = new Attempts(options);
  const run = (of = 'acc') => attempts.run(claimNow(of), recipient);
  return {
    rig,
    clock,
    ends,
    waits,
    seen,
    told,
    state,
    abort,
    attempts,
    recipient,
    run,
    concurrency,
    metrics,
    logged: () => lines.slice(),
    slowed: slowed.promise,
    freed: freed.promise,
  };
}

/** Real timers of the process fire at once; returns for how long they were set. */
function hurry(): number[] {
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((
    fire: () => void,
    waitMs: number,
  ) => {
    waits.push(waitMs);
    return real(fire, waitMs === LIMITS.slowMs ? 60_000 : 0);
  }) as typeof setTimeout);
  undo.push(() => spy.mockRestore());
  return waits;
}

/** A session whose transaction ends when `answer` is called. */
function answerLater({ sessions }: Scripted) {
  const asked = Promise.withResolvers<undefined>();
  const answered = Promise.withResolvers<undefined>();
  const session = {
    tls: null,
    async send() {
      asked.resolve(undefined);
      await answered.promise;
      return OK;
    },
  };
  const spy = spyOn(sessions, 'acquire').mockImplementation(async () => ({
    kind: 'ready',
    session: session as unknown as SmtpSession,
    isReused: false,
  }));
  undo.push(() => spy.mockRestore());
  return { asked: asked.promise, answer: () => answered.resolve(undefined) };
}

test('an attempt that is taken is committed whole, told, counted and logged, and gives all back', async () => {
  const { run, rig, ends, seen, told, clock, recipient, logged, freed, metrics } = start([
    { calls: [CALL] },
  ]);
  const now = clock.now();
  await run();
  expect(ends).toMatchObject([
    {
      recipientId: recipient.id,
      messageId: recipient.messageId,
      owner: 'me',
      now,
      dueAt: clock.steady(),
      status: 'delivered',
      nextAttemptAt: null,
      attempt: { number: 1, beganAt: now, endedAt: now, outcome: 'delivered', stage: 'dot' },
    },
  ]);
  expect(told).toEqual(['email.sent', 'email.delivered']);
  expect(seen).toEqual(['lane freed', 'calls 1', 'ended true']);
  expect([rig.lane.isIdle, await freed, rig.messages.users]).toEqual([true, rig.lane, 0]);
  expect(logged().map(({ event, status }) => [event, status])).toEqual([['attempt', 'delivered']]);
  const text = await metrics.render();
  expect(text).toMatch(
    /^postrider_attempts_total\{outcome="delivered",class="none",destination="other"\} 1$/m,
  );
});

test('its outcome may wait for the next write when the attempt is alone at that moment', async () => {
  const { run, rig, waits, state } = start();
  const pending = answerLater(rig);
  const running = run();
  await pending.asked;
  state.isAlone = true;
  pending.answer();
  await running;
  state.isAlone = false;
  await run();
  expect(waits).toEqual([true, false]);
});

test('it begins when it has its session: what it waited before does not count', async () => {
  const { run, rig, ends, clock, logged } = start();
  for (let session = 0; session < 5; session += 1) await rig.lane.enter();
  const running = run();
  while (rig.messages.users === 0) await new Promise((resolve) => setImmediate(resolve));
  const beganAt = clock.now() + 3_000;
  clock.pass(3_000);
  const pending = answerLater(rig);
  rig.lane.leave();
  await pending.asked;
  clock.pass(700);
  pending.answer();
  await running;
  expect(ends[0]?.attempt).toMatchObject({ beganAt, endedAt: beganAt + 700 });
  expect(logged()[0]).toMatchObject({ duration_ms: 700 });
});

test('one that takes long is told of, once; one that ended in time never is', async () => {
  const { run, rig, seen, slowed, concurrency } = start();
  await run('other');
  seen.length = 0;
  const pending = answerLater(rig);
  const running = run();
  await pending.asked;
  await slowed;
  // The timer of the one before would have ended earlier.
  expect(seen).toEqual(['slowed acc']);
  expect(concurrency.mayTake('acc', false)).toBe(true);
  // One more than the limit, since this one no longer counts.
  while (concurrency.taken < LIMITS.attempts) concurrency.take('acc', false);
  expect(concurrency.isFree).toBe(true);
  pending.answer();
  await running;
  expect(seen).toEqual(['slowed acc', 'lane freed', 'ended true']);
});

test('what is only deferred keeps its claim on a throttled lane for 300 ms', async () => {
  const { run, rig, seen, freed, ends } = start();
  const waits = hurry();
  rig.lane.slowDown({ cause: 'slow down', class: 'rate', hint: null });
  rig.lane.claim();
  const unclaimed = spyOn(rig.lane, 'unclaim');
  await run();
  expect(seen).toEqual(['ended true']);
  expect(unclaimed).not.toHaveBeenCalled();
  await freed;
  expect(unclaimed).toHaveBeenCalledTimes(1);
  expect(waits).toEqual([LIMITS.slowMs, 300]);
  expect(ends[0]).toMatchObject({ status: 'delivery_delayed', attempt: { stage: 'throttled' } });
});

test('what may not begin is due at once for the next process, and has no attempt and no number', async () => {
  const { run, state, ends, seen, clock, recipient, logged } = start();
  state.mayBegin = false;
  await run();
  const { id, messageId, accountId, status, lastReason, delayedAt } = recipient;
  expect(ends).toEqual([
    {
      recipientId: id,
      messageId,
      accountId,
      status,
      lastReason,
      delayedAt,
      owner: 'me',
      now: clock.now(),
      nextAttemptAt: clock.steady(),
      attempt: null,
      events: [],
      suppress: null,
      isUnbegun: true,
    },
  ]);
  expect([seen, logged()]).toEqual([['lane freed', 'ended true'], []]);
});

test('an end that another owner has overtaken is neither told nor counted, and is logged with its reply', async () => {
  const { run, metrics, seen, told, logged, recipient } = start([
    { isOvertaken: true, calls: [CALL] },
  ]);
  await run();
  expect([seen, told]).toEqual([['lane freed', 'ended true'], []]);
  expect(logged()).toEqual([
    {
      time: expect.any(String),
      level: 'warn',
      event: 'attempt_overtaken',
      recipient_id: recipient.id,
      message_id: recipient.messageId,
      outcome: 'delivered',
      reply: '250 2.0.0 OK',
      hint: 'Another process has taken this recipient over in the meantime, and what it finds counts. The message may arrive twice, with the same Message-ID.',
    },
  ]);
  const text = await metrics.render();
  expect(text).not.toMatch(/^postrider_attempts_total\{/m);
});

test('while the disk is full an end is written again every 2 s, until it stands', async () => {
  const full = new StoreFullError('the disk is full');
  const { run, ends, seen, told } = start([full, full]);
  const waits = hurry();
  await run();
  expect(ends).toHaveLength(3);
  expect(ends[1]).toEqual(ends[0] as FinishAttempt);
  expect(waits).toEqual([LIMITS.slowMs, 2_000, 2_000]);
  const once = 'disk full: the disk is full';
  expect(seen).toEqual(['lane freed', once, once, 'ended true']);
  expect(told).toEqual(['email.sent', 'email.delivered']);
});

test('a process that ends by force does not wait for the disk, and tells nobody of the attempt', async () => {
  const { run, ends, abort, told, logged, seen } = start([new StoreFullError('full')]);
  const waits = hurry();
  abort.abort();
  await run();
  expect([ends.length, waits, told, logged()]).toEqual([1, [LIMITS.slowMs], [], []]);
  expect(seen).toEqual(['lane freed', 'disk full: full', 'ended true']);
});

test('an end that the store does not take puts the recipient back by the schedule; what fails again is said', async () => {
  const { run, ends, seen, told, clock, logged, recipient } = start([
    new Error('a constraint failed'),
    new Error('no such table'),
  ]);
  recipient.attempts = 2;
  recipient.lastReason = 'as before';
  await run();
  expect(ends[1]).toMatchObject({
    status: recipient.status,
    lastReason: 'as before',
    nextAttemptAt: clock.steady() + 5 * 60_000,
    attempt: null,
    events: [],
    owner: 'me',
  });
  expect([seen, told]).toEqual([['lane freed', 'ended true'], []]);
  const common = { time: expect.any(String), level: 'error', recipient_id: recipient.id };
  expect(logged()).toEqual([
    {
      ...common,
      event: 'attempt_failed',
      error: expect.objectContaining({ message: 'a constraint failed' }),
      hint: 'A fault of the appliance: the recipient is tried again by the retry schedule. Please report it.',
    },
    {
      ...common,
      event: 'recipient_not_put_back',
      error: expect.objectContaining({ message: 'no such table' }),
      hint: 'A fault of the appliance: the recipient is tried again when its claim has run out, in about an hour. Please report it.',
    },
  ]);
});

test('a fault before the conversation gives the lane back once', async () => {
  const { run, rig, seen, ends } = start();
  const spy = spyOn(rig.messages, 'acquire').mockResolvedValue(undefined as never);
  await run();
  spy.mockRestore();
  expect([seen, rig.lane.isIdle, ends.length]).toEqual([['lane freed', 'ended true'], true, 1]);
});

test('an attempt whose message has gone with its account has no end', async () => {
  const { run, rig, ends, seen, recipient } = start();
  rig.messages.signed = new Error('no key');
  recipient.messageId = 'gone';
  await run();
  expect([ends, seen]).toEqual([[], ['lane freed', 'ended true']]);
});

test('a marked recipient that was never attempted is given back; what fails is said', async () => {
  const { attempts, recipient, ends, logged, clock } = start([{}, new Error('no disk')]);
  await attempts.giveBack(recipient);
  expect(ends).toMatchObject([{ nextAttemptAt: clock.steady(), attempt: null, owner: 'me' }]);
  expect(logged()).toEqual([]);
  await attempts.giveBack(recipient);
  expect(logged().map(({ event }) => event)).toEqual(['recipient_not_put_back']);
});

test('a refusal for now is tried again by the schedule, without chance after exactly a minute', async () => {
  const { run, rig, ends, clock, told } = start();
  rig.sessions.script = () => ({ result: refusal(451, '4.3.0') });
  await run();
  expect(ends[0]).toMatchObject({
    status: 'delivery_delayed',
    nextAttemptAt: clock.steady() + 60_000,
    delayedAt: clock.steady(),
    attempt: { outcome: 'deferred', reply: '451 4.3.0 said so', host: 'mx10.receiver.example' },
  });
  expect(told).toEqual(['email.sent', 'email.delivery_delayed']);
});
