/** Endpoints: what a registration and each change write, whom they tell, and which times they set. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  addEndpoint,
  enableEndpoint,
  getEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
  updateEndpoint,
} from '../../../src/flow/webhooks/endpoints.ts';
import type { Context } from '../../../src/flow/context.ts';
import { replayCalls } from '../../../src/flow/webhooks/dispatcher.ts';
import { newId } from '../../rig/ids.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const URL = 'https://8.8.8.8/hook';

let fixture: Fixture;
let accountId: string;
let told: string[];
const watcher = { endpointChanged: (id: string) => void told.push(id) };

beforeEach(async () => {
  fixture = await openFixture();
  accountId = (await fixture.sender()).account.id;
  told = [];
});
afterEach(() => fixture.close());

const add = (url = URL, events: string[] = []) =>
  addEndpoint(fixture.ctx, accountId, { url, events });

test('a registration is noted before it is written, so that no event in between is missed', async () => {
  const order: string[] = [];
  const { subscribers, store } = fixture.ctx;
  const note = subscribers.note.bind(subscribers);
  subscribers.note = (id) => {
    order.push('noted');
    note(id);
  };
  const createEndpoint: typeof store.createEndpoint = async (...args) => {
    order.push('written');
    return await store.createEndpoint(...args);
  };
  const ctx = { ...fixture.ctx, store: { ...store, createEndpoint } };
  await addEndpoint(ctx, accountId, { url: URL, events: [] });
  expect(order).toEqual(['noted', 'written']);
  expect(subscribers.mayHave(accountId)).toBe(true);
});

test('each event is kept once, at the registration and at a change', async () => {
  const twice = ['email.sent', 'email.bounced', 'email.sent'];
  const { endpoint } = await add(URL, twice);
  expect(endpoint.events).toEqual(['email.sent', 'email.bounced']);
  const changed = await updateEndpoint(fixture.ctx, watcher, accountId, endpoint.id, {
    events: ['email.failed', 'email.failed'],
  });
  expect([changed.events, changed.url, changed.status]).toEqual([['email.failed'], URL, 'active']);
});

test('a URL may have 2,048 characters and no white space', async () => {
  const long = (length: number) => `${URL}?${'x'.repeat(length - URL.length - 1)}`;
  expect((await add(long(2_048))).endpoint.url).toHaveLength(2_048);
  for (const url of [long(2_049), 'https://8.8.8.8/a b', `${URL}\n`, `${URL}\u0000`]) {
    expect((await refusal(add(url))).code).toBe('validation_failed');
  }
});

test('every change is told to the dispatcher, one that changed nothing is not', async () => {
  const { endpoint } = await add();
  const { id } = endpoint;
  await updateEndpoint(fixture.ctx, watcher, accountId, id, { status: 'disabled' });
  await enableEndpoint(fixture.ctx, watcher, accountId, id);
  await rotateEndpointSecret(fixture.ctx, watcher, accountId, id);
  await removeEndpoint(fixture.ctx, watcher, accountId, id);
  expect(told).toEqual([id, id, id, id]);
  for (const late of [
    () => updateEndpoint(fixture.ctx, watcher, accountId, id, { url: URL }),
    () => rotateEndpointSecret(fixture.ctx, watcher, accountId, id),
    () => removeEndpoint(fixture.ctx, watcher, accountId, id),
    () => getEndpoint(fixture.ctx, accountId, id),
    () => replayCalls(fixture.ctx, null, accountId, id, { failedSince: 0 }),
  ]) {
    expect((await refusal(late())).code).toBe('not_found');
  }
  expect(told).toHaveLength(4);
});

test('the secret before signs for a day of steady time, and the new one is another', async () => {
  const { endpoint, secret } = await add();
  fixture.clock.jump(5 * DAY_MS);
  const rotated = await rotateEndpointSecret(fixture.ctx, watcher, accountId, endpoint.id);
  expect(rotated.previousUntil).toBe(fixture.clock.steady() + DAY_MS);
  expect(rotated.endpoint.previousUntil).toBe(rotated.previousUntil);
  expect(rotated.secret).not.toBe(secret);
  expect(rotated.endpoint.sealedPreviousSecret).toEqual(endpoint.sealedSecret);
});

test('calls older than the whole schedule with its jitter are missed, step by step, before an endpoint is enabled', async () => {
  const { endpoint } = await add();
  const told: unknown[] = [];
  const { store } = fixture.ctx;
  const positions = [{ dueAt: 7, id: 'c' }, { dueAt: 8, id: 'd' }, null];
  const updateEndpointOf: typeof store.updateEndpoint = async (account, id, change, now) => {
    told.push(change);
    return await store.updateEndpoint(account, id, change, now);
  };
  const missCalls: typeof store.missCalls = async (...args) => {
    told.push(args);
    return positions.shift() ?? null;
  };
  const ctx = { ...fixture.ctx, store: { ...store, updateEndpoint: updateEndpointOf, missCalls } };
  await enableEndpoint(ctx, watcher, accountId, endpoint.id);
  const before = fixture.clock.now() - 12_111_000;
  expect(told).toEqual([
    [accountId, endpoint.id, before, null],
    [accountId, endpoint.id, before, { dueAt: 7, id: 'c' }],
    [accountId, endpoint.id, before, { dueAt: 8, id: 'd' }],
    { status: 'active' },
  ]);
  told.length = 0;
  await updateEndpoint(ctx, watcher, accountId, endpoint.id, { status: 'disabled' });
  await updateEndpoint(ctx, watcher, accountId, endpoint.id, { events: [] });
  expect(told).toEqual([{ status: 'disabled' }, { events: [] }]);
});

test('nothing of another account can be changed or replayed', async () => {
  const { endpoint } = await add();
  const other = newId(1);
  expect((await refusal(getEndpoint(fixture.ctx, other, endpoint.id))).code).toBe('not_found');
  const change = { url: 'https://8.8.4.4/' };
  const changed = updateEndpoint(fixture.ctx, watcher, other, endpoint.id, change);
  expect((await refusal(changed)).code).toBe('not_found');
  const replayed = replayCalls(fixture.ctx, null, other, endpoint.id, { failedSince: 0 });
  expect((await refusal(replayed)).code).toBe('not_found');
  expect(await getEndpoint(fixture.ctx, accountId, endpoint.id)).toEqual(endpoint);
});

type Verb = 'updateEndpoint' | 'rotateEndpointSecret' | 'deleteEndpoint';

test.each<[Verb, (ctx: Context, id: string) => Promise<unknown>]>([
  ['updateEndpoint', (ctx, id) => updateEndpoint(ctx, watcher, accountId, id, { url: URL })],
  ['rotateEndpointSecret', (ctx, id) => rotateEndpointSecret(ctx, watcher, accountId, id)],
  ['deleteEndpoint', (ctx, id) => removeEndpoint(ctx, watcher, accountId, id)],
])(
  'the dispatcher hears of %s when it is on disk, so that it reads no row of before',
  async (verb, change) => {
    const { endpoint } = await add();
    const { store } = fixture.ctx;
    const commit = store[verb] as (...args: unknown[]) => Promise<unknown>;
    let fault: Error | null = new Error('disk full');
    const seen: string[][] = [];
    const ctx = {
      ...fixture.ctx,
      store: {
        ...store,
        async [verb](...args: unknown[]) {
          if (fault !== null) throw fault;
          const done = await commit(...args);
          seen.push([...told]);
          return done;
        },
      },
    };
    expect(await change(ctx, endpoint.id).catch(String)).toBe('Error: disk full');
    expect(told).toEqual([]);
    fault = null;
    await change(ctx, endpoint.id);
    expect([seen, told]).toEqual([[[]], [endpoint.id]]);
  },
);
