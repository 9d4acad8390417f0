/** What is sealed: the keys beside a domain's signing key, and the replacement of all secrets at once. */
import { describe, expect } from 'bun:test';

import type { NextDkimKey } from '../../src/store/dkim-keys.ts';
import type { SealedSecret } from '../../src/store/secrets.ts';
import { SEALED } from '../../src/store/settings.ts';
import type { Store } from '../../src/store/store.ts';
import { newId } from '../rig/ids.ts';
import { newDomain, newEndpoint } from './samples.ts';
import { eachStore } from './stores.ts';

const key = (selector: string): NextDkimKey => ({
  selector,
  dkimPublicKey: `public ${selector}`,
  sealedDkimKey: new Uint8Array([1, 0, 255]),
  since: 5,
});

describe('the next DKIM key', () => {
  eachStore('stands beside the one that signs, one at a time', async (store, account) => {
    const domain = newDomain(account.id, 'a.example');
    await store.createDomain(domain, 9);
    expect(await store.nextDkimKey(domain.id)).toBeNull();
    await store.addNextDkimKey(domain.id, key('s2'));
    await store.addNextDkimKey(domain.id, key('s3'));
    expect(await store.nextDkimKey(domain.id)).toEqual(key('s2'));
    expect(await store.previousDkimKey(domain.id)).toBeNull();
    expect(await store.domainForSigning(domain.id)).toEqual(domain);
  });

  eachStore('signs once it is activated, and the one before is a name', async (store, account) => {
    const domain = newDomain(account.id, 'a.example');
    await store.createDomain(domain, 9);
    expect(await store.activateDkimKey(domain.id, 's2', 7)).toBe(false);
    await store.addNextDkimKey(domain.id, key('s2'));
    expect(await store.activateDkimKey(domain.id, 's3', 7)).toBe(false);
    expect(await store.domainForSigning(domain.id)).toEqual(domain);

    expect(await store.activateDkimKey(domain.id, 's2', 7)).toBe(true);
    const { selector, dkimPublicKey, sealedDkimKey } = key('s2');
    const signs = { ...domain, selector, dkimPublicKey, sealedDkimKey };
    expect(await store.domainForSigning(domain.id)).toEqual(signs);
    expect(await store.nextDkimKey(domain.id)).toBeNull();
    expect(await store.previousDkimKey(domain.id)).toEqual({ selector: 's1', since: 7 });

    await store.addNextDkimKey(domain.id, key('s3'));
    expect(await store.activateDkimKey(domain.id, 's3', 8)).toBe(true);
    expect(await store.previousDkimKey(domain.id)).toEqual({ selector: 's2', since: 8 });
    expect(await store.activateDkimKey(domain.id, 's3', 9)).toBe(false);
  });

  eachStore('of a removed domain is not activated', async (store, account) => {
    const domain = newDomain(account.id, 'a.example');
    await store.createDomain(domain, 9);
    await store.addNextDkimKey(domain.id, key('s2'));
    await store.deleteDomain(account.id, domain.id, 6);
    expect(await store.activateDkimKey(domain.id, 's2', 7)).toBe(false);
    expect(await store.domainForSigning(domain.id)).toEqual({ ...domain, deletedAt: 6 });
  });
});

describe('sealed secrets', () => {
  /** Sealed values as text, by kind. */
  const sealed = async (store: Store): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await store.sealedSecrets()).map((each) => [each.kind, Buffer.from(each.sealed).toString()]),
    );

  eachStore('of every kind are found, also of what was removed', async (store, account) => {
    expect(await store.sealedSecrets()).toEqual([]);
    const domain = { ...newDomain(account.id, 'a.example'), sealedDkimKey: Buffer.from('dkim') };
    const endpoint = newEndpoint(account.id, { sealedSecret: Buffer.from('old') });
    const operator = { id: newId(0), name: 'ann', role: 'admin', accountId: null } as const;
    const unset = { sealedTotp: null, recoveryCodes: 0, signedInAt: null };
    await store.createDomain(domain, 9);
    await store.createEndpoint(endpoint, 9);
    await store.createOperator({ ...operator, ...unset, passwordHash: 'h', createdAt: 0 }, 9);
    expect(await sealed(store)).toEqual({ dkim: 'dkim', webhook: 'old' });

    await store.addNextDkimKey(domain.id, { ...key('s2'), sealedDkimKey: Buffer.from('next') });
    await store.rotateEndpointSecret(account.id, endpoint.id, Buffer.from('new'), 9);
    await store.setOperatorTotp(operator.id, Buffer.from('totp'), []);
    await store.deleteDomain(account.id, domain.id, 1);
    await store.deleteEndpoint(account.id, endpoint.id, 1);
    const all = { dkim: 'dkim', next_dkim: 'next', webhook: 'new', previous_webhook: 'old' };
    await store.setSetting(`${SEALED}x`, Buffer.from('setting\u00ff').toString('hex'));
    await store.setSetting('sealed', 'no secret');
    expect(await sealed(store)).toEqual({ ...all, totp: 'totp', setting: 'setting\u00ff' });
    const ids = (await store.sealedSecrets()).map(({ kind, id }) => `${kind} ${id}`);
    expect(ids.toSorted()).toEqual([
      `dkim ${domain.id}`,
      `next_dkim ${domain.id}`,
      `previous_webhook ${endpoint.id}`,
      `setting ${SEALED}x`,
      `totp ${operator.id}`,
      `webhook ${endpoint.id}`,
    ]);

    // All are replaced together, each where it belongs, with what the settings say of the key.
    await store.setSetting('old', 'x');
    const replaced = (await store.sealedSecrets()).map((secret): SealedSecret => ({
      ...secret,
      sealed: Buffer.from(`again ${secret.kind}`),
    }));
    await store.replaceSecrets(replaced, { key: 'y', old: null });
    expect(await sealed(store)).toEqual({
      dkim: 'again dkim',
      next_dkim: 'again next_dkim',
      webhook: 'again webhook',
      previous_webhook: 'again previous_webhook',
      setting: 'again setting',
      totp: 'again totp',
    });
    expect(await store.setting(`${SEALED}x`)).toBe(Buffer.from('again setting').toString('hex'));
    expect([await store.setting('key'), await store.setting('old')]).toEqual(['y', null]);
  });
});
