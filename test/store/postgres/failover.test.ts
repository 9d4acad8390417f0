/**
 * The primary dies and a standby becomes the primary: nothing that was answered is lost, nothing is written twice, and mail goes
 * on. `FAILOVERS` says how often.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import type { Log } from '../../../src/base/log.ts';
import type { AcceptBatch, NewMessage } from '../../../src/store/journey.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { Account } from '../../../src/store/rows.ts';
import { StoreUnwritableError } from '../../../src/store/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { PostgresServer } from '../../rig/postgres.ts';
import { batchOf, finishOf, newAccount, newMessage, recipientOf } from '../samples.ts';

const FAILOVERS = Number(process.env['FAILOVERS'] ?? 3);
const MOST_MS_WITHOUT_MAIL = 15_000;
const log: Log = { info() {}, warn() {}, error() {} };

/** A URL with all the servers as hosts. */
function urlOf(servers: readonly PostgresServer[], database: string): string {
  const hosts = servers.map(({ directory }) => encodeURIComponent(directory)).join(',');
  return `postgres://postrider@${hosts}/${database}?sslmode=disable`;
}

/** What clients do that never give up: each email is sent with a key until it is accepted, and then delivered. */
class Load {
  /** Accepted, in the order of the answers, with when (`performance.now()`). */
  readonly accepted: { id: string; at: number }[] = [];
  sent = 0;
  delivered = 0;
  #isOver = false;
  readonly #clients: Promise<void>[];

  constructor(store: Store, account: Account, clients = 6) {
    this.#clients = Array.from({ length: clients }, () => this.#send(store, account));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  /** Resolves with the time until the first email that is accepted from now on. */
  async next(): Promise<number> {
    const [beganAt, before] = [performance.now(), this.accepted.length];
    while (this.accepted.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return performance.now() - beganAt;
  }

  async #send(store: Store, account: Account): Promise<void> {
    while (!this.#isOver) {
      const message = newMessage(account.id);
      this.sent += 1;
      const batch: AcceptBatch = {
        ...batchOf(account.id, message),
        idempotency: {
          key: message.message.id,
          route: 'POST /emails',
          bodyHash: 'x',
          status: 202,
          response: '{}',
          createdAt: Date.now(),
          expiresAt: Date.now() + 3_600_000,
        },
      };
      const { kind } = await untilWritten(() => store.accept(batch));
      expect(['accepted', 'replay']).toContain(kind);
      this.accepted.push({ id: message.message.id, at: performance.now() });
      await this.#deliver(store, message);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #deliver(store: Store, message: NewMessage): Promise<void> {
    const recipient = recipientOf(message);
    await untilWritten(() => store.finish(finishOf(message, recipient)));
    this.delivered += 1;
  }
}

async function untilWritten<T>(write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnwritableError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function idsIn(store: Store, account: Account): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = null; ;) {
    const page = { limit: 1_000, after, before: null, q: null, status: null };
    const { rows, hasMore } = await store.emails(account.id, page);
    ids.push(...rows.map(({ id }) => id));
    if (!hasMore) return ids;
    after = rows.at(-1)?.id ?? null;
  }
}

/** Bytes of the log that the server has from its primary. */
async function received(server: PostgresServer): Promise<number> {
  const admin = server.admin();
  const [row] = (await admin.unsafe(
    "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::float8 AS bytes",
  )) as { bytes: number }[];
  await admin.close();
  return row?.bytes ?? 0;
}

describe('a primary that is killed under load', () => {
  let servers: PostgresServer[] = [];
  let url = '';

  /** Of the standbys `names` COMMIT waits for one. */
  async function startAll(names: string): Promise<void> {
    const primary = await PostgresServer.start();
    const database = await primary.freshDatabase();
    const admin = primary.admin();
    // Stands in the data, which the standbys copy: whoever becomes the primary waits for the others.
    await admin.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await admin.unsafe('SELECT pg_reload_conf()');
    await admin.close();
    servers = [primary];
    for (const name of ['second', 'third']) {
      servers.push(await PostgresServer.start({ follows: { primary, name } }));
    }
    url = urlOf(servers, database.slice(database.lastIndexOf('/') + 1, database.indexOf('?')));
  }

  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  beforeAll(() => startAll('ANY 1 (*)'), 60_000);

  test(
    'loses nothing that was answered, and mail goes on soon after the promotion',
    async () => {
      const store = await openPostgres({
        url,
        passwordFile: '',
        now: Date.now(),
        requireStandby: { log },
      });
      const account = newAccount('default');
      await store.createAccount(account);
      const load = new Load(store, account);
      let [primary, ...standbys] = servers as [PostgresServer, ...PostgresServer[]];
      const gaps: number[] = [];
      for (let round = 0; round < FAILOVERS; round += 1) {
        await load.next();
        await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 700));
        await primary.kill();
        const [a, b] = standbys as [PostgresServer, PostgresServer];
        // As a manager of failovers does: whoever has most becomes the primary.
        const [next, other] = (await received(a)) >= (await received(b)) ? [a, b] : [b, a];
        const mail = load.next();
        await next.promote();
        await other.follow({ primary: next, name: `other${round}` });
        gaps.push(await mail);
        await primary.rejoin({ primary: next, name: `again${round}` });
        [primary, standbys] = [next, [other, primary]];
      }
      await load.stop();
      const stored = await idsIn(store, account);
      const answered = load.accepted.map(({ id }) => id);
      process.stdout.write(
        `${FAILOVERS} failovers: ${answered.length} accepted, ms without mail: ${gaps.map(Math.round).join(' ')}\n`,
      );
      expect(stored.toSorted()).toEqual(answered.toSorted());
      expect(load.delivered).toBe(load.sent);
      expect((await store.countsByStatus(account.id, 0)).delivered).toBe(answered.length);
      expect(Math.max(...gaps)).toBeLessThan(MOST_MS_WITHOUT_MAIL);
      await store.close();
    },
    60_000 + FAILOVERS * 30_000,
  );
});

test('control: an asynchronous standby that was behind loses what was answered', async () => {
  const primary = await PostgresServer.start();
  const database = await primary.freshDatabase();
  const standby = await PostgresServer.start({ follows: { primary, name: 'second' } });
  const name = database.slice(database.lastIndexOf('/') + 1, database.indexOf('?'));
  const store = await openPostgres({
    url: urlOf([primary, standby], name),
    passwordFile: '',
    now: Date.now(),
  });
  const account = newAccount('default');
  await store.createAccount(account);
  while ((await received(standby)) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  standby.freezeReceiver(true);
  // More than the connection between the two holds, and nothing that could be compressed.
  const large = (): string => crypto.getRandomValues(Buffer.alloc(64 * 1024)).toString('hex');
  const answered: string[] = [];
  for (let at = 0; at < 20; at += 1) {
    const message = newMessage(account.id);
    message.body.html = large() + large();
    await store.accept(batchOf(account.id, message));
    answered.push(message.message.id);
  }
  await primary.kill();
  standby.freezeReceiver(false);
  await standby.promote();
  const stored = await idsIn(store, account);
  expect(stored.length).toBeLessThan(answered.length);
  await store.close();
  await Promise.all([primary.stop(), standby.stop()]);
}, 60_000);
