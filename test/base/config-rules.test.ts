/** Keys of the config file that belong together: one without the other is refused, at the key to change. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { listenerUrlOf } from '../../src/base/config-rules.ts';
import { OperatorError } from '../../src/base/errors.ts';

/** The refusals of a config, without file and line; empty when it is accepted. */
function refusals(toml: string): string[] {
  try {
    parseConfig(`hostname = "mail.example.com"\n${toml}`, 'c');
    return [];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.message.split('\n').map((line) => line.replace(/^c:\d+: /, ''));
  }
}

const ROUTE = '[[delivery.routes]]\ndomains = ["corp.example"]\nhost = "10.0.0.5"';
const SMARTHOST = '[delivery.smarthost]\nhost = "relay.example.com"';
const LOGIN = 'and password belong together: set both or neither';

test.each([
  [ROUTE, 'username = "u"', 'password = "p"', `delivery.routes[0].username ${LOGIN}`],
  [ROUTE, 'password = "p"', 'username = "u"', `delivery.routes[0].username ${LOGIN}`],
  [SMARTHOST, 'username = "u"', 'password = "p"', `delivery.smarthost.username ${LOGIN}`],
  [SMARTHOST, 'password = "p"', 'username = "u"', `delivery.smarthost.username ${LOGIN}`],
  ...['http', 'smtp'].flatMap((table): [string, string, string, string][] => {
    const [cert, key] = ['tls_cert = "/dev/null"', 'tls_key = "/dev/null"'];
    const words = (other: string): string => `needs ${other} too: set both or neither`;
    return [
      [`[${table}]`, cert, key, `${table}.tls_cert ${words('tls_key')}`],
      [`[${table}]`, key, cert, `${table}.tls_key ${words('tls_cert')}`],
    ];
  }),
])('%j with %j alone is refused, and with %j taken', (table, one, other, refusal) => {
  expect(refusals(`${table}\n${one}`)).toEqual([refusal]);
  expect(refusals(`${table}\n${one}\n${other}`)).toEqual([]);
  expect(refusals(table)).toEqual([]);
});

test('the login of a second route is looked at too', () => {
  const second = '[[delivery.routes]]\ndomains = ["b.example"]\nhost = "10.0.0.6"\nusername = "u"';
  expect(refusals(`${ROUTE}\n${second}`)).toEqual([`delivery.routes[1].username ${LOGIN}`]);
});

test.each([
  ['listen = "127.0.0.1:8025"', 'http://127.0.0.1:8025'],
  ['listen = "[::1]:8025"', 'http://[::1]:8025'],
  ['public_url = "https://mail.example.com/"', 'https://mail.example.com'],
])('[http] %s is reached at %s', (line, url) => {
  const { live } = parseConfig(`hostname = "mail.example.com"\n[http]\n${line}`, 'c');
  expect(live.http.publicUrl).toBe(url);
});

test('with a certificate of its own it is reached under https', () => {
  const http = { listen: { host: '::1', port: 443 }, tlsCert: '/etc/cert.pem' };
  expect(listenerUrlOf(http)).toBe('https://[::1]:443');
});
