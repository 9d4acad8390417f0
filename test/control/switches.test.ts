/** What operations tell a running queue, dispatcher and reader, and that they do without. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';

import { limitOf } from '../../src/control/emails.ts';
import type { Scope } from '../../src/control/operation.ts';
import type { Queue } from '../../src/flow/queue/queue.ts';
import type { WebhookDispatcher } from '../../src/flow/webhooks/dispatcher.ts';
import { StoreFullError } from '../../src/store/store.ts';
import { draft, openFixture, type Fixture } from '../flow/fixture.ts';
import { accepted, newLogRecord, newMessage } from '../store/samples.ts';
import { runnerIn, scopeOf } from './scope.ts';

let fixture: Fixture;
let scope: Scope;
/** Calls of the parts that run, in order. */
let told: unknown[][];

beforeEach(async () => {
  fixture = await openFixture();
  told = [];
  const tell =
    (name: string, result?: unknown) =>
    (...args: unknown[]) => {
      told.push([name, ...args]);
      return result;
    };
  const queue = {
    setResting: tell('resting'),
    forgetMarks: tell('forget'),
    retry: tell('retry', Promise.resolve(7)),
    throttles: () => [
      { site: 'mx.example', untilMs: 1_000, cause: 'slow down', class: 'rate', hint: null },
    ],
  };
  const dispatcher = { endpointChanged: tell('endpoint') };
  scope = scopeOf(
    fixture.ctx,
    {
      queue: queue as unknown as Queue,
      dispatcher: dispatcher as unknown as WebhookDispatcher,
      reload: () => ({ needs_restart: ['dns.servers'], new_certificate: true }),
    },
    (text) => void told.push(['progress', text]),
  );
});
afterEach(() => fixture.close());

const run = runnerIn(() => scope);

test('a halt rests the queue, and its end wakes it; what was so before is told', async () => {
  const state = await run('halt', { reason: 'Leak.' });
  expect(state).toEqual({
    halted: true,
    reason: 'Leak.',
    since: new Date(fixture.clock.now()).toISOString(),
  });
  expect(await run('resume', {})).toEqual({ halted: false, was_halted: true });
  expect(await run('resume', {})).toEqual({ halted: false, was_halted: false });
  expect(told).toEqual([
    ['resting', true],
    ['resting', false],
    ['resting', false],
  ]);
});

test('a halt rests the queue also where it cannot be written; an end of it that cannot be written wakes nothing', async () => {
  const { store, halt } = fixture.ctx;
  const write = spyOn(store, 'setSetting').mockRejectedValue(new StoreFullError());
  const refused = await run('halt', { reason: 'Leak.' }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreFullError);
  expect([halt.state?.reason, told]).toEqual(['Leak.', [['resting', true]]]);
  expect(await run('resume', {}).catch((error: unknown) => error)).toBeInstanceOf(StoreFullError);
  expect([halt.state?.reason, told]).toEqual(['Leak.', [['resting', true]]]);
  write.mockRestore();
  expect(await run('resume', {})).toEqual({ halted: false, was_halted: true });
  expect(told).toEqual([
    ['resting', true],
    ['resting', false],
  ]);
});

test('sites that slow us down are listed with their time in ISO 8601', async () => {
  const { throttles } = await run('queue.list', { domain: null });
  expect(throttles).toEqual([
    {
      site: 'mx.example',
      until: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      cause: 'slow down',
      class: 'rate',
      hint: null,
    },
  ]);
});

test('a retry is the running queue’s, and of an id that nothing has it is refused first', async () => {
  expect(await run('queue.retry', { id: null, domain: 'A.Example' })).toEqual({ retried: 7 });
  expect(told).toEqual([['retry', { id: null, domain: 'a.example' }]]);
  const refused = await run('queue.retry', { id: 'x', domain: null }).catch(String);
  expect(refused).toContain('There is no message or recipient x.');
  expect(told).toHaveLength(1);
});

test('a reload hands its result on, and the version is that of the process', async () => {
  const done = { needs_restart: ['dns.servers'], new_certificate: true };
  expect(await run('reload', {})).toEqual(done);
  expect(await run('version', {})).toMatchObject({ pid: process.pid });
});

test('deleting an account tells the queue and each of its endpoints, and forgets its keys', async () => {
  const { account } = await fixture.sender();
  const where = { account: account.name, events: [] };
  const one = await run('webhook.add', { ...where, url: 'https://8.8.8.8/a' });
  const two = await run('webhook.add', { ...where, url: 'https://8.8.8.8/b' });
  told = [];
  const done = await run('account.delete', { account: account.name });
  expect(done).toMatchObject({ id: account.id, webhooks: 2, keys: 1 });
  expect(told[0]).toEqual(['forget', account.id]);
  expect(told).toHaveLength(3);
  for (const { endpoint } of [one, two]) expect(told).toContainEqual(['endpoint', endpoint.id]);
});

