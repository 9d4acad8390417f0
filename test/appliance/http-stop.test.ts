/** A stop of the HTTP listener: responses under way are read to their end, and no unread body is waited for. */
import { expect, spyOn, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { testAuthority } from '../rig/certificates.ts';

const MIB = 1024 * 1024;
/** A stop leaves such a connection a second; the runtime by itself leaves it 30 s, and one that drips for ever. */
const STOP_MS = 5_000;

/** A listener whose every response is `respond`'s, and a connection to it. */
async function start(respond: () => Response): Promise<{ http: HttpListener; socket: Socket }> {
  const config = parseConfig(
    'hostname = "mail.rig.test"\n[http]\nlisten = "127.0.0.1:0"\n',
    'test',
  );
  const api = { handle: () => Promise.resolve(respond()), requestId: () => 'unused' };
  const http = new HttpListener(config, api, () => null);
  await http.start();
  const socket = connect(Number(new URL(http.url()).port), '127.0.0.1');
  socket.on('error', () => undefined);
  return { http, socket };
}

const refusal = (): Response => Response.json({ code: 'missing_api_key' }, { status: 401 });

function head(connection: string): string {
  return `POST /emails HTTP/1.1\r\nHost: rig.test\r\nConnection: ${connection}\r\nContent-Length: ${10 * MIB}\r\n\r\n`;
}

/** Milliseconds that `stop` takes. */
async function stopped(http: HttpListener): Promise<number> {
  const beganAt = performance.now();
  await http.stop();
  return performance.now() - beganAt;
}

test.each([
  ['close', 'sends nothing of it', 0],
  ['close', 'sends half of it', 5 * MIB],
  // The runtime waits for the rest by itself, until the connection has been idle for 30 s.
  ['keep-alive', 'sends nothing of it', 0],
  ['keep-alive', 'sends half of it', 5 * MIB],
])(
  'a refused body (Connection: %s) of a client that %s delays no stop',
  async (connection, _, bytes) => {
    const { http, socket } = await start(refusal);
    socket.write(head(connection));
    socket.write(Buffer.alloc(bytes));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toStartWith('HTTP/1.1 401');
    expect(await stopped(http)).toBeLessThan(STOP_MS);
    socket.destroy();
  },
);

test.each(['close', 'keep-alive'])(
  'a refused body (Connection: %s) that drips delays no stop',
  async (connection) => {
    const { http, socket } = await start(refusal);
    socket.write(head(connection));
    await once(socket, 'data');
    const dripping = setInterval(() => socket.write('x'), 100);
    expect(await stopped(http)).toBeLessThan(STOP_MS);
    clearInterval(dripping);
    socket.destroy();
  },
);

test('a stop during a rest waits for what was asked before the rest', async () => {
  let respond: () => void = () => undefined;
  const config = parseConfig(
    'hostname = "mail.rig.test"\n[http]\nlisten = "127.0.0.1:0"\n',
    'test',
  );
  const asked = Promise.withResolvers<void>();
  const api = {
    handle: () => {
      asked.resolve();
      return new Promise<Response>((resolve) => {
        respond = (): void => resolve(new Response('answered'));
      });
    },
    requestId: () => 'unused',
  };
  const http = new HttpListener(config, api, () => null);
  await http.start();
  const answer = fetch(http.url());
  await asked.promise;
  http.rest();
  let isStopped = false;
  const stopping = http.stop().then(() => (isStopped = true));
  for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isStopped).toBe(false);
  respond();
  expect(await (await answer).text()).toBe('answered');
  await stopping;
});

test('a response under way is read to its end, however slowly, before the stop is done', async () => {
  const bytes = 20 * MIB;
  const { http, socket } = await start(() => new Response('x'.repeat(bytes)));
  let read = 0;
  socket.write('GET / HTTP/1.1\r\nHost: rig.test\r\nConnection: keep-alive\r\n\r\n');
  await once(socket, 'data');
  socket.pause();
  const closed = once(socket, 'close');
  const stopping = stopped(http);
  // Longer than a stop leaves a connection that has got its response.
  await Bun.sleep(1_500);
  socket.on('data', (chunk: Buffer) => (read += chunk.length));
  socket.resume();
  expect(await stopping).toBeGreaterThan(1_400);
  await closed;
  expect(read).toBeGreaterThan(bytes - MIB);
});

test('connections are cut once every server has answered all for a second, without a break', async () => {
  const { certFile, keyFile } = testAuthority().issue(['0.example', '127.0.0.1']);
  const config = parseConfig(
    `hostname = "mail.rig.test"\n[http]\nlisten = "127.0.0.1:0"\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`,
    'test',
  );
  /** Responses under way on each server, and which of them were cut. */
  const pending = [1, 1];
  const cut: number[] = [];
  const ended = Promise.withResolvers<void>();
  let made = 0;
  const serve = spyOn(Bun, 'serve').mockImplementation((() => {
    const at = made++;
    return {
      port: 1,
      hostname: '127.0.0.1',
      get pendingRequests() {
        return pending[at];
      },
      stop(isCut = false) {
        if (isCut) cut.push(at);
        return ended.promise;
      },
    };
  }) as never);
  const api = { handle: () => Promise.resolve(new Response('')), requestId: () => 'unused' };
  const http = new HttpListener(config, api, () => null);
  await http.start();
  const waits = spyOn(globalThis, 'setTimeout');
  http.change(testAuthority().issue(['1.example', '127.0.0.1']));
  const leaving = waits.mock.results.map(({ value }) => value as Timer);
  waits.mockRestore();
  const cleared = spyOn(globalThis, 'clearTimeout');
  let tick: () => void = () => undefined;
  let everyMs = 0;
  const ticking = {};
  const timers = spyOn(globalThis, 'setInterval').mockImplementation(((
    go: () => void,
    ms: number,
  ) => {
    [tick, everyMs] = [go, ms];
    return ticking;
  }) as never);
  const stopping = http.stop();
  serve.mockRestore();
  timers.mockRestore();
  // The old server ends now, not when it would have left.
  expect(leaving).toHaveLength(1);
  expect(cleared.mock.calls.flat() as unknown[]).toEqual(leaving);
  cleared.mockRestore();
  const pass = (ms: number): number[] => {
    for (let at = 0; at < ms; at += everyMs) tick();
    return cut.splice(0);
  };
  expect([made, pass(2_000)]).toEqual([2, []]);
  pending[0] = 0;
  expect(pass(2_000)).toEqual([]);
  pending[1] = 0;
  expect(pass(950)).toEqual([]);
  pending[1] = 1;
  expect(pass(50)).toEqual([]);
  pending[1] = 0;
  expect(pass(950)).toEqual([]);
  expect(pass(50)).toEqual([0, 1]);
  const clear = spyOn(globalThis, 'clearInterval').mockImplementation(() => undefined);
  ended.resolve();
  await stopping;
  expect(clear.mock.calls).toEqual([[ticking as never]]);
  clear.mockRestore();
});
