/** Keys of the config file that belong together: one without the other is refused, at the key to change. */
import { expect, test } from 'bun:test';

import { ownNames } from '../../src/base/config.ts';
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

test('files have no standby', () => {
  const alone = '[store]\nrequire_standby = true';
  const words = 'store.require_standby needs url: files have no standby';
  expect(refusals(alone)).toEqual([words]);
  expect(refusals(`${alone}\nurl = "postgres://mail@db/mail"`)).toEqual([]);
});

test('the login of a second route is looked at too', () => {
  const second = '[[delivery.routes]]\ndomains = ["b.example"]\nhost = "10.0.0.6"\nusername = "u"';
  expect(refusals(`${ROUTE}\n${second}`)).toEqual([`delivery.routes[1].username ${LOGIN}`]);
});

test.each([
  ['listen = "127.0.0.1:8025"', 'http://127.0.0.1:8025'],
  ['listen = "[::1]:8025"', 'http://[::1]:8025'],
  ['listen = "[2001:db8::25]:8025"', 'http://[2001:db8::25]:8025'],
  ['public_url = "https://mail.example.com/"', 'https://mail.example.com'],
])('[http] %s is reached at %s', (line, url) => {
  const { live } = parseConfig(`hostname = "mail.example.com"\n[http]\n${line}`, 'c');
  expect(live.http.publicUrl).toBe(url);
});

test('with a certificate of its own it is reached under https', () => {
  const http = { listen: { host: '::1', port: 443 }, tlsCert: '/etc/cert.pem' };
  expect(listenerUrlOf(http)).toBe('https://[::1]:443');
});

test.each([
  [
    '[delivery]\nmode = "smarthost"',
    ['delivery.mode is "smarthost", but delivery.smarthost.host is empty'],
  ],
  [`[delivery]\nmode = "smarthost"\n${SMARTHOST}`, []],
  [
    '[[delivery.routes]]\ndomains = ["a.example"]',
    ['delivery.routes[0].host is missing, and there is no [delivery.smarthost] to use instead'],
  ],
  [`[[delivery.routes]]\ndomains = ["a.example"]\n${SMARTHOST}`, []],
  // A smarthost that was refused is no second problem.
  [
    '[delivery]\nmode = "smarthost"\n[delivery.smarthost]\nhost = 5',
    ['delivery.smarthost.host must be text in quotes, not 5'],
  ],
  ['[[plans]]\nid = "unlimited"', ['plans[0].id is "unlimited", which is built in']],
  [
    '[[plans]]\nid = "a"\n[[plans]]\nid = "b"\n[[plans]]\nid = "a"',
    ['plans[2].id is "a", as in a plan above'],
  ],
  [
    '[acme]\nlisten = "127.0.0.1:80"\naccept_terms = false',
    [
      "acme.accept_terms must be true when acme.listen is set: you accept the authority's terms of service",
    ],
  ],
  ['[acme]\nlisten = "127.0.0.1:80"\naccept_terms = true', []],
])('%j is refused with %j', (toml, expected) => expect(refusals(toml)).toEqual(expected));

test.each([
  ['store.url', '[store]\nrequire_standby = true\nurl = 5'],
  ['acme.accept_terms', '[acme]\nlisten = "127.0.0.1:80"\naccept_terms = "no"'],
  ['http.tls_cert', '[http]\ntls_cert = 5'],
  ['http.tls_key', '[http]\ntls_cert = "/dev/null"\ntls_key = 5'],
  ['smtp.tls_key', '[smtp]\ntls_key = "key.pem"'],
  ['delivery.smarthost.username', `${SMARTHOST}\nusername = 5\npassword = "p"`],
  ['delivery.routes[0].password', `${ROUTE}\nusername = "u"\npassword = 5`],
  ['delivery.routes[0].host', '[[delivery.routes]]\ndomains = ["a.example"]\nhost = 5'],
  // The table around it, too.
  ['delivery.smarthost', '[delivery]\nmode = "smarthost"\nsmarthost = 5'],
  ['plans[1].id', '[[plans]]\nid = "a"\n[[plans]]\nid = "A"\n[[plans]]\nid = "b"'],
])('where %s itself is refused, nothing more is said of what belongs to it', (path, toml) => {
  const said = refusals(toml);
  expect(said.map((line) => line.slice(0, line.indexOf(' ')))).toEqual([path]);
});

