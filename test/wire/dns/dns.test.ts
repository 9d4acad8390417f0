/**
 * What the resolver makes of honest answers, and how long it keeps them (docs/reliability.md R27 and R28).
 */
import { afterEach, describe, expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { systemClock } from '../../../src/base/clock.ts';
import { isLoopback } from '../../../src/wire/dns/dns.ts';
import { TestClock } from '../../rig/clock.ts';
import { Lookups, SHORT } from '../../rig/lookups.ts';
import { aRecord, answerWith } from '../../rig/raw-dns.ts';
import type { Asked } from '../../rig/raw-dns.ts';

const lookups = new Lookups();

afterEach(() => lookups.close());

describe('answers', () => {
  test('each record type in its shape', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1', '192.0.2.2']);
    server.set('a.test', 'AAAA', ['2001:db8::1']);
    server.set('a.test', 'MX', ['10 MX1.A.test', '0 .']);
    server.set('a.test', 'TXT', [['v=DKIM1; ', 'p=', 'x'.repeat(200)], 'second']);
    server.set('alias.test', 'CNAME', ['A.test']);
    server.set('1.2.0.192.in-addr.arpa', 'PTR', ['Host.A.test']);
    server.set(`1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`, 'PTR', ['six.a.test']);
    server.set('_25._tcp.a.test', 'TLSA', ['3 1 1 00ff10']);
    const dns = lookups.resolver([server]);
    const found = { kind: 'found', ttlSeconds: 60, isAuthenticated: false };
    expect(await dns.a('A.test.')).toEqual({
      ...found,
      records: ['192.0.2.1', '192.0.2.2'],
    } as never);
    expect(await dns.aaaa('a.test')).toEqual({ ...found, records: ['2001:db8::1'] } as never);
    expect(await dns.mx('a.test')).toEqual({
      ...found,
      records: [
        { exchange: 'mx1.a.test', preference: 10 },
        { exchange: '', preference: 0 },
      ],
    } as never);
    expect(await dns.txt('a.test')).toEqual({
      ...found,
      records: [`v=DKIM1; p=${'x'.repeat(200)}`, 'second'],
    } as never);
    expect(await dns.cname('alias.test')).toEqual({ ...found, records: ['a.test'] } as never);
    expect(await dns.ptr('192.0.2.1')).toEqual({ ...found, records: ['host.a.test'] } as never);
    expect(await dns.ptr('2001:db8::1')).toEqual({ ...found, records: ['six.a.test'] } as never);
    const data = Uint8Array.of(0, 255, 16);
    expect(await dns.tlsa('_25._tcp.a.test')).toEqual({
      ...found,
      records: [{ usage: 3, selector: 1, matchingType: 1, data }],
    } as never);
  });

  test('an RSA-2048 DKIM key in three strings is one text', async () => {
    const server = await lookups.names();
    const key = `v=DKIM1; k=rsa; p=${'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'.repeat(13)}`;
    server.set('s._domainkey.a.test', 'TXT', [
      [key.slice(0, 200), key.slice(200, 210), key.slice(210)],
    ]);
    const answer = await lookups.resolver([server]).txt('s._domainkey.a.test');
    expect(answer).toMatchObject({ kind: 'found', records: [key] });
  });

  test('two TXT records stay two', async () => {
    const server = await lookups.names();
    server.set('s._domainkey.a.test', 'TXT', ['v=DKIM1; p=one', 'v=DKIM1; p=two']);
    const answer = await lookups.resolver([server]).txt('s._domainkey.a.test');
    expect(answer).toMatchObject({ records: ['v=DKIM1; p=one', 'v=DKIM1; p=two'] });
  });

  test('what does not fit UDP comes over TCP', async () => {
    const server = await lookups.names();
    const texts = Array.from({ length: 60 }, (_, i) => `${i} ${'x'.repeat(200)}`);
    server.set('big.test', 'TXT', texts);
    expect(await lookups.resolver([server]).txt('big.test')).toMatchObject({ records: texts });
    expect(server.queries.map(({ via }) => via)).toEqual(['udp', 'tcp']);
  });

  test('NODATA and NXDOMAIN are told apart', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1']);
    const dns = lookups.resolver([server]);
    expect(await dns.mx('a.test')).toEqual({ kind: 'nodata', isAuthenticated: false });
    expect(await dns.mx('b.test')).toEqual({ kind: 'nxdomain', isAuthenticated: false });
  });

  test('impossible names do not exist, and nobody is asked', async () => {
    const server = await lookups.names();
    const dns = lookups.resolver([server]);
    const impossible = [
      '',
      '.',
      'a..b',
      `${'x'.repeat(64)}.test`,
      'a b.test',
      'é.test',
      'a\0.test',
    ];
    for (const name of [...impossible, 'x.'.repeat(127) + 'test']) {
      const answer = await dns.a(name);
      expect([name, answer]).toEqual([name, { kind: 'nxdomain', isAuthenticated: false }]);
    }
    expect((await dns.ptr('not an address')).kind).toBe('nxdomain');
    expect(server.queries).toEqual([]);
  });
});

