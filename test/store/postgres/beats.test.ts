/** Beats of a session: their own connection, which is given up when it does not answer, and what an ending means. */
import { expect, spyOn, test } from 'bun:test';
import type { SQL } from 'bun';

import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, dueRequest, newAccount, newMessage, recipientOf } from '../samples.ts';

interface Stage {
  account: Account;
  admin: SQL;
  stores: readonly [PostgresStore, PostgresStore];
  /** Of the two stores. */
  sessions: readonly [string, string];
}

/** Two nodes on one new database. */
async function withNodes(body: (stage: Stage) => Promise<void>): Promise<void> {
  const server = await testServer();
  const url = await server.freshDatabase();
  const admin = server.admin(new URL(url).pathname.slice(1));
  const open = () => openPostgres({ url, passwordFile: '', now: Date.now() });
  const stores = [await open(), await open()] as const;
  const sessions = [newId(Date.now()), newId(Date.now())] as const;
  try {
    const account = newAccount('default');
    await stores[0].createAccount(account);
    for (const [at, { nodes }] of stores.entries()) {
      const id = sessions[at] ?? '';
      await nodes.begin({ id, name: `n${at}`, directory: id, addresses: [], version: '1.0.0' });
    }
    await body({ account, admin, stores, sessions });
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await admin.close();
  }
}

test('after a lost connection one beat fails, and the next goes over another', () =>
  withNodes(async ({ admin, stores: [{ nodes }] }) => {
    expect((await nodes.beat()).isLive).toBe(true);
    const gone = (await admin.unsafe(
      "SELECT pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE query LIKE 'WITH live AS%'" +
        ' AND datname = current_database()',
    )) as { gone: boolean }[];
    expect(gone.map((one) => one.gone)).toEqual([true]);
    expect(await nodes.beat().catch(() => 'lost')).toBe('lost');
    expect((await nodes.beat()).isLive).toBe(true);
  }));

test('a beat without an answer is given up after four seconds, and the next goes over another connection', () =>
  withNodes(async ({ admin, stores: [{ nodes }] }) => {
    const timers: { work: () => void; isCleared: boolean }[] = [];
    const real = { set: globalThis.setTimeout, clear: globalThis.clearTimeout };
    const set = spyOn(globalThis, 'setTimeout').mockImplementation(((
      work: () => void,
      ms: number,
    ) => {
      if (ms !== 4_000) return real.set(work, ms);
      const timer = { work, isCleared: false };
      timers.push(timer);
      return timer;
    }) as never);
    const clear = spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: never) => {
      const own = timers.find((one) => one === timer);
      if (own === undefined) real.clear(timer);
      else own.isCleared = true;
    }) as never);
    try {
      // An answer ends the waiting for it.
      await nodes.beat();
      expect(timers.map(({ isCleared }) => isCleared)).toEqual([true]);
      await admin.unsafe('BEGIN');
      await admin.unsafe('LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
      const beating = nodes.beat().catch(() => 'given up');
      while (timers.length < 2) await new Promise((resolve) => setImmediate(resolve));
      timers[1]?.work();
      expect(await beating).toBe('given up');
      await admin.unsafe('ROLLBACK');
      expect((await nodes.beat()).isLive).toBe(true);
      expect(timers.map(({ isCleared }) => isCleared)).toEqual([true, true, true]);
    } finally {
      set.mockRestore();
      clear.mockRestore();
    }
  }));

test('after a beat that tells of an ending the next look for due mail begins at the beginning, one time', () =>
  withNodes(async ({ account, stores: [a, b], sessions: [own, other] }) => {
    const now = Date.now();
    const wait = async (dueAgoMs: number, owner: string | null): Promise<string> => {
      const message = { ...newMessage(account.id), ...(owner !== null && { owner }) };
      recipientOf(message).nextAttemptAt = now - dueAgoMs;
      return recipientOf(await accepted(owner === null ? a : b, message)).id;
    };
    const found = async () => (await a.takeDue(dueRequest(own, now))).ours.map(({ id }) => id);
    const theirs = await wait(60_000, other);
    await a.nodes.beat();
    expect(await found()).toEqual([]);
    await b.nodes.end();
    expect(await found()).toEqual([]);
    await a.nodes.beat();
    expect(await found()).toEqual([theirs]);
    // What comes with an older time waits for a look from the beginning, which no later beat asks for.
    await wait(120_000, null);
    await a.nodes.beat();
    expect(await found()).toEqual([theirs]);
  }));
