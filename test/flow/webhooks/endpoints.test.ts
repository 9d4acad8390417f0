/**
 * Endpoints: what may be registered, and that neither registration nor a call ever reaches an inner address.
 * Listeners on every loopback address count connections; the whole address table is tried at both moments.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:net';

import type { Issue } from '../../../src/base/errors.ts';
import * as endpoints from '../../../src/flow/webhooks/endpoints.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';
import { startHook } from '../../rig/hook.ts';
import { freePorts } from '../../rig/ports.ts';
import { ALLOWED, REFUSED, REFUSED_URLS, SPELLINGS } from '../../wire/addresses/address-table.ts';
import { refusal } from '../fixture.ts';
import { found, startWebhookRig, type WebhookRig } from './webhook-rig.ts';

const PUBLIC = '192.0.43.8';

let rig: WebhookRig;
/** What DNS says of every name at the moment. */
let answer: DnsAnswer<string> = found(PUBLIC);
const listeners: Server[] = [];
let port = 0;
let connections = 0;

beforeAll(async () => {
  rig = await startWebhookRig({ a: () => answer, allowNetworks: [], clock: new TestClock() });
  [port = 0] = await freePorts(1, '0.0.0.0');
  for (const host of ['0.0.0.0', '::1']) {
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    listeners.push(server);
  }
});
afterAll(async () => {
  for (const server of listeners) server.close();
  await rig.stop();
});

const literal = (ip: string): string => (ip.includes(':') ? `[${ip}]` : ip);

async function issuesOf(work: Promise<unknown>): Promise<Issue[]> {
  const error = await refusal(work);
  expect([error.code, error.status]).toEqual(['validation_failed', 422]);
  return error.detail?.issues ?? [];
}

const add = (url: string, events: string[] = []) =>
  endpoints.addEndpoint(rig.ctx, rig.accountId, { url, events });

async function addAndRemove(url: string): Promise<void> {
  const { endpoint } = await add(url);
  await endpoints.removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
}

describe('registration', () => {
  const addresses = [...new Set(REFUSED.flatMap(([, first, last]) => [first, last]))];

  test.each(addresses)('of %s is refused, as a literal and by a name', async (ip) => {
    expect((await issuesOf(add(`https://${literal(ip)}:${port}/`)))[0]?.path).toBe('endpoint');
    answer = found(ip);
    expect(await issuesOf(add(`https://hook.example:${port}/`))).toHaveLength(1);
    answer = found(PUBLIC, ip);
    expect(await issuesOf(add(`https://hook.example:${port}/`))).toHaveLength(1);
    expect(connections).toBe(0);
  });

  test.each(ALLOWED)('of the neighbour %s is taken', async (ip) => {
    answer = found(ip);
    await addAndRemove('https://hook.example/');
    await addAndRemove(`https://${literal(ip)}/`);
  });

  test.each([...REFUSED_URLS, ...SPELLINGS.map(([url]) => url)])(
    'of %j is refused',
    async (url) => {
      answer = found(PUBLIC);
      expect((await issuesOf(add(url)))[0]?.path).toBe('endpoint');
      expect(connections).toBe(0);
    },
  );

  test('of a name that does not exist is refused; a failing resolver does not count against it', async () => {
    answer = { kind: 'nxdomain', isAuthenticated: false };
    expect((await issuesOf(add('https://hook.example/')))[0]?.message).toContain('does not exist');
    answer = { kind: 'failed', reason: 'servfail' };
    await addAndRemove('https://hook.example/');
  });

  test('knows the events, takes each once, and names every fault at once', async () => {
    answer = found(PUBLIC);
    const { endpoint, secret } = await add('https://hook.example/', ['email.sent', 'email.sent']);
    expect(endpoint.events).toEqual(['email.sent']);
    expect(secret).toStartWith('whsec_');
    expect(rig.ctx.secrets.open(endpoint.sealedSecret, `endpoint:${endpoint.id}`)).toBe(secret);
    const issues = await issuesOf(add('http://hook.example/', ['email.sent', 'email.suppressed']));
    expect(issues.map(({ path }) => path)).toEqual(['endpoint', 'events[1]']);
    await endpoints.removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
  });

  test('of an eleventh is forbidden', async () => {
    answer = found(PUBLIC);
    const made = [];
    for (let at = 0; at < 10; at += 1) made.push(await add(`https://hook${at}.example/`));
    expect((await refusal(add('https://hook10.example/'))).code).toBe('forbidden');
    for (const { endpoint } of made) {
      await endpoints.removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
    }
    expect(await endpoints.listEndpoints(rig.ctx, rig.accountId)).toEqual([]);
  });

  test('a change is checked like a registration, and no other account can make it', async () => {
    answer = found(PUBLIC);
    const { endpoint } = await add('https://hook.example/');
    const update = (change: { url?: string; events?: string[] }, account = rig.accountId) =>
      endpoints.updateEndpoint(rig.ctx, rig.dispatcher, account, endpoint.id, change);
    expect((await issuesOf(update({ url: 'https://127.0.0.1/' })))[0]?.path).toBe('endpoint');
    expect((await issuesOf(update({ events: ['x'] })))[0]?.path).toBe('events[0]');
    expect(await update({ events: ['email.failed'] })).toMatchObject({ events: ['email.failed'] });
    const otherAccount = '01890000-0000-7000-8000-000000000000';
    expect((await refusal(update({ events: [] }, otherAccount))).code).toBe('not_found');
    await endpoints.removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
    expect((await refusal(update({ events: [] }))).code).toBe('not_found');
  });
});

