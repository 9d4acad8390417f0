/** What HTTP has in memory outlives a restart: how much of its rate a key has used, and which requests it made. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';

import { startAppliance } from '../../src/appliance/appliance.ts';
import { HttpListener } from '../../src/appliance/http-listener.ts';
import { createLog } from '../../src/base/log.ts';
import { startRigAppliance } from '../rig/appliance.ts';
import { TestClock } from '../rig/clock.ts';

afterEach(() => jest.restoreAllMocks());

const PAGE = { limit: 10, after: null, before: null, q: null, method: null, status: null };
const silent = createLog(
  () => undefined,
  () => 0,
);

test('the rate that was used counts on after a restart, and the last requests are in the log', async () => {
  const clock = new TestClock();
  const rig = await startRigAppliance({ clock });
  const headers = { authorization: `Bearer ${rig.key}` };
  const left = async (url: string): Promise<number> => {
    const response = await fetch(`${url}/domains`, { headers });
    await response.text();
    return Number(response.headers.get('ratelimit-remaining'));
  };
  const first = await left(rig.url);
  expect(await left(rig.url)).toBe(first - 1);
  await rig.appliance.stop();

  const again = await startAppliance(rig.appliance.ctx.config, { clock, log: silent });
  expect(await left(again.addresses.http)).toBe(first - 2);
  const { rows } = await again.ctx.store.logs(rig.account, PAGE);
  expect(rows.map(({ method, path, status }) => [method, path, status])).toEqual([
    ['GET', '/domains', 200],
    ['GET', '/domains', 200],
  ]);
  await again.stop();
  await rig.stop();
});

test('a request that was under way when the stop came is in the log, and counts', async () => {
  const clock = new TestClock();
  const rig = await startRigAppliance({ clock });
  const { store } = rig.appliance.ctx;
  const [called, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const read = store.domains.bind(store);
  spyOn(store, 'domains').mockImplementation(async (...args) => {
    called.resolve();
    await gate.promise;
    return await read(...args);
  });
  const headers = { authorization: `Bearer ${rig.key}` };
  const underWay = fetch(`${rig.url}/domains`, { headers });
  await called.promise;
  // It is answered when no other one is taken any more.
  const { stop } = HttpListener.prototype as { stop: () => Promise<void> };
  spyOn(HttpListener.prototype, 'stop').mockImplementation(function (this: HttpListener) {
    gate.resolve();
    return stop.call(this);
  });
  const stopped = rig.appliance.stop();
  const response = await underWay;
  await response.text();
  await stopped;

  const again = await startAppliance(rig.appliance.ctx.config, { clock, log: silent });
  const { rows } = await again.ctx.store.logs(rig.account, PAGE);
  expect(rows.map(({ path, status }) => [path, status])).toEqual([['/domains', 200]]);
  const next = await fetch(`${again.addresses.http}/domains`, { headers });
  await next.text();
  const left = (one: Response): number => Number(one.headers.get('ratelimit-remaining'));
  expect(left(next)).toBe(left(response) - 1);
  await again.stop();
  await rig.stop();
});
