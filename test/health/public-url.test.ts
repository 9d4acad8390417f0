/** Which configs of address and TLS are warned about, and which are not. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { testAuthority } from '../rig/certificates.ts';
import { publicUrlWarnings } from '../../src/health/public-url.ts';

const ACME = '\n[acme]\nlisten = "0.0.0.0:80"\naccept_terms = true';
const PROXY = '\ntrusted_proxies = ["127.0.0.1/32"]';
const { certFile, keyFile } = testAuthority().issue(['mail.example.com']);
const CERT = `\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"`;

test.each([
  ['listen = "127.0.0.1:8025"', []],
  ['listen = "0.0.0.0:443"\npublic_url = "https://mail.example.com"' + CERT, []],
  ['listen = "0.0.0.0:443"\npublic_url = "https://mail.example.com"' + ACME, []],
  ['listen = "127.0.0.1:8025"\npublic_url = "https://mail.example.com"' + PROXY, []],
  ['listen = "10.0.0.5:8025"\npublic_url = "https://mail.example.com"' + PROXY, []],
  [
    'listen = "127.0.0.1:8025"\npublic_url = "https://mail.example.com"',
    ['trusted_proxies is empty'],
  ],
  // ACME keeps a certificate for other listeners here: who comes from outside comes through a proxy.
  [
    'listen = "127.0.0.1:8025"\npublic_url = "https://mail.example.com"' + ACME,
    ['trusted_proxies is empty'],
  ],
  ['listen = "127.0.0.1:8025"\npublic_url = "https://mail.example.com"' + PROXY + ACME, []],
  ['listen = "0.0.0.0:80"\npublic_url = "http://mail.example.com"', ['without TLS']],
  ['listen = "0.0.0.0:8025"\npublic_url = "https://mail.example.com"', ['without TLS']],
  ['listen = "0.0.0.0:443"\npublic_url = "http://mail.example.com"' + CERT, ['listens with TLS']],
])('%j', (http, expected) => {
  const config = parseConfig(`hostname = "mail.example.com"\n[http]\n${http}`, 'test');
  const warnings = publicUrlWarnings(config).map(({ summary }) => summary);
  expect(warnings).toHaveLength(expected.length);
  for (const [at, words] of expected.entries()) expect(warnings[at]).toContain(words);
});
