/** Sessions of nodes: what one owns is its own until it ends, free from then on, and nothing of it is written later. */
import { describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';

import type { NewSession } from '../../../src/store/nodes.ts';
import { SessionEndedError } from '../../../src/store/nodes.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import type { PostgresStore } from '../../../src/store/postgres/store.ts';
import type { Account, Call } from '../../../src/store/rows.ts';
import { newId } from '../../rig/ids.ts';
import { testServer } from '../../rig/postgres.ts';
import { finished } from '../call-steps.ts';
import {
  accepted,
  batchOf,
  dueRequest,
  finishOf,
  newAccount,
  newMessage,
  recipientOf,
} from '../samples.ts';

interface Stage {
  account: Account;
  admin: SQL;
  /** A further store on the database, with a session of this name in a directory of its own. */
  node: (name: string) => Promise<PostgresStore & { session: string }>;
}

const sessionOf = (name: string): NewSession => ({
  id: newId(Date.now()),
  name,
  directory: `directory of ${name}`,
  addresses: [],
  version: '1.0.0',
});

async function onStage(body: (stage: Stage) => Promise<void>): Promise<void> {
  const server = await testServer();
  const url = await server.freshDatabase();
  const admin = server.admin(url.slice(url.lastIndexOf('/') + 1, url.indexOf('?')));
  const stores: PostgresStore[] = [];
  const open = async (): Promise<PostgresStore> => {
    const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
    stores.push(store);
    return store;
  };
  try {
    const account = newAccount('default');
    await (await open()).createAccount(account);
    const node = async (name: string): Promise<PostgresStore & { session: string }> => {
      const store = await open();
      const session = sessionOf(name);
      await store.nodes.begin(session);
      return { ...store, session: session.id };
    };
    await body({ account, admin, node });
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await admin.close();
  }
}

/** Whose each recipient of the queue is. */
async function owners(admin: SQL): Promise<(string | null)[]> {
  const rows = (await admin.unsafe('SELECT owner FROM queue ORDER BY recipient_id')) as {
    owner: string | null;
  }[];
  return rows.map(({ owner }) => owner);
}

/** The lease of every session is over by so many seconds. */
const letLapse = (admin: SQL, seconds: number) =>
  admin.unsafe(
    `UPDATE sessions SET lease_until = clock_timestamp() - interval '${seconds} s' WHERE ended_at IS NULL`,
  );

/** Keeps all rows of the queue locked while `body` runs. */
async function withQueueLocked<T>(admin: SQL, body: () => Promise<T>): Promise<T> {
  await admin.unsafe('BEGIN');
  await admin.unsafe('SELECT 1 FROM queue FOR UPDATE');
  const result = await body();
  await admin.unsafe('ROLLBACK');
  return result;
}

/** Resolves when somebody waits for a lock of this kind: a row's is of its `transactionid`. */
async function someoneWaits(admin: SQL, kind: 'transactionid' | 'advisory'): Promise<void> {
  const asked = `SELECT 1 FROM pg_locks WHERE locktype = '${kind}' AND NOT granted`;
  while ((await admin.unsafe(asked)).length === 0) await Bun.sleep(5);
}

const beginOf = (owner: string, recipientId: string) => ({
  recipientId,
  owner,
  leaseUntil: Date.now() + 60_000,
  nextAttemptAt: Date.now() + 15_000,
});

describe('a session', () => {
  test('has the lowest number that no live one has, and gives it back at its end', () =>
    onStage(async ({ admin, node }) => {
      const [a, b] = [await node('a'), await node('b')];
      await node('c');
      await a.nodes.end();
      await node('d');
      await node('e');
      await b.nodes.end();
      const rows = (await admin.unsafe(
        'SELECT name, number FROM sessions WHERE ended_at IS NULL ORDER BY number',
      )) as { name: string; number: number }[];
      expect(rows.map(({ name, number }) => [name, number])).toEqual([
        ['d', 0],
        ['c', 2],
        ['e', 3],
      ]);
    }));

  test('that others begin at the same moment has a number of its own', () =>
    onStage(async ({ admin, node }) => {
      await Promise.all(Array.from({ length: 6 }, (_, at) => node(`n${at}`)));
      const rows = (await admin.unsafe('SELECT number FROM sessions ORDER BY number')) as {
        number: number;
      }[];
      expect(rows.map(({ number }) => number)).toEqual([0, 1, 2, 3, 4, 5]);
    }));

  test('lives while it beats, and hears of the end of others', () =>
    onStage(async ({ node }) => {
      const [a, b] = [await node('a'), await node('b')];
      const first = await a.nodes.beat();
      const { at, ...second } = await a.nodes.beat();
      expect([first.isLive, { ...second, at: first.at }]).toEqual([true, first]);
      expect(at).toBeGreaterThan(first.at);
      expect(Math.abs(at - Date.now())).toBeLessThan(10_000);
      await b.nodes.end();
      const later = await a.nodes.beat();
      expect(later.isLive).toBe(true);
      expect(later.endings).not.toBe(first.endings);
      expect((await b.nodes.beat()).isLive).toBe(false);
    }));
});

test('sessions are listed until their end, and asked to drain by name or id', () =>
  onStage(async ({ node }) => {
    // By name, whichever began first.
    const [b, a] = [await node('b'), await node('a')];
    const listed = await a.nodes.list();
    expect(listed.map(({ id, name, version }) => [id, name, version])).toEqual([
      [a.session, 'a', '1.0.0'],
      [b.session, 'b', '1.0.0'],
    ]);
    expect(Math.abs((listed[0]?.beganAt ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(Math.abs(listed[0]?.heardMsAgo ?? Infinity)).toBeLessThan(10_000);
    expect([await a.nodes.askToDrain('b'), await a.nodes.askToDrain('c')]).toEqual([
      [b.session],
      [],
    ]);
    expect([await b.nodes.beat(), await a.nodes.beat()]).toMatchObject([
      { isDrainAsked: true },
      { isDrainAsked: false },
    ]);
    expect(await b.nodes.askToDrain(a.session)).toEqual([a.session]);
    await b.nodes.end();
    expect(await a.nodes.list()).toMatchObject([{ name: 'a', isDrainAsked: true }]);
    for (const gone of ['b', b.session]) expect(await a.nodes.askToDrain(gone)).toEqual([]);
  }));

test('who begins in a directory by a name ends what it left there, and nobody else; all is listed as it was told', () =>
  onStage(async ({ admin, node }) => {
    const a = await node('a');
    const session = { name: 'x', directory: '/x', addresses: ['192.0.2.7', '2001:db8::7'] };
    const begin = async (id: string, change: Partial<NewSession> = {}): Promise<string> => {
      await a.nodes.begin({ ...session, id, version: '1.2.3', ...change });
      return id;
    };
    const before = Date.now();
    const left = await begin(newId(before));
    const kept = [
      a.session,
      await begin(newId(before), { name: 'y' }),
      await begin(newId(before), { directory: '/y', version: '7' }),
    ];
    const now = await begin(newId(before));
    const listed = await a.nodes.list();
    expect(listed.map(({ id }) => id).toSorted()).toEqual([...kept, now].toSorted());
    expect(listed.find(({ id }) => id === now)).toEqual({
      id: now,
      name: 'x',
      version: '1.2.3',
      addresses: session.addresses,
      beganAt: expect.any(Number),
      heardMsAgo: expect.any(Number),
      isDrainAsked: false,
      report: null,
    });
    const [ended] = (await admin.unsafe(
      'SELECT ended_at IS NOT NULL AS ended FROM sessions WHERE session = $1',
      [left],
    )) as { ended: boolean }[];
    expect(ended).toEqual({ ended: true });
    // What a process ends is the session that it began last.
    await a.nodes.end();
    expect((await a.nodes.list()).map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
  }));

test('who has no session is not live, counts as one more, and ends nothing', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const none = { at: expect.any(Number), isLive: false, isDrainAsked: false, live: 1, endings: '' };
  expect(await store.nodes.beat()).toEqual(none);
  await store.nodes.end();
  expect(await store.nodes.endLost()).toEqual([]);
  expect(await store.nodes.beat({ taken: 1, inDelivery: 1, clockAheadMs: 1 })).toEqual(none);
  expect(await store.nodes.list()).toEqual([]);
  await store.close();
});

test('what a session says of itself with its last beat is seen by all, until it says nothing', () =>
  onStage(async ({ node }) => {
    const [a, b] = [await node('a'), await node('b')];
    const report = { taken: 12, inDelivery: 3, clockAheadMs: -2_500 };
    await a.nodes.beat({ ...report, taken: 99 });
    await a.nodes.beat(report);
    const reports = async () => (await b.nodes.list()).map((one) => one.report);
    expect(await reports()).toEqual([report, null]);
    await a.nodes.beat();
    expect(await reports()).toEqual([null, null]);
  }));

describe('at the end of a session', () => {
  test('what it accepted, took and began is free, and what others own is not', () =>
    onStage(async ({ account, admin, node }) => {
      const [a, b] = [await node('a'), await node('b')];
      const [marked, taken, other] = [
        newMessage(account.id),
        newMessage(account.id),
        newMessage(account.id),
      ];
      marked.owner = a.session;
      await accepted(a, marked);
      await accepted(a, taken);
      const now = Date.now();
      const { ours } = await a.takeDue(dueRequest(a.session, now));
      expect(ours).toHaveLength(2);
      await a.begin([beginOf(a.session, recipientOf(taken).id)], now);
      other.owner = b.session;
      await accepted(b, other);
      await b.releaseLeases(null, now);
      expect(new Set(await owners(admin))).toEqual(new Set([a.session, b.session]));
      await a.nodes.end();
      expect((await owners(admin)).filter((owner) => owner !== null)).toEqual([b.session]);
    }));

  test('a transaction of it that has begun commits first, and is freed too', () =>
    onStage(async ({ account, admin, node }) => {
      const a = await node('a');
      const message = newMessage(account.id);
      await accepted(a, message);
      const { id } = recipientOf(message);
      const [begun, restarted] = await withQueueLocked(admin, async () => {
        const claimed = a.begin([beginOf(a.session, id)], Date.now());
        await someoneWaits(admin, 'transactionid');
        // The same server, started again after a kill: the transaction is its dead process's.
        const next = node('a');
        await someoneWaits(admin, 'advisory');
        return [claimed, next] as const;
      });
      expect(await begun).toHaveLength(1);
      await restarted;
      expect(await owners(admin)).toEqual([null]);
    }));

  test('nothing of it is written any more', () =>
    onStage(async ({ account, admin, node }) => {
      const [a, b] = [await node('a'), await node('b')];
      const message = newMessage(account.id);
      await accepted(a, message);
      const recipient = recipientOf(message);
      const { id } = recipient;
      const now = Date.now();
      await a.begin([beginOf(a.session, id)], now);
      await letLapse(admin, 31);
      expect(await b.nodes.endLost()).toEqual([a.session]);
      const late = finishOf(message, recipient, { owner: a.session });
      const neverBegun: Call = {
        id: newId(now),
        endpointId: newId(now),
        accountId: account.id,
        eventId: newId(now),
        eventType: 'email.sent',
        messageId: message.message.id,
        body: '',
        status: 'open',
        attempts: 1,
        nextAttemptAt: now,
        createdAt: now,
        requestId: null,
      };
      const writes = [
        a.finish(late),
        a.begin([beginOf(a.session, id)], now),
        a.takeDue(dueRequest(a.session, now + 60_000)),
        a.accept(batchOf(account.id, newMessage(account.id))),
        a.beginCalls([], now),
        a.noteSent([]),
        a.finishCall(finished(neverBegun, true)),
        a.releaseLeases(a.session, now),
        a.retryNow({ id: null, domain: null }, now),
      ];
      const causes = (await Promise.allSettled(writes)).map((end) =>
        end.status === 'rejected' ? end.reason : null,
      );
      const ended = new SessionEndedError('the session of this server was ended');
      expect(causes).toEqual(writes.map(() => ended));
      for (const cause of causes) expect(cause).toBeInstanceOf(SessionEndedError);
      expect(await b.recipients(message.message.id)).toMatchObject([{ status: 'queued' }]);
      expect(await b.attempts(message.message.id)).toEqual([]);
      expect(await owners(admin)).toEqual([null]);
    }));
});

describe('a lost session', () => {
  test('counts among the live ones until its lease is over', () =>
    onStage(async ({ admin, node }) => {
      const live = async (one: { nodes: { beat(): Promise<{ live: number }> } }): Promise<number> =>
        (await one.nodes.beat()).live;
      const a = await node('a');
      expect(await live(a)).toBe(1);
      const [b, c] = [await node('b'), await node('c')];
      expect([await live(a), await live(b)]).toEqual([3, 3]);
      await c.nodes.end();
      expect(await live(a)).toBe(2);
      await letLapse(admin, 0);
      // Its own lease was over as well: that it beats makes it live.
      expect([await live(a), await live(b)]).toEqual([1, 2]);
    }));

  test('is ended when its lease is over by 30 s, not before; who ends it lives on', () =>
    onStage(async ({ admin, node }) => {
      const [a, b] = [await node('a'), await node('b')];
      await letLapse(admin, 25);
      expect(await b.nodes.endLost()).toEqual([]);
      expect((await a.nodes.beat()).isLive).toBe(true);
      await letLapse(admin, 31);
      expect(await b.nodes.endLost()).toEqual([a.session]);
      expect([(await a.nodes.beat()).isLive, (await b.nodes.beat()).isLive]).toEqual([false, true]);
    }));

  test('that beats while others wait to end it lives on', () =>
    onStage(async ({ account, admin, node }) => {
      const [a, b] = [await node('a'), await node('b')];
      const message = newMessage(account.id);
      await accepted(a, message);
      await letLapse(admin, 31);
      await b.nodes.beat();
      const [begun, ended] = await withQueueLocked(admin, async () => {
        const claimed = a.begin([beginOf(a.session, recipientOf(message).id)], Date.now());
        await someoneWaits(admin, 'transactionid');
        const ending = b.nodes.endLost();
        await someoneWaits(admin, 'advisory');
        expect((await a.nodes.beat()).isLive).toBe(true);
        return [claimed, ending] as const;
      });
      expect([await ended, (await begun).length]).toEqual([[], 1]);
      expect(await owners(admin)).toEqual([a.session]);
    }));
});
