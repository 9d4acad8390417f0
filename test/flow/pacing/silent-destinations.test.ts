/**
 * More silent sites than attempts may be under way, with small limits: sites that answer are not delayed, and a new
 * site is tried soon.
 */
import { afterEach, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import type { ConcurrencyLimits } from '../../../src/flow/pacing/concurrency.ts';
import { Arrivals } from '../../rig/arrivals.ts';
import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from '../queue/queue-rig.ts';

const LIMITS: ConcurrencyLimits = {
  attempts: 8,
  slowMs: 20,
  slowMax: 8,
  reserved: 3,
  crowd: 6,
  crowdWaitMs: 300,
  unsigned: 9_999,
};
const SILENT = 40;
/** Sessions to unproven sites at once. */
const UNPROVEN_MAX = LIMITS.attempts - LIMITS.reserved + LIMITS.slowMax;

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

/** Accepts connections on many addresses and stays silent. */
async function startSilence(port: number): Promise<{ taken: Arrivals<string>; open: Set<Socket> }> {
  const taken = new Arrivals<string>('connections to silent sites');
  const open = new Set<Socket>();
  for (let site = 1; site <= SILENT; site += 1) {
    const server = createServer((socket) => {
      open.add(socket);
      taken.push(socket.localAddress ?? '');
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(port, `127.0.5.${site}`, resolve));
    ended.push(() => new Promise((resolve) => server.close(resolve)));
  }
  ended.push(async () => {
    for (const socket of open) socket.destroy();
  });
  return { taken, open };
}

test('they leave capacity to sites that answered, and soon to a new one', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const silence = await startSilence(mx.port);
  const rig = await startQueueRig({ delivery: { port: mx.port }, queue: { concurrency: LIMITS } });
  ended.push(async () => {
    rig.queue.setResting(true);
    const shut = setInterval(() => {
      for (const socket of silence.open) socket.destroy();
    }, 20);
    await rig.idle();
    clearInterval(shut);
    await rig.stop();
  });
  for (const name of ['known', 'new']) rig.names.set(`${name}.example`, 'A', ['127.0.0.1']);
  for (let site = 1; site <= SILENT; site += 1) {
    rig.names.set(`s${site}.example`, 'A', [`127.0.5.${site}`]);
  }
  const first = await rig.send(['ann@known.example']);
  await rig.attempted(first.id, 1);

  const to = Array.from({ length: SILENT }, (_, at) => `r@s${at + 1}.example`);
  // Connected before there is a crowd, however slowly the machine gets to them.
  const early = await rig.send(to.slice(0, LIMITS.crowd - 1));
  await silence.taken.atLeast(LIMITS.crowd - 1);
  const silent = await rig.send(to.slice(LIMITS.crowd - 1));
  await silence.taken.atLeast(UNPROVEN_MAX);
  for (let round = 0; round < 5; round += 1) {
    const message = await rig.send([`r${round}@known.example`]);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    expect(silence.open.size).toBeLessThanOrEqual(UNPROVEN_MAX);
  }

  const late = await rig.send(['bob@new.example']);
  const [bob] = await rig.attempted(late.id, 1);
  expect(bob?.recipient.status).toBe('delivered');
  // Those that came before the crowd are still waited for, as long as the standard says; others were hurried.
  const begun = await rig.state(silent.id);
  const over = begun.flatMap(({ attempts }) => attempts);
  expect(over.length).toBeGreaterThan(0);
  expect(new Set(over.map(({ stage, outcome }) => `${stage} ${outcome}`))).toEqual(
    new Set(['banner deferred']),
  );
  const waited = await rig.state(early.id);
  expect(waited.flatMap(({ attempts }) => attempts)).toEqual([]);
}, 20_000);
