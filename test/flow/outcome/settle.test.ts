/** What the store is told of an attempt: the next time, the status, the row of the attempt and the event, case by case. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { wallTime } from '../../../src/base/clock.ts';
import { outcomeWithoutSession, type Outcome } from '../../../src/flow/outcome/kinds.ts';
import { settle } from '../../../src/flow/outcome/outcome.ts';
import { isFirstSent } from '../../../src/flow/outcome/sent.ts';
import { describeOutcome } from '../../../src/flow/outcome/text.ts';
import { throttleRequest, verdictOf } from '../../../src/flow/outcome/verdict.ts';
import type { Message, Recipient } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

const MINUTE_MS = 60_000;
/** As earlier releases recorded it. */
const THROTTLED_BEFORE = 'held';
const HOUR_MS = 60 * MINUTE_MS;

let fixture: Fixture;
let message: Message;
let ann: Recipient;

beforeAll(async () => {
  fixture = await openFixture();
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const to = [mailbox('Ann@receiver.example')];
  const stored = await fixture.stored(await fixture.accept(sender, draft({ to })));
  message = stored.message;
  const [first] = stored.recipients;
  if (first === undefined) throw new Error('a recipient was accepted');
  ann = first;
  // The wall clock is an hour behind, as in the ends below.
  fixture.clock.jump(-HOUR_MS);
});
afterAll(() => fixture.close());

const SILENT = outcomeWithoutSession('unreached', 'connect', 'the connection timed out');
const refused = (code: number, enhanced: string, change: Partial<Outcome> = {}): Outcome => ({
  ...SILENT,
  kind: 'refused',
  stage: 'rcpt',
  host: 'mx.receiver.example',
  address: '192.0.2.1',
  cause: null,
  reply: { code, enhanced, text: 'said so' },
  ...change,
});
const throttled = (untilMs: number): Outcome => ({
  ...outcomeWithoutSession('throttled', 'throttled', 'slowed down'),
  throttle: { untilMs, class: 'rate', hint: 'Wait.' },
});

/** The end of an attempt that lasted a second, by a wall clock an hour behind. */
function end(outcome: Outcome, change: Partial<Recipient> = {}, random = 0.5) {
  const recipient = { ...ann, attempts: 1, ...change };
  const steadyAt = recipient.expiresAt - 24 * HOUR_MS;
  const endedAt = steadyAt - HOUR_MS;
  const ended = { message, recipient, beganAt: endedAt - 1_000, endedAt, steadyAt, outcome };
  return settle(fixture.ctx, ended, random).then((result) => ({ ...result, steadyAt, endedAt }));
}

test.each([
  // By the schedule alone: the pause is over before it.
  [30_000, 0.5, MINUTE_MS],
  // A pause of an hour, and up to half of it more.
  [HOUR_MS, 0, HOUR_MS],
  [HOUR_MS, 0.5, 1.25 * HOUR_MS],
  [HOUR_MS, 1, 1.5 * HOUR_MS],
  // Never after the expiry.
  [20 * HOUR_MS, 1, 24 * HOUR_MS],
  [30 * HOUR_MS, 0, 24 * HOUR_MS],
  // A pause that ended meanwhile adds nothing.
  [-HOUR_MS, 1, 1.1 * MINUTE_MS],
])(
  'where a site pauses for %p ms, chance %p: again after %p ms',
  async (pauseMs, random, waitMs) => {
    const steadyAt = ann.expiresAt - 24 * HOUR_MS;
    const { nextAttemptAt } = await end(throttled(steadyAt + pauseMs), {}, random);
    expect((nextAttemptAt ?? 0) - steadyAt).toBe(waitMs);
  },
);

test('an attempt that could not be signed leaves the status and raises nothing', async () => {
  const unsigned = outcomeWithoutSession('unsigned', 'sign', 'no key');
  const result = await end(unsigned);
  expect([result.status, result.delayedAt, result.events]).toEqual(['queued', null, []]);
  expect((await end(unsigned, { status: 'delivery_delayed', delayedAt: 7 })).status).toBe(
    'delivery_delayed',
  );
});

