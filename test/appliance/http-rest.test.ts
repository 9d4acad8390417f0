/** The HTTP listener before its start, at rest and again: addresses, ports, and certificates that change meanwhile. */
import { afterEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';

import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { testAuthority } from '../rig/certificates.ts';
import { listensAt } from '../rig/descriptors.ts';
import { freePorts } from '../rig/ports.ts';
import { shownName } from '../rig/shown-certificate.ts';

const ca = testAuthority().cert;
const issue = (name: string) => testAuthority().issue([name, '127.0.0.1']);

let http: HttpListener;
afterEach(() => http.stop());

type Files = { certFile: string; keyFile: string } | null;

function configOf(host: string, port: number, pair: Files) {
  const tls = pair === null ? '' : `tls_cert = "${pair.certFile}"\ntls_key = "${pair.keyFile}"\n`;
  const text = `hostname = "mail.rig.test"\n[http]\nlisten = "${host}:${port}"\n${tls}`;
  return parseConfig(text, 'test');
}

function make(host = '127.0.0.1', port = 0, pair: Files = null) {
  const api = { handle: () => Promise.resolve(new Response('api')), requestId: () => 'unused' };
  return new HttpListener(configOf(host, port, pair), api, (request) =>
    request.url.endsWith('/before') ? new Response('before') : null,
  );
}

const portOf = (listener: HttpListener): number => Number(new URL(listener.url()).port);

test('before its start it has no address, and nothing that rests or stops it does harm', async () => {
  http = make();
  expect(() => http.url()).toThrow('not listening yet');
  expect(() => http.change(issue('a.example'))).toThrow('not listening yet');
  http.rest();
  await http.listenAgain();
  await http.stop();
  expect(() => http.url()).toThrow('not listening yet');
  await http.start();
  const answers = ['/before', '/other'].map(async (path) =>
    (await fetch(http.url() + path)).text(),
  );
  expect(await Promise.all(answers)).toEqual(['before', 'api']);
});

test.each([
  ['127.0.0.1', null, /^http:\/\/127\.0\.0\.1:\d+$/],
  ['[::1]', null, /^http:\/\/\[::1\]:\d+$/],
  ['127.0.0.1', 'a.example', /^https:\/\/127\.0\.0\.1:\d+$/],
])('at %s with the certificate of %p it is reached at its URL', async (host, name, url) => {
  http = make(host, 0, name === null ? null : issue(name));
  await http.start();
  expect(http.url()).toMatch(url);
  expect(await (await fetch(http.url(), { tls: { ca } })).text()).toBe('api');
});

test('at rest nothing is accepted; then it is the same port again, once', async () => {
  const [port = 0] = await freePorts(1);
  http = make('127.0.0.1', port);
  await http.start();
  await http.listenAgain();
  http.rest();
  expect(listensAt(port)).toBe(false);
  http.rest();
  await http.listenAgain();
  await http.listenAgain();
  expect([portOf(http), listensAt(port)]).toEqual([port, true]);
  await http.stop();
  expect(listensAt(port)).toBe(false);
});

test('where the port is taken while it rests, it does not listen again until that is free', async () => {
  const [port = 0] = await freePorts(1);
  http = make('127.0.0.1', port);
  await http.start();
  http.rest();
  const other = Bun.serve({ hostname: '127.0.0.1', port, fetch: () => new Response('other') });
  expect(await http.listenAgain().catch(String)).toContain('in use');
  await other.stop(true);
  await http.listenAgain();
  expect(await (await fetch(http.url())).text()).toBe('api');
});

test('a certificate that was renewed for the same key is another; the same files are none', async () => {
  const pair = issue('old.example');
  const config = configOf('127.0.0.1', 0, pair);
  http = make('127.0.0.1', 0, pair);
  await http.start();
  expect(http.prepare(config).kind).toBe('none');
  writeFileSync(pair.certFile, pair.cert + ca);
  expect(http.prepare(config)).toMatchObject({ kind: 'pair', pair: { cert: pair.cert + ca } });
});

test('a certificate that changes at rest is shown on the same port afterwards', async () => {
  const [port = 0] = await freePorts(1);
  http = make('127.0.0.1', port, issue('old.example'));
  await http.start();
  http.rest();
  const next = issue('new.example');
  http.change(next);
  expect(listensAt(port)).toBe(false);
  await http.listenAgain();
  expect(portOf(http)).toBe(port);
  expect(await shownName(port)).toBe('new.example');
});

test.each([null, 'a.example'])(
  'an address that another program has is refused, with a certificate (%p) too',
  async (name) => {
    const other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      reusePort: true,
      fetch: () => new Response('other'),
    });
    const port = Number(other.port);
    http = make('127.0.0.1', port, name === null ? null : issue(name));
    const refused: unknown = await http.start().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OperatorError);
    expect(String(refused)).toBe(
      `OperatorError: http.listen: 127.0.0.1 port ${port} is in use by another program`,
    );
    await other.stop(true);
  },
);
