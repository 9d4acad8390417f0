/** The domain behind a From address, by account and name, as it is kept in memory. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Context } from '../../../src/flow/context.ts';
import { DomainChecker } from '../../../src/flow/domains/checker.ts';
import { newDomain, removeDomain, verifyDomain } from '../../../src/flow/domains/domains.ts';
import { sendingDomain } from '../../../src/flow/domains/lookup.ts';
import { activateKey, prepareKey } from '../../../src/flow/domains/rotation.ts';
import type { Domain } from '../../../src/store/rows.ts';
import { openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

test('each account finds its own domain of one name, and one without it none, whoever asked before', async () => {
  const { ctx } = fixture;
  const [ann, ben, cy] = [
    await fixture.sender({ name: 'ann' }),
    await fixture.sender({ name: 'ben' }),
    await fixture.sender({ name: 'cy' }),
  ];
  const ofAnn = await fixture.verified(ann, 'shared.example');
  const ofBen = await fixture.verified(ben, 'shared.example');
  const other = await fixture.verified(ann, 'other.example');
  const found = async (accountId: string, name = 'shared.example') =>
    (await sendingDomain(ctx, accountId, name))?.id ?? null;
  for (let round = 0; round < 2; round += 1) {
    expect([
      await found(ann.account.id),
      await found(ben.account.id),
      await found(cy.account.id),
      await found(ann.account.id, 'other.example'),
    ]).toEqual([ofAnn.id, ofBen.id, null, other.id]);
  }
});

test('a domain is read once for many mails, and again after a change', async () => {
  const sender = await fixture.sender();
  const { id } = await fixture.verified(sender, 'acme.example');
  const asked: [string, string][] = [];
  const { store } = fixture.ctx;
  const ctx: Context = {
    ...fixture.ctx,
    store: {
      ...store,
      domainByName(accountId, name) {
        asked.push([accountId, name]);
        return store.domainByName(accountId, name);
      },
    },
  };
  const find = () => sendingDomain(ctx, sender.account.id, 'acme.example');
  expect([(await find())?.id, (await find())?.id]).toEqual([id, id]);
  expect(asked).toEqual([[sender.account.id, 'acme.example']]);
  ctx.senderDomains.forget();
  expect((await find())?.id).toBe(id);
  expect(asked).toHaveLength(2);
});

type Change = (ctx: Context, domain: Domain) => Promise<unknown>;

test.each<[string, 'finishDomainCheck' | 'deleteDomain' | 'activateDkimKey', Change]>([
  ['verified', 'finishDomainCheck', (ctx, { accountId, id }) => verifyDomain(ctx, accountId, id)],
  [
    'checked',
    'finishDomainCheck',
    (ctx) => new DomainChecker(ctx).run(new AbortController().signal),
  ],
  ['removed', 'deleteDomain', (ctx, { accountId, id }) => removeDomain(ctx, accountId, id)],
  ['given another key', 'activateDkimKey', (ctx, domain) => activateKey(ctx, domain)],
])('what a send reads while a domain is being %s is not kept', async (_, verb, change) => {
  const { ctx, clock } = fixture;
  const { id: accountId } = (await fixture.sender()).account;
  const domain = await newDomain(ctx, accountId, 'acme.example');
  await ctx.store.createDomain(domain, 10);
  await prepareKey(ctx, domain);
  await clock.advance(60_000);
  const find = () => sendingDomain(ctx, accountId, 'acme.example');
  const commit = ctx.store[verb] as (...args: unknown[]) => Promise<unknown>;
  const seen: (string | undefined)[] = [];
  // Of the emulator's DNS, which shows every record.
  const changing = {
    ...ctx,
    emulation: {} as Context['emulation'],
    store: {
      ...ctx.store,
      async [verb](...args: unknown[]) {
        seen.push((await find())?.id);
        return await commit(...args);
      },
    },
  };
  await change(changing, domain);
  expect(seen).toEqual([domain.id]);
  expect(await find()).toEqual(await ctx.store.domainByName(accountId, 'acme.example'));
});
