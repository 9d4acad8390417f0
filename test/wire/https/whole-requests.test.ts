/** Requests to the last byte and results to the last field: what is sent, what is told, and what TLS is asked for. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { createServer, Socket } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { guardedGet, guardedPost } from '../../../src/wire/https/post.ts';
import { loopbackPost } from '../../../src/wire/https/loopback-post.ts';
import { operatorPost } from '../../../src/wire/https/operator-post.ts';
import type { DnsAnswer } from '../../../src/wire/dns/resolver.ts';
import { agentWith, closeEndpoints, found, names, openEndpoint, toServer } from './tls-endpoint.ts';

const servers: Server[] = [];
afterAll(() => {
  closeEndpoints();
  for (const server of servers) server.close();
});

const ANSWER =
  'HTTP/1.1 202 X\r\nContent-Type: TEXT/Html ; a=b\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbody';
const ms = expect.any(Number) as number;

/** A request as its head's lines, sorted but for the first one, and its body. */
function shown(request: string): [first: string, fields: string[], body: string] {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  const [first = '', ...fields] = head.split('\r\n');
  return [first, fields.map((field) => field.toLowerCase()).toSorted(), body];
}

/** A plain server that notes each whole request and answers with `answer`. */
async function plain(answer = ANSWER): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((socket: Socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('{}')) return;
      requests.push(text);
      socket.end(answer);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, requests };
}

test('a guarded post and a guarded get', async () => {
  const sockets: TLSSocket[] = [];
  const { port, requests } = await openEndpoint((socket) => {
    sockets.push(socket);
    socket.write(ANSWER);
  });
  const agent = agentWith();
  const request = {
    url: `https://Hook.test:${port}/a/b?c=d&e#f`,
    // The URL names the host, whatever the headers say.
    headers: { 'X-One': '1', accept: 'text/plain', host: 'elsewhere.test' },
    agent,
    timeoutMs: 5_000,
    maxResponseBytes: 4,
  };
  expect(await guardedPost({ ...request, body: 'ü{}' })).toEqual({
    kind: 'responded',
    statusCode: 202,
    durationMs: ms,
    retryAfterSeconds: 7,
    excerpt: 'body',
  });
  expect(await guardedGet(request)).toEqual({
    kind: 'responded',
    statusCode: 202,
    durationMs: ms,
    contentType: 'text/html',
    body: Buffer.from('body'),
  });
  const host = `host: hook.test:${port}`;
  const fields = ['accept: text/plain', 'connection: keep-alive', host, 'x-one: 1'];
  expect(requests.map(shown)).toEqual([
    ['POST /a/b?c=d&e HTTP/1.1', [...fields, 'content-length: 4'].toSorted(), 'Ã¼{}'],
    ['GET /a/b?c=d&e HTTP/1.1', fields, ''],
  ]);
  // One connection, for the name that was asked for.
  const [one, other] = sockets;
  expect([one === other, (one as { servername?: string }).servername]).toEqual([true, 'hook.test']);
  agent.destroy();
});

test('a post to this machine, and one to a service of the operator', async () => {
  const { port, requests } = await plain();
  const url = new URL(`http://127.0.0.1:${port}/a?b=c`);
  const headers = { 'X-One': '1', host: 'elsewhere.test', 'content-length': '9' };
  const post = { headers, body: Buffer.from('{}'), timeoutMs: 5_000 };
  expect(await loopbackPost(url, post)).toEqual({
    kind: 'responded',
    statusCode: 202,
    excerpt: 'body',
    durationMs: ms,
    retryAfterSeconds: null,
  });
  const operator = {
    ...post,
    url: `http://spam.test:${port}/checkv2`,
    maxResponseBytes: 4,
    ca: [],
  };
  expect(await operatorPost({ ...operator, resolver: names(() => found('127.0.0.1')) })).toEqual({
    kind: 'responded',
    statusCode: 202,
    body: Buffer.from('body'),
  });
  const fields = (host: string) => [
    'connection: close',
    'content-length: 2',
    `host: ${host}:${port}`,
    'x-one: 1',
  ];
  expect(requests.map(shown)).toEqual([
    ['POST /a?b=c HTTP/1.1', fields('127.0.0.1'), '{}'],
    ['POST /checkv2 HTTP/1.1', fields('spam.test'), '{}'],
  ]);
});

