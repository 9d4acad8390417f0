/** One connection: what it waits for, and what it leaves when it could not be opened. */
import { expect, spyOn, test } from 'bun:test';

import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { failureOf } from '../../../src/store/postgres/failures.ts';
import { testServer } from '../../rig/postgres.ts';

/** Opens the one host of `url`. */
function open(url: string): Promise<Connection> {
  const address = databaseAddress(url, '');
  const [host] = address.hosts;
  if (host === undefined) throw new Error('no host');
  return Connection.open(address, host);
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

test('a server that takes a connection and says nothing is given up after five seconds', async () => {
  const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
  const silent = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data() {}, close: () => leave() },
  });
  const beganAt = performance.now();
  const error = await errorOf(open(`postgres://u@127.0.0.1:${silent.port}/x?sslmode=disable`));
  expect(failureOf(error)).toBe('away');
  const tookMs = performance.now() - beganAt;
  expect(tookMs).toBeGreaterThan(3_500);
  expect(tookMs).toBeLessThan(12_000);
  await isLeft;
  silent.stop(true);
}, 40_000);

test('a server that says nothing of itself is left', async () => {
  const server = await testServer();
  const url = await server.freshDatabase();
  const admin = server.admin(url.slice(url.lastIndexOf('/') + 1, url.indexOf('?')));
  await admin.unsafe('CREATE ROLE curious LOGIN');
  await admin.unsafe('REVOKE EXECUTE ON FUNCTION pg_is_in_recovery() FROM PUBLIC');
  const error = await errorOf(open(url.replace('postrider@', 'curious@')));
  expect(String(error)).toContain('permission denied');
  const ours = "SELECT 1 FROM pg_stat_activity WHERE usename = 'curious'";
  while ((await admin.unsafe(ours)).length > 0);
  await admin.close();
}, 20_000);

test('an answer is waited for thirty seconds, unless the statement has its own time or as long as it takes', async () => {
  const connection = await open(await (await testServer()).freshDatabase());
  const timers = spyOn(globalThis, 'setTimeout');
  const ended = spyOn(globalThis, 'clearTimeout');
  const waits = async (...answerMs: (number | null)[]): Promise<unknown[]> => {
    timers.mockClear();
    await connection.ask('SELECT 1', [], ...answerMs);
    return timers.mock.calls.map(([, ms]) => ms);
  };
  const waited = [await waits(), await waits(1_234), await waits(null)];
  const cleared = ended.mock.calls.length;
  timers.mockRestore();
  ended.mockRestore();
  expect(waited).toEqual([[30_000], [1_234], []]);
  expect(cleared).toBeGreaterThanOrEqual(2);
  await connection.close();
});
