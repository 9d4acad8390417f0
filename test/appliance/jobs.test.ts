/**
 * The hourly rounds of a running appliance, with a clock that is moved by hand: that there is a second one, and that it
 * sees what has changed. That the first ones come on the compiled binary is in `e2e/jobs.test.ts`.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { createKey } from '../../src/flow/accounts/keys.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import type { RigAppliance } from '../rig/appliance.ts';
import { TestClock } from '../rig/clock.ts';
import { startNames } from '../rig/names.ts';
import type { Names } from '../rig/names.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let clock: TestClock;
let names: Names;
let rig: RigAppliance;

beforeEach(async () => {
  clock = new TestClock();
  names = await startNames();
  names.set('mail.rig.test', 'A', ['127.0.0.1'], 60);
  rig = await startRigAppliance({
    clock,
    config: `[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[retention]
bodies = "3d"`,
  });
});
afterEach(async () => {
  await rig.stop();
  await names.stop();
});

interface Health {
  checked_at?: string;
  findings?: { check: string }[];
}

/** What /health says once it speaks of a check at or after this time. */
async function healthAt(atMs: number): Promise<Health> {
  for (;;) {
    const health = (await (await fetch(`${rig.url}/health`)).json()) as Health;
    if (Date.parse(health.checked_at ?? '') >= atMs) return health;
    await Bun.sleep(10);
  }
}

const checksOf = ({ findings }: Health) => findings?.map(({ check }) => check);

test('the host is checked a minute after the start, and again every hour', async () => {
  expect(await (await fetch(`${rig.url}/health`)).json()).toEqual({ status: 'ok' });
  await clock.advance(MINUTE_MS);
  const first = await healthAt(clock.now());
  expect(checksOf(first)).not.toContain('hostname');

  names.set('mail.rig.test', 'A', []);
  await clock.advance(HOUR_MS - 1);
  expect((await healthAt(0)).checked_at).toBe(first.checked_at);
  await clock.advance(1);
  expect(checksOf(await healthAt(clock.now()))).toContain('hostname');
  const line = await rig.log.first(({ check }) => check === 'hostname');
  expect(line).toMatchObject({ event: 'host_problem_found', level: 'error' });

  // Found again it is not reported again; fixed, it is gone.
  await clock.advance(HOUR_MS);
  await healthAt(clock.now());
  expect(rig.log.items.filter(({ check }) => check === 'hostname')).toHaveLength(1);
  names.set('mail.rig.test', 'A', ['127.0.0.1']);
  await clock.advance(HOUR_MS);
  expect(checksOf(await healthAt(clock.now()))).not.toContain('hostname');
});

test('content goes in the hour in which its time is over', async () => {
  const { ctx } = rig.appliance;
  const { token } = await createKey(ctx, rig.account, {
    name: 'sandbox',
    permission: 'full_access',
    isTest: true,
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const email = { from: 'a@example.org', to: 'delivered@sandbox.test', subject: 's', text: 't' };
  const send = async (): Promise<string> => {
    const request = { method: 'POST', headers, body: JSON.stringify(email) };
    const sent = await fetch(`${rig.url}/emails`, request);
    return ((await sent.json()) as { id: string }).id;
  };
  const isKept = async (id: string): Promise<boolean> =>
    (await ctx.store.body(rig.account, id))?.body !== null;
  const isRound = ({ event }: { event: unknown }): boolean => event === 'retention';

  const first = await send();
  clock.pass(2 * DAY_MS);
  const second = await send();
  expect([await isKept(first), await isKept(second)]).toEqual([true, true]);
  clock.pass(DAY_MS + 1);
  await clock.advance(MINUTE_MS);
  // A round goes on after the clock has stopped: the next hour begins when it is over.
  expect((await rig.log.first(isRound))['bodies']).toBe(1);
  expect([await isKept(first), await isKept(second)]).toEqual([false, true]);

  rig.log.clear();
  clock.pass(2 * DAY_MS);
  await clock.advance(HOUR_MS);
  expect((await rig.log.first(isRound))['bodies']).toBe(1);
  expect(await isKept(second)).toBe(false);
});
