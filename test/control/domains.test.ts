/** Domains as the operator changes them: what a change of the key leaves behind, and a removal that the store refuses. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Scope } from '../../src/control/operation.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';
import { runnerIn, scopeOf } from './scope.ts';

const WEEK_MS = 7 * 86_400_000;

let fixture: Fixture;
let scope: Scope;
let sender: Sender;

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