test('a delay is timed by steady time, and its event says when the next attempt is by the wall clock', async () => {
  const result = await end(refused(451, '4.3.0'));
  expect([result.status, result.delayedAt]).toEqual(['delivery_delayed', result.steadyAt]);
  expect(result.events.map(({ type }) => type)).toEqual(['email.sent', 'email.delivery_delayed']);
  expect(result.events.map(({ occurredAt }) => occurredAt)).toEqual([
    result.endedAt - 1_000,
    result.endedAt,
  ]);
  expect(result.dueAt).toBe(result.steadyAt);
});

test('six hours between delays are counted in steady time, whatever the wall clock says', async () => {
  const { steadyAt } = await end(SILENT);
  for (const [agoMs, isTold] of [
    [6 * HOUR_MS - 1, false],
    [6 * HOUR_MS, true],
  ] as const) {
    const delayedAt = steadyAt - agoMs;
    const { events, ...rest } = await end(SILENT, { attempts: 4, status: 'sent', delayedAt });
    expect(events.map(({ type }) => type)).toEqual(isTold ? ['email.delivery_delayed'] : []);
    expect(rest.delayedAt).toBe(isTold ? steadyAt : delayedAt);
  }
});

test('a fourth attempt that is the first with a signature says so in its email.sent', async () => {
  const [sent] = (await end(SILENT, { attempts: 4 })).events;
  expect(sent?.type).toBe('email.sent');
  expect(JSON.parse(sent?.payload ?? 'null')).toEqual({ recipient: ann.address, attempt: 4 });
});

test('the row of an attempt has its times, its number and what the server said', async () => {
  const outcome = refused(550, '5.7.1', {
    tls: { version: 'TLSv1.3', cipher: 'X', verified: true, policy: 'dane' },
    mayBeDuplicate: true,
  });
  const { attempt, endedAt } = await end(outcome, { attempts: 3 });
  expect(attempt).toMatchObject({
    messageId: message.id,
    recipientId: ann.id,
    number: 3,
    beganAt: endedAt - 1_000,
    endedAt,
    outcome: 'failed',
    class: 'policy',
    stage: 'rcpt',
    host: 'mx.receiver.example',
    address: '192.0.2.1',
    reply: '550 5.7.1 said so',
    mayBeDuplicate: true,
  });
  expect(JSON.parse(attempt?.tls ?? '')).toMatchObject({ policy: 'dane', verified: true });
  expect((await end(SILENT)).attempt).toMatchObject({
    outcome: 'deferred',
    class: 'network',
    reply: 'the connection timed out',
    tls: null,
  });
});

test('a refusal of the address suppresses it in lower case, with a note of 500 characters at most', async () => {
  const long = refused(550, '5.1.1', {
    reply: { code: 550, enhanced: '5.1.1', text: 'x'.repeat(900) },
  });
  const { suppress, endedAt } = await end(long);
  expect(suppress).toMatchObject({
    accountId: message.accountId,
    email: 'ann@receiver.example',
    reason: 'hard_bounce',
    source: message.id,
    createdAt: endedAt,
  });
  expect(suppress?.note).toHaveLength(500);
});

test('what expires bounces as transient and suppresses nothing, even after a refusal for good of the host', async () => {
  const { expiresAt } = ann;
  const last = { ...SILENT, reply: { code: 554, enhanced: '5.1.1', text: 'no service' } };
  const ended = { message, recipient: { ...ann, attempts: 9 }, beganAt: 1, endedAt: 2 };
  const result = await settle(fixture.ctx, { ...ended, steadyAt: expiresAt, outcome: last }, 0.5);
  expect([result.status, result.suppress, result.nextAttemptAt]).toEqual(['bounced', null, null]);
  const facts: unknown = JSON.parse(result.events.at(-1)?.payload ?? 'null');
  expect(facts).toMatchObject({ attempt: 9, bounce: { type: 'Transient' } });
});

test('an outcome is told in 1,000 characters at most, the last one a sign that there is more', () => {
  const said = (length: number) =>
    describeOutcome({ ...SILENT, cause: 'x'.repeat(length) }, { hint: null });
  expect(said(1_000)).toBe('x'.repeat(1_000));
  expect(said(1_001)).toBe(`${'x'.repeat(999)}…`);
});

