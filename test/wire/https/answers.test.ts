/** What callers are told of an exchange: fixed words for errors, the first bytes of a body, and nothing left behind. */
import { afterAll, expect, spyOn, test } from 'bun:test';

import { ConnectError, GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { excerptOf, guardedGet, guardedPost, wordsFor } from '../../../src/wire/https/post.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import {
  agentWith,
  closeEndpoints,
  found,
  names,
  OK,
  openEndpoint,
  toServer,
} from './tls-endpoint.ts';

afterAll(closeEndpoints);

test.each([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ENETUNREACH', 'the host is unreachable'],
  ['EHOSTUNREACH', 'the host is unreachable'],
  ['ECONNRESET', 'the connection was closed before a response came'],
  ['EPIPE', 'the connection was closed before a response came'],
  ['ECONNABORTED', 'the connection was closed before a response came'],
  ['ETIMEDOUT', 'the connection timed out'],
  ['CERT_HAS_EXPIRED', 'the TLS certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the TLS certificate is not for this host'],
  ['CERT_NOT_YET_VALID', 'the TLS certificate is not trusted'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the TLS certificate is not trusted'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the TLS certificate is not trusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the TLS certificate is not trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'the TLS certificate is not trusted'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the TLS handshake failed'],
  ['ERR_TLS_HANDSHAKE', 'the TLS handshake failed'],
  ['HPE_INVALID_CONSTANT', 'the response is not valid HTTP'],
  ['XECONNREFUSED', 'the connection failed'],
  [undefined, 'the connection failed'],
])('%p: %s', (code, words) => {
  expect(wordsFor(Object.assign(new Error('secret'), { code }))).toBe(words);
});

test('an error of our own is told in its own words', () => {
  expect(wordsFor(new ConnectError('the deadline passed'))).toBe('the deadline passed');
});

test.each([
  [['ok'], 'ok'],
  [['a', 'b', 'c'], 'abc'],
  [[], null],
  [[' \n\t '], null],
  [['\u0000\u001b[31mred\u0085\r\n\tend'], '[31mred\n\tend'],
  [['x'.repeat(1_024)], 'x'.repeat(1_024)],
  [['x'.repeat(1_025)], 'x'.repeat(1_024)],
  [['x'.repeat(1_000), 'y'.repeat(24), 'z'], 'x'.repeat(1_000) + 'y'.repeat(24)],
  [['x'.repeat(1_000), 'y'.repeat(30)], 'x'.repeat(1_000) + 'y'.repeat(24)],
])('%#: of a body the first 1,024 bytes are kept', (chunks, excerpt) => {
  expect(excerptOf(chunks.map((chunk) => Buffer.from(chunk)))).toBe(excerpt);
});

function ask(port: number, more: object = {}) {
  const agent = agentWith();
  return {
    agent,
    request: {
      url: `https://hook.test:${port}/in`,
      headers: {},
      agent,
      timeoutMs: 5_000,
      maxResponseBytes: 2,
      ...more,
    },
  };
}

test('a response may have as many bytes as the limit says, not one more', async () => {
  const { port } = await openEndpoint((socket) => socket.write(OK));
  const taken = ask(port);
  expect(await guardedGet(taken.request)).toMatchObject({ kind: 'responded', statusCode: 200 });
  taken.agent.destroy();
  const refused = ask(port, { maxResponseBytes: 1 });
  expect(await guardedGet(refused.request)).toMatchObject({
    kind: 'failed',
    reason: 'the response is too long or was cut off',
    isRefused: false,
    isLocal: false,
  });
  refused.agent.destroy();
});

test('nothing stays on the signal of the caller when a request has ended', async () => {
  const { port } = await openEndpoint((socket) => socket.write(OK));
  const { signal } = new AbortController();
  const added = spyOn(signal, 'addEventListener');
  const removed = spyOn(signal, 'removeEventListener');
  const { agent, request } = ask(port, { signal });
  expect(await guardedPost({ ...request, body: 'x' })).toMatchObject({ statusCode: 200 });
  const listeners = added.mock.calls.map(([, listener]) => listener);
  expect(listeners).toHaveLength(1);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(listeners);
  agent.destroy();
});

test('idle connections are kept four seconds, four of a host', () => {
  const agent = new GuardedAgent({ resolver: toServer, allowNetworks: parseNetworks([]), ca: [] });
  expect(agent.options).toMatchObject({ timeout: 4_000, keepAlive: true });
  expect(agent.maxFreeSockets).toBe(4);
  agent.destroy();
});

test('an address is waited for three seconds while others are left, the last one for what remains', async () => {
  const { port } = await openEndpoint((socket) => socket.write(OK));
  for (const [addresses, waits] of [
    [['127.0.0.2'], 0],
    [['127.0.0.2', '127.0.0.2'], 1],
  ] as const) {
    const agent = agentWith(names(() => found(...addresses)));
    const timers = spyOn(globalThis, 'setTimeout');
    const cleared = spyOn(globalThis, 'clearTimeout');
    const result = await guardedGet({ ...ask(port).request, agent });
    const delays = timers.mock.calls.map(([, ms]) => ms);
    const ours = timers.mock.results.filter((_, at) => [3_000, 5_000].includes(delays[at] ?? 0));
    const ended = cleared.mock.calls.map(([timer]): unknown => timer);
    timers.mockRestore();
    cleared.mockRestore();
    expect(result).toMatchObject({ statusCode: 200 });
    expect(delays.filter((ms) => ms === 3_000)).toHaveLength(waits);
    expect(delays).toContain(5_000);
    // Left alone, the first would end a connection that is in use by then.
    expect(ours.filter(({ value }) => !ended.includes(value))).toEqual([]);
    agent.destroy();
  }
});

test.each([
  ['Content-Type: Text/Plain; Charset=UTF-8\r\n', 'text/plain'],
  ['Content-Type:  text/html \r\n', 'text/html'],
  ['', ''],
])('%j has the type %j', async (field, contentType) => {
  const { port } = await openEndpoint((socket) =>
    socket.write(`HTTP/1.1 200 OK\r\n${field}Content-Length: 2\r\n\r\nok`),
  );
  const { agent, request } = ask(port);
  expect(await guardedGet(request)).toMatchObject({ contentType, body: Buffer.from('ok') });
  agent.destroy();
});
