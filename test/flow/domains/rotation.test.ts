/** A DKIM key changed in two steps against a real DNS server: what signs at each moment, and what is refused. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';

import { systemClock } from '../../../src/base/clock.ts';
import { addDomain, domainOf, verifyDomain } from '../../../src/flow/domains/domains.ts';
import { requiredRecords } from '../../../src/flow/domains/records.ts';
import { activateKey, prepareKey } from '../../../src/flow/domains/rotation.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import { type Names, startNames } from '../../rig/names.ts';
import { type Fixture, openFixture, refusal } from '../fixture.ts';

let names: Names;
let fixture: Fixture;
let domain: Domain;
let resolver: ReturnType<typeof createResolver>;

beforeAll(async () => {
  names = await startNames();
});
afterAll(() => names.stop());

beforeEach(async () => {
  resolver = createResolver({ servers: [names.listen], clock: systemClock });
  fixture = await openFixture({ resolver });
  const { account } = await fixture.sender();
  domain = await addDomain(fixture.ctx, account, `${Bun.randomUUIDv7()}.example`);
  for (const { name, type, value } of requiredRecords(
    fixture.ctx.config.startup.hostname,
    domain,
  )) {
    names.set(name, type, [value]);
  }
  expect((await verifyDomain(fixture.ctx, account.id, domain.id)).domain.status).toBe('verified');
});
afterEach(async () => {
  resolver.close();
  await fixture.close();
});

const now = (): Promise<Domain> => domainOf(fixture.ctx, domain.accountId, domain.id);

test('the new key signs when DNS shows it, not before, and the domain stays verified', async () => {
  const { ctx } = fixture;
  expect((await refusal(activateKey(ctx, domain))).code).toBe('conflict');
  const first = await prepareKey(ctx, domain);
  expect(first).toMatchObject({ isActive: false, old: null, record: { type: 'TXT' } });
  expect(first.record.name).not.toContain(domain.selector);
  // Asked again it shows the same record.
  expect((await prepareKey(ctx, domain)).record).toEqual(first.record);
  expect((await refusal(activateKey(ctx, domain))).message).toContain('goes on signing');
  // Another key under the new name is not ours.
  names.set(first.record.name, 'TXT', [`v=DKIM1; k=rsa; p=${domain.dkimPublicKey}`]);
  expect((await refusal(activateKey(ctx, domain))).code).toBe('conflict');
  names.fail(first.record.name, 'servfail');
  expect((await refusal(activateKey(ctx, domain))).code).toBe('provider_error');
  expect((await now()).selector).toBe(domain.selector);

  names.fail(first.record.name, null);
  names.set(first.record.name, 'TXT', [first.record.value]);
  const done = await activateKey(ctx, domain);
  expect(done.old).toEqual({
    selector: domain.selector,
    removableAt: ctx.clock.now() + 7 * 86_400_000,
  });
  const after = await now();
  expect(`${after.selector}._domainkey.${after.name}`).toBe(first.record.name);
  expect(after.status).toBe('verified');
  const verified = await verifyDomain(ctx, after.accountId, after.id);
  expect([verified.domain.status, verified.isProven]).toEqual(['verified', true]);
  // The private key of before is gone; the next change begins anew and knows the one before.
  expect((await ctx.store.sealedSecrets()).map(({ kind }) => kind)).toEqual(['dkim']);
  const again = await prepareKey(ctx, after);
  expect(again.record.name).not.toBe(first.record.name);
  expect(again.old?.selector).toBe(domain.selector);
  expect((await ctx.store.sealedSecrets()).map(({ kind }) => kind)).toEqual(['dkim', 'next_dkim']);
});

test('a record with the key alone is not enough: a signature must verify with it', async () => {
  const { ctx } = fixture;
  const { record } = await prepareKey(ctx, domain);
  // For another kind of key, and for another hash than the one that signs.
  for (const tags of ['k=ed25519', 'k=rsa; h=sha1']) {
    names.set(record.name, 'TXT', [record.value.replace('k=rsa', tags)]);
    const refused = await refusal(activateKey(ctx, domain));
    expect([tags, refused.code, refused.message]).toEqual([
      tags,
      'conflict',
      expect.stringContaining('a signature of ours does not verify'),
    ]);
  }
  expect((await now()).selector).toBe(domain.selector);
  names.set(record.name, 'TXT', [record.value]);
  expect((await activateKey(ctx, domain)).isActive).toBe(true);
});

test('a key that another request has activated meanwhile is refused, not changed again', async () => {
  const { ctx } = fixture;
  const { record } = await prepareKey(ctx, domain);
  names.set(record.name, 'TXT', [record.value]);
  const both = await Promise.allSettled([activateKey(ctx, domain), activateKey(ctx, domain)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const lost = both.find((one) => one.status === 'rejected');
  expect(String(lost?.reason)).toContain('The domain was changed meanwhile; try again.');
  expect(`${(await now()).selector}._domainkey.${domain.name}`).toBe(record.name);
});
