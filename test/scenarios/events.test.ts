/**
 * Clauses of the contract that need a receiver: states of real mail, suppression by bounce, webhook deliveries and
 * their endpoint.
 *
 * Against the compiled binary, with the rig's DNS, an SMTP receiver and an HTTPS receiver; signatures are read by
 * the client libraries.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import type { HookCall } from '../rig/hook.ts';
import { startWorld, type World } from '../rig/world.ts';
import { expectError } from './target.ts';
import { askApi, type Ask, type Sent } from '../api/bench.ts';

let world: World;
let secret: string;

beforeAll(async () => {
  world = await startWorld();
  const made = await ask({ path: '/webhooks', body: { endpoint: `${world.hook.url}/all` } });
  secret = made.json.signing_secret;
}, 60_000);

afterAll(() => world.stop());

function ask(what: Ask): Promise<Sent> {
  return askApi(fetch, world.appliance.url, { key: world.appliance.made.key, ...what });
}

async function send(over: Record<string, unknown>): Promise<string> {
  const body = { from: 'Shop <hello@example.org>', subject: 'Your receipt', text: 't', ...over };
  const sent = await ask({ path: '/emails/batch', body: [body] });
  return String(sent.json.data[0].id);
}

/** Calls about one email, in the order they came, once there are `count`. */
async function callsFor(id: string, count: number): Promise<HookCall[]> {
  const isAbout = ({ path, body }: HookCall): boolean => path.endsWith('/all') && body.includes(id);
  return world.hook.calls.atLeast(count, isAbout);
}

const typeOf = ({ body }: HookCall): string => String(JSON.parse(body).type);

/** The email, once it shows `status`. */
async function shown(id: string, status: string): Promise<Sent> {
  for (const until = Date.now() + 10_000; ;) {
    const sent = await ask({ path: `/emails/${id}` });
    if (sent.json.status === status) return sent;
    if (Date.now() > until) throw new Error(`it shows ${sent.text}`);
    // A key may read only so often.
    await Bun.sleep(100);
  }
}

describe('Events: what is sent for each outcome', () => {
  const bounce = { type: 'Permanent', subType: 'NoEmail', message: expect.stringMatching(/^550 /) };
  const delay = {
    message: expect.any(String),
    attempt: 1,
    next_attempt_at: expect.stringMatching(/Z$/),
  };
  test.each([
    ['delivered', ['email.sent', 'email.delivered'], {}],
    ['bounced', ['email.sent', 'email.bounced'], { bounce }],
    [
      'complained',
      ['email.sent', 'email.delivered', 'email.complained'],
      { complaint: { feedback_type: 'abuse' } },
    ],
    ['failed', ['email.failed'], { failed: { reason: expect.any(String) } }],
    ['delayed', ['email.sent', 'email.delivery_delayed', 'email.delivered'], { delay }],
  ])('%s', async (name, types, extra) => {
    const to = `${name}@sandbox.test`;
    const id = await send({ to, tags: [{ name: 'kind', value: 'receipt' }] });
    const calls = await callsFor(id, types.length);
    expect(calls.map(typeOf).sort()).toEqual(types.toSorted());
    const { json } = await ask({ path: `/emails/${id}` });
    const own = Object.keys(extra)[0];
    for (const { body } of calls) {
      const { type, created_at, data, ...rest } = JSON.parse(body);
      expect(rest).toEqual({});
      expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      const isOwn = type === types.at(name === 'delayed' ? 1 : -1);
      expect(data).toEqual({
        email_id: id,
        created_at: json.created_at,
        from: 'Shop <hello@example.org>',
        to: [to],
        subject: 'Your receipt',
        message_id: json.message_id,
        tags: { kind: 'receipt' },
        recipient: to,
        ...(own !== undefined && isOwn && extra),
      });
    }
  });
});

