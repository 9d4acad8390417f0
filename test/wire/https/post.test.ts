/**
 * Guarded requests over real TLS servers: how long one may take, how much is read, and what is made of
 * the answer. DNS answers come from a table in the test; nothing else is imitated.
 */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';
import { createServer as createTcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { guardedGet } from '../../../src/wire/https/post.ts';
import {
  agentWith,
  closeEndpoints,
  found,
  listen,
  names,
  NODATA,
  OK,
  openEndpoint,
  post,
  toServer,
} from './tls-endpoint.ts';

afterAll(closeEndpoints);

describe('an honest receiver', () => {
  test('gets the exact bytes, path, host and headers', async () => {
    const { port, requests } = await openEndpoint((socket) => socket.write(OK));
    const result = await post(port);
    expect(result).toMatchObject({ kind: 'responded', statusCode: 200, retryAfterSeconds: null });
    expect(requests).toHaveLength(1);
    expect(requests[0]).toStartWith('POST /in?x=1 HTTP/1.1\r\n');
    expect(requests[0]?.toLowerCase()).toContain(`\r\nhost: hook.test:${port}\r\n`);
    expect(requests[0]?.toLowerCase()).toContain('\r\ncontent-length: 8\r\n');
    expect(requests[0]).toEndWith('{"Ã¤":1}');
  });

  test('is reached over one connection for many posts in a row', async () => {
    const { port, connections } = await openEndpoint((socket) => socket.write(OK));
    const agent = agentWith();
    for (let at = 0; at < 20; at += 1) await post(port, { agent });
    expect(connections()).toBe(1);
    agent.destroy();
  });

  test('has its idle connection closed, and a slow answer is not cut by that', async () => {
    const closed = Promise.withResolvers<void>();
    const { port, connections } = await openEndpoint((socket) => {
      socket.once('close', () => closed.resolve());
      setTimeout(() => socket.write(OK), 200);
    });
    const agent = agentWith(toServer, ['127.0.0.2/32'], 50);
    expect(await post(port, { agent })).toMatchObject({ statusCode: 200 });
    await closed.promise;
    expect(await post(port, { agent })).toMatchObject({ statusCode: 200 });
    expect(connections()).toBe(2);
  });

  test('that closes an idle connection as it is used again is asked once more', async () => {
    let count = 0;
    const { port, connections, requests } = await openEndpoint((socket) => {
      count += 1;
      if (count === 2) socket.destroy();
      else socket.write(OK);
    });
    const agent = agentWith();
    expect(await post(port, { agent })).toMatchObject({ statusCode: 200 });
    expect(await post(port, { agent })).toMatchObject({ kind: 'responded', statusCode: 200 });
    expect([connections(), requests.length]).toEqual([2, 3]);
  });

  test('that closes every connection that is used again is asked once more, not for ever', async () => {
    let isClosing = false;
    const { port, requests } = await openEndpoint((socket) => {
      if (isClosing) socket.destroy();
      else setTimeout(() => socket.write(OK), 50);
    });
    const agent = agentWith();
    // At once, so that each has a connection of its own, which is idle afterwards.
    await Promise.all([post(port, { agent }), post(port, { agent }), post(port, { agent })]);
    isClosing = true;
    expect(await post(port, { agent })).toMatchObject({ kind: 'failed' });
    expect(requests).toHaveLength(3 + 2);
    agent.destroy();
  });

  test('that says nothing on a connection that is used again is not asked once more', async () => {
    let isSilent = false;
    const { port, requests } = await openEndpoint((socket) => {
      if (!isSilent) setTimeout(() => socket.write(OK), 50);
    });
    const agent = agentWith();
    await Promise.all([post(port, { agent }), post(port, { agent })]);
    isSilent = true;
    // There is another idle connection, and its time is over all the same.
    expect(await post(port, { agent, timeoutMs: 200 })).toMatchObject({
      kind: 'failed',
      reason: 'no complete response within 0.2 s',
    });
    expect(requests).toHaveLength(2 + 1);
    agent.destroy();
  });

  test('that always closes is asked once on a fresh connection', async () => {
    const { port, requests } = await openEndpoint((socket) => socket.destroy());
    expect(await post(port)).toMatchObject({
      kind: 'failed',
      reason: 'the connection was closed before a response came',
      isRefused: false,
    });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['120', 120],
    [' 7 ', 7],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    ['99999999999', null],
  ])('Retry-After: %s is read as %p', async (value, seconds) => {
    const answer = `HTTP/1.1 503 X\r\nRetry-After: ${value}\r\nContent-Length: 0\r\n\r\n`;
    const { port } = await openEndpoint((socket) => socket.write(answer));
    expect(await post(port)).toMatchObject({ statusCode: 503, retryAfterSeconds: seconds });
  });

  test('Retry-After: a date is never come back to before its time', async () => {
    // A date has whole seconds, and now has not: at some of these the difference is to be rounded.
    for (let offsetMs = 100_000; offsetMs < 100_900; offsetMs += 300) {
      const at = Math.floor((Date.now() + offsetMs) / 1_000) * 1_000;
      const date = new Date(at).toUTCString();
      const answer = `HTTP/1.1 503 X\r\nRetry-After: ${date}\r\nContent-Length: 0\r\n\r\n`;
      const { port } = await openEndpoint((socket) => socket.write(answer));
      const before = Date.now();
      const result = await post(port);
      if (result.kind !== 'responded') throw new Error(result.reason);
      const waitMs = (result.retryAfterSeconds ?? 0) * 1_000;
      expect(Date.now() + waitMs).toBeGreaterThanOrEqual(at);
      expect(before + waitMs).toBeLessThan(at + 1_000);
    }
  });

  test('by address is reached when admitted, its certificate checked against the address', async () => {
    const { port } = await openEndpoint((socket) => socket.write(OK));
    const url = `https://127.0.0.2:${port}/`;
    expect(await post(port, { url })).toMatchObject({ statusCode: 200 });
    expect(await post(port, { url, agent: agentWith(toServer, []) })).toMatchObject({
      isRefused: true,
    });
  });

  test('behind a dead address is reached by the next one', async () => {
    const { port } = await openEndpoint((socket) => socket.write(OK));
    const agent = agentWith(names(() => found('127.0.0.3', '127.0.0.2')));
    expect(await post(port, { agent })).toMatchObject({ statusCode: 200 });
  });
});

test('want of sockets on this machine is told apart', async () => {
  const error = Object.assign(new Error('socket'), { code: 'EMFILE' });
  const resolver = { a: () => Promise.reject(error), aaaa: async () => NODATA };
  expect(await post(1, { agent: agentWith(resolver) })).toMatchObject({
    kind: 'failed',
    isLocal: true,
    reason: 'this machine has no socket left',
  });
  expect(await post(1)).toMatchObject({ isLocal: false, reason: 'the connection was refused' });
  // A look-up needs a socket, too, and does not say what it lacked.
  const failing = names(() => ({ kind: 'failed', reason: 'timeout' }));
  const opened = spyOn(fs, 'openSync').mockImplementation(() => {
    throw error;
  });
  const [unresolved, refused] = [await post(1, { agent: agentWith(failing) }), await post(1)];
  opened.mockRestore();
  expect([unresolved, refused]).toMatchObject([
    { kind: 'failed', isRefused: false, isLocal: true, reason: 'this machine has no socket left' },
    { kind: 'failed', isRefused: false, isLocal: true, reason: 'this machine has no socket left' },
  ]);
  expect(await post(1, { agent: agentWith(failing) })).toMatchObject({
    isLocal: false,
    reason: 'the host name could not be resolved',
  });
});

describe('a redirect', () => {
  test('is an answer, and its target is not visited', async () => {
    const target = await openEndpoint((socket) => socket.write(OK));
    for (const status of [301, 302, 303, 307, 308]) {
      const { port } = await openEndpoint((socket) =>
        socket.write(
          `HTTP/1.1 ${status} Go\r\nLocation: https://hook.test:${target.port}/\r\nContent-Length: 0\r\n\r\n`,
        ),
      );
      expect(await post(port)).toMatchObject({ kind: 'responded', statusCode: status });
    }
    expect(target.connections()).toBe(0);
  });
});

describe('the deadline', () => {
  const drip = (socket: TLSSocket, text: string): void => {
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed) return clearInterval(timer);
      socket.write(text[at % text.length] ?? 'x');
      at += 1;
    }, 20);
  };
  const ways: [string, (socket: TLSSocket) => void][] = [
    ['no answer at all', () => undefined],
    ['half a status line', (socket) => socket.write('HTTP/1.1 20')],
    ['a dripping header', (socket) => drip(socket, `HTTP/1.1 200 OK\r\nX-${'a'.repeat(100_000)}`)],
    [
      'a dripping body',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
        drip(socket, 'x');
      },
    ],
    [
      'informational answers without end',
      (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    ],
  ];
  test.each(ways)('cuts %s', async (_name, answer) => {
    const { port } = await openEndpoint(answer);
    const beganAt = performance.now();
    const result = await post(port, { timeoutMs: 400 });
    const tookMs = performance.now() - beganAt;
    expect(result).toMatchObject({
      kind: 'failed',
      reason: 'no complete response within 0.4 s',
      isRefused: false,
    });
    expect(tookMs).toBeGreaterThan(390);
    expect(tookMs).toBeLessThan(2_500);
  });

  test('cuts a handshake that never ends and a name that is never answered', async () => {
    const silent = createTcpServer(() => undefined);
    const port = await listen(silent, '127.0.0.2');
    expect(await post(port, { timeoutMs: 200 })).toMatchObject({
      kind: 'failed',
      reason: 'no complete response within 0.2 s',
    });
    silent.close();
    const never = { a: () => new Promise<never>(() => {}), aaaa: async () => NODATA };
    expect(await post(1, { timeoutMs: 200, agent: agentWith(never) })).toMatchObject({
      kind: 'failed',
      reason: 'no complete response within 0.2 s',
    });
  });

  test('and whoever gives up leaves no connection behind', async () => {
    for (const way of ['its time is over', 'the caller gives up']) {
      const stop = new AbortController();
      const options = way === 'its time is over' ? { timeoutMs: 3_000 } : { signal: stop.signal };
      const closed = Promise.withResolvers<void>();
      const { port } = await openEndpoint((socket) => {
        socket.once('close', () => closed.resolve());
        stop.abort();
      });
      expect([way, (await post(port, options)).kind]).toEqual([way, 'failed']);
      await closed.promise;
    }
  });

  test('nothing is sent for a caller that gave up before', async () => {
    const { port, connections } = await openEndpoint((socket) => socket.write(OK));
    expect(await post(port, { signal: AbortSignal.abort() })).toMatchObject({
      kind: 'failed',
      reason: 'no complete response within 5 s',
      isRefused: false,
      isLocal: false,
    });
    expect(connections()).toBe(0);
  });

  test('comes early when the caller gives up', async () => {
    const { port } = await openEndpoint(() => undefined);
    const stop = new AbortController();
    const pending = post(port, { signal: stop.signal });
    stop.abort();
    expect(await pending).toMatchObject({ kind: 'failed' });
  });
});

