/** Lost connections: what was answered stands once, what was in doubt is looked up, and nothing is written twice. */
import { describe, expect, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { lasting, part } from '../../../src/store/postgres/statement.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { StoreAwayError } from '../../../src/store/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { DatabaseProxy } from '../../rig/database-proxy.ts';
import type { Loss } from '../../rig/database-proxy.ts';
import { PostgresServer, testServer } from '../../rig/postgres.ts';
import { batchOf, finishOf, newAccount, newEndpoint, newMessage } from '../samples.ts';

interface Parts {
  store: Store;
  account: Account;
  proxy: DatabaseProxy;
}

/** A store that reaches its database through a proxy. */
async function withProxy(body: (parts: Parts) => Promise<void>): Promise<void> {
  const server = await testServer();
  const direct = await server.freshDatabase();
  const proxy = new DatabaseProxy(server.socket);
  const url = direct.replace(
    encodeURIComponent(server.directory),
    encodeURIComponent(proxy.directory),
  );
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  try {
    const account = newAccount('default');
    await store.createAccount(account);
    await body({ store, account, proxy });
  } finally {
    await store.close();
    proxy.stop();
  }
}

const accepted = async (store: Store, { id }: Account): Promise<number> =>
  (await store.countsByStatus(id, 0)).queued;

describe('a connection that is lost while it commits', () => {
  for (const loss of ['before', 'after'] satisfies Loss[]) {
    test(`${loss} the server has: an acceptance is answered, and stands once`, () =>
      withProxy(async ({ store, account, proxy }) => {
        proxy.lose(loss);
        const message = newMessage(account.id);
        const answer = await store.accept(batchOf(account.id, message));
        expect([answer.kind, proxy.losses]).toEqual(['accepted', 1]);
        expect(await accepted(store, account)).toBe(1);
        expect(await store.messageById(message.message.id)).not.toBeNull();
      }));

    test(`${loss} the server has: the end of an attempt is counted once, and its calls are told`, () =>
      withProxy(async ({ store, account, proxy }) => {
        await store.createEndpoint(newEndpoint(account.id), 10);
        const message = newMessage(account.id);
        await store.accept(batchOf(account.id, message));
        const [recipient] = message.recipients;
        if (recipient === undefined) throw new Error('no recipient');
        proxy.lose(loss, loss, loss);
        const { calls, messageStatus } = await store.finish(finishOf(message, recipient));
        expect([calls.length, messageStatus]).toEqual([1, 'delivered']);
        expect((await store.countsByStatus(account.id, 0)).delivered).toBe(1);
        expect(await store.attempts(message.message.id)).toHaveLength(1);
      }));
  }

  test('and whose fate is asked in vain: the question is put again', () =>
    withProxy(async ({ store, account, proxy }) => {
      proxy.lose('before');
      proxy.loseAt('is_lost', 'after');
      proxy.loseAt('is_lost', 'before');
      expect((await store.accept(batchOf(account.id, newMessage(account.id)))).kind).toBe(
        'accepted',
      );
      expect([await accepted(store, account), proxy.losses]).toEqual([1, 3]);
    }));

  test('again and again: every answer is true', () =>
    withProxy(async ({ store, account, proxy }) => {
      const losses: Loss[] = ['after', 'before', 'before', 'after', 'after', 'after', 'before'];
      proxy.lose(...losses);
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          await new Promise((resolve) => setTimeout(resolve, at * 3));
          return store.accept(batchOf(account.id, newMessage(account.id)));
        }),
      );
      expect(answers.every(({ kind }) => kind === 'accepted')).toBe(true);
      expect(await accepted(store, account)).toBe(20);
    }));
});

describe('a server', () => {
  test('that ends all sessions under load loses nothing that was answered, and doubles nothing', async () => {
    const server = await testServer();
    const url = await server.freshDatabase();
    const options = { url, passwordFile: '', now: Date.now(), patienceMs: 60_000 };
    const store = await openPostgres(options);
    const account = newAccount('default');
    await store.createAccount(account);
    const admin = server.admin();
    const answered: string[] = [];
    // Each end follows an answer, 0 to 3 ms later, so that it meets the next commit at another moment.
    // By the clock alone, a slow machine would lose each session before it is open. The load lasts until enough
    // have been ended: a server that ends them slowly would otherwise meet few commits, or none.
    let onAnswer: (() => void) | null = null;
    const ended: number[] = [];
    const isEnough = (): boolean => ended.filter((sessions) => sessions > 0).length >= 16;
    const ending = (async () => {
      while (!isEnough()) {
        await new Promise<void>((resolve) => {
          onAnswer = resolve;
        });
        await new Promise((resolve) => setTimeout(resolve, ended.length % 4));
        const rows: unknown[] = await admin.unsafe(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postrider' AND datname = $1",
          [url.slice(url.lastIndexOf('/') + 1, url.indexOf('?'))],
        );
        ended.push(rows.length);
      }
    })();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let at = 0; at < 24 || !isEnough(); at += 1) {
          const message = newMessage(account.id);
          await store.accept(batchOf(account.id, message));
          answered.push(message.message.id);
          onAnswer?.();
        }
      }),
    );
    await ending;
    await admin.close();
    expect(ended.filter((sessions) => sessions > 0).length).toBeGreaterThanOrEqual(16);
    expect(answered.length).toBeGreaterThanOrEqual(480);
    const page = { limit: answered.length + 1, after: null, before: null, q: null, status: null };
    const { rows } = await store.emails(account.id, page);
    expect(rows.map(({ id }) => id).toSorted()).toEqual(answered.toSorted());
    expect(await accepted(store, account)).toBe(answered.length);
    await store.close();
  }, 60_000);

  test('that is away refuses in time, and is used again when it is back', async () => {
    const server = await PostgresServer.start();
    const url = await server.freshDatabase();
    const store = await openPostgres({ url, passwordFile: '', now: Date.now(), patienceMs: 300 });
    const account = newAccount('default');
    await store.createAccount(account);
    await server.pause();
    const refused = await store
      .accept(batchOf(account.id, newMessage(account.id)))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreAwayError);
    expect(await store.accounts().catch((error: unknown) => error)).toBeInstanceOf(StoreAwayError);
    expect((await store.databaseState())?.isAway).toBe(true);
    await server.resume();
    expect((await store.accept(batchOf(account.id, newMessage(account.id)))).kind).toBe('accepted');
    expect((await store.databaseState())?.isAway).toBe(false);
    expect(await accepted(store, account)).toBe(1);
    await store.close();
    await server.stop();
  }, 30_000);
});

test('a statement has its own time for an answer: past it the connection counts as lost', async () => {
  const database = new Database(databaseAddress(await (await testServer()).freshDatabase(), ''), 0);
  const slow = part('SELECT pg_sleep(0.4)::text AS slept');
  const lost = await database.first(lasting(slow, 50)).catch((error: unknown) => error);
  expect(lost).toBeInstanceOf(StoreAwayError);
  expect(await database.first(lasting(slow, 20_000))).toEqual({ slept: '' });
  expect(await database.transaction((session) => session.run(lasting(slow, 20_000)))).toBe(1);
  await database.close();
});
