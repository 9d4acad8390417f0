/** Lists by rising id: whole, and in part from either end; a long one leaves time to others while it is read. */
import { describe, expect } from 'bun:test';

import type { ListPart } from '../../src/store/pages.ts';
import { inParts, PART_ROWS } from '../../src/store/parts.ts';
import type { Store } from '../../src/store/store.ts';
import { newAccount, newDomain, newKey } from './samples.ts';
import { eachStore } from './stores.ts';

/** More than two parts, and a bit. */
const MANY = 2 * PART_ROWS + 7;
const NOT_AN_ID = 'nobody';

interface Listed {
  id: string;
}
interface List {
  name: string;
  add: (store: Store, accountId: string, at: number) => Promise<unknown>;
  read: (store: Store, accountId: string, part?: ListPart) => Promise<Listed[]>;
}

const LISTS: readonly List[] = [
  {
    name: 'accounts',
    add: (store, _, at) => store.createAccount(newAccount(`more${at}`)),
    read: (store, _, part) => store.accounts(part),
  },
  {
    name: 'domains',
    add: (store, accountId, at) => store.createDomain(newDomain(accountId, `d${at}.example`), MANY),
    read: (store, accountId, part) => store.domains(accountId, part),
  },
  {
    name: 'keys',
    add: (store, accountId, at) => store.createKey(newKey(accountId), hashOf(at), MANY),
    read: (store, accountId, part) => store.keys(accountId, part),
  },
  {
    name: 'sandbox keys',
    add: (store, accountId, at) =>
      store.createKey({ ...newKey(accountId), isTest: true }, hashOf(at), MANY),
    read: (store, accountId, part) => store.testKeys(accountId, part),
  },
];

function hashOf(at: number): Uint8Array {
  const hash = new Uint8Array(32);
  new DataView(hash.buffer).setUint32(0, at + 1);
  return hash;
}

const idsOf = (rows: readonly Listed[]): string[] => rows.map(({ id }) => id);

/** Rounds of the event loop while `work` is under way. */
async function roundsOf<T>(work: Promise<T>): Promise<[rounds: number, result: T]> {
  const count = { rounds: 0, isOver: false };
  const step = (): void => {
    count.rounds += 1;
    if (!count.isOver) setImmediate(step);
  };
  setImmediate(step);
  const result = await work;
  count.isOver = true;
  return [count.rounds, result];
}

for (const { name, add, read } of LISTS) {
  describe(`the list of ${name}`, () => {
    eachStore(
      'is read whole and in part, from both ends, and leaves time to others',
      async (store, account) => {
        for (let at = 0; at < MANY; at += 1) await add(store, account.id, at);
        const [rounds, all] = await roundsOf(read(store, account.id));
        expect(rounds).toBeGreaterThanOrEqual(2);
        const ids = idsOf(all);
        expect(ids.length).toBeGreaterThanOrEqual(MANY);
        expect(ids).toEqual(Array.from(new Set(ids)).toSorted());
        const part = async (of: ListPart): Promise<string[]> =>
          idsOf(await read(store, account.id, of));
        expect(await part({ limit: 3 })).toEqual(ids.slice(0, 3));
        expect(await part({ limit: 3, after: ids[4] })).toEqual(ids.slice(5, 8));
        expect(await part({ limit: 3, after: ids.at(-3) })).toEqual(ids.slice(-2));
        expect(await part({ limit: 3, before: ids[9] })).toEqual(ids.slice(6, 9));
        expect(await part({ limit: 3, before: ids[2] })).toEqual(ids.slice(0, 2));
        expect(await part({ limit: 3, after: ids.at(-1) })).toEqual([]);
        const parts: number[] = [];
        for await (const rows of inParts((of) => read(store, account.id, of), ids[0])) {
          parts.push(rows.length);
        }
        expect(parts).toEqual([PART_ROWS, PART_ROWS, ids.length - 1 - 2 * PART_ROWS]);
      },
    );
  });
}

describe('lists', () => {
  eachStore('are of one account, and a key is found by its id in any', async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const [live, sandbox] = [{ ...newKey(account.id), isTest: false }, newKey(account.id)];
    await store.createKey(live, hashOf(0), 9);
    await store.createKey(sandbox, hashOf(1), 9);
    await store.createDomain(newDomain(account.id, 'one.example'), 9);
    expect(await store.keys(other.id, { limit: 9 })).toEqual([]);
    expect(await store.domains(other.id, { limit: 9 })).toEqual([]);
    expect(await store.testKeys(account.id)).toEqual([sandbox]);
    expect(await store.key(live.id)).toEqual(live);
    expect(await store.revokeKey(account.id, live.id, 7)).toBe(true);
    expect(await store.key(live.id)).toEqual({ ...live, revokedAt: 7 });
    expect(await store.key(NOT_AN_ID)).toBeNull();
    expect(await store.key(account.id)).toBeNull();
  });
});
