/** Accounts: what they may be called, and what their state means for those who send. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import {
  accountNamed,
  changeAccount,
  createAccount,
  refuseInactive,
  setAccountStatus,
} from '../../../src/flow/accounts/accounts.ts';
import { rateOwner } from '../../../src/flow/accounts/plans.ts';
import { authenticate, createKey } from '../../../src/flow/accounts/keys.ts';
import { newId } from '../../rig/ids.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const NO_NAME = {
  path: 'name',
  message:
    'name must have 1 to 60 characters, not spaces alone, without control characters or changes of text direction.',
};

const make = (name: string) => createAccount(fixture.ctx, { name });

test('a name has 1 to 60 characters without those around it, and is no id', async () => {
  expect((await make('  acme  ')).name).toBe('acme');
  expect((await make('x'.repeat(60))).name).toHaveLength(60);
  for (const name of ['', '   ', 'x'.repeat(61), 'a\nb', 'a\u202eb']) {
    expect((await refusal(make(name))).detail).toEqual({ issues: [NO_NAME] });
  }
  expect((await make('f'.repeat(37))).name).toHaveLength(37);
  const id = await refusal(make(newId(1)));
  expect(id.detail).toEqual({
    issues: [{ path: 'name', message: 'name must not look like the id of an account.' }],
  });
  expect((await refusal(make('acme'))).code).toBe('conflict');
  expect((await refusal(make('acme '))).code).toBe('conflict');
});

test('a change is checked in the same way, and of an account that is there', async () => {
  const { id } = await make('one');
  await make('two');
  const change = (of: string, name: string, plan = 'unlimited') =>
    refusal(changeAccount(fixture.ctx, of, { name, plan }));
  expect((await change(id, 'two')).code).toBe('conflict');
  expect((await change(id, ' ')).code).toBe('validation_failed');
  expect((await change(id, 'one', 'none')).code).toBe('validation_failed');
  expect((await change(newId(1), 'three')).code).toBe('not_found');
  const kept = await changeAccount(fixture.ctx, id, { name: ' eins ', plan: 'unlimited' });
  expect(kept).toEqual({ name: 'eins', plan: 'unlimited' });
  expect((await accountNamed(fixture.ctx, 'eins')).id).toBe(id);
  expect((await refusal(accountNamed(fixture.ctx, 'one'))).code).toBe('not_found');
});

test('only an account that does not send has a reason, and its keys know it at once', async () => {
  const { id } = await make('acme');
  const { token } = await createKey(fixture.ctx, id, { name: 'k', permission: 'full_access' });
  const known = async () => (await authenticate(fixture.ctx, token))?.account;
  await known();
  await setAccountStatus(fixture.ctx, 'acme', 'paused', 'Too many bounces.');
  expect(await known()).toMatchObject({ status: 'paused', statusReason: 'Too many bounces.' });
  const active = await setAccountStatus(fixture.ctx, id, 'active', 'Well again.');
  expect(active).toMatchObject({ status: 'active', statusReason: null });
  expect(await known()).toMatchObject({ status: 'active', statusReason: null });
});

test('what does not send is refused in the words of its state, with its reason where there is one', async () => {
  const account = await make('acme');
  refuseInactive(account);
  const refused = (status: 'paused' | 'payment_required', statusReason: string | null) =>
    refusal(Promise.resolve().then(() => refuseInactive({ ...account, status, statusReason })));
  expect(await refused('paused', 'Why.')).toMatchObject({
    code: 'account_paused',
    message: 'This account is paused. Why.',
  });
  expect(await refused('payment_required', null)).toMatchObject({
    code: 'payment_required',
    message: 'This account cannot send until it is paid.',
  });
});

test('sandbox keys spend rates of their own, apart from those of live keys and of other accounts', () => {
  const owners = ['a', 'b'].flatMap((id) =>
    [false, true].map((isTest) => rateOwner({ isTest }, { id })),
  );
  expect(new Set(owners).size).toBe(4);
});
