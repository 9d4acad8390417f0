/**
 * The system's resolvers from resolv.conf(5).
 */
import { expect, test } from 'bun:test';
import { parseResolvConf, readResolvConf } from '../../../src/wire/dns/resolv-conf.ts';

const LOCAL = [{ host: '127.0.0.1', port: 53 }];

test('nameserver lines in their order, at most three', () => {
  const text = `# comment
search example.com
nameserver 192.0.2.53
nameserver\t2001:db8::53
;nameserver 192.0.2.1
 nameserver 192.0.2.2
nameserver not-an-address
options edns0
nameserver 127.0.0.53 # local
nameserver 192.0.2.99
`;
  expect(parseResolvConf(text)).toEqual([
    { host: '192.0.2.53', port: 53 },
    { host: '2001:db8::53', port: 53 },
    { host: '127.0.0.53', port: 53 },
  ]);
});

test('any white space stands before the address, and the word is in lower case', () => {
  const text = 'nameserver192.0.2.1\nNAMESERVER 192.0.2.2\nnameserver \t 192.0.2.3\nnameserver\n';
  expect(parseResolvConf(text)).toEqual([{ host: '192.0.2.3', port: 53 }]);
});

test('no server, or no file: the server on loopback', () => {
  expect(parseResolvConf('search example.com\n')).toEqual(LOCAL);
  expect(readResolvConf('/nonexistent/resolv.conf')).toEqual(LOCAL);
});
