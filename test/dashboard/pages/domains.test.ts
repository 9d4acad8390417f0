/** The pages of sending domains: records beside what DNS shows, advice, zone file, test email, change of the key. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { requiredRecords } from '../../../src/flow/domains/records.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { type Names, startNames } from '../../rig/names.ts';
import { type DashboardRig, startDashboardRig } from '../dashboard-rig.ts';

let names: Names;
let rig: DashboardRig;
beforeAll(async () => {
  names = await startNames();
  const { host, port } = names.listen;
  rig = await startDashboardRig({ config: `[dns]\nservers = ["${host}:${port}"]\n` });
});
afterAll(async () => {
  await rig.stop();
  await names.stop();
});

async function added(name: string): Promise<{ domain: Domain; path: string }> {
  const { headers } = await rig.submit(`${rig.account}/domains`, { name });
  const path = (headers.get('location') ?? '').replace('/dashboard', '').replace(/\?.*/, '');
  const domain = await rig.rig.appliance.ctx.store.domainByName(rig.rig.account, name);
  if (domain === null) throw new Error(`${name} was not added`);
  return { domain, path };
}

const required = (domain: Domain) => requiredRecords('mail.rig.test', domain);

test('a domain is added with names in full and short, and its page updates itself until it is verified', async () => {
  const { domain, path } = await added('mail.acme.example');
  const { text } = await rig.visit(path);
  expect(text).toContain('data-live="5"');
  const [dkim, spf] = required(domain);
  for (const words of [dkim?.name, dkim?.value, spf?.name, `${domain.selector}._domainkey.mail`]) {
    expect(text).toContain(`data-copy="${words}"`);
  }
  expect(text).not.toContain(`${path}/test"`);

  for (const { name, type, value } of required(domain)) names.set(name, type, [value], 0);
  const checked = await rig.submit(`${path}/verify`);
  expect(checked.headers.get('location')).toEndWith('?done=checked');
  const after = await rig.visit(path);
  expect(after.text).not.toContain('data-live');
  expect(after.text).toContain('Emails from it are accepted and signed.');
  expect(after.text).toContain('There is no policy for mail.acme.example.');
  expect(after.text).toContain(`${path}/test"`);
});

test('what DNS shows stands beside what is expected, with the difference marked and nothing of it as markup', async () => {
  const { domain, path } = await added('wrong.example');
  const [dkim] = required(domain);
  const other = (dkim?.value ?? '').replace(/p=.{5}/, 'p=<b>xx');
  names.set(dkim?.name ?? '', 'TXT', [other], 0);
  names.set(
    `_dmarc.${domain.name}`,
    'TXT',
    ['v=DMARC1; p=quarantine; rua=mailto:d@wrong.example'],
    0,
  );
  await rig.submit(`${path}/verify`);
  const { text } = await rig.visit(path);
  expect(text).toMatch(/<mark>&lt;b&gt;xx<\/mark>/);
  expect(text).toContain('has another key.');
  expect(text).toContain('There is no CNAME record at send.wrong.example.');
  const states = Array.from(
    text.matchAll(
      /<h3>\s*(DKIM|SPF|DMARC) [\s\S]*?<span class="badge \w+">([\w ]+)<\/span>\s*<\/h3>/g,
    ),
    ([, record, state]) => `${record} ${state}`,
  );
  expect(states).toEqual(['DKIM wrong', 'SPF missing', 'DMARC verified']);
  expect(text).toContain('change it to p=reject');
});

test('DNS that cannot be asked changes nothing and says so', async () => {
  const { domain, path } = await added('unasked.example');
  names.fail(required(domain)[0]?.name ?? '', 'servfail');
  const answer = await rig.submit(`${path}/verify`);
  expect(answer.status).toBe(502);
  expect(answer.text).toContain('DNS could not be asked about unasked.example');
  // An update would ask for a page at the address of the form, or take what was entered away.
  expect((await rig.visit(path)).text).toContain('data-live="5"');
  expect(answer.text).not.toContain('data-live');
  expect(answer.text).toContain(required(domain)[0]?.value ?? '-');
});

test('the zone file is saved under the name of the domain', async () => {
  const { domain, path } = await added('zone.example');
  const { headers, text } = await rig.visit(`${path}/zone`);
  expect(headers.get('content-disposition')).toContain('filename="zone.example.zone"');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(text).toContain(`${domain.selector}._domainkey.zone.example. 3600 IN TXT "v=DKIM1; `);
});

test('the key changes in two steps: it is used when DNS shows it, not before', async () => {
  const { domain, path } = await added('rotated.example');
  for (const { name, type, value } of required(domain)) names.set(name, type, [value], 0);
  await rig.submit(`${path}/verify`);
  expect((await rig.visit(path)).text).not.toContain(`${path}/activate"`);
  const made = await rig.submit(`${path}/rotate`);
  expect(made.headers.get('location')).toEndWith('?done=key_made');
  const { store } = rig.rig.appliance.ctx;
  const next = await store.nextDkimKey(domain.id);
  if (next === null) throw new Error('no key was made');
  const record = required({ ...domain, ...next })[0];
  expect((await rig.visit(path)).text).toContain(`data-copy="${record?.value}"`);

  const early = await rig.submit(`${path}/activate`);
  expect(early.status).toBe(409);
  expect(early.text).toContain('The present key goes on signing.');
  names.set(record?.name ?? '', 'TXT', [record?.value ?? ''], 0);
  const done = await rig.submit(`${path}/activate`);
  expect(done.headers.get('location')).toEndWith('?done=key_activated');
  expect((await store.domain(rig.rig.account, domain.id))?.selector).toBe(next.selector);
  const { text } = await rig.visit(path);
  expect(text).toContain(`${domain.selector}._domainkey.rotated.example`);
  expect(text).toContain('stays in DNS until');
  expect(text).not.toContain('may be removed now');
});

test('a test email is sent from a verified domain, and its page opens', async () => {
  const domain = await rig.rig.appliance.ctx.store.domainByName(rig.rig.account, 'sender.example');
  const path = `${rig.account}/domains/${domain?.id}`;
  const refused = await rig.submit(`${path}/test`, { to: 'nobody' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('value="nobody"');
  const sent = await rig.submit(`${path}/test`, { to: 'me@receiver.example' });
  const email = (sent.headers.get('location') ?? '').replace('/dashboard', '');
  expect(email).toMatch(/\/emails\/[0-9a-f-]{36}\?done=sent$/);
  expect((await rig.visit(email)).text).toContain('Test email from sender.example');
});

test('who has added a domain sees it, who has removed one the list', async () => {
  const list = `/dashboard${rig.account}/domains`;
  const added = await rig.submit(`${rig.account}/domains`, { name: 'gone.example' });
  const domain = await rig.rig.appliance.ctx.store.domainByName(rig.rig.account, 'gone.example');
  expect(added.headers.get('location')).toBe(`${list}/${domain?.id}?done=domain_added`);
  const removed = await rig.submit(`${rig.account}/domains/${domain?.id}/remove`);
  expect(removed.headers.get('location')).toBe(`${list}?done=removed`);
});