test('Signing: Standard Webhooks, svix and the older header, over the raw body', async () => {
  const [call] = await callsFor(await send({ to: 'delivered@sandbox.test' }), 2);
  const { body = '', headers = {} } = call ?? {};
  const given = Object.fromEntries(Object.entries(headers).map(([key, v]) => [key, String(v)]));
  new StandardWebhook(secret).verify(body, given);
  new SvixWebhook(secret).verify(body, given);
  expect(() => new StandardWebhook(secret).verify(`${body} `, given)).toThrow();
  for (const name of ['id', 'timestamp', 'signature']) {
    expect(given[`svix-${name}`]).toBe(given[`webhook-${name}`] ?? '');
  }
  const signed = `${given['service-timestamp']}.${body}`;
  const older = createHmac('sha256', secret).update(signed).digest('hex');
  expect(given['service-signature']).toBe(older);
});

describe('States and transitions', () => {
  test('several recipients: the worst outcome wins', async () => {
    const ends = ['delivered', 'failed', 'bounced', 'complained'];
    for (const count of [1, 2, 3, 4]) {
      const to = ends.slice(0, count).map((end) => `${end}@sandbox.test`);
      // In any order.
      for (const order of [to, to.toReversed()]) {
        const { json } = await ask({ path: `/emails/${await send({ to: order })}` });
        expect([json.status, json.last_event]).toEqual([ends[count - 1], ends[count - 1]]);
      }
    }
  });

  test('while a recipient is open the newest event is shown; the older family says sent', async () => {
    world.receiver.script.rcpt = (to) => (to.startsWith('later') ? '450 4.2.2 try later' : null);
    const id = await send({ to: ['bounced@sandbox.test', 'later@example.net'] });
    await shown(id, 'delivery_delayed');
    expect((await ask({ path: `/email/${id}` })).json.status).toBe('sent');
    const list = await ask({ path: '/emails?status=delivery_delayed' });
    expect(list.json.data.map((row: { id: string }) => row.id)).toEqual([id]);
  });

  test('a permanent bounce suppresses the address, and only it; the API may not remove it', async () => {
    world.receiver.script.rcpt = (to) => {
      if (to.startsWith('Nobody')) return '550 5.1.1 no such user';
      return to.startsWith('blocked') ? '550 5.7.1 blocked' : null;
    };
    const to = ['Nobody@example.net', 'blocked@example.net', 'ann@example.net'];
    const id = await send({ to });
    // Three were sent; two bounced, one was delivered.
    await callsFor(id, 6);
    const { json } = await shown(id, 'bounced');
    expect(json.failure_reason).toContain('550 5.');
    const list = await ask({ path: '/suppressions?q=example.net' });
    expect(list.json).toMatchObject({ object: 'list', has_more: false, next: null });
    expect(list.json.data).toEqual([
      {
        object: 'suppression',
        id: expect.any(String),
        email: 'nobody@example.net',
        reason: 'hard_bounce',
        origin: 'bounce',
        source: json.id,
        source_id: json.id,
        created_at: expect.any(String),
      },
    ]);
    const path = '/suppressions/NOBODY@example.net';
    expectError(await ask({ path, method: 'DELETE' }), 403, 'forbidden', 'invalid_access');
    const again = await ask({ path: `/emails/${await send({ to: 'nobody@EXAMPLE.net' })}` });
    expect(again.json.status).toBe('suppressed');
  });

  test('an address that is suppressed while mail for it waits is not mailed', async () => {
    world.receiver.script.rcpt = () => '450 4.2.2 try later';
    const id = await send({ to: ['quits@example.net', 'stays@example.net'] });
    await shown(id, 'delivery_delayed');
    for (const name of ['quits', 'stays']) {
      const isDelay = ({ body }: HookCall): boolean =>
        body.includes('delivery_delayed') && body.includes(`"recipient":"${name}@example.net"`);
      await world.hook.calls.first(isDelay);
    }
    await ask({ path: '/suppressions', body: { email: 'Quits@example.net' } });
    world.receiver.script.rcpt = () => null;
    await world.appliance.json(['queue', 'retry', id]);
    const { json } = await shown(id, 'delivered');
    const ends = json.events
      .slice(-2)
      .map((event: { type: string; payload: string }) => [
        event.type,
        JSON.parse(event.payload).recipient,
      ]);
    expect(ends.toSorted()).toEqual([
      ['email.delivered', 'stays@example.net'],
      ['email.suppressed', 'quits@example.net'],
    ]);
    const mailed = world.receiver.messages.items.flatMap((message) => message.to);
    expect(mailed).toContain('stays@example.net');
    expect(mailed).not.toContain('quits@example.net');
  });

  test('a verified domain says since when, and its records are verified', async () => {
    const { json } = await ask({ path: '/domains' });
    const [row] = json.data;
    expect(row).toMatchObject({ name: 'example.org', status: 'verified' });
    for (const field of ['verified_at', 'last_checked_at']) {
      expect(Date.parse(row[field])).toBeGreaterThanOrEqual(Date.parse(row.created_at));
    }
    const { records } = (await ask({ path: `/domains/${row.id}` })).json;
    expect(records.map(({ status }: { status: string }) => status)).toEqual([
      'verified',
      'verified',
    ]);
  });
});

