/** What is done with an endpoint after it exists: the exact change, the whole of each answer, and which calls are opened again. */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test';

import { WebhookDispatcher, type TestResult } from '../../../src/flow/webhooks/dispatcher.ts';
import type { Account } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';
import { openBench, type Ask, type Bench, type Sent } from '../bench.ts';

const EVENT = '01913c7e-89ab-7cde-8f01-23456789abcd';
const URL = 'https://127.0.0.1/hook';
const clock = new TestClock();

let bench: Bench;
let account: Account;
let key: string;
let id: string;

beforeAll(async () => {
  bench = await openBench({ clock });
  account = await bench.account('hooks', 'fast');
  key = await bench.key(account);
  id = (await ask({ path: '/webhooks', body: { endpoint: URL } })).json.id;
});
const undo: { mockRestore: () => void }[] = [];
afterEach(() => {
  for (const spy of undo.splice(0)) spy.mockRestore();
});
afterAll(() => bench.close());

const ask = (what: Ask): Promise<Sent> => bench.ask({ key, ...what });

test.each([
  [{}, {}],
  [{ status: 'active' }, { status: 'active' }],
  [{ status: 'enabled' }, { status: 'active' }],
  [{ status: 'disabled' }, { status: 'disabled' }],
  [{ events: [] }, { events: [] }],
  [{ events: ['email.sent'] }, { events: ['email.sent'] }],
  [{ url: `${URL}2` }, { url: `${URL}2` }],
  [{ endpoint: `${URL}3` }, { url: `${URL}3` }],
  [{ endpoint: URL, url: URL, status: null, events: null }, { url: URL }],
] as [object, object][])('a change of %j changes %j', async (body, change) => {
  const update = spyOn(bench.ctx.store, 'updateEndpoint');
  undo.push(update);
  const sent = await ask({ path: `/webhooks/${id}`, method: 'PATCH', body });
  expect(sent.status).toBe(200);
  expect(update.mock.calls.map(([owner, endpoint, what]) => [owner, endpoint, what])).toEqual([
    [account.id, id, change],
  ]);
});

test('two addresses that differ change nothing, nor do they with a status beside them', async () => {
  const update = spyOn(bench.ctx.store, 'updateEndpoint');
  undo.push(update);
  for (const more of [{}, { status: 'disabled' }]) {
    const body = { endpoint: URL, url: `${URL}2`, ...more };
    const sent = await ask({ path: `/webhooks/${id}`, method: 'PATCH', body });
    const message = 'url and endpoint must be equal. Send one of them.';
    expect([sent.status, sent.json.detail]).toEqual([422, { issues: [{ path: 'url', message }] }]);
  }
  expect(update).not.toHaveBeenCalled();
});

test.each([
  [
    { ok: true, statusCode: 204, durationMs: 12, error: null, response: 'secret words' },
    { ok: true, status_code: 204, duration_ms: 12 },
  ],
  [
    { ok: false, statusCode: 500, durationMs: 3, error: 'status 500', response: null },
    { ok: false, status_code: 500, duration_ms: 3, error: 'status 500' },
  ],
  [
    { ok: false, statusCode: null, durationMs: 0, error: 'no connection', response: null },
    { ok: false, status_code: null, duration_ms: 0, error: 'no connection' },
  ],
])('a test that ended as %j is answered whole', async (result, body) => {
  const made: TestResult = { id: EVENT, ...result };
  const run = spyOn(WebhookDispatcher.prototype, 'test').mockResolvedValue(made);
  undo.push(run);
  const sent = await ask({ path: `/webhooks/${id}/test`, method: 'POST' });
  expect([sent.status, sent.json]).toEqual([200, { id: EVENT, ...body }]);
  expect(run.mock.calls).toEqual([[account.id, id]]);
});

