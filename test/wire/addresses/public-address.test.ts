/**
 * The address table: every refused range at both ends, its neighbours, every spelling, the operator's
 * exceptions and the machine's own addresses. One row a fact.
 */
import { describe, expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';

import { parseTarget } from '../../../src/wire/https/target.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import { AddressGuard } from '../../../src/wire/addresses/address-guard.ts';
import { isPublicAddress } from '../../../src/wire/addresses/public-address.ts';
import { ALLOWED, REFUSED, REFUSED_URLS, SPELLINGS } from './address-table.ts';

const guardOf = (admitted: string[]): AddressGuard => new AddressGuard(parseNetworks(admitted));

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
    expect(guardOf(['0.0.0.0/0', '::/0']).allows(text)).toBe(false);
  });

  test("the machine's own addresses are refused unless admitted", () => {
    const mine = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    expect(mine.length).toBeGreaterThan(0);
    for (const { address } of mine) {
      const ip = address.replace(/%.*$/, '');
      const guard = guardOf([]);
      expect([ip, guard.isOwn(ip), guard.allows(ip)]).toEqual([ip, true, false]);
      expect(guardOf([ip]).allows(ip)).toBe(true);
    }
    expect(guardOf([]).isOwn('8.8.8.8')).toBe(false);
  });

  test("a public address that is the machine's own is refused too, unless admitted", () => {
    // The interfaces here have private addresses only: one of a machine on the internet stands in for them.
    class OnTheInternet extends AddressGuard {
      override isOwn(ip: string): boolean {
        return ip === '8.8.8.8';
      }
    }
    const guard = new OnTheInternet(parseNetworks([]));
    expect([guard.allows('8.8.8.8'), guard.allows('8.8.4.4')]).toEqual([false, true]);
    expect(new OnTheInternet(parseNetworks(['8.8.8.8'])).allows('8.8.8.8')).toBe(true);
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
  test.each(SPELLINGS)('%s is read as %s and not public', (url, host) => {
    const target = parseTarget(url);
    expect(target).toMatchObject({ host });
    expect(isPublicAddress(host)).toBe(false);
  });

  test.each(REFUSED_URLS)('%j is refused', (url) => {
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
