/** What the end of a connection says of the way there: open, refused, silent, or none. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { Socket, createServer, type AddressInfo } from 'node:net';

import { dial } from '../../src/wire/dial.ts';

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** Makes every socket end with this error instead of connecting; gives the sockets. */
function failWith(error: Error): Socket[] {
  const sockets: Socket[] = [];
  const spy = spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    sockets.push(this);
    queueMicrotask(() => this.emit('error', error));
    return this;
  });
  spies.push(spy);
  return sockets;
}

test.each([
  ['ENETUNREACH', { kind: 'no_route', reason: 'ENETUNREACH' }],
  ['EHOSTUNREACH', { kind: 'no_route', reason: 'EHOSTUNREACH' }],
  ['EADDRNOTAVAIL', { kind: 'no_route', reason: 'EADDRNOTAVAIL' }],
  ['EAFNOSUPPORT', { kind: 'no_route', reason: 'EAFNOSUPPORT' }],
  ['ETIMEDOUT', { kind: 'timeout' }],
  ['ECONNREFUSED', { kind: 'refused', reason: 'ECONNREFUSED' }],
  ['ECONNRESET', { kind: 'refused', reason: 'ECONNRESET' }],
] as const)('%s', async (code, result) => {
  const sockets = failWith(Object.assign(new Error('x'), { code }));
  expect(await dial('192.0.2.1', 25, 10_000)).toEqual(result);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
});

test('an error without a code is told in its own words', async () => {
  failWith(new Error('odd'));
  expect(await dial('192.0.2.1', 25, 10_000)).toEqual({ kind: 'refused', reason: 'odd' });
});

test('an open port is open, and nothing stays connected', async () => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => closed.resolve());
    socket.resume();
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const result = await dial('127.0.0.1', (server.address() as AddressInfo).port, 10_000);
  expect(result).toEqual({ kind: 'open', tookMs: expect.any(Number) });
  await closed.promise;
  server.close();
});

test('silence ends with the time that was given', async () => {
  const silent = spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    return this;
  });
  spies.push(silent);
  const began = performance.now();
  expect(await dial('192.0.2.1', 25, 50)).toEqual({ kind: 'timeout' });
  expect(performance.now() - began).toBeGreaterThanOrEqual(49);
});