describe('the size of an answer', () => {
  test('a post reads up to the cap, keeps the status and closes the connection', async () => {
    let written = 0;
    const { port } = await openEndpoint((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n');
      const more = (): void => {
        while (!socket.destroyed && written < 1e9 && socket.write('x'.repeat(65_536)))
          written += 65_536;
      };
      socket.on('drain', more);
      more();
    });
    expect(await post(port)).toMatchObject({ kind: 'responded', statusCode: 200 });
    expect(written).toBeLessThan(50_000_000);
  });

  test('a get of too much, or of a cut document, fails; one that fits is whole', async () => {
    const get = (port: number, maxResponseBytes: number) =>
      guardedGet({
        url: `https://hook.test:${port}/`,
        headers: {},
        agent: agentWith(),
        timeoutMs: 5_000,
        maxResponseBytes,
      });
    const { port } = await openEndpoint((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello',
      ),
    );
    const whole = await get(port, 5);
    expect(whole).toMatchObject({ statusCode: 200, contentType: 'text/plain' });
    expect(whole.kind === 'responded' && whole.body.toString()).toBe('hello');
    expect(await get(port, 4)).toMatchObject({ kind: 'failed' });
    const cut = await openEndpoint((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello'),
    );
    const cutOff = { kind: 'failed', reason: 'the response is too long or was cut off' };
    expect(await get(cut.port, 100)).toMatchObject(cutOff);
  });

  test('a get that is refused or fails says why, as a post does', async () => {
    const get = (url: string) =>
      guardedGet({ url, headers: {}, agent: agentWith(), timeoutMs: 5_000, maxResponseBytes: 9 });
    expect(await get('http://hook.test/')).toMatchObject({
      kind: 'failed',
      reason: 'the URL must begin with https://',
      isRefused: true,
    });
    expect(await get('https://hook.test:1/')).toMatchObject({
      kind: 'failed',
      reason: 'the connection was refused',
      isRefused: false,
    });
  });

  test('headers without end are cut', async () => {
    const { port } = await openEndpoint((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const line = `X-A: ${'a'.repeat(8_000)}\r\n`;
      const more = (): void => {
        while (!socket.destroyed && socket.write(line));
      };
      socket.on('drain', more);
      more();
    });
    const before = process.memoryUsage().rss;
    expect(await post(port, { timeoutMs: 3_000 })).toMatchObject({ kind: 'failed' });
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });
});
