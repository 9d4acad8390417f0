/** The brake against a real store: what pauses an account, what does not, and that a resumed one starts afresh. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import { Brake } from '../../../src/flow/accounts/brake.ts';
import { Periodic } from '../../../src/base/periodic.ts';
import { addSuppression, newSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { SuppressionReason } from '../../../src/base/status.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../fixture.ts';

const DAY_MS = 86_400_000;

let fixture: Fixture;
let sender: RequestSender;
let brake: Brake;
let number = 0;
let lastMessage = '';

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  brake = new Brake(fixture.ctx);
});
afterEach(() => fixture.close());

/** Sends to `count` new addresses, fifty a message. */
async function send(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 50) {
    const to = Array.from({ length: Math.min(50, left) }, () =>
      mailbox(`r${(number += 1)}@receiver.example`),
    );
    const accepted = await fixture.accept(sender, draft({ to }));
    lastMessage = accepted.messageIds[0] ?? '';
  }
}

/** As many recipients end so; the last message caused it unless `source` says otherwise. */
async function harm(count: number, reason: SuppressionReason, source?: string): Promise<void> {
  const rows = Array.from({ length: count }, () =>
    newSuppression(fixture.ctx, {
      accountId: sender.account.id,
      email: `h${(number += 1)}@receiver.example`,
      reason,
      source: source ?? lastMessage,
    }),
  );
  await fixture.ctx.store.addSuppressions(rows);
}

const account = async () => (await fixture.ctx.store.account('acme')) ?? sender.account;
const status = async (): Promise<string> => (await account()).status;

test.each([
  ['hard_bounce', 19, 200, 'active'],
  ['hard_bounce', 20, 200, 'paused'],
  ['hard_bounce', 20, 199, 'active'],
  ['hard_bounce', 20, 250, 'active'],
  ['hard_bounce', 25, 250, 'paused'],
  ['complaint', 4, 300, 'active'],
  ['complaint', 5, 300, 'paused'],
  ['complaint', 5, 1_050, 'active'],
] as const)('%s: %d of %d emails leave the account %s', async (reason, count, sent, expected) => {
  await send(sent);
  await harm(count, reason);
  await brake.run();
  expect(await status()).toBe(expected);
});

test('what no message caused does not count: imports, ids of no message, manual rows, unsubscribes, the sandbox', async () => {
  await send(200);
  await harm(100, 'hard_bounce', 'import');
  await harm(100, 'complaint', sender.requestId);
  await harm(100, 'unsubscribe');
  await addSuppression(fixture.ctx, sender.account.id, { email: 'x@y.example' });
  for (let n = 0; n < 30; n += 1) {
    await fixture.accept(sender, draft({ to: [mailbox('bounced@sandbox.test')] }));
  }
  await brake.run();
  expect(await status()).toBe('active');
});

test('the reason is in the account, the refusals and the log; other accounts go on', async () => {
  const other = await fixture.sender({ name: 'other' });
  await send(200);
  await harm(30, 'hard_bounce');
  await brake.run();
  const { statusReason } = await account();
  expect(statusReason).toBe(
    '30 of 200 emails since 2026-01-14 bounced (15.0 %; the limit is 10 %).',
  );
  const time = new Date(fixture.clock.now()).toISOString();
  expect(fixture.logged.slice(-2)).toEqual([
    {
      time,
      level: 'info',
      event: 'account_status',
      account: 'acme',
      status: 'paused',
      reason: statusReason,
    },
    {
      time,
      level: 'error',
      event: 'account_braked',
      account: 'acme',
      reason: statusReason,
      hint: 'Ask its owner where the addresses come from, then run: postrider account resume',
    },
  ]);
  expect((await fixture.ctx.store.account('other'))?.status).toBe('active');
  expect(other.account.status).toBe('active');
});

test('for an account that was resumed only later bounces count', async () => {
  await send(200);
  await harm(30, 'hard_bounce');
  await brake.run();
  await setAccountStatus(fixture.ctx, 'acme', 'active');
  fixture.clock.pass(1_000);
  await brake.run();
  expect(await status()).toBe('active');
  await send(250);
  await harm(24, 'hard_bounce');
  await brake.run();
  expect(await status()).toBe('active');
  await harm(1, 'hard_bounce');
  // Another process, after a restart, knows of the pause too.
  await new Brake(fixture.ctx).run();
  expect(await status()).toBe('paused');
});

test('a pause that an older release has written lets nothing of its hour count', async () => {
  await send(250);
  await harm(30, 'hard_bounce');
  const pause = { at: fixture.clock.now(), sentThatDay: 0 };
  await fixture.ctx.store.setSetting(`brake:${sender.account.id}`, JSON.stringify(pause));
  await brake.run();
  expect(await status()).toBe('active');
  fixture.clock.jump(3_600_000);
  await harm(25, 'hard_bounce');
  await brake.run();
  expect(await status()).toBe('paused');
});

test('slow harm shows over the week, and is forgotten after it', async () => {
  for (let day = 0; day < 6; day += 1) {
    await send(60);
    await harm(6, 'hard_bounce');
    await brake.run();
    if (day < 3) expect(await status()).toBe('active');
    fixture.clock.pass(DAY_MS);
  }
  expect(await status()).toBe('paused');
  await setAccountStatus(fixture.ctx, 'acme', 'active');
  fixture.clock.pass(8 * DAY_MS);
  await send(200);
  await harm(1, 'hard_bounce');
  await brake.run();
  expect(await status()).toBe('active');
});

test.each([
  [0, 'active'],
  [201, 'active'],
  [200, 'paused'],
] as const)(
  'a limit of %d bounces of 1,000 leaves 40 of 200 %s; 0 is no limit',
  async (limit, end) => {
    await fixture.close();
    fixture = await openFixture({ toml: `[brake]\nbounces_per_1000 = ${limit}` });
    sender = await fixture.sender();
    await fixture.verified(sender, 'acme.example');
    await send(200);
    await harm(40, 'hard_bounce');
    await new Brake(fixture.ctx).run();
    expect(await status()).toBe(end);
  },
);

test('it looks by itself, every minute', async () => {
  const periodic = new Periodic(fixture.ctx, brake);
  periodic.start();
  await send(200);
  await harm(40, 'hard_bounce');
  await fixture.clock.advance(60_000);
  // It ends when the look under way has ended: another thread reads for it, and the clock must stand meanwhile.
  await periodic.stop();
  expect(await status()).toBe('paused');
});
