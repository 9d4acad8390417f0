/** When the certificate of [acme] is also that of the API: only where clients reach its https address themselves. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HttpListener } from '../../src/appliance/http-listener.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import type { Config } from '../../src/base/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'http-certificate-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ACME = '[acme]\nlisten = "0.0.0.0:80"\naccept_terms = true';

function configOf(listen: string, publicUrl: string, acme: string): Config {
  const text = `hostname = "mail.example.com"
data_dir = "${folder}"
[http]
listen = "${listen}"
public_url = "${publicUrl}"
${acme}`;
  return parseConfig(text, 'test');
}

test.each([
  [
    'an address that clients reach with https',
    '0.0.0.0:443',
    'https://mail.example.com',
    ACME,
    true,
  ],
  ['a public address with plain http', '0.0.0.0:80', 'http://mail.example.com', ACME, false],
  ['an address behind a proxy', '127.0.0.1:3000', 'https://mail.example.com', ACME, false],
  ['no [acme]', '0.0.0.0:443', 'https://mail.example.com', '', false],
])('%s', async (_, listen, publicUrl, acme, hasTls) => {
  const api = { handle: () => Promise.resolve(new Response()), requestId: () => 'unused' };
  const plain = configOf('127.0.0.1:0', 'http://127.0.0.1', '');
  const http = new HttpListener(plain, api, () => null);
  await http.start();
  // What the server that answers in the clear would have to become.
  const change = http.prepare(configOf(listen, publicUrl, acme));
  expect(change.kind).toBe(hasTls ? 'restart' : 'none');
  await http.stop();
});