describe('Webhook endpoint', () => {
  test('20 failed deliveries in a row disable it, enabling makes it active; every attempt is listed', async () => {
    world.hook.script.answer = ({ path }) => ({ status: path.endsWith('/all') ? 200 : 500 });
    const events = ['email.delivered'];
    const made = await ask({
      path: '/webhooks',
      body: { url: `${world.hook.url}/broken`, events },
    });
    const path = `/webhooks/${made.json.id}`;
    const item = { from: 'a@example.org', to: 'delivered@sandbox.test', subject: 's', text: 't' };
    await ask({ path: '/emails/batch', body: Array.from({ length: 90 }, () => item) });
    const untilDisabled = async (): Promise<Sent> => {
      for (;;) {
        const found = await ask({ path });
        if (found.json.status === 'disabled') return found;
        await Bun.sleep(100);
      }
    };
    const enable = async (): Promise<void> => {
      const enabled = await ask({ path: `${path}/enable`, method: 'POST' });
      expect(enabled.json).toEqual({ id: made.json.id, status: 'active' });
    };
    const first = await untilDisabled();
    expect(first.json.failure_count).toBeGreaterThanOrEqual(20);
    expect(Date.parse(first.json.last_failure_at)).toBeGreaterThan(0);
    // The count starts at zero: it takes 20 more failures.
    await enable();
    const second = await untilDisabled();
    expect(second.json.failure_count).toBeGreaterThanOrEqual(20);
    world.hook.script.answer = () => ({ status: 200 });
    await enable();
    // What was open goes on: with those that failed, more than a page of attempts.
    let all = await ask({ path: `${path}/deliveries?limit=100` });
    while (all.json.data.length < 90) {
      await Bun.sleep(100);
      all = await ask({ path: `${path}/deliveries?limit=100` });
    }
    const found = await ask({ path });
    expect(found.json).toMatchObject({ status: 'active', failure_count: 0 });
    const page = await ask({ path: `${path}/deliveries` });
    expect([page.json.data.length, page.json.has_more]).toEqual([50, true]);
    expect(page.json.next).toBe(page.json.data[49].id);
    expect(Object.keys(page.json.data[0]).sort()).toEqual(
      'attempt created_at duration_ms error event_type id message_id ok status_code'.split(' '),
    );
    const failed = all.json.data.filter(({ ok }: { ok: boolean }) => !ok);
    expect(failed.length).toBeGreaterThanOrEqual(40);
    expect(failed[0]).toMatchObject({
      event_type: 'email.delivered',
      status_code: 500,
      error: expect.any(String),
      attempt: 1,
    });
  }, 20_000);
});
