/** Every request has a URL that can be parsed, whatever its Host, also after requests with a valid one. */
import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { serveApi } from '../../src/api/serve.ts';

async function ask(port: number, head: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.write(`${head}\r\nConnection: close\r\n\r\n`);
  await new Promise((resolve) => socket.once('close', resolve));
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

test('a bad Host is replaced, before and after a good one', async () => {
  const handle = (request: Request): Promise<Response> =>
    Promise.resolve(new Response(request.url));
  const server = serveApi(
    { handle, requestId: () => 'unused' },
    { listen: { host: '127.0.0.1', port: 0 }, tls: null },
  );
  const port = server.port ?? 0;
  const seen: string[] = [];
  for (const host of ['[', 'good.test', 'a b', 'good.test', '[']) {
    seen.push(await ask(port, `GET /emails/x?y=1 HTTP/1.1\r\nHost: ${host}`));
  }
  seen.push(await ask(port, 'GET /emails/x?y=1 HTTP/1.0'));
  await server.stop(true);
  const good = 'http://good.test/emails/x?y=1';
  const none = 'http://host.invalid/emails/x?y=1';
  expect(seen).toEqual([none, good, none, good, none, none]);
});

test('a handler that fails all the same is 500 in the shape of every error, with an id', async () => {
  const server = serveApi(
    { handle: () => Promise.reject(new Error('the secret cause')), requestId: () => 'request-1' },
    { listen: { host: '127.0.0.1', port: 0 }, tls: null },
  );
  const response = await fetch(`http://127.0.0.1:${server.port}/emails`);
  const message = 'The service failed to handle this request.';
  const error = { statusCode: 500, name: 'internal_server_error', message };
  expect([response.status, response.headers.get('x-request-id'), await response.json()]).toEqual([
    500,
    'request-1',
    { ...error, code: 'internal_error', request_id: 'request-1', error },
  ]);
  await server.stop(true);
});

test('responses of others get an id where they have none', async () => {
  let own: Record<string, string> = {};
  const server = serveApi(
    { handle: () => Promise.resolve(new Response('api')), requestId: () => 'made' },
    {
      listen: { host: '127.0.0.1', port: 0 },
      tls: null,
      before: (request) =>
        request.url.endsWith('/page') ? new Response('page', { headers: own }) : null,
    },
  );
  const ask = async (path: string): Promise<[string, string | null]> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [await response.text(), response.headers.get('x-request-id')];
  };
  expect(await ask('/page')).toEqual(['page', 'made']);
  own = { 'X-Request-Id': 'own' };
  expect(await ask('/page')).toEqual(['page', 'own']);
  expect(await ask('/emails')).toEqual(['api', null]);
  await server.stop(true);
});
