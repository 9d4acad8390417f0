/**
 * The address table: every refused range at both ends, its neighbours, every spelling, the operator's
 * exceptions and the machine's own addresses. One row a fact.
 */
import { describe, expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';

import { parseTarget } from '../../src/wire/https-target.ts';
import { parseNetworks } from '../../src/wire/networks.ts';
import { isAllowed, isOwnAddress, isPublicAddress } from '../../src/wire/public-address.ts';

/** First and last address of each refused range. */
const REFUSED: [range: string, first: string, last: string][] = [
  ['0.0.0.0/8', '0.0.0.0', '0.255.255.255'],
  ['10/8', '10.0.0.0', '10.255.255.255'],
  ['100.64/10', '100.64.0.0', '100.127.255.255'],
  ['127/8', '127.0.0.0', '127.255.255.255'],
  ['169.254/16', '169.254.0.0', '169.254.255.255'],
  ['cloud metadata', '169.254.169.254', '169.254.169.253'],
  ['172.16/12', '172.16.0.0', '172.31.255.255'],
  ['192.0.0/24', '192.0.0.0', '192.0.0.255'],
  ['192.0.2/24', '192.0.2.0', '192.0.2.255'],
  ['192.88.99/24', '192.88.99.0', '192.88.99.255'],
  ['192.168/16', '192.168.0.0', '192.168.255.255'],
  ['198.18/15', '198.18.0.0', '198.19.255.255'],
  ['198.51.100/24', '198.51.100.0', '198.51.100.255'],
  ['203.0.113/24', '203.0.113.0', '203.0.113.255'],
  ['224/4', '224.0.0.0', '239.255.255.255'],
  ['240/4 and broadcast', '240.0.0.0', '255.255.255.255'],
  ['unspecified and loopback', '::', '::1'],
  ['IPv4-compatible', '::127.0.0.1', '::8.8.8.8'],
  ['mapped private', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe'],
  ['IPv4-translated', '::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
  ['NAT64', '64:ff9b::', '64:ff9b::ffff:ffff'],
  ['NAT64 of loopback', '64:ff9b::127.0.0.1', '64:ff9b::7f00:1'],
  ['local NAT64', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['discard', '100::', '100::ffff:ffff:ffff:ffff'],
  ['Teredo', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['benchmarking', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHID', '2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHIDv2', '2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4 of loopback', '2002:7f00:1::', '2002:a00:1::1'],
  ['documentation 2', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['segment routing', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unique local', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['cloud metadata over IPv6', 'fd00:ec2::254', 'fd00:ec2::254'],
  ['link local', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site local', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

/** Just outside the ranges, and plainly public. */
const ALLOWED = [
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.254',
  '100.63.255.255',
  '100.128.0.0',
  '100.128.0.1',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.0.3.0',
  '192.88.98.255',
  '192.88.100.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '198.51.101.0',
  '203.0.112.255',
  '203.0.114.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '64:ff9a:ffff::1',
  '64:ff9b:0:1::1',
  '64:ff9b:2::1',
  '64:ff9c::1',
  '100:0:0:1::1',
  '2001:1::1',
  '2001:3::1',
  '2001:30::1',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700:4700::1111',
  '3fff:1000::1',
  '5eff:ffff::1',
  '5f01::1',
];

/** What is no address in our spelling is no public address. */
const NOT_ADDRESSES = [
  '',
  'localhost',
  '127.1',
  '0x7f.0.0.1',
  '2130706433',
  '0177.0.0.1',
  '8.8.8.8 ',
  '8.8.8.8\n',
  '8.8.8.8/32',
  '[2606:4700:4700::1111]',
  'fe80::1%lo',
  '2606:4700:4700::1111%eth0',
  '１２７.0.0.1',
];

describe('public addresses', () => {
  test.each(REFUSED)('%s is refused at both ends', (_range, first, last) => {
    expect([isPublicAddress(first), isPublicAddress(last)]).toEqual([false, false]);
  });

  test.each(ALLOWED)('%s is public', (ip) => {
    expect(isPublicAddress(ip)).toBe(true);
  });

  test.each(NOT_ADDRESSES)('%j is no address', (text) => {
    expect(isPublicAddress(text)).toBe(false);
    expect(isAllowed(text, parseNetworks(['0.0.0.0/0', '::/0']))).toBe(false);
  });

  test("the machine's own addresses are refused unless admitted", () => {
    const mine = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    expect(mine.length).toBeGreaterThan(0);
    for (const { address } of mine) {
      const ip = address.replace(/%.*$/, '');
      expect([ip, isOwnAddress(ip), isAllowed(ip, parseNetworks([]))]).toEqual([ip, true, false]);
      expect(isAllowed(ip, parseNetworks([ip]))).toBe(true);
    }
    expect(isOwnAddress('8.8.8.8')).toBe(false);
  });
});

describe('networks of the operator', () => {
  test.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['10.0.0.5', '10.0.0.5', true],
    ['10.0.0.5', '10.0.0.4', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', 'fc00::1', false],
    ['::/0', '10.0.0.1', false],
    ['0.0.0.0/0', '10.0.0.1', true],
    ['0.0.0.0/0', 'fd00::1', false],
  ])('%s with %s: %p', (cidr, ip, isInside) => {
    expect(parseNetworks([cidr]).has(ip)).toBe(isInside);
  });

  test.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/x',
    '10/8',
    'fd00::/129',
    '',
    'corp',
    '::ffff:0:0/64',
  ])('%j is refused', (cidr) => {
    expect(() => parseNetworks(['127.0.0.0/8', cidr])).toThrow(JSON.stringify(cidr));
  });
});

describe('URLs of targets', () => {
  test.each([
    ['https://127.1/', '127.0.0.1'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['https://2130706433/', '127.0.0.1'],
    ['https://0177.0.0.1/', '127.0.0.1'],
    ['https://１２７。0．0｡1/', '127.0.0.1'],
    ['https://①②⑦.0.0.1/', '127.0.0.1'],
    ['https://[::ffff:7f00:1]/', '::ffff:7f00:1'],
    ['https://[::FFFF:127.0.0.1]:8443/', '::ffff:7f00:1'],
    ['https://127.0.0.1./', '127.0.0.1'],
  ])('%s is read as %s and not public', (url, host) => {
    const target = parseTarget(url);
    expect(target).toMatchObject({ host });
    expect(isPublicAddress(host)).toBe(false);
  });

  test.each([
    'https://localhost/',
    'https://localhost./',
    'https://LOCALHOST/',
    'https://a.localhost/',
    'https://printer.local/',
    'https://printer.local./',
    'https://ok@127.0.0.1/',
    'https://ok:secret@hook.example/',
    'https://:x@hook.example/',
    'http://hook.example/',
    'file:///etc/passwd',
    'ftp://hook.example/',
    'javascript:alert(1)',
    'https://[fe80::1%25lo]/',
    'https://[fe80::1%lo]/',
    'https:///',
    'https://a b/',
    'hook.example/path',
    '//hook.example/',
    '',
  ])('%j is refused', (url) => {
    expect(parseTarget(url)).toHaveProperty('refused');
  });

  test('a public name is read whole, in A-labels', () => {
    expect(parseTarget('https://Bücher.example:8443/a?b=c#d')).toMatchObject({
      host: 'xn--bcher-kva.example',
      port: 8443,
    });
    expect(parseTarget('https://hook.example./')).toMatchObject({
      host: 'hook.example',
      port: 443,
    });
  });
});