test.each([
  [{ host: 'mx.example.com', address: null }, 'mx.example.com at connecting: gone'],
  [{ host: '192.0.2.1', address: '192.0.2.1' }, '192.0.2.1 at connecting: gone'],
  [
    { host: 'mx.example.com', address: '192.0.2.1' },
    'mx.example.com (192.0.2.1) at connecting: gone',
  ],
  [{}, 'gone'],
])('%j is told as %s', (where, words) => {
  expect(describeOutcome({ ...SILENT, cause: 'gone', ...where }, { hint: null })).toBe(words);
});

test('email.sent is raised once for each recipient: by the first attempt of its own that had a signature', async () => {
  const attempt = (recipientId: string, stage: string) => ({
    id: fixture.ctx.ids.next(1),
    messageId: message.id,
    recipientId,
    number: 1,
    beganAt: 1,
    endedAt: 2,
    outcome: 'deferred' as const,
    class: null,
    stage,
    host: null,
    address: null,
    tls: null,
    reply: null,
    mayBeDuplicate: false,
  });
  const isFirst = (earlier: ReturnType<typeof attempt>[], change: Partial<Recipient> = {}) =>
    isFirstSent(
      { store: { ...fixture.ctx.store, attempts: async () => earlier } },
      { ...ann, attempts: 2, ...change },
    );
  const early = ['throttled', THROTTLED_BEFORE, 'route', 'dns', 'policy', 'compose', 'sign'];
  for (const stage of early) expect(await isFirst([attempt(ann.id, stage)])).toBe(true);
  expect(await isFirst([attempt('another', 'rcpt')])).toBe(true);
  expect(await isFirst([attempt(ann.id, 'connect')])).toBe(false);
  expect(await isFirst([], { status: 'sent' })).toBe(false);
  expect(await isFirst([attempt(ann.id, 'rcpt')], { attempts: 1 })).toBe(true);
});

test.each([
  ['rate', 421, '4.7.28', 'rate'],
  ['rate', 500, '5.7.28', null],
  ['rate', 450, '4.2.1', null],
  ['rate', 550, '5.2.1', null],
  ['reputation', 554, '5.7.1', 'reputation'],
  ['reputation', 550, '5.2.1', null],
  ['rate', 450, '4.20.1', 'rate'],
  ['policy', 421, '4.7.0', 'rate'],
  ['policy', 421, '4.70.0', null],
  ['policy', 421, '4.3.0', null],
  ['policy', 450, '4.7.0', null],
] as const)('a reply of class %s with %p %s asks for: %p', (name, code, enhanced, asked) => {
  const outcome = refused(code, enhanced);
  expect(throttleRequest(outcome, { ...verdictOf(outcome), class: name })).toBe(asked);
});