test('a test call and a replay are made by the running dispatcher, for the account that is named', async () => {
  const { account } = await fixture.sender();
  const which = { account: account.name };
  const added = await run('webhook.add', { ...which, url: 'https://8.8.8.8/a', events: [] });
  const { id } = added.endpoint;
  const result = { id: 'call', ok: true, statusCode: 200, durationMs: 7, error: null };
  const tell =
    (name: string) =>
    (...args: unknown[]) => {
      told.push([name, ...args]);
      return Promise.resolve(result);
    };
  const dispatcher = { test: tell('test'), offer: tell('offer') };
  scope = { ...scope, dispatcher: dispatcher as unknown as WebhookDispatcher };
  told = [];
  expect(await run('webhook.test', { ...which, id })).toEqual(result);
  const calls = [{ id: 'c' }] as never;
  const replay = spyOn(fixture.ctx.store, 'replayCalls').mockResolvedValue({
    calls,
    next: null,
  });
  const since = '2026-01-02T03:04:05Z';
  const done = await run('webhook.replay', { ...which, id, event: null, since });
  expect(done).toEqual({ replayed: 1 });
  const failedSince = Date.UTC(2026, 0, 2, 3, 4, 5);
  expect(replay.mock.calls).toEqual([[account.id, id, { failedSince }, fixture.clock.steady()]]);
  expect(told).toEqual([
    ['test', account.id, id],
    ['offer', calls],
  ]);
});

test.each([
  [null, 50],
  ['1', 1],
  ['100', 100],
])('a limit of %p asks for %d rows', (limit, rows) => {
  expect(limitOf(limit)).toBe(rows);
});

test.each([
  ['404', true],
  ['100', true],
  ['599', true],
  ['2xx', true],
  ['4xx', true],
  ['5xx', true],
  ['3xx', false],
  ['600', false],
  ['099', false],
  ['40', false],
  ['404 ', false],
])('log list --status %p is taken: %p', async (status, isTaken) => {
  const { account } = await fixture.sender();
  const which = { account: account.name, method: null, q: null, limit: null, after: null };
  const seen = await run('log.list', { ...which, status }).catch(String);
  if (isTaken) expect(seen).toEqual({ requests: [], hasMore: false });
  else expect(seen).toContain('--status must be a status such as 404, or 2xx, 4xx or 5xx');
});

test('a change that the store refuses is no success, and leaves no entry', async () => {
  const sender = await fixture.sender();
  const { store } = fixture.ctx;
  const domain = await fixture.verified(sender, 'acme.example');
  const refuse = async (): Promise<never> => {
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error('refused');
  };
  Object.assign(store, { deleteDomain: refuse, revokeKey: refuse });
  const removal = run('domain.remove', { name: domain.id, account: null });
  expect(await removal.catch(String)).toBe('Error: refused');
  const [key] = await run('key.list', { account: null });
  const revocation = run('key.revoke', { id: key?.id ?? '' });
  expect(await revocation.catch(String)).toBe('Error: refused');
  expect(await run('audit.list', { who: null, limit: null, before: null })).toEqual([]);
});

test('requests are found by their status or its class, with the email that they made', async () => {
  const sender = await fixture.sender();
  const which = { account: sender.account.name, method: null, q: null, limit: null, after: null };
  const made = newMessage(sender.account.id);
  await accepted(fixture.ctx.store, made);
  const messageId = made.message.id;
  await fixture.ctx.store.appendLogs(
    [{ status: 201, messageId }, { status: 299 }, { status: 404, ip: null }].map((change) =>
      newLogRecord(sender.account.id, change),
    ),
  );
  const found = async (status: string): Promise<number[]> =>
    (await run('log.list', { ...which, status })).requests
      .map((row) => row.status)
      .toSorted((one, other) => one - other);
  expect([await found('2xx'), await found('201'), await found('4xx')]).toEqual([
    [201, 299],
    [201],
    [404],
  ]);
  for (const status of ['4xxx', 'x4xx', '4040', '600', '1xx', '3xx']) {
    const refused = await run('log.list', { ...which, status }).catch(String);
    expect(refused).toBe(
      `OperatorError: --status must be a status such as 404, or 2xx, 4xx or 5xx, not "${status}".`,
    );
  }
  const { requests } = await run('log.list', { ...which, status: '201' });
  expect(requests[0]).toMatchObject({ messageId, keyName: 'ci', ip: '127.0.0.1' });
});

test('requests are found by a part of their path', async () => {
  const { account } = await fixture.sender();
  const which = { account: account.name, status: null, method: null, limit: null, after: null };
  await fixture.ctx.store.appendLogs(
    ['/emails', '/domains/7'].map((path) => newLogRecord(account.id, { path })),
  );
  const { requests } = await run('log.list', { ...which, q: 'omain' });
  expect(requests.map(({ path }) => path)).toEqual(['/domains/7']);
});

