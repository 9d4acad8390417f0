/** SPF results against a real DNS server of the rig, one row a rule that the host check relies on. */
import { afterAll, beforeAll, expect, setSystemTime, test } from 'bun:test';

import { systemClock } from '../../../src/base/clock.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { checkSpf, nodeStyle } from '../../../src/wire/dns/spf.ts';
import { type Names, startNames } from '../../rig/names.ts';

let names: Names;
let resolver: ReturnType<typeof createResolver>;

beforeAll(async () => {
  names = await startNames();
  resolver = createResolver({ servers: [names.listen], clock: systemClock });
  names.set('ip4.example', 'TXT', ['v=spf1 ip4:198.51.100.7 -all']);
  names.set('ip6.example', 'TXT', ['v=spf1 ip6:2001:db8::/32 -all']);
  names.set('soft.example', 'TXT', ['v=spf1 ~all']);
  names.set('a.example', 'TXT', ['v=spf1 a -all']);
  names.set('a.example', 'A', ['198.51.100.7']);
  names.set('mx.example', 'TXT', ['v=spf1 mx -all']);
  names.set('mx.example', 'MX', ['10 a.example']);
  names.set('gone.example', 'TXT', ['v=spf1 exists:no.such.example -all']);
  // RFC 7208 section 4.6.4: two lookups may find nothing, and the third may not.
  names.set('void2.example', 'TXT', ['v=spf1 a:no1.example a:no2.example -all']);
  names.set('void3.example', 'TXT', ['v=spf1 a:no1.example a:no2.example a:no3.example -all']);
  names.set('slip.example', 'TXT', ['v=spf1 ip4:198.51.100.7 include: -all']);
  names.set('lost.example', 'TXT', ['v=spf1 include:no.such.example -all']);
  names.set('include.example', 'TXT', ['v=spf1 include:ip4.example -all']);
  names.set('two.example', 'TXT', ['v=spf1 -all', 'v=spf1 +all']);
  names.set('silent.example', 'A', ['198.51.100.7']);
  names.set('long.example', 'TXT', [['v=spf1 ip4:198.', '51.100.7 -all']]);
  names.fail('broken.example', 'servfail');
});
afterAll(async () => {
  resolver.close();
  await names.stop();
});

test.each([
  ['ip4.example', '198.51.100.7', 'pass'],
  ['ip4.example', '198.51.100.8', 'fail'],
  ['ip6.example', '2001:db8::1', 'pass'],
  ['soft.example', '198.51.100.7', 'softfail'],
  ['a.example', '198.51.100.7', 'pass'],
  ['mx.example', '198.51.100.7', 'pass'],
  ['include.example', '198.51.100.7', 'pass'],
  ['two.example', '198.51.100.7', 'permerror'],
  ['silent.example', '198.51.100.7', 'none'],
  ['long.example', '198.51.100.7', 'pass'],
  ['broken.example', '198.51.100.7', 'temperror'],
  ['none.example', '198.51.100.7', 'none'],
  ['gone.example', '198.51.100.7', 'fail'],
  ['lost.example', '198.51.100.7', 'permerror'],
  // Section 4.6: a slip anywhere in it, also behind what would match.
  ['slip.example', '198.51.100.7', 'permerror'],
  ['void2.example', '198.51.100.7', 'fail'],
  ['void3.example', '198.51.100.7', 'permerror'],
  ['void3.example', '2001:db8::1', 'permerror'],
] as const)('%s asked for %s says %s', async (domain, address, expected) => {
  expect(await checkSpf(resolver, domain, address, 'mail.example')).toBe(expected);
});

test('what the library asks is answered in its own shape', async () => {
  names.set('two.mx.example', 'MX', ['20 b.example', '10 a.example']);
  const ask = nodeStyle(resolver);
  expect((await ask('two.mx.example', 'MX')) as unknown).toEqual([
    { exchange: 'b.example', priority: 20 },
    { exchange: 'a.example', priority: 10 },
  ]);
  expect((await ask('long.example', 'TXT')) as unknown).toEqual([['v=spf1 ip4:198.51.100.7 -all']]);
  const codes = ['silent.example TXT', 'no.such.example A', 'broken.example A', 'a.example SRV'];
  for (const [at, code] of ['ENODATA', 'ENOTFOUND', 'ESERVFAIL', 'ENODATA'].entries()) {
    const [name = '', type = ''] = codes[at]?.split(' ') ?? [];
    const error: unknown = await ask(name, type as 'A').catch((thrown: unknown) => thrown);
    expect([name, type, error]).toEqual([name, type, expect.objectContaining({ code })]);
  }
});

test('asked for is the postmaster of the domain, greeted by our own name', async () => {
  names.set('macro.example', 'TXT', ['v=spf1 exists:%{l}.%{o}.%{h}.macro.example -all']);
  names.set('postmaster.macro.example.mail.example.macro.example', 'A', ['127.0.0.2']);
  expect(await checkSpf(resolver, 'macro.example', '198.51.100.7', 'mail.example')).toBe('pass');
  expect(await checkSpf(resolver, 'macro.example', '198.51.100.7', 'other.example')).toBe('fail');
});

test('each result of the policy is told under its own name', async () => {
  const told: string[] = [];
  for (const [word, sign] of [
    ['pass', '+'],
    ['fail', '-'],
    ['softfail', '~'],
    ['neutral', '?'],
  ] as const) {
    names.set(`${word}.all.example`, 'TXT', [`v=spf1 ${sign}all`]);
    told.push(await checkSpf(resolver, `${word}.all.example`, '198.51.100.7', 'mail.example'));
  }
  expect(told).toEqual(['pass', 'fail', 'softfail', 'neutral']);
});

test('a failure of DNS is told to the library in its words', async () => {
  const ask = nodeStyle(resolver);
  const said = async (name: string, type: string): Promise<unknown> =>
    ask(name, type as 'A').then(
      (found) => found,
      (error: Error & { code?: string }) => [error.code, error.message],
    );
  expect(await said('silent.example', 'TXT')).toEqual(['ENODATA', 'no such record']);
  expect(await said('no.such.example', 'A')).toEqual(['ENOTFOUND', 'no such name']);
  expect(await said('broken.example', 'A')).toEqual([
    'ESERVFAIL',
    'SERVFAIL (A broken.example at 127.0.0.1)',
  ]);
  expect(await said('a.example', 'SRV')).toEqual(['ENODATA', 'SRV is not supported here']);
  names.set('six.example', 'AAAA', ['2001:db8::1']);
  names.set('alias.example', 'CNAME', ['a.example']);
  expect([await said('six.example', 'AAAA'), await said('alias.example', 'CNAME')]).toEqual([
    ['2001:db8::1'],
    ['a.example'],
  ]);
});

test('after twenty seconds it is given up, and not a moment sooner', async () => {
  const result = async (answerMs: number): Promise<string> => {
    const slow: Pick<Resolver, 'txt'> = {
      txt(name) {
        setSystemTime(new Date(Date.now() + answerMs));
        const records = [name === 'slow.example' ? 'v=spf1 include:b.example -all' : 'v=spf1 +all'];
        const found = { kind: 'found', records, ttlSeconds: 60, isAuthenticated: false } as const;
        return Promise.resolve<DnsAnswer<string>>({ ...found, records });
      },
    };
    setSystemTime(new Date());
    const { txt } = slow;
    const said = checkSpf({ ...resolver, txt }, 'slow.example', '198.51.100.7', 'mail.example');
    return await said.finally(() => void setSystemTime());
  };
  expect([await result(19_999), await result(20_000)]).toEqual(['pass', 'temperror']);
});
