/** Domains as the operator changes them: what a change of the key leaves behind, and a removal that the store refuses. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Scope } from '../../src/control/operation.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../flow/fixture.ts';
import { runnerIn, scopeOf } from './scope.ts';

const WEEK_MS = 7 * 86_400_000;

let fixture: Fixture;
let scope: Scope;
let sender: RequestSender;

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  scope = scopeOf(fixture.ctx);
});
afterEach(() => fixture.close());

const run = runnerIn(() => scope);

test('beside the next key stands the record of the one before the present, and until when it stays', async () => {
  const domain = await fixture.verified(sender, 'acme.example');
  const { store } = fixture.ctx;
  const since = 1_700_000_000_000;
  store.previousDkimKey = () => Promise.resolve({ selector: 'before', since } as never);
  const rotated = await run('domain.rotate_key', {
    name: 'acme.example',
    account: null,
    activate: false,
  });
  expect(rotated.record.name).not.toContain(domain.selector);
  expect(rotated.old_record).toEqual({
    name: 'before._domainkey.acme.example',
    removable_at: new Date(since + WEEK_MS).toISOString(),
  });
});

test('a domain that the store does not remove is told as such', async () => {
  await fixture.verified(sender, 'acme.example');
  fixture.ctx.store.deleteDomain = () => Promise.reject(new Error('the store is closed'));
  const told = await run('domain.remove', { name: 'acme.example', account: null }).catch(String);
  expect(told).toBe('Error: the store is closed');
});

test('the records of a domain lead to the service, where it has another name than this machine', async () => {
  const own = await openFixture({ toml: '[cluster]\nname = "mail.service.example"' });
  scope = scopeOf(own.ctx);
  const { account } = await own.sender();
  const choice = { name: 'new.example', account: account.name };
  const values = (records: readonly { record: string; value: string }[]): string[] =>
    records.filter(({ record }) => record === 'SPF').map(({ value }) => value);
  const added = await run('domain.add', choice);
  const shown = await run('domain.records', choice);
  await own.close();
  expect([values(added.records), values(shown.records)]).toEqual([
    ['mail.service.example'],
    ['mail.service.example'],
  ]);
});

test.each([
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.Example.', 'xn--bcher-kva.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  [' Plain.Example. ', 'plain.example'],
])('a domain is found as %j, by whatever name it was added', async (name, stored) => {
  const { domain } = await run('domain.add', { name, account: null });
  expect(domain.name).toBe(stored);
  for (const spelling of [name, stored, domain.id]) {
    const found = await run('domain.records', { name: spelling, account: null });
    expect([spelling, found.domain.id]).toEqual([spelling, domain.id]);
  }
  const removed = await run('domain.remove', { name, account: null });
  expect(removed).toEqual({ id: domain.id, name: stored });
  const gone = await run('domain.records', { name, account: null }).catch(String);
  expect(gone).toBe(`ApiError: There is no domain ${stored}.`);
});

test('what is no name of a domain is looked for as it is', async () => {
  for (const name of ['x@acme.example', 'Localhost', '..', 'a b.example']) {
    const told = await run('domain.records', { name, account: null }).catch(String);
    expect(told).toBe(`ApiError: There is no domain ${name.toLowerCase()}.`);
  }
});

test('what waits for a domain beyond ASCII is listed and tried by its name', async () => {
  await fixture.verified(sender, 'acme.example');
  const to = ['xn--bcher-kva.example', 'other.example'].map((domain) => mailbox(`ann@${domain}`));
  await fixture.accept(sender, draft({ to }));
  const domain = 'Bücher.example';
  const { recipients, destinations } = await run('queue.list', { domain });
  expect(recipients.map(({ address }) => address)).toEqual(['ann@xn--bcher-kva.example']);
  expect(destinations.map((one) => one.domain)).toEqual(['xn--bcher-kva.example']);
  expect(await run('queue.retry', { id: null, domain })).toEqual({ retried: 1 });
});