describe('a call', () => {
  test('never follows a name to any refused address, and says nothing of what is there', async () => {
    const addresses = new Set(REFUSED.flatMap(([, first, last]) => [first, last]));
    answer = found(PUBLIC);
    const { endpoint } = await add(`https://hook.example:${port}/`);
    for (const ip of addresses) {
      for (const records of [[ip], [PUBLIC, ip]]) {
        answer = found(...records);
        const result = await rig.dispatcher.test(rig.accountId, endpoint.id);
        expect(result).toMatchObject({
          ok: false,
          statusCode: null,
          error: 'the host does not lead to a public address',
        });
      }
    }
    expect(connections).toBe(0);
    // An endpoint that a former config admitted is checked as well: its URL contains the address itself.
    const { url } = endpoint;
    const moveTo = (to: string) =>
      rig.ctx.store.updateEndpoint(rig.accountId, endpoint.id, { url: to }, 0);
    for (const to of [`https://127.0.0.1:${port}/`, `https://[::1]:${port}/`]) {
      await moveTo(to);
      rig.dispatcher.endpointChanged(endpoint.id);
      const result = await rig.dispatcher.test(rig.accountId, endpoint.id);
      expect(result.error).toBe('the host does not lead to a public address');
    }
    expect(connections).toBe(0);
    await moveTo(url);
    await endpoints.removeEndpoint(rig.ctx, rig.dispatcher, rig.accountId, endpoint.id);
  });

  test('the listeners would have noticed', async () => {
    const open = await startWebhookRig({ allowNetworks: ['127.0.0.0/8'] });
    const { endpoint } = await open.endpoint(`https://hook.example:${port}/`);
    const result = await open.dispatcher.test(open.accountId, endpoint.id);
    expect(result.error).toBe('the connection was closed before a response came');
    expect(connections).toBe(1);
    await open.stop();
  });
});

describe('the test call', () => {
  test('is signed, recorded as webhook.test, counts for nothing and echoes nothing', async () => {
    const open = await startWebhookRig();
    const hook = await startHook();
    const marker = 'internal-marker';
    hook.script.answer = () => ({
      status: 500,
      headers: { 'x-marker': marker, 'retry-after': marker },
      body: marker,
    });
    const { endpoint } = await open.endpoint(hook.url, ['email.failed']);
    const run = () => open.dispatcher.test(open.accountId, endpoint.id);
    const result = await run();
    expect(result).toMatchObject({
      ok: false,
      statusCode: 500,
      error: 'the endpoint answered with status 500',
    });
    // The dashboard shows what came back; the reason, which the API shows too, is ours.
    expect(result.response).toBe(marker);
    expect(result.error).not.toContain(marker);
    const [call] = hook.calls.items;
    expect(call?.headers['webhook-id']).toBe(result.id);
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      type: 'webhook.test',
      data: { webhook_id: endpoint.id },
    });
    for (let at = 0; at < 25; at += 1) await run();
    expect(await open.ctx.store.endpointById(endpoint.id)).toMatchObject({
      status: 'active',
      failureCount: 0,
    });
    const page = { limit: 100, after: null, before: null };
    const { rows } = await open.ctx.store.callAttempts(endpoint.id, page);
    expect(rows).toHaveLength(26);
    expect(rows[0]).toMatchObject({ eventType: 'webhook.test', ok: false, statusCode: 500 });
    expect(JSON.stringify(rows)).not.toContain(marker);

    hook.script.answer = () => ({ status: 204 });
    expect(await run()).toMatchObject({ ok: true, statusCode: 204, error: null });
    const otherAccount = '01890000-0000-7000-8000-000000000000';
    expect((await refusal(open.dispatcher.test(otherAccount, endpoint.id))).code).toBe('not_found');
    await open.stop();
    await hook.stop();
  });
});
