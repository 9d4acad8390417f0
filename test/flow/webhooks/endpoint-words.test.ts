/** What is said of endpoints that are refused, word for word, and the row of one that is registered. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  addEndpoint,
  listEndpoints,
  MAX_ENDPOINTS,
  removeEndpoint,
  ROTATION_MS,
  rotateEndpointSecret,
  updateEndpoint,
} from '../../../src/flow/webhooks/endpoints.ts';
import { endpointLabel } from '../../../src/flow/seal-labels.ts';
import type { Endpoint } from '../../../src/store/rows.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { openFixture, refusal, silentResolver, type Fixture } from '../fixture.ts';
import { found } from './webhook-rig.ts';

const EVENTS =
  'email.sent, email.delivered, email.bounced, email.complained, email.failed, email.delivery_delayed, email.opened, email.clicked';
const watcher = { endpointChanged: () => undefined };

let fixture: Fixture;
let accountId: string;
let answer: DnsAnswer<string>;
beforeEach(async () => {
  answer = found('8.8.8.8');
  fixture = await openFixture({
    resolver: {
      ...silentResolver(),
      a: async () => answer,
      aaaa: async () => ({ kind: 'nodata', isAuthenticated: false }),
    },
    toml: '[webhooks]\nallow_networks = ["10.1.0.0/16"]\n',
  });
  accountId = (await fixture.sender()).account.id;
});
afterEach(() => fixture.close());

const add = (url = 'https://hook.example/', events: string[] = []) =>
  addEndpoint(fixture.ctx, accountId, { url, events });
const issuesOf = async (work: Promise<unknown>): Promise<unknown> => {
  const { code, detail } = await refusal(work);
  return [code, ...(detail?.issues ?? []).map(({ path, message }) => `${path}: ${message}`)];
};
const problem = (words: string): string[] => ['validation_failed', `endpoint: endpoint: ${words}.`];

test('why a URL is refused', async () => {
  expect(await issuesOf(add(`https://hook.example/${'x'.repeat(2_100)}`))).toEqual(
    problem('the URL is longer than 2048 characters'),
  );
  for (const url of [
    'https://hook.example/a b',
    'https://hook.example/\t',
    ' https://a.example/',
  ]) {
    expect(await issuesOf(add(url))).toEqual(
      problem('the URL contains white space or a control character'),
    );
  }
  answer = found('192.168.1.1');
  expect(await issuesOf(add())).toEqual(problem('the host does not lead to a public address'));
  answer = { kind: 'nxdomain', isAuthenticated: false };
  expect(await issuesOf(add())).toEqual(problem('the host name does not exist or has no address'));
  // What cannot be asked does not count, and networks that the operator admits may be reached.
  answer = { kind: 'failed', reason: 'SERVFAIL' };
  await add();
  answer = found('10.1.2.3');
  await add();
  expect(await listEndpoints(fixture.ctx, accountId)).toHaveLength(2);
});

test('every event that is none is named, behind what is wrong with the URL', async () => {
  const one = (at: number): string => `events[${at}]: events must be among ${EVENTS}.`;
  expect(await issuesOf(add('https://hook.example/', ['email.sent', 'x', 'email.queued']))).toEqual(
    ['validation_failed', one(1), one(2)],
  );
  expect(await issuesOf(add('https://a b', ['x']))).toEqual([
    'validation_failed',
    'endpoint: endpoint: the URL contains white space or a control character.',
    one(0),
  ]);
  const { endpoint } = await add();
  const change = updateEndpoint(fixture.ctx, watcher, accountId, endpoint.id, { events: ['x'] });
  expect(await issuesOf(change)).toEqual(['validation_failed', one(0)]);
});

test('the row of an endpoint, its rotation and its change', async () => {
  const { ctx, clock } = fixture;
  clock.jump(5_000);
  const { endpoint, secret } = await add('https://hook.example/x?y', ['email.sent']);
  const { sealedSecret, ...row } = endpoint;
  expect(row).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    accountId,
    url: 'https://hook.example/x?y',
    events: ['email.sent'],
    status: 'active',
    sealedPreviousSecret: null,
    previousUntil: null,
    failureCount: 0,
    lastFailureAt: null,
    createdAt: clock.now(),
    deletedAt: null,
  } as unknown as typeof row);
  expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
  expect(ctx.secrets.open(sealedSecret, endpointLabel(row.id))).toBe(secret);
  expect(await listEndpoints(ctx, accountId)).toEqual([endpoint]);
  const rotated = await rotateEndpointSecret(ctx, watcher, accountId, row.id);
  expect(ROTATION_MS).toBe(86_400_000);
  expect(rotated.previousUntil).toBe(clock.steady() + 86_400_000);
  const open = (sealed: Uint8Array | null): string =>
    sealed === null ? '' : ctx.secrets.open(sealed, endpointLabel(row.id));
  const { sealedSecret: fresh, sealedPreviousSecret: old, ...rest } = rotated.endpoint;
  expect([open(fresh), open(old)]).toEqual([rotated.secret, secret]);
  const { sealedPreviousSecret: _, ...before } = row;
  expect(rest).toEqual({ ...before, previousUntil: rotated.previousUntil });
  const changed = await updateEndpoint(ctx, watcher, accountId, row.id, {
    url: 'https://other.example/',
    events: ['email.failed', 'email.failed'],
    status: 'disabled',
  });
  expect(changed).toEqual({
    ...rotated.endpoint,
    url: 'https://other.example/',
    events: ['email.failed'],
    status: 'disabled',
  });
  await removeEndpoint(ctx, watcher, accountId, row.id);
  expect(await ctx.store.endpointById(row.id)).toMatchObject({ deletedAt: clock.now() });
  const gone = await refusal(removeEndpoint(ctx, watcher, accountId, row.id));
  expect([gone.code, gone.message]).toEqual([
    'not_found',
    'There is no such webhook endpoint in this account.',
  ]);
});

test('an account has ten, and is told so', async () => {
  const { ctx } = fixture;
  const most: number[] = [];
  const store: typeof ctx.store = {
    ...ctx.store,
    async createEndpoint(_: Endpoint, max) {
      most.push(max);
      return 'too_many';
    },
  };
  const full = await refusal(
    addEndpoint({ ...ctx, store }, accountId, { url: 'https://hook.example/', events: [] }),
  );
  expect([full.code, full.status, full.message, most, MAX_ENDPOINTS]).toEqual([
    'forbidden',
    403,
    'An account has at most 10 webhook endpoints.',
    [10],
    10,
  ]);
});