describe('aliases', () => {
  test('followed by the server', async () => {
    const server = await lookups.names();
    server.set('a.test', 'CNAME', ['b.test'], 20);
    server.set('b.test', 'CNAME', ['c.test'], 600);
    server.set('c.test', 'A', ['192.0.2.1'], 100);
    const answer = await lookups.resolver([server]).a('a.test');
    expect(answer).toMatchObject({ kind: 'found', records: ['192.0.2.1'], ttlSeconds: 20 });
  });

  test('to a name without such records, and to none at all', async () => {
    const server = await lookups.names();
    server.set('a.test', 'CNAME', ['b.test']);
    server.set('b.test', 'TXT', ['x']);
    server.set('c.test', 'CNAME', ['d.test']);
    const dns = lookups.resolver([server]);
    expect((await dns.a('a.test')).kind).toBe('nodata');
    expect((await dns.a('c.test')).kind).toBe('nxdomain');
  });

  test('that the server leaves to us are asked for', async () => {
    const server = await lookups.raw(({ query }) => {
      if (query.name === 'end.test') return [aRecord(query, '192.0.2.9')];
      const step = Number(query.name.slice(1, 2));
      const value = step < 7 ? `n${step + 1}.test` : 'end.test';
      return [
        answerWith(query, { records: [{ name: query.name, type: 'CNAME', value, ttlSeconds: 9 }] }),
      ];
    });
    const dns = lookups.resolver([server]);
    expect(await dns.a('n0.test')).toMatchObject({ kind: 'found', records: ['192.0.2.9'] });
    expect(server.asked).toHaveLength(9);
  });

  test('count as long as the shortest of them, and as proven only where all are', async () => {
    const answerOf = async (alias: [seconds: number, isAd: boolean], end: [number, boolean]) => {
      const server = await lookups.raw(({ query }) => {
        const isEnd = query.name === 'end.test';
        const [ttlSeconds, isAuthenticated] = isEnd ? end : alias;
        const value = isEnd ? '192.0.2.9' : 'end.test';
        const type = isEnd ? ('A' as const) : ('CNAME' as const);
        const records = [{ name: query.name, type, value, ttlSeconds }];
        return [answerWith(query, { records, isAuthenticated })];
      });
      const answer = await lookups.resolver([server]).a('alias.test');
      return answer.kind === 'found' ? [answer.ttlSeconds, answer.isAuthenticated] : answer.kind;
    };
    expect(await answerOf([20, true], [100, true])).toEqual([20, true]);
    expect(await answerOf([100, false], [20, true])).toEqual([20, false]);
    expect(await answerOf([100, true], [20, false])).toEqual([20, false]);
  });

  test('whose end fails are that failure, in its words, the second time too', async () => {
    const server = await lookups.raw(({ query }) => {
      if (query.name === 'end.test') return [answerWith(query, { rcode: 'servfail' })];
      const alias = { name: query.name, type: 'CNAME' as const, value: 'end.test', ttlSeconds: 9 };
      return [answerWith(query, { records: [alias] })];
    });
    const dns = lookups.resolver([server]);
    const failure = { kind: 'failed', reason: 'SERVFAIL (A end.test at 127.0.0.1)' } as const;
    expect(await dns.a('alias.test')).toEqual(failure);
    expect(await dns.a('alias.test')).toEqual(failure);
    expect(await dns.a('end.test')).toEqual(failure);
    expect(server.asked.map(({ query }) => query.name)).toEqual(['alias.test', 'end.test']);
  });

  test('in a loop are a failure, within one answer and over many', async () => {
    const server = await lookups.names();
    server.set('a.test', 'CNAME', ['b.test']);
    server.set('b.test', 'CNAME', ['a.test']);
    expect(await lookups.resolver([server]).a('a.test')).toEqual({
      kind: 'failed',
      reason: 'alias chain too long (A a.test at 127.0.0.1)',
    });
    const endless = await lookups.raw(({ query }) => {
      const value = `x${query.name}`;
      return [
        answerWith(query, { records: [{ name: query.name, type: 'CNAME', value, ttlSeconds: 9 }] }),
      ];
    });
    expect(await lookups.resolver([endless]).a('a.test')).toEqual({
      kind: 'failed',
      reason: 'alias chain too long (A a.test)',
    });
    expect(endless.asked.length).toBeLessThan(12);
  });
});

