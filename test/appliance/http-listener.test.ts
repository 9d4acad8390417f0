/** A port passes from server to server, and old servers end while newer ones answer on it. */
import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { Agent, request } from 'node:https';
import { createServer } from 'node:net';

import * as serving from '../../src/api/serve.ts';
import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { testAuthority } from '../rig/certificates.ts';
import { listensAt } from '../rig/descriptors.ts';
import { freePorts } from '../rig/ports.ts';
import { shownName } from '../rig/shown-certificate.ts';

afterEach(() => jest.restoreAllMocks());

const LEAVE_MS = 100;
const ca = testAuthority().cert;
const pairOf = (name: string) => testAuthority().issue([name, '127.0.0.1']);

async function start(leaveMs = LEAVE_MS): Promise<{ http: HttpListener; port: number }> {
  const { certFile, keyFile } = pairOf('0.example');
  const config = parseConfig(
    `hostname = "mail.rig.test"
[http]
listen = "127.0.0.1:0"
tls_cert = "${certFile}"
tls_key = "${keyFile}"`,
    'test',
  );
  const api = {
    handle: () => Promise.resolve(new Response('answered')),
    requestId: () => 'unused',
  };
  const http = new HttpListener(config, api, () => null, leaveMs);
  await http.start();
  return { http, port: Number(new URL(http.url()).port) };
}

/** The `Connection` of the response. */
function ask(port: number, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, ca, agent, path: '/' }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.headers.connection));
    });
    call.once('error', reject);
    call.end();
  });
}

test('every new connection is the newest server’s, before, while and after old ones end', async () => {
  const { http, port } = await start();
  for (const name of ['1.example', '2.example', '3.example', '4.example']) {
    http.change(pairOf(name));
    const until = performance.now() + LEAVE_MS * 0.7;
    // The third and fourth find old servers in every state: leaving, ended, and replaced by the last.
    for (let seen = 0; seen < 10 || performance.now() < until; seen += 1) {
      expect(await shownName(port)).toBe(name);
    }
  }
  const until = performance.now() + LEAVE_MS * 1.5;
  while (performance.now() < until) expect(await shownName(port)).toBe('4.example');
  await http.stop();
});

test('a kept connection is answered by the old server once more, as its last', async () => {
  const { http, port } = await start(60_000);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await ask(port, agent)).not.toBe('close');
  http.change(pairOf('1.example'));
  expect(await ask(port, agent)).toBe('close');
  expect(await ask(port, agent)).not.toBe('close');
  agent.destroy();
  await http.stop();
  expect(listensAt(port)).toBe(false);
});

test('a certificate with which it cannot listen is refused in words, and the old one goes on', async () => {
  const { http, port } = await start();
  const other = pairOf('1.example');
  expect(() => http.change({ cert: other.cert, key: 'no key' })).toThrow('NO_START_LINE');
  const change = () => http.change(other);
  spyOn(serving, 'serveApi').mockImplementationOnce(() => {
    throw Object.assign(new Error('bind'), { code: 'EADDRINUSE' });
  });
  expect(change).toThrow(`http.listen: 127.0.0.1 port ${port} is in use by another program`);
  expect(await shownName(port)).toBe('0.example');
  // It is still another one than that which is shown.
  const text = `hostname = "mail.rig.test"\n[http]\ntls_cert = "${other.certFile}"\ntls_key = "${other.keyFile}"`;
  expect(http.prepare(parseConfig(text, 'test')).kind).toBe('pair');
  change();
  expect(await shownName(port)).toBe('1.example');
  await http.stop();
});

test('with TLS too a port is taken only where another program has it at the same address', async () => {
  const { certFile, keyFile } = pairOf('0.example');
  const other = createServer();
  const [port = 0] = await freePorts(1);
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.2', resolve));
  const api = { handle: () => Promise.resolve(new Response()), requestId: () => 'unused' };
  const at = (host: string) => {
    const tls = `tls_cert = "${certFile}"\ntls_key = "${keyFile}"`;
    const text = `hostname = "mail.rig.test"\n[http]\nlisten = "${host}:${port}"\n${tls}`;
    return new HttpListener(parseConfig(text, 'test'), api, () => null);
  };
  expect(await at('127.0.0.2').start().catch(String)).toBe(
    `OperatorError: http.listen: 127.0.0.2 port ${port} is in use by another program`,
  );
  const http = at('127.0.0.1');
  await http.start();
  expect(await shownName(port)).toBe('0.example');
  await http.stop();
  other.close();
});
