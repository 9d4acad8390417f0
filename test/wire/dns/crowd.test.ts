/** A crowd of questions: how many use a descriptor at once, and what becomes of those that wait when it closes. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket } from 'node:dgram';

import { createResolver } from '../../../src/wire/dns/dns.ts';
import { TestClock } from '../../rig/clock.ts';

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

const rounds = async (count: number): Promise<void> => {
  for (let round = 0; round < count; round += 1) await new Promise((over) => setImmediate(over));
};

test('256 are asked at once, the next when one of them has ended, and a close ends all', async () => {
  const asking: Socket[] = [];
  const connect = spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    asking.push(this);
  });
  spies.push(connect);
  const dns = createResolver({
    servers: [{ host: '127.0.0.1', port: 5_353 }],
    clock: new TestClock(),
    patience: { rounds: [], loneRounds: [600_000], tcp: 1 },
  });
  const answers = Array.from({ length: 300 }, (_, n) => dns.a(`n${n}.test`));
  await rounds(5);
  expect(asking).toHaveLength(256);
  expect(connect.mock.calls.slice(0, 2).map(([port, host]) => [port, host])).toEqual([
    [5_353, '127.0.0.1'],
    [5_353, '127.0.0.1'],
  ] as never);
  for (const socket of asking.slice(0, 2)) socket.emit('error', new Error('odd'));
  await rounds(5);
  expect(asking).toHaveLength(258);
  // The failure is kept, and asks nobody.
  expect(await dns.a('n0.test')).toEqual({
    kind: 'failed',
    reason: 'odd (A n0.test at 127.0.0.1)',
  });
  expect(asking).toHaveLength(258);
  dns.close();
  const ends = (await Promise.all(answers)).map((end) => (end.kind === 'failed' ? end.reason : ''));
  expect(ends.slice(0, 2)).toEqual([0, 1].map((n) => `odd (A n${n}.test at 127.0.0.1)`));
  const stopped = ends.slice(2).filter((reason) => reason.startsWith('stopped'));
  expect(stopped).toHaveLength(298);
  expect(asking).toHaveLength(258);
});

test('the server that answered last is asked first, and the others in their order', async () => {
  const order: string[] = [];
  let answering = '192.0.2.3';
  spies.push(
    spyOn(Socket.prototype, 'connect').mockImplementation(function (
      this: Socket,
      _port: number,
      host: string,
      done: () => void,
    ) {
      order.push(host);
      if (host !== answering) queueMicrotask(() => this.emit('error', new Error('gone')));
      else queueMicrotask(done);
    } as never),
    spyOn(Socket.prototype, 'send').mockImplementation(function (this: Socket, query: Buffer) {
      const answer = Buffer.from(query);
      answer[2] = (answer[2] ?? 0) | 0x80;
      queueMicrotask(() => this.emit('message', answer, {}));
    } as never),
  );
  const dns = createResolver({
    servers: ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((host) => ({ host, port: 53 })),
    clock: new TestClock(),
  });
  const orderOf = async (name: string): Promise<string> => {
    order.length = 0;
    expect(await dns.a(name)).toEqual({ kind: 'nodata', isAuthenticated: false });
    return order.map((host) => host.slice(-1)).join('');
  };
  expect(await orderOf('a.test')).toBe('123');
  expect(await orderOf('b.test')).toBe('3');
  answering = '192.0.2.2';
  expect(await orderOf('c.test')).toBe('312');
  expect(await orderOf('d.test')).toBe('2');
  dns.close();
});
