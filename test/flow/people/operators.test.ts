/** Operators: which passwords are taken, who may be removed, and that `admin` can always be brought back. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import {
  addOperator,
  operatorWith,
  removeOperator,
  resetAdminPassword,
  setAdminPassword,
  setPassword,
} from '../../../src/flow/people/operators.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const add = (name: string, role: 'admin' | 'read_only', accountId: string | null = null) =>
  addOperator(fixture.ctx, { name, role, accountId });
const names = async (): Promise<string[]> =>
  (await fixture.ctx.store.operators()).map(({ name }) => name).toSorted();

test.each([
  ['15 characters', 'x'.repeat(15), true],
  ['14 characters', 'x'.repeat(14), false],
  ['1024 bytes', 'x'.repeat(1024), true],
  ['1025 bytes', 'x'.repeat(1025), false],
  ['fewer characters in more bytes', 'ü'.repeat(513), false],
])('a password of %s', async (_, password, isTaken) => {
  const made = await add('anna', 'admin');
  const set = setPassword(fixture.ctx, 'anna', password);
  if (isTaken) await set;
  else expect(set).rejects.toThrow('at least 15 characters and at most 1024 bytes');
  await set.catch(() => undefined);
  expect((await operatorWith(fixture.ctx, 'anna', password)) !== null).toBe(isTaken);
  expect((await operatorWith(fixture.ctx, 'anna', made.password)) !== null).toBe(!isTaken);
});

test('the last operator with all rights stays, whoever else there is', async () => {
  const { account } = await fixture.sender();
  await add('anna', 'admin');
  await add('reader', 'read_only');
  await add('owner', 'admin', account.id);
  expect((await refusal(removeOperator(fixture.ctx, 'anna'))).code).toBe('conflict');
  expect((await refusal(removeOperator(fixture.ctx, 'bert'))).code).toBe('not_found');
  await removeOperator(fixture.ctx, 'owner');
  await add('bert', 'admin');
  await removeOperator(fixture.ctx, 'anna');
  expect(await names()).toEqual(['bert', 'reader']);
  expect((await refusal(removeOperator(fixture.ctx, 'bert'))).message).toContain('last operator');
});

test('one who has not all rights may go where nobody has them', async () => {
  await add('reader', 'read_only');
  await removeOperator(fixture.ctx, 'reader');
  expect(await names()).toEqual([]);
});

test('admin gets a password where there is one or none, and no admin is made for a short one', async () => {
  expect(setAdminPassword(fixture.ctx, 'short')).rejects.toThrow('at least 15 characters');
  await setAdminPassword(fixture.ctx, 'short').catch(() => undefined);
  expect(await names()).toEqual([]);
  await setAdminPassword(fixture.ctx, 'long enough for admin');
  expect(await operatorWith(fixture.ctx, 'admin', 'long enough for admin')).toMatchObject({
    role: 'admin',
    accountId: null,
  });
  const made = await resetAdminPassword(fixture.ctx);
  expect(await operatorWith(fixture.ctx, 'admin', 'long enough for admin')).toBeNull();
  expect((await operatorWith(fixture.ctx, 'admin', made))?.name).toBe('admin');
  expect(await names()).toEqual(['admin']);
});