test('a response is read for as long as its bytes may be kept, and ends there', async () => {
  let goOn = (): void => undefined;
  const { port } = await openEndpoint((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc');
    goOn = () => void socket.write('def');
  });
  const asked: number[] = [];
  const ask = (may: number) =>
    guardedGet({
      url: `https://hook.test:${port}/`,
      headers: {},
      agent: agentWith(),
      timeoutMs: 5_000,
      maxResponseBytes: 100,
      mayKeep(bytes) {
        // The second piece comes when the first is here.
        if (asked.push(bytes) === 1) goOn();
        return asked.reduce((sum, one) => sum + one, 0) <= may;
      },
    });
  expect(await ask(6)).toMatchObject({ kind: 'responded', body: Buffer.from('abcdef') });
  expect(asked).toEqual([3, 3]);
  asked.length = 0;
  expect(await ask(5)).toEqual({
    kind: 'failed',
    reason: 'the response is too long or was cut off',
    durationMs: ms,
    isRefused: false,
    isLocal: false,
  });
});

test.each([
  ['http://hook.test/', 'the URL must begin with https://'],
  ['https://user@hook.test/', 'the URL must not carry a user name or password'],
  ['https://db.local/', 'the host does not lead to a public address'],
])('%s is refused at once, and nobody is asked', async (url, reason) => {
  const armed = spyOn(globalThis, 'setTimeout');
  const never = names(() => {
    throw new Error('asked');
  });
  const request = { url, headers: {}, agent: agentWith(never), timeoutMs: 7, maxResponseBytes: 1 };
  const ends = [await guardedPost({ ...request, body: '' }), await guardedGet(request)];
  const delays = armed.mock.calls.map(([, after]) => after);
  armed.mockRestore();
  const refused = {
    kind: 'failed',
    reason,
    durationMs: 0,
    isRefused: true,
    isLocal: false,
  } as const;
  expect([ends, delays.includes(7)]).toEqual([[refused, refused], false]);
});

test('every end says how long it took, rounded to milliseconds', async () => {
  const { port } = await openEndpoint((socket) => socket.end(ANSWER));
  const clock = spyOn(performance, 'now');
  const took = async (answer: DnsAnswer<string>, stop?: AbortController): Promise<unknown> => {
    clock.mockImplementation(() => 1_000.2);
    const resolver = names(() => {
      clock.mockImplementation(() => 1_042.7);
      stop?.abort();
      return answer;
    });
    const agent = agentWith(resolver);
    const request = { url: `https://hook.test:${port}/`, headers: {}, agent, timeoutMs: 5_000 };
    const bounds = { maxResponseBytes: 100, ...(stop && { signal: stop.signal }) };
    const end = await guardedPost({ ...request, ...bounds, body: '{}' });
    agent.destroy();
    return [end.kind === 'failed' ? end.reason : end.statusCode, end.durationMs];
  };
  const ends = [
    await took({ kind: 'failed', reason: 'x' }),
    await took(found('127.0.0.2'), new AbortController()),
    await took(found('127.0.0.2')),
  ];
  clock.mockRestore();
  expect(ends).toEqual([
    ['the host name could not be resolved', 43],
    ['no complete response within 5 s', 43],
    [202, 43],
  ]);
});

test('so does a post to this machine', async () => {
  const { port } = await plain();
  const clock = spyOn(performance, 'now');
  const took = async (host: string): Promise<unknown> => {
    clock.mockReturnValue(1_042.7);
    clock.mockReturnValueOnce(1_000.2);
    const post = { headers: {}, body: '{}', timeoutMs: 5_000 };
    const end = await loopbackPost(new URL(`http://${host}/`), post);
    return [end.kind, end.durationMs];
  };
  const ends = [await took(`127.0.0.1:${port}`), await took('127.0.0.1:1'), await took('10.0.0.1')];
  clock.mockRestore();
  expect(ends).toEqual([
    ['responded', 43],
    ['failed', 43],
    ['failed', 43],
  ]);
});

