/** How the API stands on its socket: every option of the server, who is asked first, and the end of connections. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { IDLE_SECONDS, serveApi, type ServeOptions } from '../../src/api/serve.ts';
import { UnreadBodies } from '../../src/api/unread-body.ts';
import { testAuthority } from '../rig/certificates.ts';

const LISTEN = { host: '127.0.0.1', port: 0 };
const open: Bun.Server<undefined>[] = [];

afterEach(async () => {
  for (const server of open.splice(0)) await server.stop(true);
});

/** A server whose API answers with method, URL and peer. */
function serve(options: Partial<ServeOptions> = {}): Bun.Server<undefined> {
  const server = serveApi(
    {
      handle: (request, peer) =>
        Promise.resolve(new Response(`api ${request.method} ${request.url} ${peer}`)),
      requestId: () => 'made',
    },
    { listen: LISTEN, tls: null, ...options },
  );
  open.push(server);
  return server;
}

/** Everything that comes back on a connection of its own. */
async function exchange(port: number | undefined, text: string): Promise<string> {
  const socket = connect(port ?? 0, '127.0.0.1');
  let found = '';
  socket.on('data', (chunk: Buffer) => (found += chunk.toString()));
  socket.write(text);
  await new Promise((resolve) => socket.once('close', resolve));
  return found;
}

test('every option of the server is set', () => {
  const made = spyOn(Bun, 'serve');
  const { key, cert } = testAuthority().issue(['mail.rig.test']);
  serve();
  serve({ tls: { key, cert }, isSharingPort: true });
  const options = made.mock.calls.map(([one]) => one as unknown);
  made.mockRestore();
  const common = {
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    idleTimeout: 30,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: expect.any(Function),
    error: expect.any(Function),
  };
  expect(options).toEqual([
    { ...common, reusePort: false },
    { ...common, reusePort: true, tls: { key, cert } },
  ]);
  expect(Object.keys(options[0] as object)).not.toContain('tls');
  expect(IDLE_SECONDS).toBe(30);
});

test('the API gets the request with the address of its client, unless somebody before it takes it', async () => {
  const seen: [string, string | null][] = [];
  const server = serve({
    before: (request, peer) => {
      const { pathname } = new URL(request.url);
      seen.push([pathname, peer]);
      return pathname === '/page' ? Promise.resolve(new Response('page')) : null;
    },
  });
  const at = `http://127.0.0.1:${server.port}`;
  const ask = async (path: string) => {
    const response = await fetch(at + path);
    return [await response.text(), response.headers.get('x-request-id')];
  };
  expect(await ask('/emails')).toEqual([`api GET ${at}/emails 127.0.0.1`, null]);
  expect(await ask('/page')).toEqual(['page', 'made']);
  expect(seen).toEqual([
    ['/emails', '127.0.0.1'],
    ['/page', '127.0.0.1'],
  ]);
});

test('while another server takes over, each response ends its connection', async () => {
  let isLeaving = false;
  const server = serve({ isLeaving: () => isLeaving });
  const ask = async () =>
    (await fetch(`http://127.0.0.1:${server.port}/`)).headers.get('connection');
  expect(await ask()).toBeNull();
  isLeaving = true;
  expect(await ask()).toBe('close');
  isLeaving = false;
  expect(await ask()).toBeNull();
});

test('a page ends its connection too while another server takes over, and a refused one waits for its body', async () => {
  const unread = new UnreadBodies();
  const asked = spyOn(unread, 'after');
  let isLeaving = false;
  const server = serve({
    unread,
    isLeaving: () => isLeaving,
    before: () => new Response('page', { status: 403, headers: { 'X-Own': 'own' } }),
  });
  const seen: unknown[] = [];
  for (const leaving of [false, true]) {
    isLeaving = leaving;
    const { headers } = await fetch(`http://127.0.0.1:${server.port}/page`);
    seen.push(['connection', 'x-own', 'x-request-id'].map((name) => headers.get(name)));
  }
  expect(seen).toEqual([
    [null, 'own', 'made'],
    ['close', 'own', 'made'],
  ]);
  expect(asked.mock.calls.map(([request, { status }]) => [request.url, status])).toEqual([
    [`http://127.0.0.1:${server.port}/page`, 403],
  ]);
});

