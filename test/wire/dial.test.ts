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

test('it tells how long the way took, by the clock that never goes back', async () => {
  const connecting = spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    queueMicrotask(() => this.emit('connect'));
    return this;
  });
  spies.push(connecting);
  const times = [1_000, 1_042];
  spies.push(spyOn(performance, 'now').mockImplementation(() => times.shift() ?? NaN));
  expect(await dial('192.0.2.1', 2_525, 10_000)).toEqual({ kind: 'open', tookMs: 42 });
  const asked = connecting.mock.calls.flat(2) as unknown[];
  expect(asked[0]).toEqual({ host: '192.0.2.1', port: 2_525 });
});

test('no timer stays, and a second error changes nothing', async () => {
  const [sockets, cleared] = [failWith(new Error('odd')), spyOn(globalThis, 'clearTimeout')];
  const armed = spyOn(globalThis, 'setTimeout');
  spies.push(cleared, armed);
  const result = await dial('192.0.2.1', 25, 12_345);
  const at = armed.mock.calls.findIndex(([, ms]) => ms === 12_345);
  expect(cleared.mock.calls.map(([timer]): unknown => timer)).toContain(
    armed.mock.results[at]?.value,
  );
  sockets[0]?.emit('error', new Error('again'));
  expect(result).toEqual({ kind: 'refused', reason: 'odd' });
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
