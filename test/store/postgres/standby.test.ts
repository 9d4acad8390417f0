/** `require_standby`: an acceptance is answered when a synchronous standby has it, and refused while there is none. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import type { Log } from '../../../src/base/log.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import { StoreUnconfirmedError } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { PostgresServer } from '../../rig/postgres.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';

/** A log that says when an event has been written. */
class Events implements Log {
  readonly seen: { event: string; hint: unknown }[] = [];
  readonly #waiting: { event: string; tell: (hint: unknown) => void }[] = [];

  readonly info = (event: string, fields: Record<string, unknown> = {}): void =>
    this.#note(event, fields);
  readonly warn = this.info;
  readonly error = this.info;

  /** Resolves with the hint of the next one. */
  next(event: string): Promise<unknown> {
    return new Promise((tell) => this.#waiting.push({ event, tell }));
  }

  #note(event: string, { hint }: Record<string, unknown>): void {
    this.seen.push({ event, hint });
    const at = this.#waiting.findIndex((one) => one.event === event);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.tell(hint);
  }
}

describe('a database with a standby', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let url = '';

  /** Sets whom COMMIT waits for, and resolves when the server does. */
  async function waitFor(names: string): Promise<void> {
    const admin = primary.admin();
    await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await admin.unsafe('SELECT pg_reload_conf()');
    const state = names === '' ? 'async' : 'sync';
    for (;;) {
      const rows = (await admin.unsafe('SELECT sync_state FROM pg_stat_replication')) as {
        sync_state: string;
      }[];
      if (rows.some(({ sync_state }) => sync_state === state)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await admin.close();
  }

  /** Runs `body` on a store that needs a standby, or not. */
  async function withStore(
    body: (store: Store, account: Account, events: Events) => Promise<void>,
    { isRequired = true, patienceMs = 1_000 } = {},
  ): Promise<void> {
    const events = new Events();
    const required = isRequired ? { requireStandby: { log: events } } : {};
    const store = await openPostgres({
      url,
      passwordFile: '',
      now: Date.now(),
      patienceMs,
      ...required,
    });
    const account = newAccount(crypto.randomUUID());
    await store.createAccount(account);
    try {
      await body(store, account, events);
    } finally {
      await store.close();
    }
  }

  const send = (store: Store, account: Account): Promise<unknown> =>
    store.accept(batchOf(account.id, newMessage(account.id))).then(
      ({ kind }) => kind,
      (error: unknown) => error,
    );

  /** Does `change` while an acceptance waits for the standby. */
  async function whileItWaits(
    sent: Promise<unknown>,
    change: (pid: number) => Promise<void>,
  ): Promise<unknown> {
    const admin = primary.admin();
    for (;;) {
      const rows = (await admin.unsafe(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
      )) as { pid: number }[];
      const [row] = rows;
      if (row !== undefined) {
        await change(row.pid);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await admin.close();
    return sent;
  }

  const cancel = async (pid: number): Promise<void> => {
    const admin = primary.admin();
    await admin.unsafe('SELECT pg_cancel_backend($1)', [pid]);
    await admin.close();
  };

  beforeAll(async () => {
    primary = await PostgresServer.start();
    url = await primary.freshDatabase();
    standby = await PostgresServer.start({ follows: { primary, name: 'second' } });
    await waitFor('second');
  }, 60_000);

  afterAll(async () => {
    await standby.stop();
    await primary.stop();
  });

  test(
    'accepts; with an asynchronous one alone refuses and says why, and goes on when that has changed',
    () =>
      withStore(async (store, account, events) => {
        expect(await send(store, account)).toBe('accepted');
        const hasStandby = async () => (await store.databaseState())?.hasStandby;
        expect(await hasStandby()).toBe(true);
        const missing = events.next('standby_missing');
        await waitFor('');
        expect(await missing).toContain('Set synchronous_standby_names on the primary');
        expect(await hasStandby()).toBe(false);
        expect(await send(store, account)).toBeInstanceOf(StoreUnconfirmedError);
        expect((await store.countsByStatus(account.id, 0)).queued).toBe(1);
        const back = events.next('standby_back');
        await waitFor('second');
        await back;
        expect(await hasStandby()).toBe(true);
        expect(await send(store, account)).toBe('accepted');
      }),
    20_000,
  );

  test('starts also without one, and refuses', async () => {
    await waitFor('');
    await withStore(async (store, account, events) => {
      expect(events.seen.map(({ event }) => event)).toEqual(['standby_missing']);
      expect(await send(store, account)).toBeInstanceOf(StoreUnconfirmedError);
    });
    await waitFor('second');
  }, 20_000);

  test('a role that may not see the standbys is told so', async () => {
    const admin = primary.admin(url.slice(url.lastIndexOf('/') + 1, url.indexOf('?')));
    await admin.unsafe('CREATE ROLE blind LOGIN');
    await admin.unsafe('GRANT CREATE ON SCHEMA public TO blind');
    await admin.unsafe('GRANT ALL ON ALL TABLES IN SCHEMA public TO blind');
    const events = new Events();
    const options = { passwordFile: '', now: Date.now(), requireStandby: { log: events } };
    const ofBlind = url.replace('postrider@', 'blind@');
    await (await openPostgres({ url: ofBlind, ...options })).close();
    expect(events.seen).toHaveLength(1);
    expect(events.seen[0]?.hint).toContain('Grant the role of [store] url the role pg_monitor');
    await admin.unsafe('GRANT pg_monitor TO blind');
    await (await openPostgres({ url: ofBlind, ...options })).close();
    expect(events.seen).toHaveLength(1);
    await admin.close();
  }, 20_000);

  /** What an acceptance is answered whose wait for a frozen standby ends by `change`. */
  function whileFrozen(
    change: (pid: number) => Promise<void>,
    isRequired: boolean,
  ): Promise<unknown> {
    let answer: unknown;
    return withStore(
      async (store, account) => {
        standby.freezeReceiver(true);
        try {
          answer = await whileItWaits(send(store, account), change);
        } finally {
          standby.freezeReceiver(false);
        }
      },
      { isRequired },
    ).then(() => answer);
  }

  test('a wait that somebody cancels is not taken for an answer', async () => {
    expect(await whileFrozen(cancel, true)).toBeInstanceOf(StoreUnconfirmedError);
    // Without the setting it is: the server says that it has committed.
    expect(await whileFrozen(cancel, false)).toBe('accepted');
  }, 30_000);

  test('a wait that ends because the list of standbys was emptied is not taken for an answer', async () => {
    const answer = await whileFrozen(() => waitFor(''), true);
    expect(answer).toBeInstanceOf(StoreUnconfirmedError);
    await waitFor('second');
  }, 30_000);

  test('while COMMIT waits and no standby is left, whoever waits is refused after seconds', async () => {
    await withStore(async (store, account) => {
      await standby.pause();
      const beganAt = performance.now();
      const answers = await Promise.all(Array.from({ length: 3 }, () => send(store, account)));
      for (const answer of answers) expect(answer).toBeInstanceOf(StoreUnconfirmedError);
      expect(performance.now() - beganAt).toBeLessThan(15_000);
      await standby.resume();
    });
  }, 60_000);
});
