/** The config as it is shown: every key of the schema as the file spells it, and no secret. */
import { expect, test } from 'bun:test';

import { parseConfig } from '../../src/base/config-file.ts';
import { shownConfig } from '../../src/base/config-shown.ts';

const SECRET = 'not-for-the-page';
const FILE = `
hostname = "mail.example.com"
data_dir = "/tmp/data"
[delivery]
mode = "smarthost"
[delivery.smarthost]
host = "relay.example.com"
username = "me"
password = "${SECRET}"
[[delivery.routes]]
domains = ["corp.example"]
host = "other.example.com"
username = "me"
password = "${SECRET}"
[[plans]]
id = "small"
included_emails = 7
`;

test('secrets are said to be set, and nothing of them is there', () => {
  const rows = shownConfig(parseConfig(FILE, 'test'));
  expect(JSON.stringify(rows)).not.toContain(SECRET);
  const valueOf = (path: string): string | undefined =>
    rows.find((row) => row.path === path)?.value;
  expect(valueOf('delivery.smarthost.password')).toBe('(set, hidden)');
  expect(valueOf('delivery.smarthost.username')).toBe('me');
  expect(valueOf('http.listen')).toBe('127.0.0.1:8025');
  expect(valueOf('retention.bodies')).toBe('30d');
  expect(valueOf('smtp.inbound')).toBe('(not set)');
  expect(valueOf('plans[1].included_emails')).toBe('7');
  const restart = rows.filter(({ needsRestart }) => needsRestart).map(({ path }) => path);
  expect(restart).toContain('hostname');
  expect(restart).not.toContain('retention.bodies');
});

test('a secret that is not set is said not to be', () => {
  const rows = shownConfig(parseConfig(FILE.replaceAll(/^(username|password).*$/gm, ''), 'test'));
  const passwords = rows.filter(({ path }) => path.endsWith('.password'));
  expect(passwords.map(({ path, value }) => [path, value])).toEqual([
    ['delivery.smarthost.password', '(not set)'],
    ['delivery.routes[0].password', '(not set)'],
  ]);
});

test('where each route leads is shown, also where it is the smarthost', () => {
  const rows = shownConfig(
    parseConfig(`${FILE}\n[[delivery.routes]]\ndomains = ["b.example"]\n`, 'test'),
  );
  const valueOf = (key: string): string | undefined =>
    rows.find(({ path }) => path === `delivery.routes${key}`)?.value;
  expect(valueOf('[0].host')).toBe('other.example.com');
  expect(valueOf('[0].port')).toBe('25');
  expect(valueOf('[0].password')).toBe('(set, hidden)');
  expect([valueOf('[1].domains'), valueOf('[1].host')]).toEqual(['b.example', 'relay.example.com']);
  expect(valueOf('[1].port')).toBe('587');
});

test('names of hosts are shown with their stars, each of them', () => {
  const lines =
    '[[delivery.providers]]\nname = "p"\nmx = ["*.mx.example.net", "in.example", "*.b.example"]';
  const rows = shownConfig(parseConfig(`${FILE}\n${lines}\n`, 'test'));
  expect(rows.find(({ path }) => path === 'delivery.providers[0].mx')?.value).toBe(
    '*.mx.example.net, in.example, *.b.example',
  );
});

test.each([
  ['1999ms', '1999ms'],
  ['1000000ms', '1000s'],
  ['90s', '90s'],
  ['60s', '1m'],
  ['90m', '90m'],
  ['60m', '1h'],
  ['36h', '36h'],
  ['48h', '2d'],
])('a duration of %s is shown as %s', (written, shown) => {
  const file = FILE.replace('mode =', `expires = "${written}"\nmode =`);
  const rows = shownConfig(parseConfig(file, 'test'));
  expect(rows.find(({ path }) => path === 'delivery.expires')?.value).toBe(shown);
});

test('an address of IPv6 stands in brackets before its port', () => {
  const http = '[http]\nlisten = "[2001:db8::1]:8025"\n';
  const rows = shownConfig(parseConfig(FILE.replace('[delivery]', `${http}[delivery]`), 'test'));
  const shown = rows.find(({ path }) => path === 'http.listen')?.value;
  expect(shown).toBe('[2001:db8::1]:8025');
});

test('lists, switches and numbers are shown as words', () => {
  const lines = 'source_addresses = ["192.0.2.1", "192.0.2.2"]\nmode =';
  const rows = shownConfig(parseConfig(FILE.replace('mode =', lines), 'test'));
  const valueOf = (path: string): string | undefined =>
    rows.find((row) => row.path === path)?.value;
  expect(valueOf('delivery.source_addresses')).toBe('192.0.2.1, 192.0.2.2');
  expect(valueOf('delivery.allow_networks')).toBe('(none)');
  expect(valueOf('plans[1].confirmed_recipients_only')).toBe('false');
  expect(valueOf('plans[0].included_emails')).toBe('(not set)');
  expect(valueOf('delivery.smarthost.tls')).toBe('required');
});