describe('DNSSEC', () => {
  test.each([
    ['127.0.0.53', true],
    ['::1', true],
    ['0:0:0:0:0:0:0:1', true],
    ['::ffff:127.0.0.1', true],
    ['127.0.0.1.example', false],
    ['::2', false],
    ['192.0.2.53', false],
  ])('%s is on loopback: %p', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });

  test('AD is asked for, and believed from loopback', async () => {
    const server = await lookups.raw(({ query }) => [
      answerWith(query, {
        isAuthenticated: true,
        records: [{ name: query.name, type: 'A', value: '192.0.2.1', ttlSeconds: 9 }],
      }),
    ]);
    expect(await lookups.resolver([server]).a('a.test')).toMatchObject({ isAuthenticated: true });
    // RFC 6840 section 5.7.
    expect((server.asked[0]?.packet[3] ?? 0) & 0x20).toBe(0x20);
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal)?.address;
  test.skipIf(outside === undefined)('AD is not believed from elsewhere', async () => {
    const respond = ({ query }: Asked): Buffer[] => [
      answerWith(query, {
        isAuthenticated: true,
        records: [{ name: query.name, type: 'A', value: '192.0.2.1', ttlSeconds: 9 }],
      }),
    ];
    const server = await lookups.raw(respond, outside);
    const answer = await lookups.resolver([server]).a('a.test');
    expect(answer).toMatchObject({ kind: 'found', isAuthenticated: false });
    // Nor from loopback while one that is elsewhere may answer instead.
    const local = await lookups.raw(respond);
    const mixed = await lookups.resolver([local, server]).a('a.test');
    expect(mixed).toMatchObject({ kind: 'found', isAuthenticated: false });
    expect(local.asked).toHaveLength(1);
  });
});

