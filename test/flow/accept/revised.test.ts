/** Acceptance on a store that other nodes change, without a database: when it asks again, and what it decides anew. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { ApiError } from '../../../src/base/errors.ts';
import { acceptEmails, type AcceptOptions } from '../../../src/flow/accept/accept.ts';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { revokeKey } from '../../../src/flow/accounts/keys.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import type { AcceptBatch } from '../../../src/store/journey.ts';
import { OutdatedError } from '../../../src/store/revision.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { ACCEPT, draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let sender: Sender;
let ctx: Context;
/** What was asked of revision and store, in order. */
let asked: string[];
/** The revision that memory stands on, and what the next check finds: each is another node's change. */
let revision: number;
let changes: (() => unknown)[];
/** What the next commits throw. */
let faults: Error[];

beforeEach(async () => {
  fixture = await openFixture();
  sender = { ...(await fixture.sender()), revision: 5 };
  await fixture.verified(sender, 'acme.example');
  [asked, revision, changes, faults] = [[], 5, [], []];
  const { store } = fixture.ctx;
  const shared = {
    get number() {
      return revision;
    },
    async check() {
      asked.push('check');
      const change = changes.shift();
      if (change === undefined) return;
      await change();
      revision += 1;
      fixture.ctx.senderDomains.forget();
    },
  };
  ctx = {
    ...fixture.ctx,
    revision: shared as unknown as Context['revision'],
    store: {
      ...store,
      async account(id) {
        asked.push('account');
        return await store.account(id);
      },
      async key(id) {
        asked.push('key');
        return await store.key(id);
      },
      async accept(batch: AcceptBatch) {
        asked.push(`commit of ${batch.messages.length} at ${batch.revision}`);
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        return await store.accept(batch);
      },
    },
  };
});
afterEach(() => fixture.close());