test('the events of each end, whole: what the API shows of them and what their webhook calls carry', async () => {
  fixture.ctx.subscribers.note(message.accountId);
  const told = async (outcome: Outcome, change: Partial<Recipient> = {}) => {
    const { events, endedAt } = await end(outcome, { status: 'sent', attempts: 2, ...change });
    return events.map(
      ({ id, messageId, accountId, recipientId, payload, webhookBody, ...rest }) => {
        expect(id).not.toBe('');
        expect([messageId, accountId, recipientId]).toEqual([
          message.id,
          message.accountId,
          ann.id,
        ]);
        const { data } = JSON.parse(webhookBody ?? '{}') as { data: Record<string, unknown> };
        const { bounce, delay, failed } = data;
        const occurred = rest.occurredAt - endedAt;
        const facts: unknown = JSON.parse(payload ?? 'null');
        return [rest.type, occurred, facts, { bounce, delay, failed }];
      },
    );
  };
  const tls = { version: 'TLSv1.3', cipher: 'X', verified: false, policy: 'opportunistic' };
  const facts = (stage: string, change: Record<string, unknown>) => ({
    recipient: ann.address,
    attempt: 2,
    stage,
    reply: null,
    cause: null,
    host: 'mx.receiver.example',
    address: '192.0.2.1',
    tls: null,
    class: null,
    ...change,
  });
  const reply = { code: 250, enhanced: '2.0.0', text: 'ok' };
  expect(await told(refused(250, '2.0.0', { kind: 'accepted', stage: 'dot', reply, tls }))).toEqual(
    [['email.delivered', 0, facts('dot', { reply: '250 2.0.0 ok', tls }), {}]],
  );
  const greylisted = { code: 451, enhanced: '4.7.1', text: 'Greylisted' };
  const hint = 'Greylisted: the receiver takes it at a later attempt.';
  const words = 'mx.receiver.example (192.0.2.1) replied 451 4.7.1 Greylisted at RCPT TO';
  const next = new Date(wallTime(fixture.ctx.clock, ann.expiresAt - 24 * HOUR_MS + 5 * MINUTE_MS));
  expect(await told(refused(451, '4.7.1', { reply: greylisted }))).toEqual([
    [
      'email.delivery_delayed',
      0,
      facts('rcpt', { reply: '451 4.7.1 Greylisted', class: 'policy', hint }),
      { delay: { message: `${words} (${hint})`, attempt: 2, next_attempt_at: next.toISOString() } },
    ],
  ]);
  expect(await told(refused(552, '5.3.4', { stage: 'dot', mayBeDuplicate: true }))).toEqual([
    [
      'email.bounced',
      0,
      facts('dot', {
        reply: '552 5.3.4 said so',
        class: 'content',
        bounce: { type: 'Permanent', subType: 'MessageTooLarge' },
        may_be_duplicate: true,
      }),
      {
        bounce: {
          type: 'Permanent',
          subType: 'MessageTooLarge',
          message: '552 5.3.4 said so (permanent bounce message)',
        },
      },
    ],
  ]);
  const nowhere = { host: null, address: null, attempt: 1 };
  expect(
    await told(outcomeWithoutSession('null_mx', 'dns', 'it takes no mail'), { attempts: 1 }),
  ).toEqual([
    [
      'email.bounced',
      0,
      facts('dns', {
        ...nowhere,
        cause: 'it takes no mail',
        class: 'recipient',
        bounce: { type: 'Permanent', subType: 'NoEmail' },
      }),
      {
        bounce: {
          type: 'Permanent',
          subType: 'NoEmail',
          message: 'it takes no mail (permanent bounce message)',
        },
      },
    ],
  ]);
  expect(
    await told(outcomeWithoutSession('impossible', 'dns', 'no such domain'), { attempts: 1 }),
  ).toEqual([
    [
      'email.failed',
      0,
      facts('dns', { ...nowhere, cause: 'no such domain', class: 'network' }),
      { failed: { reason: 'no such domain' } },
    ],
  ]);
});

test('what ended for good is no delay: its time, its delay and its reason are written, and no other attempt', async () => {
  const { attempt, events, steadyAt, endedAt, ...rest } = await end(refused(550, '5.7.1'), {
    delayedAt: 7,
    lastReason: 'an earlier one',
  });
  expect([attempt?.outcome, events.map(({ type }) => type)]).toEqual([
    'failed',
    ['email.sent', 'email.bounced'],
  ]);
  expect(rest).toEqual({
    recipientId: ann.id,
    messageId: message.id,
    accountId: message.accountId,
    now: endedAt,
    dueAt: steadyAt,
    status: 'bounced',
    nextAttemptAt: null,
    lastReason: 'mx.receiver.example (192.0.2.1) replied 550 5.7.1 said so at RCPT TO',
    delayedAt: 7,
    owner: null,
    suppress: null,
  });
});

test('what was said at the greeting is told beside our own words, and the last attempt tells of its delay too', async () => {
  const greeted: Outcome = {
    ...SILENT,
    stage: 'banner',
    host: 'mx.receiver.example',
    cause: 'the greeting refused us',
    reply: { code: 421, enhanced: null, text: 'busy' },
  };
  const recipient = { ...ann, attempts: 3, status: 'sent' as const, delayedAt: null };
  const steadyAt = ann.expiresAt - 1;
  const ended = { message, recipient, beganAt: 1, endedAt: 2, steadyAt, outcome: greeted };
  const { events, attempt, nextAttemptAt } = await settle(fixture.ctx, ended, 0.5);
  expect([attempt?.reply, nextAttemptAt]).toEqual(['421 busy', ann.expiresAt]);
  expect(events.map(({ type }) => type)).toEqual(['email.delivery_delayed']);
  expect(JSON.parse(events[0]?.payload ?? 'null')).toMatchObject({
    reply: '421 busy',
    cause: 'the greeting refused us',
    stage: 'banner',
  });
});