describe('the cache', () => {
  test('keeps an answer for its TTL, counted down', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1'], 100);
    const clock = new TestClock();
    const dns = lookups.resolver([server], clock);
    await dns.a('a.test');
    await clock.advance(60_000);
    expect(await dns.a('a.test')).toMatchObject({ kind: 'found', ttlSeconds: 40 });
    expect(server.queries).toHaveLength(1);
    await clock.advance(41_000);
    await dns.a('a.test');
    expect(server.queries).toHaveLength(2);
  });

  test('asks anew about a name that it was told to forget, and about those below it', async () => {
    const server = await lookups.names();
    for (const name of ['a.test', 'deep.sub.a.test', 'ba.test']) {
      server.set(name, 'A', ['192.0.2.1']);
    }
    const dns = lookups.resolver([server]);
    const askAll = async (): Promise<void> => {
      for (const name of ['a.test', 'deep.sub.a.test', 'ba.test']) await dns.a(name);
    };
    await askAll();
    await askAll();
    expect(server.queries.length).toBe(3);
    dns.forget?.('A.test.');
    await askAll();
    expect(server.queries.slice(3).map(({ name }) => name)).toEqual(['a.test', 'deep.sub.a.test']);
  });

  test('keeps nothing longer than an hour, "no" not longer than a minute, TTL 0 not at all', async () => {
    const server = await lookups.raw(({ query }) => {
      const ttlSeconds = query.name === 'zero.test' ? 0 : 1_000_000;
      if (query.name !== 'no.test') {
        const record = { name: query.name, type: 'A' as const, value: '192.0.2.1', ttlSeconds };
        return [answerWith(query, { records: [record] })];
      }
      const value = 'ns.test admin.test 1 60 60 60 86400';
      const soa = { name: 'test', type: 'SOA' as const, value, ttlSeconds };
      return [answerWith(query, { rcode: 'nxdomain', authority: [soa] })];
    });
    const clock = new TestClock();
    const dns = lookups.resolver([server], clock);
    const ask = async (): Promise<number[]> => {
      const counts: number[] = [];
      for (const name of ['long.test', 'no.test', 'zero.test']) {
        const before = server.asked.length;
        await dns.a(name);
        counts.push(server.asked.length - before);
      }
      return counts;
    };
    expect(await ask()).toEqual([1, 1, 1]);
    await clock.advance(59_000);
    expect(await ask()).toEqual([0, 0, 1]);
    await clock.advance(2_000);
    expect(await ask()).toEqual([0, 1, 1]);
    await clock.advance(3_600_000);
    expect(await ask()).toEqual([1, 1, 1]);
  });

  test('is bounded: the longest unused goes first', async () => {
    const text = 'x'.repeat(1000);
    const server = await lookups.raw(({ query }) => {
      const records = Array.from({ length: 60 }, (_, i) => ({
        name: query.name,
        type: 'TXT' as const,
        value: `${i} ${text}`,
        ttlSeconds: 3600,
      }));
      return [answerWith(query, { records })];
    });
    const dns = lookups.resolver([server]);
    // By name: on a busy machine a packet may be lost, and its question asked again.
    const asksFor = async (name: string): Promise<boolean> => {
      const before = server.asked.length;
      await dns.txt(name);
      return server.asked.slice(before).some(({ query }) => query.name === name);
    };
    expect(await asksFor('first.test')).toBe(true);
    // 60 KB each: 8 MiB hold about 139 of them.
    for (let i = 0; i < 120; i++) await dns.txt(`q${i}.test`);
    expect(await asksFor('first.test')).toBe(false);
    for (let i = 120; i < 240; i++) await dns.txt(`q${i}.test`);
    expect(await asksFor('q0.test')).toBe(true);
    expect(await asksFor('first.test')).toBe(false);
  });

  test('keeps a failure for seconds', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1']);
    server.fail('a.test', 'servfail');
    const clock = new TestClock();
    const dns = lookups.resolver([server], clock);
    expect((await dns.a('a.test')).kind).toBe('failed');
    server.fail('a.test', null);
    expect((await dns.a('a.test')).kind).toBe('failed');
    await clock.advance(6_000);
    expect((await dns.a('a.test')).kind).toBe('found');
  });

  test('a wall clock that is set back neither ends answers early nor keeps them alive', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1'], 100);
    const clock = new TestClock();
    const dns = lookups.resolver([server], clock);
    await dns.a('a.test');
    clock.jump(-86_400_000);
    await clock.advance(99_000);
    await dns.a('a.test');
    expect(server.queries).toHaveLength(1);
    await clock.advance(1_001);
    await dns.a('a.test');
    expect(server.queries).toHaveLength(2);
  });

  test('equal questions under way share one query', async () => {
    const server = await lookups.names();
    server.set('a.test', 'A', ['192.0.2.1'], 0);
    const dns = lookups.resolver([server]);
    const answers = await Promise.all(Array.from({ length: 50 }, () => dns.a('A.test')));
    expect(new Set(answers.map((a) => a.kind))).toEqual(new Set(['found']));
    expect(server.queries).toHaveLength(1);
  });

  test('2,000 different questions at once are all answered', async () => {
    const server = await lookups.names();
    server.set('*.many.test', 'A', ['192.0.2.1']);
    const dns = lookups.resolver([server], systemClock, {
      ...SHORT,
      loneRounds: [2000, 2000, 2000],
    });
    const all = Array.from({ length: 2000 }, (_, i) => dns.a(`q${i}.many.test`));
    const kinds = (await Promise.all(all)).map((answer) => answer.kind);
    expect(new Set(kinds)).toEqual(new Set(['found']));
  });
});