test('a body and its headers arrive whole where the Host was replaced', async () => {
  const server = serveApi(
    {
      async handle(request) {
        const type = request.headers.get('content-type');
        return new Response(`${request.method} ${type} ${await request.text()}`);
      },
      requestId: () => 'made',
    },
    { listen: LISTEN, tls: null },
  );
  open.push(server);
  const said = await exchange(
    server.port,
    'PATCH /x HTTP/1.1\r\nHost: [\r\nContent-Type: a/b\r\nContent-Length: 9\r\nConnection: close\r\n\r\nthe body.',
  );
  expect(said).toEndWith('\r\n\r\nPATCH a/b the body.');
});

test('only what ends its connection waits for a body, and with those of the stop', async () => {
  const unread = new UnreadBodies();
  const asked = spyOn(unread, 'after');
  let isLeaving = false;
  const server = serve({ unread, isLeaving: () => isLeaving });
  const counts: [string, number][] = [];
  for (const [connection, leaving] of [
    ['keep-alive', false],
    ['close', false],
    ['keep-alive', true],
  ] as const) {
    isLeaving = leaving;
    asked.mockClear();
    await fetch(`http://127.0.0.1:${server.port}/`, { headers: { connection } });
    counts.push([`${connection} ${leaving}`, asked.mock.calls.length]);
  }
  expect(counts).toEqual([
    ['keep-alive false', 0],
    ['close false', 1],
    ['keep-alive true', 1],
  ]);
});

test('a request keeps method and body where its Host is replaced, also with a path that is none', async () => {
  const server = serve();
  const first = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);
  const end = 'Connection: close\r\n\r\n';
  const none = 'http://host.invalid';
  for (const [head, url] of [
    ['POST /emails?a=1 HTTP/1.1\r\nHost: [\r\nContent-Length: 0\r\n', `POST ${none}/emails?a=1`],
    ['GET / HTTP/1.1\r\nHost: a b\r\n', `GET ${none}/`],
    ['GET //x HTTP/1.1\r\nHost: [\r\n', `GET ${none}//x`],
    ['GET /x HTTP/1.1\r\nHost: mail.test:81\r\n', 'GET http://mail.test:81/x'],
    ['GET /y HTTP/1.1\r\nHost: mail.test:81\r\n', 'GET http://mail.test:81/y'],
  ] as const) {
    expect([head, first(await exchange(server.port, head + end))]).toEqual([
      head,
      `api ${url} 127.0.0.1`,
    ]);
  }
});

test('a Host that is none is replaced under TLS too, and the query stays', async () => {
  const server = serve({ tls: testAuthority().issue(['mail.test']) });
  const said = async (head: string): Promise<string> => {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    let found = '';
    socket.on('data', (chunk: Buffer) => (found += chunk.toString()));
    socket.write(`${head}Connection: close\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    return found.slice(found.indexOf('\r\n\r\n') + 4);
  };
  for (const [head, url] of [
    ['GET /x HTTP/1.1\r\nHost: [\r\n', 'http://host.invalid/x'],
    ['GET /x?to=/y HTTP/1.1\r\nHost: a b\r\n', 'http://host.invalid/x?to=/y'],
    ['GET /x HTTP/1.1\r\nHost: mail.test\r\n', 'https://mail.test/x'],
  ] as const) {
    expect([head, await said(head)]).toEqual([head, `api GET ${url} 127.0.0.1`]);
  }
});

test('a fault of the handler says nothing of its cause, and is no page', async () => {
  const server = serve({
    before: () => {
      throw new Error('the secret cause');
    },
  });
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  expect([response.status, response.headers.get('x-request-id')]).toEqual([500, 'made']);
  expect(response.headers.get('content-type')).toBe('application/json;charset=utf-8');
  expect(await response.text()).not.toContain('secret');
});
