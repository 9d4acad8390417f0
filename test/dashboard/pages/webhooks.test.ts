/** The pages of webhook endpoints: added, tested, edited, replayed, and each attempt with payload and response. */
import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test';

import { testAuthority } from '../../rig/certificates.ts';
import { type Hook, startHook } from '../../rig/hook.ts';
import { type DashboardRig, type Seen, startDashboardRig } from '../dashboard-rig.ts';
import { factsOf } from '../page-text.ts';

const HOSTILE = '<script>alert(1)</script>';

let hook: Hook;
let rig: DashboardRig;
let list: string;
beforeAll(async () => {
  hook = await startHook('127.0.0.1');
  const { certFile } = testAuthority();
  rig = await startDashboardRig({
    config: `[webhooks]\nallow_networks = ["127.0.0.0/8"]\n[tls]\nextra_ca_file = "${certFile}"`,
  });
  list = `${rig.account}/webhooks`;
});
afterAll(async () => {
  await rig.stop();
  await hook.stop();
});
beforeEach(() => {
  hook.script.answer = () => ({ status: 200 });
});

/** Adds an endpoint; returns the path of its page. */
async function added(events: string): Promise<string> {
  const made = await rig.submit(list, { endpoint: hook.url, events });
  expect(made.text).toMatch(/whsec_[A-Za-z0-9+/]{43}=/);
  const [, id] = /webhooks\/([0-9a-f-]{36})"/.exec(made.text) ?? [];
  return `${list}/${id}`;
}

/** The page at `path` once it contains `words`. */
async function pageWith(path: string, words: string): Promise<Seen> {
  for (;;) {
    const page = await rig.visit(path);
    if (page.text.includes(words)) return page;
    await Bun.sleep(10);
  }
}

const send = (to = 'b@x.example'): Promise<string> =>
  rig.send({ from: 'a@sender.example', to, subject: 's', text: 't' });

test('a URL inside the network is refused at its field, which keeps what was entered', async () => {
  const plain = await startDashboardRig();
  const url = 'https://127.0.0.1/inside';
  const refused = await plain.submit(`${plain.account}/webhooks`, { endpoint: url });
  expect(refused.status).toBe(422);
  expect(refused.text).toMatch(
    /class="message"[^<]*>endpoint: [^<]*does not lead to a public address/,
  );
  expect(refused.text).toContain(`value="${url}"`);
  await plain.stop();
});

test('opens and clicks are shown as never sent', async () => {
  const { text } = await rig.visit(list);
  for (const event of ['email.opened', 'email.clicked']) {
    expect(text).toMatch(new RegExp(`${event} <span class="soft">never sent`));
  }
  expect(text).not.toMatch(/email\.sent <span class="soft">never sent/);
});

test('a test shows the result with what was responded, as text', async () => {
  const path = await added('email.failed');
  hook.script.answer = () => ({ status: 500, body: `Broken ${HOSTILE}` });
  const tested = await rig.submit(`${path}/test`);
  expect(tested.text).toContain('the endpoint answered with status 500');
  expect(tested.text).toContain('Broken &lt;script&gt;');
  expect(tested.text).not.toContain('<script>');
  expect((await rig.visit(path)).text).toContain('webhook.test');
});