test('deliveries are listed whole, newest first, page by page', async () => {
  const attempts = Array.from({ length: 3 }, (_, at) => ({
    id: bench.ctx.ids.next(clock.now() + at),
    callId: null,
    endpointId: id,
    eventType: at === 1 ? 'webhook.test' : 'email.sent',
    messageId: null,
    attempt: at + 1,
    statusCode: at === 0 ? null : 200 + at,
    ok: at !== 0,
    error: at === 0 ? 'no connection' : null,
    durationMs: 10 * at,
    createdAt: clock.now() + at,
  }));
  for (const attempt of attempts) await bench.ctx.store.recordTestCall(attempt);
  const rows = attempts.toReversed().map((one) => ({
    id: one.id,
    event_type: one.eventType,
    message_id: null,
    attempt: one.attempt,
    status_code: one.statusCode,
    ok: one.ok,
    error: one.error,
    duration_ms: one.durationMs,
    created_at: new Date(one.createdAt).toISOString(),
  }));
  const [third, second, first] = rows;
  const list = async (query: string): Promise<unknown> =>
    (await ask({ path: `/webhooks/${id}/deliveries${query}` })).json;
  const page = (data: unknown[], next: string | null = null) => ({
    object: 'list',
    has_more: next !== null,
    next,
    data,
  });
  expect(await list('')).toEqual(page(rows));
  expect(await list('?limit=2')).toEqual(page([third, second], second?.id));
  expect(await list(`?after=${second?.id}`)).toEqual(page([first]));
  expect(await list(`?before=${second?.id}`)).toEqual(page([third]));
  const asked = spyOn(bench.ctx.store, 'callAttempts');
  undo.push(asked);
  await list('');
  expect(asked.mock.calls).toEqual([[id, { limit: 50, after: null, before: null }]]);
});

test('a page of deliveries has 1 to 100 rows, and one cursor of its own', async () => {
  const path = `/webhooks/${id}/deliveries`;
  for (const query of ['limit=1', 'limit=100', `after=${EVENT}`, `before=${EVENT}&limit=2`]) {
    expect([query, (await ask({ path: `${path}?${query}` })).status]).toEqual([query, 200]);
  }
  for (const [query, at] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['after=x', 'after'],
    ['before=a@x.example', 'before'],
    [`after=${EVENT}&before=${EVENT}`, 'before'],
  ]) {
    const { status, json } = await ask({ path: `${path}?${query}` });
    expect([query, status, json.detail.issues.map((one: { path: string }) => one.path)]).toEqual([
      query,
      422,
      [at],
    ]);
  }
});

test('what is replayed is asked of the store, given to the dispatcher, and counted', async () => {
  const refs = [{ id: 'one' }, { id: 'two' }] as never[];
  const replayed = { calls: refs, next: null };
  const replay = spyOn(bench.ctx.store, 'replayCalls').mockResolvedValue(replayed);
  const offer = spyOn(WebhookDispatcher.prototype, 'offer').mockImplementation(() => undefined);
  undo.push(replay, offer);
  const path = `/webhooks/${id}/replay`;
  const two = { id, replayed: 2 };
  expect((await ask({ path, body: { event_id: EVENT } })).json).toEqual(two);
  expect((await ask({ path, body: { event_id: EVENT, since: null } })).json).toEqual(two);
  expect((await ask({ path, body: { since: '2026-11-21T09:30:00+01:00' } })).json).toEqual(two);
  const one = await ask({ path: `/webhooks/${id}/events/${EVENT}/replay`, method: 'POST' });
  expect([one.status, one.json]).toEqual([200, { object: 'webhook_event', id: EVENT }]);
  const event = [account.id, id, { eventId: EVENT }, clock.steady()];
  const failed = { failedSince: Date.parse('2026-11-21T08:30:00Z') };
  expect(replay.mock.calls).toEqual([
    event,
    event,
    [account.id, id, failed, clock.steady()],
    event,
  ] as never);
  expect(offer.mock.calls).toEqual([[refs], [refs], [refs], [refs]]);
  replay.mockResolvedValue({ calls: [], next: null });
  const none = await ask({ path: `/webhooks/${id}/events/${EVENT}/replay`, method: 'POST' });
  expect([none.status, none.json.message]).toEqual([404, 'This endpoint has no such event.']);
});

test('a new secret is told with the hour until which the old one counts, by the clock on the wall', async () => {
  clock.jump(3_600_000);
  for (const path of ['rotate-secret', 'signing-secret/rotate']) {
    const sent = await ask({ path: `/webhooks/${id}/${path}`, method: 'POST' });
    const secret = sent.json.signing_secret;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/=]{20,}$/);
    expect([sent.status, sent.json]).toEqual([
      200,
      {
        object: 'webhook',
        id,
        signing_secret: secret,
        secret,
        previous_valid_until: new Date(clock.now() + 86_400_000).toISOString(),
      },
    ]);
  }
  clock.jump(-3_600_000);
});
