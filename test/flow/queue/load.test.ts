/** The queue under load: a slow or dead destination harms no other, and costs no more than its schedule. */
import { afterEach, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { startReceiver } from '../../rig/receiver.ts';
import { startQueueRig } from './queue-rig.ts';

const MINUTE = 60_000;

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

/** Takes connections and never says a word. */
async function startTarpit(port: number, host: string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const release = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  ended.push(() => new Promise((resolve) => server.close(resolve)));
  return { release, connections: () => sockets.size, port: (server.address() as AddressInfo).port };
}

test('500 messages to a tarpit: p95 to a healthy domain stays within 2 s', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const tarpit = await startTarpit(mx.port, '127.0.0.66');
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  ended.push(() => rig.stop());
  rig.names.set('slow.example', 'A', ['127.0.0.66']);
  rig.names.set('fine.example', 'A', ['127.0.0.1']);
  await rig.send(Array.from({ length: 500 }, (_, at) => `r${at}@slow.example`));
  const waits: number[] = [];
  for (let round = 0; round < 40; round += 1) {
    const begin = performance.now();
    const message = await rig.send([`r${round}@fine.example`]);
    const [settled] = await rig.attempted(message.id, 1);
    expect(settled?.recipient.status).toBe('delivered');
    waits.push(performance.now() - begin);
  }
  const p95 = waits.sort((a, b) => a - b)[37] ?? Infinity;
  expect(p95).toBeLessThan(2_000);
  // The tarpit has no more sessions open than any unproven site.
  expect(tarpit.connections()).toBeLessThanOrEqual(5);
  rig.queue.setResting(true);
  // Claimed recipients dial as others end: every connection is closed until none is left.
  const shut = setInterval(tarpit.release, 20);
  await rig.idle();
  clearInterval(shut);
}, 30_000);

test('many messages to a dead host: attempts as scheduled, few dials, no effect on a healthy one', async () => {
  const mx = await startReceiver();
  ended.push(() => mx.stop());
  const rig = await startQueueRig({ delivery: { port: mx.port } });
  ended.push(() => rig.stop());
  rig.names.set('dead.example', 'A', ['127.0.0.67']);
  rig.names.set('fine.example', 'A', ['127.0.0.1']);
  const to = Array.from({ length: 700 }, (_, at) => `r${at}@dead.example`);
  const message = await rig.send(to);
  const healthy = await rig.send(['ann@fine.example']);
  await rig.attempted(healthy.id, 1);
  const begun = await rig.state(message.id);
  expect(begun.filter(({ attempts }) => attempts.length > 0).length).toBeLessThan(to.length);
  await rig.attempted(message.id, to.length, 60_000);
  // The first wait and a little more: each is tried once more, and only once.
  await rig.clock.advance(MINUTE + 2_000);
  const settled = await rig.attempted(message.id, to.length * 2, 60_000);
  await rig.idle();
  const counts = new Set(settled.map(({ attempts }) => attempts.length));
  expect(counts).toEqual(new Set([2]));
  const dialled = settled.flatMap(({ attempts }) => attempts).filter((a) => a.stage === 'connect');
  expect(dialled.length).toBeLessThan(to.length / 10);
  expect(rig.queue.counts()).toEqual({ inLines: 0, inFlight: 0 });
}, 120_000);