test('a key that only begins like it hides nothing', () => {
  expect(refusals('[delivery]\nmode = "smarthost"\nsmart = 5')).toHaveLength(2);
});

test('two plans whose ids are refused are not the same plan', () => {
  const plan = '[[plans]]\nid = "A"\n';
  expect(refusals(plan + plan).map((line) => line.slice(0, line.indexOf(' must')))).toEqual([
    'plans[0].id',
    'plans[1].id',
  ]);
});

test.each([
  [['unlimited'], ['plans[0].id is "unlimited", which is built in']],
  [
    ['unlimited', 'unlimited'],
    [0, 1].map((at) => `plans[${at}].id is "unlimited", which is built in`),
  ],
  [['a', 'b', 'a'], ['plans[2].id is "a", as in a plan above']],
])('of plans with the ids %j each is told once what is wrong with it', (ids, said) => {
  expect(refusals(ids.map((id) => `[[plans]]\nid = "${id}"`).join('\n'))).toEqual(said);
});

test('a route has its own destination, or the whole of the smarthost', () => {
  const own = '[[delivery.routes]]\ndomains = ["a.example"]\nhost = "10.0.0.5"';
  const none = '[[delivery.routes]]\ndomains = ["*.b.example"]';
  const { live } = parseConfig(
    `hostname = "mail.example.com"\n${SMARTHOST}\nusername = "u"\npassword = "p"\n${own}\n${none}`,
    'c',
  );
  const plain = { port: 25, username: '', password: '', tls: 'opportunistic' };
  const relay = { port: 587, username: 'u', password: 'p', tls: 'required' };
  expect(live.delivery.routes.map(({ domains, target }) => [...domains, { ...target }])).toEqual([
    ['a.example', { host: '10.0.0.5', ...plain }],
    ['*.b.example', { host: 'relay.example.com', ...relay }],
  ] as never);
});

test('the plans are known by their ids, the built-in one first', () => {
  const { live } = parseConfig('hostname = "mail.example.com"\n[[plans]]\nid = "a"', 'c');
  expect([...live.plans].map(([id, plan]) => [id, plan.id, plan.includedEmails])).toEqual([
    ['unlimited', 'unlimited', null],
    ['a', 'a', null],
  ]);
});

test('the service has a name of its own, else that of the machine', () => {
  const names = (toml: string): string[] =>
    ownNames(parseConfig(`hostname = "a.example.com"\n${toml}`, 'c').startup);
  expect(names('')).toEqual(['a.example.com']);
  expect(names('[cluster]\nname = "mail.example.com"')).toEqual([
    'mail.example.com',
    'a.example.com',
  ]);
});

test.each([
  ['plans = 5', 'plans'],
  ['plans = [1]', 'plans'],
  ['plans = [2026-01-15]', 'plans'],
  ['[plans]\nid = "a"', 'plans'],
  ['[delivery]\nroutes = "a.example"', 'delivery.routes'],
  ['[delivery.routes]\nhost = "10.0.0.5"', 'delivery.routes'],
])('%j is no list of tables', (toml, path) =>
  expect(refusals(toml)).toEqual([`${path} must be written as [[${path}]]`]),
);

test.each([
  ['[http]\nlissten = "127.0.0.1:1"', 'http.lissten is not a known key: did you mean listen?'],
  ['[http]\nlitsen = "127.0.0.1:1"', 'http.litsen is not a known key: did you mean listen?'],
  ['[http]\nliten = "127.0.0.1:1"', 'http.liten is not a known key: did you mean listen?'],
  ['[http]\nliszen = "127.0.0.1:1"', 'http.liszen is not a known key: did you mean listen?'],
  ['[http]\npublicUrl = "x"', 'http.publicUrl is not a known key: did you mean public_url?'],
  [
    '[[plans]]\nid = "a"\nlogretentiondays = 7',
    'plans[0].logretentiondays is not a known key: did you mean log_retention_days?',
  ],
  [
    '[[plans]]\nid = "a"\nlog-retention-days = 7',
    'plans[0].log-retention-days is not a known key: did you mean log_retention_days?',
  ],
  ['[http]\nTLS-cert = "x"', 'http.TLS-cert is not a known key: did you mean tls_cert?'],
  ['[[plans]]\nid = "a"\nix = "b"', 'plans[0].ix is not a known key; known here: id, '],
])('%j: the key that was meant', (toml, words) => {
  const [first = '', ...more] = refusals(toml);
  expect(first).toStartWith(words);
  expect(more).toEqual([]);
});