/** The statuses and refusals of a request, or the code of what it was refused with. */
async function send(
  drafts: Draft | (Draft | ApiError)[] = draft(),
  options: Partial<AcceptOptions> = {},
  by = sender,
): Promise<unknown> {
  const list = Array.isArray(drafts) ? drafts : [drafts];
  try {
    const { body } = await acceptEmails(ctx, fixture.sink, by, list, { ...ACCEPT, ...options });
    return (JSON.parse(body) as { status?: string; code?: string }[]).map(
      ({ status, code }) => status ?? code,
    );
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}

const foreign = (): Draft => draft({ from: mailbox('a@nobody.example') });
const outdated = (): OutdatedError => new OutdatedError('another');

test('what nobody has changed is committed on the revision that it rests on, with nothing asked', async () => {
  expect(await send()).toEqual(['queued']);
  expect(asked).toEqual(['commit of 1 at 5']);
});

test('a commit that finds another revision is decided again, by account and key as they are then', async () => {
  faults = [outdated()];
  changes = [() => undefined];
  expect(await send()).toEqual(['queued']);
  expect(asked).toEqual(['commit of 1 at 5', 'check', 'account', 'key', 'commit of 1 at 6']);
});

test('a sender of an older revision, and an operator, are read anew before anything else', async () => {
  expect(await send(draft(), {}, { ...sender, revision: 4 })).toEqual(['queued']);
  const operator: Sender = { ...sender, key: { id: null, isTest: false }, requestId: null };
  delete operator.revision;
  expect(await send(draft(), {}, operator)).toEqual(['queued']);
  expect(asked).toEqual(['account', 'key', 'commit of 1 at 5', 'account', 'commit of 1 at 5']);
});

test.each(['revoked', 'another account’s'])('a key that is %s by then is refused', async (how) => {
  if (how === 'revoked') await revokeKey(ctx, sender.account.id, sender.key.id ?? '');
  const other = await fixture.sender({ name: 'other' });
  const by = { ...sender, revision: 4 };
  if (how !== 'revoked') by.key = other.key;
  expect(await send(draft(), {}, by)).toBe('unauthorized');
  const gone = { ...sender.account, id: other.requestId };
  expect(await send(draft(), {}, { ...by, account: gone })).toBe('unauthorized');
});

test('an operator whose account is gone is refused', async () => {
  const operator: Sender = { ...sender, key: { id: null, isTest: false }, requestId: null };
  operator.revision = null;
  operator.account = { ...sender.account, id: '01913c7e-89ab-7cde-8f01-23456789abce' };
  expect(await send(draft(), {}, operator)).toBe('unauthorized');
  expect(asked).toEqual(['account']);
});

test('a refusal by what is remembered is checked, and thrown where nothing has changed', async () => {
  const account = (status: 'paused' | 'payment_required') => ({
    ...sender,
    account: { ...sender.account, status },
  });
  const pending = await fixture.verified(sender, 'pending.example');
  await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
  const from = mailbox('a@pending.example');
  expect(await send(foreign())).toBe('from_domain_not_allowed');
  expect(await send(draft({ from }))).toBe('domain_not_verified');
  expect(await send(draft(), {}, account('paused'))).toBe('account_paused');
  expect(await send(draft(), {}, account('payment_required'))).toBe('payment_required');
  await ctx.halt.halt('Moving.');
  expect(await send()).toBe('platform_halted');
  expect(asked).toEqual(Array.from({ length: 5 }, () => 'check'));
});

test('a refusal that rests on nothing remembered is thrown at once', async () => {
  expect(await send(draft({ to: [] }))).toBe('validation_failed');
  fixture.ctx.disk.isLow = true;
  expect(await send()).toBe('platform_halted');
  fixture.ctx.disk.isLow = false;
  faults = [new StoreFullError('full'), new Error('a fault')];
  expect(await send()).toBe('platform_halted');
  expect(await send()).toBe('Error: a fault');
  expect(asked).toEqual(['commit of 1 at 5', 'commit of 1 at 5']);
});

test('a refusal by what another node has changed meanwhile is decided again', async () => {
  const resumed = { ...sender, account: { ...sender.account, status: 'paused' as const } };
  changes = [() => undefined];
  expect(await send(draft(), {}, resumed)).toEqual(['queued']);
  changes = [() => setAccountStatus(fixture.ctx, 'acme', 'paused', 'Bounces.')];
  sender = { ...sender, revision: 6 };
  faults = [outdated()];
  expect(await send()).toBe('account_paused');
  expect(asked).toEqual([
    'check',
    'account',
    'key',
    'commit of 1 at 6',
    'commit of 1 at 6',
    'check',
    'account',
    'key',
    'check',
  ]);
});

test('a permissive batch with such a refusal is checked before its commit, and decided again', async () => {
  const isPermissive = true;
  expect(await send([draft(), foreign()], { isPermissive })).toEqual([
    'queued',
    'from_domain_not_allowed',
  ]);
  expect(asked.splice(0)).toEqual(['check', 'commit of 1 at 5']);
  changes = [() => fixture.verified(sender, 'nobody.example')];
  expect(await send([draft(), foreign()], { isPermissive })).toEqual(['queued', 'queued']);
  expect(asked.splice(0)).toEqual(['check', 'check', 'account', 'key', 'commit of 2 at 6']);
  sender = { ...sender, revision: 6 };
  const shapeless = draft({ to: [] });
  expect(await send([draft(), shapeless], { isPermissive })).toEqual([
    'queued',
    'validation_failed',
  ]);
  expect(asked).toEqual(['commit of 1 at 6']);
});

test('a repeated request is answered before its key is read', async () => {
  const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
  expect(await send(draft(), { idempotency })).toEqual(['queued']);
  asked.length = 0;
  await revokeKey(ctx, sender.account.id, sender.key.id ?? '');
  expect(await send(draft(), { idempotency }, { ...sender, revision: 4 })).toEqual(['queued']);
  expect(asked).toEqual([]);
  const again = { idempotency: { ...idempotency, bodyHash: 'other' } };
  expect(await send(draft(), again, { ...sender, revision: 4 })).toBe('idempotency_conflict');
  expect(asked).toEqual([]);
});

test('one process that has the store alone compares no revision', async () => {
  const { revision: _, ...alone } = sender;
  ctx = { ...ctx, revision: fixture.ctx.revision };
  expect(await send(draft(), {}, { ...alone, revision: null })).toEqual(['queued']);
  expect(await send(draft(), {}, alone)).toEqual(['queued']);
  expect(await send([draft(), foreign()], { isPermissive: true }, alone)).toHaveLength(2);
  expect(await send(foreign(), {}, alone)).toBe('from_domain_not_allowed');
  expect(asked).toEqual(Array.from({ length: 3 }, () => 'commit of 1 at null'));
});
