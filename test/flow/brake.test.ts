/** The brake against a real store: what pauses an account, what does not, and that a resumed one is judged anew. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { setAccountStatus } from '../../src/flow/accounts.ts';
import { Brake } from '../../src/flow/brake.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { addSuppression, newSuppression } from '../../src/flow/suppressions.ts';
import type { SuppressionReason } from '../../src/base/status.ts';
import { draft, mailbox, openHouse, type House } from './house.ts';

const DAY_MS = 86_400_000;

let house: House;
let sender: Sender;
let brake: Brake;
let number = 0;

beforeEach(async () => {
  house = await openHouse();
  sender = await house.sender();
  await house.verified(sender, 'acme.example');
  brake = new Brake(house.ctx);
});
afterEach(() => house.close());

/** Sends to `count` new addresses, fifty a message. */
async function send(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 50) {
    const to = Array.from({ length: Math.min(50, left) }, () =>
      mailbox(`r${(number += 1)}@receiver.example`),
    );
    await house.accept(sender, draft({ to }));
  }
}

/** As many recipients end so, each by a message of its own. */
async function harm(count: number, reason: SuppressionReason, source?: string): Promise<void> {
  const rows = Array.from({ length: count }, () =>
    newSuppression(house.ctx, {
      accountId: sender.account.id,
      email: `h${(number += 1)}@receiver.example`,
      reason,
      source: source ?? sender.requestId,
    }),
  );
  await house.ctx.store.addSuppressions(rows);
}

const account = async () => (await house.ctx.store.account('acme')) ?? sender.account;
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
  await brake.check();
  expect(await status()).toBe(expected);
});

test('what no message brought about does not count: imports, manual rows, unsubscribes, the sandbox', async () => {
  await send(200);
  await harm(100, 'hard_bounce', 'import');
  await harm(100, 'unsubscribe');
  await addSuppression(house.ctx, sender.account.id, { email: 'x@y.example' });
  for (let n = 0; n < 30; n += 1) {
    await house.accept(sender, draft({ to: [mailbox('bounced@sandbox.test')] }));
  }
  await brake.check();
  expect(await status()).toBe('active');
});

test('the reason stands in the account, in the refusals and in the log; other accounts go on', async () => {
  const other = await house.sender({ name: 'other' });
  await send(200);
  await harm(30, 'hard_bounce');
  await brake.check();
  const { statusReason } = await account();
  expect(statusReason).toBe(
    '30 of 200 emails since 2026-01-14 bounced (15.0 %; the limit is 10 %).',
  );
  expect(house.logged.at(-1)).toMatchObject({
    event: 'account paused by the brake',
    level: 'error',
    account: 'acme',
    reason: statusReason,
  });
  expect((await house.ctx.store.account('other'))?.status).toBe('active');
  expect(other.account.status).toBe('active');
});

test('an account that was resumed is judged by what follows only', async () => {
  await send(200);
  await harm(30, 'hard_bounce');
  await brake.check();
  await setAccountStatus(house.ctx, 'acme', 'active');
  house.clock.jump(1_000);
  await brake.check();
  expect(await status()).toBe('active');
  await send(250);
  await harm(24, 'hard_bounce');
  await brake.check();
  expect(await status()).toBe('active');
  await harm(1, 'hard_bounce');
  // Another process, after a restart, knows of the pause too.
  await new Brake(house.ctx).check();
  expect(await status()).toBe('paused');
});

test('slow harm shows over the week, and is forgotten after it', async () => {
  for (let day = 0; day < 6; day += 1) {
    await send(60);
    await harm(6, 'hard_bounce');
    await brake.check();
    if (day < 3) expect(await status()).toBe('active');
    house.clock.jump(DAY_MS);
  }
  expect(await status()).toBe('paused');
  await setAccountStatus(house.ctx, 'acme', 'active');
  house.clock.jump(8 * DAY_MS);
  await send(200);
  await harm(1, 'hard_bounce');
  await brake.check();
  expect(await status()).toBe('active');
});

test("thresholds are the config's, and 0 turns one off", async () => {
  await send(200);
  await harm(40, 'hard_bounce');
  const with_ = (bouncesPer1000: number): Brake =>
    new Brake({
      ...house.ctx,
      config: { ...house.ctx.config, brake: { bouncesPer1000, complaintsPer1000: 5 } },
    });
  await with_(0).check();
  await with_(201).check();
  expect(await status()).toBe('active');
  await with_(200).check();
  expect(await status()).toBe('paused');
});

test('it looks by itself, every minute', async () => {
  brake.start();
  await send(200);
  await harm(40, 'hard_bounce');
  const paused = async (): Promise<boolean> => (await status()) === 'paused';
  for (const until = Date.now() + 5_000; !(await paused()) && Date.now() < until;) {
    await house.clock.advance(60_000);
  }
  await brake.stop();
  expect(await paused()).toBe(true);
});
