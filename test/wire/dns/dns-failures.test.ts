/**
 * The resolver against servers that fail, lie and flood (docs/reliability.md R27 and R29).
 */
import { afterEach, describe, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import { systemClock } from '../../../src/base/clock.ts';
import { PATIENCE } from '../../../src/wire/dns/query.ts';
import { bestOf, tookMs } from '../../rig/best-of.ts';
import { Lookups, SHORT } from '../../rig/lookups.ts';
import type { Failure } from '../../rig/names.ts';
import { aRecord, answerWith } from '../../rig/raw-dns.ts';
import type { Asked } from '../../rig/raw-dns.ts';
import { openClosedUdpPort } from '../../rig/closed-port.ts';

const lookups = new Lookups();

afterEach(() => lookups.close());

describe('servers that fail', () => {
  const failures: Failure[] = [
    'servfail',
    'refused',
    'timeout',
    'wrong-id',
    'garbage',
    'truncated',
  ];
  for (const failure of failures) {
    test(`${failure} is a failure, never "does not exist"`, async () => {
      const server = await lookups.names();
      server.set('a.test', 'A', ['192.0.2.1']);
      server.fail('a.test', failure);
      const dns = lookups.resolver([server], systemClock, SHORT);
      expect((await dns.a('a.test')).kind).toBe('failed');
      expect((await dns.mx('a.test')).kind).toBe('failed');
    });

    test(`${failure} at the first of two: the second is asked`, async () => {
      const first = await lookups.names();
      first.fail('a.test', failure);
      const second = await lookups.names();
      second.set('a.test', 'A', ['192.0.2.1']);
      const answer = await lookups.resolver([first, second], systemClock, SHORT).a('a.test');
      expect(answer).toMatchObject({ kind: 'found', records: ['192.0.2.1'] });
    });
  }

  test('one dead server of two adds at most 2 s, and only to the first question', async () => {
    const first = await lookups.names();
    const second = await lookups.names();
    for (const name of ['a.test', 'b.test']) {
      first.fail(name, 'timeout');
      second.set(name, 'A', ['192.0.2.1']);
    }
    let again = Infinity;
    const ms = await bestOf(2_000, async () => {
      // With the patience of production; a new one knows nothing of the dead server.
      const dns = lookups.resolver([first, second], systemClock, PATIENCE);
      const find = async (name: string): Promise<void> => {
        expect((await dns.a(name)).kind).toBe('found');
      };
      const once = await tookMs(() => find('a.test'));
      again = Math.min(again, await tookMs(() => find('b.test')));
      return once;
    });
    expect(ms).toBeLessThan(2_000);
    expect(again).toBeLessThan(500);
  });

  /** The rounds of production, a quarter of their time. */
  const quick = {
    rounds: PATIENCE.rounds.map((ms) => ms / 4),
    loneRounds: PATIENCE.loneRounds.map((ms) => ms / 4),
    tcp: PATIENCE.tcp / 4,
  };
  /** Answers from the packet of this number on. */
  const losing = (count: number) => {
    let seen = 0;
    return lookups.raw(({ query }) => ((seen += 1) > count ? [aRecord(query, '192.0.2.1')] : []));
  };

  test('a lone server may lose two packets, each of two servers one', async () => {
    const lone = await losing(2);
    expect((await lookups.resolver([lone], systemClock, quick).a('a.test')).kind).toBe('found');
    const two = [await losing(1), await losing(1)];
    expect((await lookups.resolver(two, systemClock, quick).a('a.test')).kind).toBe('found');
  });

  test('a lone server that is silent is asked three times, each of two twice, within 10 s', async () => {
    const lone = await losing(Infinity);
    expect((await lookups.resolver([lone], systemClock, quick).a('a.test')).kind).toBe('failed');
    expect(lone.asked).toHaveLength(3);
    const two = [await losing(Infinity), await losing(Infinity)];
    expect((await lookups.resolver(two, systemClock, quick).a('a.test')).kind).toBe('failed');
    expect(two.map(({ asked }) => asked.length)).toEqual([2, 2]);
    for (const [rounds, servers] of [
      [PATIENCE.loneRounds, 1],
      [PATIENCE.rounds, 2],
    ] as const) {
      expect(rounds.reduce((sum, ms) => sum + ms * servers, 0)).toBe(10_000);
    }
  });

  test('a server that says it failed is not asked again, a silent one beside it is', async () => {
    const broken = await lookups.names();
    broken.fail('a.test', 'servfail');
    const silent = await losing(1);
    const dns = lookups.resolver([broken, silent], systemClock, PATIENCE);
    expect((await dns.a('a.test')).kind).toBe('found');
    expect(broken.queries).toHaveLength(1);
    expect(silent.asked).toHaveLength(2);
  });

  test('a closed port is noticed at once', async () => {
    const gone = await openClosedUdpPort();
    const second = await lookups.names();
    second.set('a.test', 'A', ['192.0.2.1']);
    const patience = { ...SHORT, rounds: [5000] };
    const at = { listen: { host: '127.0.0.1', port: gone.port } };
    const ask = async (): Promise<void> => {
      // A new one, which knows nothing of the closed port.
      const dns = lookups.resolver([at, second], systemClock, patience);
      expect((await dns.a('a.test')).kind).toBe('found');
    };
    expect(await bestOf(999, () => tookMs(ask))).toBeLessThan(1000);
    gone.stop();
  });

  test('a server without EDNS is asked without', async () => {
    const server = await lookups.raw(({ query, packet }) => {
      const hasOpt = packet.readUInt16BE(10) > 0;
      if (!hasOpt) return [aRecord(query, '192.0.2.1')];
      const refusal = answerWith(query, {});
      refusal[3] = (refusal[3] ?? 0) | 1;
      return [refusal];
    });
    expect((await lookups.resolver([server]).a('a.test')).kind).toBe('found');
    expect(server.asked).toHaveLength(2);
  });

  test('close ends what waits', async () => {
    const server = await lookups.names();
    server.fail('a.test', 'timeout');
    const dns = lookups.resolver([server], systemClock, PATIENCE);
    const waiting = dns.a('a.test');
    while (server.queries.length === 0) await Bun.sleep(1);
    dns.close();
    expect((await waiting).kind).toBe('failed');
  });
});

describe('forgeries', () => {
  const forgeries: [what: string, make: (asked: Asked) => Buffer][] = [
    ['another id', ({ query }) => aRecord({ ...query, id: query.id ^ 1 }, '198.51.100.66')],
    [
      'another name',
      ({ query }) => {
        const question = Buffer.from(query.question);
        question[1] = (question[1] ?? 0) ^ 2;
        return aRecord({ ...query, question }, '198.51.100.66');
      },
    ],
    [
      'another type',
      ({ query }) => {
        const question = Buffer.from(query.question);
        question.writeUInt16BE(28, question.length - 4);
        return aRecord({ ...query, question }, '198.51.100.66');
      },
    ],
    [
      'a query',
      ({ query }) => {
        const packet = aRecord(query, '198.51.100.66');
        packet[2] = (packet[2] ?? 0) & 0x7f;
        return packet;
      },
    ],
    [
      'no question',
      ({ query }) => {
        const packet = aRecord(query, '198.51.100.66');
        packet.writeUInt16BE(0, 4);
        return Buffer.concat([packet.subarray(0, 12), packet.subarray(12 + query.question.length)]);
      },
    ],
    [
      'records of another name',
      ({ query }) =>
        answerWith(query, {
          records: [{ name: 'evil.test', type: 'A', value: '198.51.100.66', ttlSeconds: 9 }],
        }),
    ],
  ];
  for (const [what, make] of forgeries) {
    test(`${what} is not an answer`, async () => {
      const server = await lookups.raw((asked) => [make(asked)]);
      const answer = await lookups.resolver([server], systemClock, SHORT).a('a.test');
      expect(answer.kind).not.toBe('found');
    });
  }

  test('the case of a name does not matter', async () => {
    const server = await lookups.raw(({ query }) => {
      const question = Buffer.from(query.question);
      question[1] = (question[1] ?? 0) ^ 0x20;
      return [aRecord({ ...query, question }, '192.0.2.1')];
    });
    expect((await lookups.resolver([server]).a('a.test')).kind).toBe('found');
  });

  test('100,000 forged answers, 0 accepted', async () => {
    const QUERIES = 100;
    const FROM_ELSEWHERE = 500;
    const FROM_SERVER = 500;
    const forger = createSocket('udp4');
    let sent = 0;
    const server = await lookups.raw((asked) => {
      const { query, port, via } = asked;
      if (via === 'tcp') return [aRecord(query, '192.0.2.1')];
      // The right id and question from another port: dropped by the kernel.
      const right = aRecord(query, '198.51.100.66');
      for (let i = 0; i < FROM_ELSEWHERE; i++) forger.send(right, port, '127.0.0.1');
      sent += FROM_ELSEWHERE + FROM_SERVER;
      // From the right address, with every id but the right one.
      return Array.from({ length: FROM_SERVER }, (_, i) =>
        aRecord({ ...query, id: (query.id + 1 + i) & 0xffff }, '198.51.100.66'),
      );
    });
    const dns = lookups.resolver([server], systemClock, {
      ...SHORT,
      loneRounds: [10_000],
      tcp: 10_000,
    });
    const seen = new Set<string>();
    for (let i = 0; i < QUERIES; i++) {
      const answer = await dns.a(`q${i}.test`);
      seen.add(answer.kind === 'found' ? answer.records.join() : answer.kind);
    }
    forger.close();
    expect(sent).toBe(100_000);
    // So many mismatches are no accident: the question was put again over TCP.
    expect([...seen]).toEqual(['192.0.2.1']);
    expect(server.asked.filter(({ via }) => via === 'tcp')).toHaveLength(QUERIES);
  }, 30_000);

  test('ids and source ports do not repeat in a pattern', async () => {
    const server = await lookups.raw(({ query }) => [aRecord(query, '192.0.2.1')]);
    const dns = lookups.resolver([server]);
    for (let i = 0; i < 200; i++) await dns.a(`q${i}.test`);
    const ids = server.asked.map(({ query }) => query.id);
    const ports = server.asked.map(({ port }) => port);
    expect(new Set(ids).size).toBeGreaterThan(190);
    expect(new Set(ports).size).toBeGreaterThan(150);
    const steps = ids.slice(1).map((id, i) => id - (ids[i] ?? 0));
    expect(new Set(steps).size).toBeGreaterThan(150);
  });
});