test('only this machine is posted to, whoever asks', async () => {
  const post = { headers: {}, body: '', timeoutMs: 1_000 };
  const clock = spyOn(performance, 'now').mockReturnValue(1_000);
  const end = await loopbackPost(new URL('http://10.0.0.1/'), post);
  clock.mockRestore();
  expect(end).toEqual({
    kind: 'failed',
    reason: 'not an address of this machine',
    durationMs: 0,
    isRefused: false,
    isLocal: false,
  });
  const stopped = { ...post, signal: AbortSignal.abort() };
  expect(await loopbackPost(new URL('http://localhost:1/'), stopped)).toMatchObject({
    kind: 'failed',
    reason: 'the deadline passed',
  });
});

test('of a response from this machine 64 KiB are kept at the least, whatever comes in one piece', async () => {
  const { port } = await plain(
    `HTTP/1.1 200 X\r\nContent-Length: 70000\r\n\r\n${' '.repeat(1_020)}word${'x'.repeat(68_976)}`,
  );
  const url = new URL(`http://127.0.0.1:${port}/`);
  const post = { headers: {}, body: '{}', timeoutMs: 5_000 };
  expect(await loopbackPost(url, post)).toMatchObject({ statusCode: 200, excerpt: 'word' });
});

test('the time of a post to a service of the operator is not left running', async () => {
  const { port } = await plain();
  const [armed, cleared] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')];
  await operatorPost({
    url: `http://spam.test:${port}/`,
    headers: {},
    body: Buffer.from('{}'),
    timeoutMs: 4_321,
    maxResponseBytes: 100,
    resolver: names(() => found('127.0.0.1')),
    ca: [],
  });
  const at = armed.mock.calls.findIndex(([, after]) => after === 4_321);
  const timer: unknown = armed.mock.results[at]?.value;
  const ended = cleared.mock.calls.map(([one]): unknown => one);
  armed.mockRestore();
  cleared.mockRestore();
  expect([at >= 0, ended.includes(timer)]).toEqual([true, true]);
});

test('a port that is not named is that of its scheme', async () => {
  const dialled: unknown[] = [];
  const connect = spyOn(Socket.prototype, 'connect').mockImplementation(function (
    this: Socket,
    ...args: unknown[]
  ) {
    const [options] = args.flat() as [{ host?: string; port?: number }];
    dialled.push([options.host, options.port]);
    queueMicrotask(() => this.destroy(Object.assign(new Error('x'), { code: 'EHOSTUNREACH' })));
    return this;
  });
  const post = {
    headers: {},
    body: Buffer.from(''),
    timeoutMs: 2_000,
    maxResponseBytes: 1,
    ca: [],
  };
  for (const url of ['http://spam.test/', 'https://spam.test/']) {
    await operatorPost({ ...post, url, resolver: names(() => found('192.0.2.1')) });
  }
  await loopbackPost(new URL('http://127.0.0.1/'), { headers: {}, body: '', timeoutMs: 2_000 });
  connect.mockRestore();
  expect(dialled).toEqual([
    ['192.0.2.1', 80],
    ['192.0.2.1', 443],
    ['127.0.0.1', 80],
  ]);
});

test('nothing is looked up for an address, and the way to a name is asked for by that name', async () => {
  const asked: string[] = [];
  const noting = {
    a: (name: string) => (asked.push(`a ${name}`), toServer.a(name)),
    aaaa: (name: string) => (asked.push(`aaaa ${name}`), toServer.aaaa(name)),
  };
  const { port } = await openEndpoint((socket) => socket.write(ANSWER));
  const agent = agentWith(noting);
  for (const host of ['127.0.0.2', 'a.hook.test']) {
    const url = `https://${host}:${port}/`;
    await guardedGet({ url, headers: {}, agent, timeoutMs: 5_000, maxResponseBytes: 10 });
  }
  agent.destroy();
  expect(asked).toEqual(['a a.hook.test', 'aaaa a.hook.test']);
});
