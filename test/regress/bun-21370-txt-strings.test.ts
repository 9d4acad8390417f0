/**
 * oven-sh/bun#21370: node:dns gives each string of one TXT record as a record of its own, so that no RSA-2048 DKIM
 * key can be read with it. This is why src/wire/dns/dns.ts exists.
 *
 * When the first test fails, Bun was fixed. Our resolver is then still needed for the AD bit, TLSA, TTLs and for
 * telling NODATA from NXDOMAIN: look at those before thinking of removing it.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Resolver } from 'node:dns/promises';
import { Lookups } from '../rig/lookups.ts';
import type { Names } from '../rig/names.ts';

const lookups = new Lookups();
let server: Names;

beforeAll(async () => {
  server = await lookups.names();
  server.set('s._domainkey.a.test', 'TXT', [['v=DKIM1; ', 'p=one', 'two']]);
  server.set('a.test', 'A', ['192.0.2.1']);
});

afterAll(() => lookups.close());

function builtIn(): Resolver {
  const resolver = new Resolver();
  resolver.setServers([`${server.listen.host}:${server.listen.port}`]);
  return resolver;
}

test('the built-in resolver still splits the strings of a TXT record', async () => {
  const records = await builtIn().resolveTxt('s._domainkey.a.test');
  expect(records).toEqual([['v=DKIM1; '], ['p=one'], ['two']]);
});

test('ours gives one text', async () => {
  const answer = await lookups.resolver([server]).txt('s._domainkey.a.test');
  expect(answer).toMatchObject({ kind: 'found', records: ['v=DKIM1; p=onetwo'] });
});

test('the built-in resolver still says the same of NODATA and NXDOMAIN', async () => {
  const codeOf = (name: string): Promise<unknown> =>
    builtIn()
      .resolveMx(name)
      .then(() => 'found')
      .catch((error: NodeJS.ErrnoException) => error.code);
  expect(await codeOf('a.test')).toBe(await codeOf('missing.test'));
});