test('an account is listed with the bytes that it keeps, and its deletion says how to go on', async () => {
  const sender = await fixture.sender();
  const { store } = fixture.ctx;
  const { id, name } = sender.account;
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft({ text: 'x'.repeat(10_000) }));
  const [listed] = await run('account.list', {});
  expect(listed?.storedBytes).toBe(await store.storedBytes(id));
  expect(listed?.storedBytes).toBeGreaterThan(9_999);
  const removed = spyOn(store, 'removeAccount');
  const closed = spyOn(store, 'closeAccount');
  await run('account.delete', { account: id });
  const how = `It is being deleted: to go on, run postrider account delete ${name} --yes.`;
  expect(closed.mock.calls).toEqual([[id, how]]);
  expect(removed.mock.calls.map((args) => args.slice(0, 2))).toEqual([[id, [`brake:${id}`]]]);
});

test('what only looks leaves no entry in the audit log, what changes leaves one', async () => {
  const { account } = await fixture.sender();
  const which = { account: account.name };
  const entries = async (): Promise<string[]> =>
    (await run('audit.list', { who: null, limit: null, before: null })).map(({ action }) => action);
  await run('key.list', which);
  await run('domain.list', which);
  await run('webhook.list', which);
  await run('suppression.list', which);
  await run('suppression.export', which);
  await run('queue.list', { domain: null });
  await run('account.list', {});
  await run('operator.list', {});
  expect(await entries()).toEqual([]);
  await run('suppression.add', { ...which, email: 'a@x.example', reason: null, note: null });
  await run('suppression.remove', { ...which, email: 'a@x.example', note: null });
  await run('halt', { reason: null });
  expect(await entries()).toEqual(['halt', 'suppression.remove', 'suppression.add']);
});

test('an endpoint is listed with its failures, without its secrets', async () => {
  const { account } = await fixture.sender();
  const url = 'https://8.8.8.8/h';
  const { endpoint } = await run('webhook.add', { account: account.name, url, events: [] });
  const { store } = fixture.ctx;
  const rows = await store.endpoints(account.id);
  store.endpoints = () =>
    Promise.resolve(rows.map((row) => ({ ...row, failureCount: 3, lastFailureAt: 1_700 })));
  expect(await run('webhook.list', { account: account.name })).toEqual([
    { ...endpoint, failureCount: 3, lastFailureAt: 1_700 },
  ]);
});

test('where an event is named no time is read', async () => {
  const { account } = await fixture.sender();
  const url = 'https://8.8.8.8/h';
  const { endpoint } = await run('webhook.add', { account: account.name, url, events: [] });
  const which = { account: account.name, id: endpoint.id };
  scope = { ...scope, dispatcher: null };
  expect(await run('webhook.replay', { ...which, event: 'evt', since: 'none' })).toEqual({
    replayed: 0,
  });
  const refused = await run('webhook.replay', { ...which, event: null, since: 'none' }).catch(
    String,
  );
  expect(refused).toBe('OperatorError: --since is not a time.');
});

test('of the audit log as many entries are shown as are asked for, before any number', async () => {
  const { store } = fixture.ctx;
  const entry = { at: 1, via: 'api', who: 'key', target: 'x', address: null } as const;
  for (const action of ['a', 'b', 'c']) {
    await store.addAudit({ ...entry, action, accountId: null });
  }
  const actions = async (limit: string, before: string | null): Promise<string> => {
    const rows = await run('audit.list', { who: 'key', limit, before });
    return rows.map(({ action }) => action).join('');
  };
  expect([await actions('2', null), await actions('2', '999999999999999')]).toEqual(['cb', 'cb']);
});

test('an address to erase must be one, and only the named account is searched', async () => {
  await fixture.sender();
  const refused = await run('erase', { address: 'nobody', account: null }).catch(String);
  expect(refused).toStartWith('ApiError: The address ');
  const elsewhere = await run('erase', { address: 'a@x.example', account: 'none' }).catch(String);
  expect(elsewhere).toContain('none');
});

test('a further page of a list is asked of the store with every filter at once', async () => {
  const { account } = await fixture.sender();
  const { store } = fixture.ctx;
  const after = '01913c7e-89ab-7cde-8f01-23456789abcd';
  const which = { account: account.name, q: 'x y', limit: '3', after };
  const asked = (['emails', 'logs', 'audit'] as const).map((name) => spyOn(store, name));
  await run('email.list', { ...which, status: 'bounced' });
  await run('log.list', { ...which, status: '4xx', method: 'patch' });
  await run('audit.list', { who: 'ann', limit: '3', before: '0017' });
  const page = { q: 'x y', limit: 3, after, before: null };
  expect(asked.map((spy) => spy.mock.calls as unknown[][])).toEqual([
    [[account.id, { ...page, status: 'bounced' }]],
    [[account.id, { ...page, status: 4, method: 'PATCH' }]],
    [[{ who: 'ann', limit: 3, before: 17 }]],
  ]);
  for (const spy of asked) spy.mockRestore();
});
