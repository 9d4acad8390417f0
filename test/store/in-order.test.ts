/** Rare changes that nobody waits for are made in the order in which they were asked for. */
import { describe, expect } from 'bun:test';

import { newDomain, newEndpoint, newKey, newSuppression } from './samples.ts';
import { eachStore } from './stores.ts';

/** Enough that changes which run beside each other do not end in their order by chance. */
const CHANGES = 20;
const ROUNDS = 4;

/** Asks for all changes at once, again and again; what `read` says after each time. */
async function lastOf(
  change: (at: number) => Promise<unknown>,
  read: () => Promise<unknown>,
): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(Array.from({ length: CHANGES }, (_, at) => change(at)));
    seen.push(await read());
  }
  return seen;
}

const always = (last: unknown): unknown[] => Array<unknown>(ROUNDS).fill(last);
const LAST = CHANGES - 1;

describe('the last one counts', () => {
  eachStore(
    'of an account and its keys',
    async (store, account) => {
      const key = newKey(account.id);
      await store.createKey(key, Buffer.of(1), 9);
      const named = await lastOf(
        (at) => store.renameKey(account.id, key.id, `key ${at}`),
        async () => (await store.keys(account.id))[0]?.name,
      );
      expect(named).toEqual(always(`key ${LAST}`));
      const reasons = await lastOf(
        (at) => store.setAccountStatus(account.id, 'paused', `reason ${at}`),
        async () => (await store.account(account.id))?.statusReason,
      );
      expect(reasons).toEqual(always(`reason ${LAST}`));
    },
    20_000,
  );

  eachStore(
    'of a domain',
    async (store, account) => {
      const domain = newDomain(account.id, 'shop.example');
      await store.createDomain(domain, 9);
      const checked = await lastOf(
        (at) => store.finishDomainCheck({ ...domain, now: at, nextCheckAt: at }),
        async () => (await store.domain(account.id, domain.id))?.lastCheckedAt,
      );
      expect(checked).toEqual(always(LAST));
    },
    20_000,
  );

  eachStore(
    'of an endpoint',
    async (store, account) => {
      const endpoint = newEndpoint(account.id);
      await store.createEndpoint(endpoint, 9);
      const urls = await lastOf(
        (at) =>
          store.updateEndpoint(account.id, endpoint.id, { url: `https://x.example/${at}` }, 1),
        async () => (await store.endpoint(account.id, endpoint.id))?.url,
      );
      expect(urls).toEqual(always(`https://x.example/${LAST}`));
    },
    20_000,
  );

  eachStore(
    'of a suppression',
    async (store, account) => {
      const row = newSuppression(account.id, 'ann@example.org');
      const there = await lastOf(
        (at) =>
          at % 2 === 0
            ? store.addSuppression(row)
            : store.removeSuppression(account.id, row.email, Date.now()),
        () => store.suppression(account.id, row.email),
      );
      expect(there).toEqual(always(null));
    },
    20_000,
  );
});