test('an attempt has its webhook-id, payload, response and the other attempts; it is replayed by its row', async () => {
  const path = await added('email.sent');
  hook.script.answer = () => ({ status: 410, body: `Gone ${HOSTILE}` });
  const email = await send();
  const page = await pageWith(path, 'answered with status 410');
  const [, attempt] = /(\/attempts\/[0-9a-f-]{36})"/.exec(page.text) ?? [];
  const detail = await rig.visit(path + attempt);
  const call = await hook.calls.first(({ body }) => body.includes('email.sent'));
  const eventId = String(call.headers['webhook-id']);
  for (const words of [
    eventId,
    'Gone &lt;script&gt;',
    email,
    '&quot;type&quot;: &quot;email.sent&quot;',
  ]) {
    expect(detail.text).toContain(words);
  }
  expect(detail.text).not.toContain(HOSTILE);

  hook.script.answer = () => ({ status: 200, body: 'Thanks' });
  expect(page.text).toContain(`name="event_id" value="${eventId}"`);
  const replayed = await rig.submit(`${path}/replay`, { event_id: eventId });
  expect(replayed.headers.get('location')).toEndWith('?done=replayed&count=1');
  const again = await pageWith(path, '>ok</span>');
  expect((again.text.match(/\/attempts\//g) ?? []).length).toBe(2);
  const failed = await rig.visit(`${path}?show=failed`);
  expect((failed.text.match(/\/attempts\//g) ?? []).length).toBe(1);
  const both = await rig.visit(path + attempt);
  expect((both.text.match(/\/attempts\//g) ?? []).length).toBe(2);
  await rig.submit(`${path}/remove`);
});

test('an attempt says when the next one is, while one is to come', async () => {
  const path = await added('email.sent');
  hook.script.answer = () => ({ status: 503 });
  await send();
  const page = await pageWith(path, 'answered with status 503');
  const [, attempt] = /(\/attempts\/[0-9a-f-]{36})"/.exec(page.text) ?? [];
  const open = factsOf((await rig.visit(path + attempt)).text);
  expect(open['Next attempt']).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d/);
  hook.script.answer = () => ({ status: 200 });
  const [, eventId = ''] = /name="event_id" value="([^"]+)"/.exec(page.text) ?? [];
  await rig.submit(`${path}/replay`, { event_id: eventId });
  await pageWith(path, '>ok</span>');
  const ended = factsOf((await rig.visit(path + attempt)).text);
  expect(ended['Next attempt'] ?? '').toBe('');
  await rig.submit(`${path}/remove`);
});

test('the time to replay from is UTC, wherever the server stands', async () => {
  const path = await added('email.failed');
  const replay = spyOn(rig.rig.appliance.ctx.store, 'replayCalls');
  const { TZ: own } = process.env;
  process.env['TZ'] = 'Asia/Tokyo';
  try {
    expect(new Date(0).getHours()).toBe(9);
    await rig.submit(`${path}/replay`, { since: '2026-01-21T09:30' });
  } finally {
    // Tests run in UTC where nobody says otherwise.
    process.env['TZ'] = own ?? 'UTC';
  }
  expect(replay.mock.calls.map(([, , what]) => what)).toEqual([
    { failedSince: Date.UTC(2026, 0, 21, 9, 30) },
  ]);
  replay.mockRestore();
});

test('failed events are replayed by time, and a wrong time is refused at its field', async () => {
  const path = await added('email.sent');
  hook.script.answer = () => ({ status: 400 });
  await send();
  await pageWith(path, 'answered with status 400');
  const wrong = await rig.submit(`${path}/replay`, { since: 'yesterday' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('Enter a date and a time');
  const ahead = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  const none = await rig.submit(`${path}/replay`, { since: ahead });
  expect(none.headers.get('location')).toEndWith('count=0');
  const ago = new Date(Date.now() - 3_600_000).toISOString().slice(0, 16);
  const one = await rig.submit(`${path}/replay`, { since: ago, hours: '1' });
  expect(one.headers.get('location')).toEndWith('count=1');
  await rig.submit(`${path}/remove`);
});

test('URL and events are edited, an endpoint is disabled and enabled, and its secret changes', async () => {
  const path = await added('email.bounced');
  const id = path.slice(-36);
  const { store } = rig.rig.appliance.ctx;
  await rig.submit(`${path}/edit`, { endpoint: `${hook.url}?new`, events: 'email.failed' });
  expect(await store.endpointById(id)).toMatchObject({
    url: `${hook.url}?new`,
    events: ['email.failed'],
  });
  const refused = await rig.submit(`${path}/edit`, { endpoint: 'http://x.example/', events: '' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('value="http://x.example/"');
  expect(await store.endpointById(id)).toMatchObject({ url: `${hook.url}?new` });
  await rig.submit(`${path}/disable`);
  expect((await store.endpointById(id))?.status).toBe('disabled');
  await rig.submit(`${path}/enable`);
  expect((await store.endpointById(id))?.status).toBe('active');
  const rotated = await rig.submit(`${path}/rotate-secret`);
  expect(rotated.text).toMatch(/whsec_/);
  const page = await rig.visit(path);
  expect(page.text).toContain('Old secret signs until');
  expect(page.text).not.toContain('whsec_');
});

test('the failed attempts alone are listed page by page', async () => {
  const path = await added('email.failed');
  const testOnce = (status: number) => {
    hook.script.answer = () => ({ status });
    return rig.submit(`${path}/test`);
  };
  for (let at = 0; at < 3; at += 1) await testOnce(500);
  await testOnce(200);
  for (let at = 0; at < 24; at += 1) await testOnce(500);
  const attempts = (text: string): string[] => text.match(/attempts\/[0-9a-f-]{36}/g) ?? [];
  const openTab = (text: string): string[] =>
    Array.from(text.matchAll(/aria-current="true"\s*>(\w+)</g), ([, label]) => label ?? '');
  const all = await rig.visit(path);
  expect(openTab(all.text)).toEqual(['All']);
  const first = await rig.visit(`${path}?show=failed`);
  expect(openTab(first.text)).toEqual(['Failed']);
  const [, older = ''] = /rel="next" href="\/dashboard([^"]*)">Older/.exec(first.text) ?? [];
  const second = await rig.visit(older.replaceAll('&amp;', '&'));
  expect(openTab(second.text)).toEqual(['Failed']);
  expect(second.text).not.toContain('>ok</span>');
  expect(new Set([...attempts(first.text), ...attempts(second.text)]).size).toBe(27);
});
