/** What an entry of the audit log holds of a change: named facts, cut, without persons and without paths. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { audit, type Change } from '../../../src/flow/people/audit.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

async function entryOf(facts: Change['facts'], who = 'anna') {
  const change = { via: 'command', action: 'key.create', accountId: null, address: null } as const;
  await audit(fixture.ctx, { ...change, who, facts });
  const [entry] = await fixture.ctx.store.audit({ limit: 1, before: null, who: null });
  return entry;
}

test('facts of the list are told in its order, others and empty ones are not', async () => {
  const entry = await entryOf({
    token: 'hush',
    password: 'hush',
    plan: '',
    role: 7,
    permission: 'full_access',
    name: 'ci',
    id: 'k1',
  });
  expect(entry).toMatchObject({
    at: fixture.clock.now(),
    who: 'anna',
    target: 'id=k1 name=ci permission=full_access',
  });
});

test('no whole address, no path of a URL', async () => {
  const facts = {
    email: '"Ann" <ann@example.com>, bob@example.org',
    name: 'for cid@example.net',
    url: 'https://user:hush@hooks.example.com:8443/secret?token=hush',
  };
  expect((await entryOf(facts))?.target).toBe(
    'name=for …@example.net email="Ann" <…@example.com>, …@example.org url=https://hooks.example.com:8443',
  );
  expect((await entryOf({ url: 'no address' }))?.target).toBe('url=?');
});

test('who, each fact and all of them together are cut', async () => {
  const long = 'x'.repeat(1_000);
  const entry = await entryOf({ id: long, role: 'y' }, long);
  expect(entry?.who).toBe('x'.repeat(100));
  expect(entry?.target).toBe(`id=${'x'.repeat(100)} role=y`);
  const all = await entryOf({ id: long, name: long, account: long, domain: long, plan: long });
  expect(all?.target).toHaveLength(400);
});

test('an entry that cannot be written is logged, and the change goes on', async () => {
  const { store } = fixture.ctx;
  store.addAudit = () => Promise.reject(new Error('full'));
  expect(await entryOf({ name: 'ci' })).toBeUndefined();
  expect(fixture.logged).toMatchObject([
    { level: 'error', event: 'audit_lost', action: 'key.create' },
  ]);
});
