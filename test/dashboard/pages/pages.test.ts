/**
 * The dashboard's pages against a running appliance: what an operator sees and does, and that nothing that
 * others wrote becomes markup.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type DashboardRig, type Seen, startDashboardRig } from '../dashboard-rig.ts';

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;
/** Any script but the two files that the frame names. */
const FOREIGN_SCRIPT =
  /<script(?! src="\/dashboard\/(?:morph|enhance)\.js\?v=[\w-]+" defer(?: blocking="render")?><\/script>)/;

let rig: DashboardRig;
beforeAll(async () => {
  rig = await startDashboardRig();
});
afterAll(() => rig.stop());

/** Follows the redirect after a form; fails when the form was refused. */
async function done(answer: Promise<Seen>): Promise<Seen> {
  const { status, headers, text } = await answer;
  if (status !== 303) throw new Error(`not taken: ${status} ${text}`);
  return rig.visit((headers.get('location') ?? '').replace('/dashboard', ''));
}

/** The page of an email once `words` stand in it. */
async function emailWith(id: string, words: string): Promise<string> {
  for (;;) {
    const { text } = await rig.visit(`${rig.account}/emails/${id}`);
    if (text.includes(words)) return text;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a captured email', () => {
  let id = '';
  beforeAll(async () => {
    id = await rig.send({
      from: 'Sender <news@sender.example>',
      to: 'someone@receiver.example',
      subject: `Hello ${HOSTILE}`,
      html: `<p>Grüße ${HOSTILE}</p><img src="https://tracker.example/x.png">`,
      text: `Text ${HOSTILE}`,
      tags: [{ name: 'kind', value: 'welcome' }],
    });
    await emailWith(id, 'email.delivered');
  });

  test('is listed, found by search, and opens with events, attempts and content', async () => {
    const list = await rig.visit(`${rig.account}/emails?q=receiver.example&status=delivered`);
    expect(list.text).toContain(`/emails/${id}"`);
    expect((await rig.visit(`${rig.account}/emails?q=nobody`)).text).toContain('No email matches.');
    const { text } = await rig.visit(`${rig.account}/emails/${id}`);
    for (const words of ['email.sent', 'kind=welcome', 'someone@receiver.example', '250']) {
      expect(text).toContain(words);
    }
    expect(text).toMatch(/<iframe[^>]* sandbox=""[^>]* src="[^"]*\/html"/);
  });

  test('shows its HTML in a sandbox without network, its text and source as text', async () => {
    const [number] = /inbox\/(\d+)"/.exec((await rig.visit('/inbox')).text)?.slice(1) ?? [];
    const frames = [`${rig.account}/emails/${id}/html`, `/inbox/${number}/html`];
    for (const path of frames) {
      const { headers, text } = await rig.visit(path);
      expect(text).toContain('Grüße');
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toStartWith("sandbox; default-src 'none'");
      expect(policy).toContain('img-src data:');
      expect(policy).not.toContain('allow-');
    }
    const page = await rig.visit(`/inbox/${number}?tab=source`);
    expect(page.text).toContain('DKIM-Signature: v=1');
    const source = await rig.visit(`/inbox/${number}/source`);
    expect(source.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(source.text).toContain('\r\nSubject: ');
    expect((await rig.visit('/inbox/999')).status).toBe(404);
  });

  test('never puts what its sender wrote into a page as markup', async () => {
    const paths = ['/inbox', '/inbox/1', `${rig.account}/emails`, `${rig.account}/emails/${id}`];
    for (const path of [...paths, `${rig.account}/logs`, '', '/queue']) {
      const { text } = await rig.visit(path);
      expect(text).not.toMatch(FOREIGN_SCRIPT);
      expect(text).not.toContain('<img');
    }
  });
});

test('a link cannot put text into a notice, and filters are escaped', async () => {
  const forged = await rig.visit(`/queue?done=${encodeURIComponent(HOSTILE)}&count=7`);
  expect(forged.text).not.toContain('class="notice"');
  const known = await rig.visit(`/queue?done=retried&count=${encodeURIComponent(HOSTILE)}`);
  expect(known.text).toContain('Recipients scheduled for delivery now');
  const q = encodeURIComponent(HOSTILE);
  for (const path of ['/queue?domain=', `${rig.account}/emails?q=`, `${rig.account}/logs?q=`]) {
    expect((await rig.visit(path + q)).text).not.toMatch(FOREIGN_SCRIPT);
  }
});

test('the kill switch halts and resumes', async () => {
  expect((await done(rig.submit('/halt', { reason: `Stop ${HOSTILE}` }))).text).toContain(
    'is halted',
  );
  for (const path of ['', '/queue', `${rig.account}/emails`]) {
    expect((await rig.visit(path)).text).toContain('Stop &quot;&gt;&lt;script&gt;');
  }
  const refused = rig.send({
    from: 'a@sender.example',
    to: 'b@x.example',
    subject: 's',
    text: 't',
  });
  await refused.then(
    () => expect.unreachable(),
    (error: Error) => expect(error.message).toContain('platform_halted'),
  );
  expect((await done(rig.submit('/resume'))).text).toContain('Sending resumed.');
  await rig.send({ from: 'a@sender.example', to: 'b@x.example', subject: 's', text: 't' });
});

test('a domain is added with its records, checked and removed', async () => {
  const page = await done(rig.submit(`${rig.account}/domains`, { name: 'Other.Example' }));
  expect(page.text).toContain('other.example');
  expect(page.text).toContain('v=DKIM1; k=rsa; p=');
  expect(page.text).toContain('send.other.example');
  expect(page.text).toContain('_dmarc.other.example');
  const [id] = /domains\/([0-9a-f-]{36})\/remove/.exec(page.text)?.slice(1) ?? [];
  await done(rig.submit(`${rig.account}/domains/${id}/remove`));
  expect((await rig.visit(`${rig.account}/domains/${id}`)).status).toBe(404);
  const twice = await rig.submit(`${rig.account}/domains`, { name: 'sender.example' });
  expect(twice.status).toBe(409);
  expect(twice.text).toContain('This account has the domain sender.example already.');
  expect(twice.text).toContain(`action="/dashboard${rig.account}/domains"`);
  expect(twice.text).toContain(`<a href="/dashboard${rig.account}/keys"`);
});

test('a refused form is shown again where it stands, with the status of its refusal', async () => {
  const form = await rig.submit(`${rig.account}/suppressions/remove`, { email: 'none@x.example' });
  expect(form.status).toBe(404);
  expect(form.text).toContain('none@x.example is not suppressed.');
  expect(form.text).toContain(`action="/dashboard${rig.account}/suppressions"`);
  const gone = await rig.submit(`/accounts/${crypto.randomUUID()}/keys`, { name: 'x' });
  expect(gone.status).toBe(404);
  expect(gone.text).toContain('The request was refused');
});

test('an API key is shown once, works, and is revoked', async () => {
  const made = await rig.submit(`${rig.account}/keys`, {
    name: `Key ${HOSTILE.slice(0, 20)}`,
    permission: 'full_access',
    environment: 'live',
  });
  const token = /pr_live_[\w-]+/.exec(made.text)?.[0] ?? '';
  const use = (): Promise<Response> =>
    fetch(`${rig.rig.url}/domains`, { headers: { authorization: `Bearer ${token}` } });
  expect((await use()).status).toBe(200);
  const { text } = await rig.visit(`${rig.account}/keys`);
  expect(text).not.toContain(token);
  const id = (await rig.rig.appliance.ctx.store.keys(rig.rig.account)).find(({ name }) =>
    name.startsWith('Key '),
  )?.id;
  const after = await done(rig.submit(`${rig.account}/keys/${id}/revoke`));
  expect((await use()).status).toBe(401);
  const revoked = (await rig.rig.appliance.ctx.store.keys(rig.rig.account)).find(
    (key) => key.id === id,
  );
  const since = new Date(revoked?.revokedAt ?? 0).toISOString();
  expect(after.text).toMatch(new RegExp(`>revoked</span\\s*> <time datetime="${since}">`));
});

test('a key is renamed, and leads to its requests alone', async () => {
  const { store } = rig.rig.appliance.ctx;
  const other = await rig.submit(`${rig.account}/keys`, {
    name: 'Other',
    permission: 'full_access',
    environment: 'test',
  });
  const token = /pr_test_[\w-]+/.exec(other.text)?.[0] ?? '';
  await fetch(`${rig.rig.url}/domains?mine`, { headers: { authorization: `Bearer ${token}` } });
  const key = (await store.keys(rig.rig.account)).find(({ name }) => name === 'Other');
  await done(rig.submit(`${rig.account}/keys/${key?.id}/rename`, { name: 'Renamed' }));
  const keys = (await rig.visit(`${rig.account}/keys`)).text;
  expect(keys).toContain('Renamed');
  expect(keys).toContain('>sandbox</span>');
  const list = `${rig.account}/logs?key=${key?.id}`;
  for (;;) {
    const { text } = await rig.visit(list);
    if (text.includes('No request matches.')) {
      await Bun.sleep(10);
      continue;
    }
    expect(text.match(/\/logs\/[0-9a-f-]{36}"/g)).toHaveLength(1);
    expect(text).toContain('GET /domains');
    break;
  }
  expect((await rig.visit(`${list}&status=4`)).text).toContain('No request matches.');
  expect((await rig.visit(`${list}&to=2020-01-01`)).text).toContain('No request matches.');
  expect((await rig.visit(`${list}&from=2020-01-01`)).text).toContain('GET /domains');
});

test('a suppression of any reason is added and removed with a note', async () => {
  const path = `${rig.account}/suppressions`;
  await rig.rig.appliance.ctx.store.addSuppression({
    id: '01890000-0000-7000-8000-000000000000',
    accountId: rig.rig.account,
    email: 'bounced@receiver.example',
    reason: 'hard_bounce',
    source: null,
    note: null,
    createdAt: Date.now(),
  });
  const page = await done(rig.submit(path, { email: 'Manual@Receiver.example', note: HOSTILE }));
  expect(page.text).toContain('manual@receiver.example');
  expect(page.text).not.toMatch(FOREIGN_SCRIPT);
  for (const email of ['manual@receiver.example', 'bounced@receiver.example']) {
    const after = await done(rig.submit(`${path}/remove`, { email, note: 'asked for it' }));
    expect(after.text).not.toContain(email);
  }
  expect((await rig.submit(path, { email: 'no address' })).status).toBe(422);
});

test('accounts are created, paused with a reason and resumed', async () => {
  expect((await done(rig.submit('/accounts', { name: 'Second & Co' }))).text).toContain(
    'Second &amp; Co',
  );
  const { store } = rig.rig.appliance.ctx;
  const second = await store.account('Second & Co');
  const path = `/accounts/${second?.id}`;
  const taken = await rig.submit(`${path}/edit`, { name: 'default', plan: 'unlimited' });
  expect(taken.status).toBe(409);
  expect(taken.text).toContain('value="default"');
  const unknown = await rig.submit(`${path}/edit`, { name: 'Second', plan: 'none' });
  expect(unknown.text).toContain('There is no plan &quot;none&quot;');
  await done(rig.submit(`${path}/edit`, { name: 'Second & more', plan: 'unlimited' }));
  expect((await rig.visit('/accounts')).text).toContain('Second &amp; more');
  await done(rig.submit(`${path}/edit`, { name: 'Second & Co', plan: 'unlimited' }));
  await done(rig.submit(`${path}/pause`, { reason: 'unpaid' }));
  expect(await store.account('Second & Co')).toMatchObject({
    status: 'paused',
    statusReason: 'unpaid',
  });
  await done(rig.submit(`${path}/resume`));
  expect(await store.account('Second & Co')).toMatchObject({ status: 'active' });
});

test('usage is shown by day, against the plan', async () => {
  const { text } = await rig.visit(`${rig.account}/usage`);
  const today = new Date().toISOString().slice(0, 10);
  const used = await rig.rig.appliance.ctx.store.usedInMonth(rig.rig.account, today.slice(0, 7));
  expect(used).toBeGreaterThan(0);
  expect(text).toContain(`${today}: Emails `);
  expect(text).toMatch(new RegExp(`This month</span\\s*>\\s*<b>${used}</b>`));
});

test("one account's ids do not open in another", async () => {
  const second = await rig.rig.appliance.ctx.store.account('Second & Co');
  const [message] = (await rig.rig.appliance.ctx.store.emailsByPage(rig.rig.account, 1, 1)).map(
    ({ id }) => id,
  );
  expect((await rig.visit(`/accounts/${second?.id}/emails/${message}`)).status).toBe(404);
});

test('a waiting recipient is shown with its reason, retried and marked as failed', async () => {
  const { appliance } = rig.rig;
  appliance.queue.setResting(true);
  const id = await rig.send({
    from: 'a@sender.example',
    to: 'waits@slow.example',
    subject: 'Waits',
    text: 't',
  });
  const page = await rig.visit('/queue?domain=slow.example');
  expect(page.text).toContain('waits@slow.example');
  expect(page.text).toContain('Retry slow.example now');
  const [recipient] = await appliance.ctx.store.recipients(id);
  expect((await rig.visit('/queue')).text).toContain('href="/dashboard/queue?domain=slow.example"');
  const fields = { id: recipient?.id ?? '', at: 'slow.example' };
  const failed = await rig.submit('/queue/fail', fields);
  expect(failed.headers.get('location')).toBe(
    '/dashboard/queue?domain=slow.example&done=failed&count=1',
  );
  expect((await rig.visit('/queue?domain=slow.example')).text).toContain(
    'No recipients are waiting for slow.example.',
  );
  expect(await emailWith(id, 'given up by the operator')).toContain('failed');
  appliance.queue.setResting(false);
  expect((await rig.submit('/queue/fail', { id: 'none' })).status).toBe(404);
});

test('logs show each request with its body', async () => {
  // Long enough to be kept with the message only.
  const text = `words ${'and more '.repeat(200)}`;
  const message = await rig.send({
    from: 'a@sender.example',
    to: 'b@x.example',
    subject: 's',
    text,
  });
  for (;;) {
    const list = await rig.visit(`${rig.account}/logs?q=emails&status=2`);
    const [id] = /logs\/([0-9a-f-]{36})"/.exec(list.text)?.slice(1) ?? [];
    if (id !== undefined && list.text.includes(message)) {
      const page = await rig.visit(`${rig.account}/logs/${id}`);
      expect(page.text).toContain('POST /emails');
      expect(page.text).toContain('&quot;subject&quot;');
      expect(page.text).toContain(text);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
