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
