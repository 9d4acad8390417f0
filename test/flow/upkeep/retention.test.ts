/** Retention against a real store: what goes when, and what stays. */
import { expect, test } from 'bun:test';
import { Periodic } from '../../../src/base/periodic.ts';
import { Retention } from '../../../src/flow/upkeep/retention.ts';
import { ACCEPT, draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const retentionOf = ({ ctx }: Fixture): Periodic => new Periodic(ctx, new Retention(ctx));

/** The first round after a start; the clock stands until it has ended. */
async function round(fixture: Fixture, retention: Periodic): Promise<void> {
  retention.start();
  await fixture.clock.advance(60_000);
  await retention.runNow();
  await retention.stop();
}

test('content goes after its time, except of mail that still waits; the email itself stays', async () => {
  const fixture = await openFixture({ toml: '[retention]\nbodies = "3d"\n' });
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const done = await fixture.accept(sender, draft({ to: [mailbox('delivered@sandbox.test')] }));
  const waiting = await fixture.accept(sender, draft());
  const bodyOf = async ([id = '']: string[]) =>
    (await fixture.ctx.store.body(sender.account.id, id))?.body ?? null;
  fixture.clock.pass(2 * DAY_MS);
  const fresh = await fixture.accept(sender, draft({ to: [mailbox('delivered@sandbox.test')] }));
  fixture.clock.pass(DAY_MS + HOUR_MS);
  await round(fixture, retentionOf(fixture));
  expect(await bodyOf(done.messageIds)).toBeNull();
  expect(await bodyOf(waiting.messageIds)).not.toBeNull();
  expect(await bodyOf(fresh.messageIds)).not.toBeNull();
  expect(await fixture.ctx.store.emailsByPage(sender.account.id, 1, 10)).toHaveLength(3);
  expect((await fixture.stored(done)).events.length).toBeGreaterThan(0);
  await fixture.close();
});

test('"0" keeps no content once a message is final', async () => {
  const fixture = await openFixture({ toml: '[retention]\nbodies = "0"\n' });
  const sender = await fixture.sender({ isTest: true });
  const { messageIds } = await fixture.accept(sender, draft());
  const [id = ''] = messageIds;
  const isGone = async () => (await fixture.ctx.store.body(sender.account.id, id))?.body === null;
  const retention = retentionOf(fixture);
  await round(fixture, retention);
  expect(await isGone()).toBe(true);

  // The next one does not stay for an hour either, although a round has just ended.
  retention.start();
  await fixture.clock.advance(60_000);
  await retention.runNow();
  const [later = ''] = (await fixture.accept(sender, draft())).messageIds;
  const isLaterGone = async () =>
    (await fixture.ctx.store.body(sender.account.id, later))?.body === null;
  await fixture.clock.advance(60_000);
  await retention.stop();
  expect(await isLaterGone()).toBe(true);
  await fixture.close();
});

test('request logs go by the plan of each account', async () => {
  const fixture = await openFixture({ toml: '[[plans]]\nid = "week"\nlog_retention_days = 7\n' });
  const senders = [
    await fixture.sender({ name: 'a', plan: 'week' }),
    await fixture.sender({ name: 'b' }),
  ];
  for (const { account, requestId } of senders) {
    await fixture.ctx.store.appendLogs([
      {
        id: requestId,
        accountId: account.id,
        keyId: null,
        keyName: null,
        keyPermission: 'full_access',
        isSandbox: false,
        method: 'GET',
        path: '/emails',
        status: 200,
        durationMs: 1,
        messageId: null,
        userAgent: null,
        ip: null,
        requestBody: null,
        responseBody: null,
        createdAt: fixture.clock.now(),
      },
    ]);
  }
  const isKept = () =>
    Promise.all(
      senders.map(
        async ({ account, requestId }) =>
          (await fixture.ctx.store.log(account.id, requestId)) !== null,
      ),
    );
  fixture.clock.pass(8 * DAY_MS);
  const retention = retentionOf(fixture);
  await round(fixture, retention);
  expect(await isKept()).toEqual([false, true]);
  fixture.clock.pass(30 * DAY_MS);
  await round(fixture, retention);
  expect(await isKept()).toEqual([false, false]);
  await fixture.close();
});

test('history goes after its own time, idempotency records when they have expired', async () => {
  const fixture = await openFixture({ toml: '[retention]\nhistory = "40d"\n' });
  const sender = await fixture.sender({ isTest: true });
  const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
  const old = await fixture.accept(sender, draft(), { ...ACCEPT, idempotency });
  fixture.clock.pass(30 * DAY_MS);
  const young = await fixture.accept(sender, draft());
  const ids = [(await fixture.stored(old)).message.id, (await fixture.stored(young)).message.id];
  fixture.clock.pass(11 * DAY_MS);
  const { store } = fixture.ctx;
  const eventsOf = async (at: number) => (await store.events(ids[at] ?? '')).length;
  const isKept = async (at: number) => (await store.messageById(ids[at] ?? '')) !== null;
  await round(fixture, retentionOf(fixture));
  expect([await eventsOf(0), await eventsOf(1), await isKept(1)]).toEqual([0, 3, true]);
  // Read with a time at which the record would still hold: it has really gone.
  const at = fixture.clock.now() - 41 * DAY_MS;
  expect(await fixture.ctx.store.idempotencyRecord(sender.account.id, 'k', at)).toBeNull();
  await fixture.close();
});

test('the audit log goes after its own time, and by number', async () => {
  const fixture = await openFixture({ toml: '[retention]\naudit = "40d"\n' });
  const { store } = fixture.ctx;
  const entry = { via: 'command' as const, target: '', accountId: null, address: null };
  const add = (action: string) =>
    store.addAudit({ ...entry, who: 'root', action, at: fixture.clock.now() });
  const left = async () =>
    (await store.audit({ limit: 10, before: null, who: null })).map(({ action }) => action);
  await add('old');
  fixture.clock.jump(30 * DAY_MS);
  await add('young');
  fixture.clock.jump(11 * DAY_MS);
  await round(fixture, retentionOf(fixture));
  expect(await left()).toEqual(['young']);
  await add('newest');
  expect(await store.purgeAudit(0, 1)).toBe(1);
  expect(await left()).toEqual(['newest']);
  await fixture.close();
});

test('a failure is logged, and the next round comes all the same', async () => {
  const fixture = await openFixture();
  let rounds = 0;
  const store = {
    ...fixture.ctx.store,
    purgeBodies: () => {
      rounds += 1;
      return Promise.reject(new Error('disk I/O error'));
    },
  };
  const retention = new Periodic(fixture.ctx, new Retention({ ...fixture.ctx, store }));
  const failures = (): number =>
    fixture.logged.filter(({ event }) => event === 'retention_failed').length;
  retention.start();
  for (const [count, waitMs] of [
    [1, 60_000],
    [2, HOUR_MS],
  ] as const) {
    await fixture.clock.advance(waitMs);
    while (failures() < count) await new Promise((resolve) => setImmediate(resolve));
  }
  await retention.stop();
  expect([rounds, failures()]).toEqual([2, 2]);
  await fixture.close();
});
