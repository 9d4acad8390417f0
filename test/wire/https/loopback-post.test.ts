/** Posts to this machine: which URLs count as that, and every end as a value. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loopbackPost, loopbackUrl } from '../../../src/wire/https/loopback-post.ts';

const seen: string[] = [];
const bodies: { given: unknown; length: unknown; text: string }[] = [];
const server = createServer((request, response) => {
  seen.push(`${request.method} ${request.url} ${request.headers.host}`);
  if (request.url === '/stall') return;
  if (request.url === '/flood') {
    void flood(response);
    return;
  }
  if (request.url === '/cut') {
    response.writeHead(200, { 'content-length': '10' });
    response.write('half', () => request.socket.destroy());
    return;
  }
  if (request.url === '/moved') response.writeHead(302, { location: 'http://example.org/' });
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString()));
  request.on('end', () => {
    bodies.push({
      given: request.headers['x-a'],
      length: request.headers['content-length'],
      text,
    });
    response.end('body');
  });
});
/** Bytes of this process's memory at the end of a long response. */
let atEnd = 0;

async function flood(response: ServerResponse): Promise<void> {
  const block = Buffer.alloc(1024 * 1024, 'x');
  for (let count = 0; count < 300; count += 1) {
    await new Promise<void>((resolve) => void response.write(block, () => resolve()));
  }
  Bun.gc(true);
  atEnd = process.memoryUsage.rss();
  response.end();
}

let port: number;
beforeAll(async () => {
  // By IPv6 alone, as some frameworks listen on localhost.
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each([
  ['http://localhost:3000/hook', true],
  ['http://LOCALHOST/hook', true],
  ['http://127.0.0.1/x', true],
  ['http://127.1:80/x', true],
  ['http://[::1]:3000/', true],
  ['https://localhost/', false],
  ['http://user@localhost/', false],
  ['http://:password@localhost/', false],
  ['http://localhost.example.org/', false],
  ['http://10.0.0.1/', false],
  ['http://169.254.169.254/', false],
  ['http://[::ffff:10.0.0.1]/', false],
  ['file:///etc/passwd', false],
  ['nonsense', false],
])('%s is this machine: %p', (text, isOwn) => {
  expect(loopbackUrl(text) !== null).toBe(isOwn);
});

function post(path: string, timeoutMs = 5_000, at = `localhost:${port}`) {
  const url = loopbackUrl(`http://${at}${path}`);
  if (url === null) throw new Error('not of this machine');
  return loopbackPost(url, { headers: { 'x-a': 'b' }, body: 'ü', timeoutMs });
}

test('localhost is found by IPv4 or IPv6, and no redirect is followed', async () => {
  expect(await post('/a?b=c')).toEqual({
    kind: 'responded',
    statusCode: 200,
    excerpt: 'body',
    durationMs: expect.any(Number) as number,
    retryAfterSeconds: null,
  });
  expect(await post('/moved')).toMatchObject({ kind: 'responded', statusCode: 302 });
  expect(seen).toEqual([`POST /a?b=c localhost:${port}`, `POST /moved localhost:${port}`]);
});

test('a server that is not there, and one that is silent, are failures', async () => {
  const gone = await post('/', 5_000, '127.0.0.1:1');
  const failed = { kind: 'failed' as const, isRefused: false, isLocal: false };
  expect(gone).toEqual({
    ...failed,
    reason: 'the connection failed',
    durationMs: expect.any(Number) as number,
  });
  const silent = await post('/stall', 200);
  expect(silent).toMatchObject({ ...failed, reason: 'the deadline passed' });
  expect(silent.durationMs).toBeGreaterThanOrEqual(190);
});

test('a response that is cut off is a failure at once', async () => {
  expect(await post('/cut', 60_000, `[::1]:${port}`)).toEqual({
    kind: 'failed',
    reason: 'the connection failed',
    durationMs: expect.any(Number) as number,
    isRefused: false,
    isLocal: false,
  });
});

test('of a long response only the beginning is kept', async () => {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const answer = await post('/flood', 30_000);
  expect(answer).toMatchObject({ kind: 'responded', statusCode: 200 });
  // 300 MiB were sent.
  expect(atEnd - before).toBeLessThan(150 * 1024 * 1024);
});

test('headers and body arrive as they were given, with the length in bytes', async () => {
  bodies.length = 0;
  expect((await post('/hook')).kind).toBe('responded');
  expect(bodies).toEqual([{ given: 'b', length: '2', text: 'ü' }]);
});
