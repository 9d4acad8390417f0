/** Retention against a real store: what goes when, and what stays. */
import { expect, test } from 'bun:test';
import { Retention } from '../../src/flow/retention.ts';
import { ACCEPT, draft, mailbox, openHouse, type House } from './house.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** One round, whenever it is due; resolves when `isDone` holds. */
async function round(
  house: House,
  retention: Retention,
  isDone: () => Promise<boolean>,
): Promise<void> {
  retention.start();
  for (const until = Date.now() + 10_000; !(await isDone()) && Date.now() < until;) {
    await house.clock.advance(60_000);
  }
  await retention.stop();
}

test('content goes after its time, except of mail that still waits; the email itself stays', async () => {
  const house = await openHouse({ toml: '[retention]\nbodies = "3d"\n' });
  const sender = await house.sender();
  await house.verified(sender, 'acme.example');
  const done = await house.accept(sender, draft({ to: [mailbox('delivered@sandbox.test')] }));
  const waiting = await house.accept(sender, draft());
  const bodyOf = async ([id = '']: string[]) =>
    (await house.ctx.store.body(sender.account.id, id))?.body ?? null;
  house.clock.jump(2 * DAY_MS);
  const fresh = await house.accept(sender, draft({ to: [mailbox('delivered@sandbox.test')] }));
  house.clock.jump(DAY_MS + HOUR_MS);
  await round(
    house,
    new Retention(house.ctx),
    async () => (await bodyOf(done.messageIds)) === null,
  );
  expect(await bodyOf(done.messageIds)).toBeNull();
  expect(await bodyOf(waiting.messageIds)).not.toBeNull();
  expect(await bodyOf(fresh.messageIds)).not.toBeNull();
  expect(await house.ctx.store.emailsByPage(sender.account.id, 1, 10)).toHaveLength(3);
  expect((await house.stored(done)).events.length).toBeGreaterThan(0);
  await house.close();
});

test('"0" keeps no content once a message is final', async () => {
  const house = await openHouse({ toml: '[retention]\nbodies = "0"\n' });
  const sender = await house.sender({ isTest: true });
  const { messageIds } = await house.accept(sender, draft());
  const [id = ''] = messageIds;
  const isGone = async () => (await house.ctx.store.body(sender.account.id, id))?.body === null;
  const retention = new Retention(house.ctx);
  await round(house, retention, isGone);
  expect(await isGone()).toBe(true);

  // Nor does the next one stay for an hour because a round has just been.
  retention.start();
  await house.clock.advance(60_000);
  const [later = ''] = (await house.accept(sender, draft())).messageIds;
  const isLaterGone = async () =>
    (await house.ctx.store.body(sender.account.id, later))?.body === null;
  for (let minutes = 0; minutes < 30 && !(await isLaterGone()); minutes += 1) {
    await house.clock.advance(60_000);
    // A round works in steps of the store's threads.
    await Bun.sleep(5);
  }
  expect(await isLaterGone()).toBe(true);
  await retention.stop();
  await house.close();
});

test('request logs go by the plan of each account', async () => {
  const house = await openHouse({ toml: '[[plans]]\nid = "week"\nlog_retention_days = 7\n' });
  const senders = [
    await house.sender({ name: 'a', plan: 'week' }),
    await house.sender({ name: 'b' }),
  ];
  for (const { account, requestId } of senders) {
    await house.ctx.store.appendLogs([
      {
        id: requestId,
        accountId: account.id,
        keyId: null,
        keyName: null,
        keyPermission: null,
        method: 'GET',
        path: '/emails',
        status: 200,
        durationMs: 1,
        messageId: null,
        userAgent: null,
        ip: null,
        requestBody: null,
        responseBody: null,
        createdAt: house.clock.now(),
      },
    ]);
  }
  const isKept = () =>
    Promise.all(
      senders.map(
        async ({ account, requestId }) =>
          (await house.ctx.store.log(account.id, requestId)) !== null,
      ),
    );
  house.clock.jump(8 * DAY_MS);
  const retention = new Retention(house.ctx);
  await round(house, retention, async () => (await isKept())[0] === false);
  expect(await isKept()).toEqual([false, true]);
  house.clock.jump(30 * DAY_MS);
  await round(house, retention, async () => (await isKept())[1] === false);
  expect(await isKept()).toEqual([false, false]);
  await house.close();
});

test('history goes after its own time, idempotency records when they have expired', async () => {
  const house = await openHouse({ toml: '[retention]\nhistory = "40d"\n' });
  const sender = await house.sender({ isTest: true });
  const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
  const old = await house.accept(sender, draft(), { ...ACCEPT, idempotency });
  house.clock.jump(30 * DAY_MS);
  const young = await house.accept(sender, draft());
  house.clock.jump(11 * DAY_MS);
  const eventsOf = async (of: typeof old) => (await house.stored(of)).events.length;
  await round(house, new Retention(house.ctx), async () => (await eventsOf(old)) === 0);
  expect([await eventsOf(old), await eventsOf(young)]).toEqual([0, 3]);
  // Read with a time at which the record would still hold: it has really gone.
  const at = house.clock.now() - 41 * DAY_MS;
  expect(await house.ctx.store.idempotencyRecord(sender.account.id, 'k', at)).toBeNull();
  await house.close();
});

test('a failure is told, and the next round comes all the same', async () => {
  const house = await openHouse();
  let rounds = 0;
  const store = {
    ...house.ctx.store,
    purgeBodies: () => {
      rounds += 1;
      return Promise.reject(new Error('disk I/O error'));
    },
  };
  const retention = new Retention({ ...house.ctx, store });
  await round(house, retention, async () => rounds >= 2);
  expect(rounds).toBeGreaterThanOrEqual(2);
  expect(house.logged.filter(({ event }) => event === 'retention failed').length).toBeGreaterThan(
    0,
  );
  await house.close();
});
