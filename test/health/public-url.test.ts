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
  // Its own name may lead to loopback, as in a container.
  ['listen = "127.0.0.1:443"\npublic_url = "https://mail.example.com"' + CERT, []],
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
  // For an address of http no certificate is asked.
  ['listen = "0.0.0.0:80"\npublic_url = "http://mail.example.com"' + ACME, ['without TLS']],
  ['listen = "127.0.0.1:8025"\npublic_url = "http://[::1]:8025"', []],
  ['listen = "[::1]:8025"\npublic_url = "https://mail.example.com"', ['trusted_proxies is empty']],
])('%j', (http, expected) => {
  const config = parseConfig(`hostname = "mail.example.com"\n[http]\n${http}`, 'test');
  const warnings = publicUrlWarnings(config).map(({ summary }) => summary);
  expect(warnings).toHaveLength(expected.length);
  for (const [at, words] of expected.entries()) expect(warnings[at]).toContain(words);
});

test('each warning says what contradicts and what to do', () => {
  const warned = (http: string) =>
    publicUrlWarnings(parseConfig(`hostname = "mail.example.com"\n[http]\n${http}`, 'test'));
  expect(warned(`listen = "0.0.0.0:443"\npublic_url = "http://mail.example.com"${CERT}`)).toEqual([
    {
      summary: '[http] public_url is http://mail.example.com, but the API listens with TLS.',
      advice: 'Write https in public_url: the links in mail and in the API begin with it.',
    },
  ]);
  expect(warned('listen = "0.0.0.0:80"\npublic_url = "http://mail.example.com"')).toEqual([
    {
      summary: 'The API listens without TLS on an address that other machines reach.',
      advice:
        'API keys and the dashboard password cross the network in clear text. Set [http] tls_cert or [acme], or listen on 127.0.0.1 behind a reverse proxy and name it in trusted_proxies.',
    },
  ]);
  expect(warned('listen = "127.0.0.1:8025"\npublic_url = "https://mail.example.com"')).toEqual([
    {
      summary:
        'Clients reach the API at https://mail.example.com through a proxy, but [http] trusted_proxies is empty.',
      advice:
        'All clients share one address then, and one who guesses the dashboard password keeps you out. Name the proxy, for example trusted_proxies = ["127.0.0.1/32"].',
    },
  ]);
});
