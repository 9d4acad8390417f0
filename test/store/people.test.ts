/** Operators and the audit log: one name each, codes that are taken once, rows that only age removes. */
import { describe, expect } from 'bun:test';

import type { AuditEntry, Operator } from '../../src/store/people.ts';
import type { Store } from '../../src/store/store.ts';
import { newId } from '../rig/ids.ts';
import { eachStore } from './stores.ts';

function newOperator(name: string, change: Partial<Operator> = {}): Operator {
  const createdAt = Date.now();
  return {
    id: newId(createdAt),
    name,
    role: 'admin',
    accountId: null,
    passwordHash: 'hash',
    sealedTotp: null,
    recoveryCodes: 0,
    createdAt,
    signedInAt: null,
    ...change,
  };
}

async function addedOperator(store: Store, name: string): Promise<Operator> {
  const operator = newOperator(name);
  expect(await store.createOperator(operator, 10)).toBe('created');
  return operator;
}

describe('operators', () => {
  eachStore('have one name each, and are no more than allowed', async (store, account) => {
    const bob = newOperator('bob', { role: 'read_only', accountId: account.id });
    const ann = newOperator('ann');
    const asked = [bob, newOperator('bob'), ann, newOperator('cy')];
    const answers = [];
    for (const operator of asked) answers.push(await store.createOperator(operator, 2));
    expect(answers).toEqual(['created', 'exists', 'created', 'too_many']);
    expect(await store.createOperator(newOperator('ann'), 2)).toBe('too_many');
    expect(await store.operators()).toEqual([ann, bob]);
    expect(await store.operator(bob.id)).toEqual(bob);
    expect(await store.operatorNamed('bob')).toEqual(bob);
    expect(await store.operatorNamed('cy')).toBeNull();

    expect(await store.removeOperator(bob.id)).toBe(true);
    expect(await store.removeOperator(bob.id)).toBe(false);
    expect(await store.operator(bob.id)).toBeNull();
    expect(await store.createOperator(newOperator('bob'), 2)).toBe('created');
  });

  eachStore('of many made at once there are as many as allowed', async (store) => {
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, at) => store.createOperator(newOperator(`o${at}`), 4)),
    );
    expect(answers.filter((answer) => answer === 'created')).toHaveLength(4);
    expect(await store.operators()).toHaveLength(4);
  });

  eachStore('change their password and sign in; nobody else does', async (store) => {
    const [ann, bob] = [await addedOperator(store, 'ann'), await addedOperator(store, 'bob')];
    await store.setOperatorPassword(ann.id, 'other');
    await store.noteSignIn(ann.id, 77);
    expect(await store.operators()).toEqual([
      { ...ann, passwordHash: 'other', signedInAt: 77 },
      bob,
    ]);
  });

  eachStore('have a second factor with recovery codes, until it is taken away', async (store) => {
    const [ann, bob] = [await addedOperator(store, 'ann'), await addedOperator(store, 'bob')];
    await store.setOperatorTotp(ann.id, Buffer.from('sealed'), ['h1', 'h2', 'h3']);
    const { sealedTotp, recoveryCodes } = (await store.operator(ann.id)) ?? ann;
    expect([Buffer.from(sealedTotp ?? []).toString(), recoveryCodes]).toEqual(['sealed', 3]);
    expect(await store.operator(bob.id)).toEqual(bob);

    await store.setOperatorTotp(ann.id, null, []);
    expect(await store.operator(ann.id)).toEqual(ann);
    expect(await store.takeRecoveryHash(ann.id, 'h1')).toBe(false);
  });

  eachStore('use a recovery code once, also when it comes twice at once', async (store) => {
    const [ann, bob] = [await addedOperator(store, 'ann'), await addedOperator(store, 'bob')];
    await store.setOperatorTotp(ann.id, Buffer.from('sealed'), ['h1', 'h2']);
    const taken = await Promise.all([
      store.takeRecoveryHash(ann.id, 'h1'),
      store.takeRecoveryHash(ann.id, 'h1'),
      store.takeRecoveryHash(bob.id, 'h2'),
      store.takeRecoveryHash(ann.id, 'none'),
    ]);
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect((await store.operator(ann.id))?.recoveryCodes).toBe(1);
    expect(await store.takeRecoveryHash(ann.id, 'h2')).toBe(true);
    expect((await store.operator(ann.id))?.recoveryCodes).toBe(0);
  });

  eachStore('use a step of the second factor once, and none before it', async (store) => {
    const [ann, bob] = [await addedOperator(store, 'ann'), await addedOperator(store, 'bob')];
    const taken = [];
    for (const step of [5, 5, 4, 6]) taken.push(await store.takeTotpStep(ann.id, step));
    expect(taken).toEqual([true, false, false, true]);
    const atOnce = await Promise.all([1, 1, 1].map((step) => store.takeTotpStep(bob.id, step)));
    expect(atOnce.filter(Boolean)).toHaveLength(1);
  });
});

describe('the audit log', () => {
  const entry = (at: number, who: string, change: Partial<AuditEntry> = {}): AuditEntry => ({
    at,
    via: 'dashboard',
    who,
    action: 'key_revoked',
    target: 'ci',
    accountId: null,
    address: null,
    ...change,
  });
  const times = async (store: Store, before: number | null, who: string | null, limit = 100) =>
    (await store.audit({ before, who, limit })).map(({ at }) => at);

  eachStore('is read newest first in pages, of all or of one name', async (store, account) => {
    const full = entry(1, 'ann', { via: 'api', accountId: account.id, address: '192.0.2.1' });
    await store.addAudit(full);
    for (let at = 2; at <= 7; at += 1)
      await store.addAudit(entry(at, at % 2 === 0 ? 'bob' : 'ann'));
    expect(await times(store, null, null)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(await times(store, null, 'ann')).toEqual([7, 5, 3, 1]);
    expect(await times(store, null, 'an')).toEqual([]);
    const [, , third] = await store.audit({ before: null, who: null, limit: 3 });
    expect(await times(store, third?.seq ?? 0, null, 2)).toEqual([4, 3]);
    expect(await times(store, third?.seq ?? 0, 'ann', 2)).toEqual([3, 1]);
    const oldest = (await store.audit({ before: null, who: null, limit: 100 })).at(-1);
    expect(oldest).toEqual({ ...full, seq: oldest?.seq ?? 0 });
  });

  eachStore('is read from its newest end, however many entries there are', async (store) => {
    const added = Array.from({ length: 1_100 }, (_, at) => store.addAudit(entry(at, 'ann')));
    await Promise.all(added);
    expect((await times(store, null, null, 2_000)).length).toBe(1_100);
    const [newest] = await store.audit({ before: null, who: null, limit: 1 });
    expect(newest?.seq).toBe(1_100);
  });

  eachStore('loses what is old, and what is more than is kept', async (store) => {
    for (let at = 1; at <= 7; at += 1) await store.addAudit(entry(at, 'ann'));
    expect(await store.purgeAudit(3, 100)).toBe(2);
    expect(await times(store, null, null)).toEqual([7, 6, 5, 4, 3]);
    expect(await store.purgeAudit(0, 4)).toBe(1);
    expect(await times(store, null, null)).toEqual([7, 6, 5, 4]);
    expect(await store.purgeAudit(0, 4)).toBe(0);
  });
});
