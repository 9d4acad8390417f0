/**
 * MTA-STS (RFC 8461): reading records and policies, fetching them over verified HTTPS, keeping them through failures,
 * and what they mean for each host.
 */
import { afterEach, describe, expect, test } from 'bun:test';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { GuardedAgent } from '../../../src/wire/https/guarded-agent.ts';
import { allowsMx, parseStsPolicy, readStsRecord } from '../../../src/wire/tls/mta-sts-policy.ts';
import { MtaSts } from '../../../src/wire/tls/mta-sts.ts';
import type { PolicyMemory } from '../../../src/wire/tls/mta-sts.ts';
import { parseNetworks } from '../../../src/wire/addresses/networks.ts';
import { planTls } from '../../../src/wire/tls/tls-policy.ts';
import { testAuthority } from '../../rig/certificates.ts';
import { TestClock } from '../../rig/clock.ts';
import { Lookups } from '../../rig/lookups.ts';
import type { Names } from '../../rig/names.ts';

const POLICY =
  'version: STSv1\r\nmode: enforce\r\nmx: mx.a.test\r\nmx: *.b.test\r\nmax_age: 604800\r\n';
const DAY_MS = 86_400_000;
const OF_B = { mode: 'enforce', mxPatterns: ['mx.b.test'], maxAgeSeconds: 604_800 };

class Memory implements PolicyMemory {
  text: string | null = null;

  read(): Promise<string | null> {
    return Promise.resolve(this.text);
  }

  write(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }
}

describe('the TXT record', () => {
  const table: [records: string[], id: string | null][] = [
    [['v=STSv1; id=20260101T000000;'], '20260101T000000'],
    [['v=STSv1;id=1'], '1'],
    [['v=STSv1 ; id=abc ; x=y'], 'abc'],
    [['other', 'v=STSv1; id=a'], 'a'],
    [[], null],
    [['v=STSv1'], null],
    [['v=STSv1;'], null],
    [['v=STSv2; id=a'], null],
    [['V=STSv1; id=a'], null],
    [['v=STSv1; id=a b'], null],
    [['v=STSv1; id='], null],
    [[`v=STSv1; id=${'x'.repeat(32)}`], 'x'.repeat(32)],
    [[`v=STSv1; id=${'x'.repeat(33)}`], null],
    [['id=a; v=STSv1'], null],
    // Two records are as good as none (section 3.1).
    [['v=STSv1; id=a', 'v=STSv1; id=b'], null],
  ];
  for (const [records, id] of table) {
    test(JSON.stringify(records), () => expect(readStsRecord(records)).toBe(id));
  }
});

describe('the policy file', () => {
  test('fields, unknown ones ignored, line ends of both kinds', () => {
    const text =
      'version: STSv1\nmode:testing\nfuture: x\r\nmxx\nmodes\nmx: MX.A.test.\nmx:  *.b.test \nmax_age: 60\n';
    expect(parseStsPolicy(text)).toEqual({
      mode: 'testing',
      mxPatterns: ['mx.a.test', '*.b.test'],
      maxAgeSeconds: 60,
    });
  });

  test('of a repeated field the first counts; max_age has a ceiling of a year', () => {
    const text = 'version: STSv1\nmode: none\nmode: enforce\nmax_age: 9999999999\nmax_age: 5\n';
    expect(parseStsPolicy(text)).toEqual({
      mode: 'none',
      mxPatterns: [],
      maxAgeSeconds: 31_557_600,
    });
  });

  const invalid = [
    '',
    'mode: enforce\nmx: a.test\nmax_age: 5',
    'version: STSv2\nmode: enforce\nmx: a.test\nmax_age: 5',
    'version: STSv1\nmode: enforce\nmax_age: 5',
    'version: STSv1\nmode: maybe\nmx: a.test\nmax_age: 5',
    'version: STSv1\nmode: enforce\nmx: a.test',
    'version: STSv1\nmode: enforce\nmx: a.test\nmax_age: -5',
    'version: STSv1\nmode: enforce\nmx: a.test\nmax_age: 5s',
    'version: STSv1\nmode: enforce\nmx: *\nmax_age: 5',
    'version: STSv1\nmode: enforce\nmx: a.*.test\nmax_age: 5',
    'version: STSv1\nmode: enforce\nmx: a..test\nmax_age: 5',
    '<html>not found</html>',
  ];
  for (const text of invalid) {
    test(`not: ${JSON.stringify(text)}`, () => expect(parseStsPolicy(text)).toBeNull());
  }

  test('a wildcard is one label', () => {
    const policy = parseStsPolicy(POLICY);
    if (policy === null) throw new Error('no policy');
    const hosts = 'mx.a.test x.b.test b.test x.y.b.test xmx.a.test a.test xb.test'.split(' ');
    expect(hosts.filter((host) => allowsMx(policy, host))).toEqual(['mx.a.test', 'x.b.test']);
  });
});

describe('policies over the network', () => {
  const lookups = new Lookups();
  const open: (Server | GuardedAgent)[] = [];
  let requests: string[] = [];
  let respond: (request: IncomingMessage, response: ServerResponse) => void;

  afterEach(async () => {
    for (const item of open.splice(0)) {
      if (item instanceof GuardedAgent) item.destroy();
      else item.close();
    }
    requests = [];
    await lookups.close();
  });

  const text = (body: string, type = 'text/plain; charset=utf-8') => {
    respond = (_request, response) => response.setHeader('content-type', type).end(body);
  };

  async function start(certificateName = 'mta-sts.a.test'): Promise<{
    names: Names;
    clock: TestClock;
    sts: MtaSts;
    again: (memory: PolicyMemory) => MtaSts;
  }> {
    const { key, cert } = testAuthority().issue([certificateName]);
    const server = createServer({ key, cert }, (request, response) => {
      requests.push(`${request.headers.host?.split(':')[0]}${request.url}`);
      respond(request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const names = await lookups.names();
    names.set('mta-sts.a.test', 'A', ['127.0.0.1'], 0);
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=one;'], 0);
    const clock = new TestClock();
    const resolver = lookups.resolver([names], clock);
    const allowNetworks = parseNetworks(['127.0.0.0/8']);
    const agent = new GuardedAgent({ resolver, allowNetworks, ca: [testAuthority().cert] });
    open.push(server, agent);
    const { port: policyPort } = server.address() as AddressInfo;
    text(POLICY);
    const again = (memory?: PolicyMemory): MtaSts =>
      new MtaSts({ resolver, clock, agent, policyPort, ...(memory && { memory }) });
    return { names, clock, sts: again(), again };
  }

  test('found, fetched once, kept', async () => {
    const { sts } = await start();
    const policies = await Promise.all([sts.policyFor('a.test'), sts.policyFor('a.test')]);
    expect(policies[0]).toEqual({
      mode: 'enforce',
      mxPatterns: ['mx.a.test', '*.b.test'],
      maxAgeSeconds: 604_800,
    });
    expect(policies[1]).toEqual(policies[0] as never);
    await sts.policyFor('a.test');
    expect(requests).toEqual(['mta-sts.a.test/.well-known/mta-sts.txt']);
  });

  test('no record: nothing is fetched', async () => {
    const { names, sts } = await start();
    names.set('_mta-sts.a.test', 'TXT', []);
    expect(await sts.policyFor('a.test')).toBeNull();
    expect(requests).toEqual([]);
  });

  test('a new id brings the new policy', async () => {
    const { names, sts } = await start();
    await sts.policyFor('a.test');
    text(POLICY.replace('enforce', 'testing'));
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'testing' });
  });

  test('the same id is looked at again after a day', async () => {
    const { clock, sts } = await start();
    await sts.policyFor('a.test');
    await clock.advance(DAY_MS + 1000);
    await sts.policyFor('a.test');
    expect(requests).toHaveLength(2);
  });

  test('a kept policy outlives DNS and the web server until it expires', async () => {
    const { names, clock, sts } = await start();
    await sts.policyFor('a.test');
    names.fail('_mta-sts.a.test', 'servfail');
    await clock.advance(2 * DAY_MS);
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'enforce' });
    names.fail('_mta-sts.a.test', null);
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    respond = (_request, response) => response.writeHead(500).end();
    await clock.advance(DAY_MS);
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'enforce' });
    expect(requests).toHaveLength(2);
    // Also while nothing is fetched, because that has just failed.
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'enforce' });
    expect(requests).toHaveLength(2);
    await clock.advance(5 * DAY_MS);
    expect(await sts.policyFor('a.test')).toBeNull();
  });

  test('an enforced policy outlives a restart, and no longer than it says', async () => {
    const { names, clock, again } = await start();
    const memory = new Memory();
    expect(await again(memory).policyFor('a.test')).toMatchObject({ mode: 'enforce' });
    names.fail('_mta-sts.a.test', 'servfail');
    expect(await again(new Memory()).policyFor('a.test')).toBeNull();
    expect(await again(memory).policyFor('a.test')).toMatchObject({ mode: 'enforce' });
    await clock.advance(8 * DAY_MS);
    expect(await again(memory).policyFor('a.test')).toBeNull();
    expect(requests).toHaveLength(1);
  });

  test('one that is no longer enforced is forgotten, and a memory that fails is none', async () => {
    const { names, again } = await start();
    const memory = new Memory();
    const sts = again(memory);
    await sts.policyFor('a.test');
    text(POLICY.replace('enforce', 'testing'));
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    await sts.policyFor('a.test');
    expect(memory.text).toBe('[]');
    const broken: PolicyMemory = {
      read: () => Promise.resolve('{"not": "a list"}'),
      write: () => Promise.reject(new Error('the disk is full')),
    };
    text(POLICY);
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=three;'], 0);
    expect(await again(broken).policyFor('a.test')).toMatchObject({ mode: 'enforce' });
  });

  test('a memory that nodes share loses nothing that another has written, and teaches it', async () => {
    const { names, clock, again } = await start();
    const memory = Object.assign(new Memory(), { isShared: true });
    const at = (id: string, ms: number) => ({ id, policy: OF_B, fetchedAt: clock.steady() + ms });
    memory.text = JSON.stringify([['c.test', at('old', 0)]]);
    const sts = again(memory);
    await sts.policyFor('a.test');
    const theirs = { 'b.test': at('b', 0), 'a.test': at('none', -1), 'c.test': at('new', 1) };
    memory.text = JSON.stringify(Object.entries(theirs));
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    await sts.policyFor('a.test');
    const hasTwo = (): boolean => memory.text?.includes('"id":"two"') ?? false;
    while (!hasTwo()) await Bun.sleep(1);
    expect(memory.text?.match(/(?<="id":")\w+/g)?.toSorted()).toEqual(['b', 'new', 'two']);
    names.fail('_mta-sts.b.test', 'servfail');
    expect(await sts.policyFor('b.test')).toMatchObject({ mode: 'enforce' });
  });

  test('what has expired leaves the memory with the next write', async () => {
    const { clock, again } = await start();
    const memory = new Memory();
    const kept = { id: 'b', policy: OF_B, fetchedAt: clock.steady() - 7 * DAY_MS };
    const later = { ...kept, fetchedAt: kept.fetchedAt + 1 };
    memory.text = JSON.stringify(Object.entries({ 'old.test': kept, 'new.test': later }));
    const sts = again(memory);
    expect(await sts.policyFor('old.test')).toBeNull();
    expect(await sts.policyFor('new.test')).not.toBeNull();
    await sts.policyFor('a.test');
    expect(memory.text.match(/\w+\.test(?=",\{)/g)).toEqual(['new.test', 'a.test']);
  });

  test.each([
    [32_767, 'at once'],
    [32_768, 'after a minute'],
  ])('a memory of %d characters is written again %s', async (length, when) => {
    const { names, clock, again } = await start();
    const memory = new Memory();
    const padded = (chars: number): void => {
      const kept = { id: 'x'.repeat(chars), policy: OF_B, fetchedAt: clock.steady() };
      memory.text = JSON.stringify([['b.test', kept]]);
    };
    padded(0);
    await again(memory).policyFor('a.test');
    padded(length - memory.text!.length);
    const sts = again(memory);
    await sts.policyFor('a.test');
    const first = memory.text;
    expect(first).toHaveLength(length);
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    await sts.policyFor('a.test');
    if (when !== 'at once') {
      await clock.advance(59_999);
      expect(memory.text).toBe(first);
      await clock.advance(1);
    }
    expect(memory.text).toContain('"id":"two"');
  });

  test.each([
    '[["a.test", {"id": "one"}]]',
    '[["a.test", null]]',
    '[7]',
    '{"a.test": 1}',
    'no JSON',
  ])('a memory that another version wrote is left out: %s', async (kept) => {
    const { again } = await start();
    const memory = new Memory();
    memory.text = kept;
    expect(await again(memory).policyFor('a.test')).toMatchObject({ mode: 'enforce' });
  });

  test('a failed fetch is not repeated for each message', async () => {
    const { clock, sts } = await start();
    respond = (_request, response) => response.writeHead(404).end();
    for (let i = 0; i < 10; i++) expect(await sts.policyFor('a.test')).toBeNull();
    expect(requests).toHaveLength(1);
    text(POLICY);
    await clock.advance(6 * 60_000);
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'enforce' });
  });

  test('not over a redirect, not as HTML, not without end', async () => {
    const bad: [string, typeof respond][] = [
      ['redirect', (_q, r) => r.writeHead(302, { location: 'https://mta-sts.a.test/x' }).end()],
      ['html', (_q, r) => r.setHeader('content-type', 'text/html').end(POLICY)],
      ['long', (_q, r) => r.setHeader('content-type', 'text/plain').end(POLICY.repeat(2000))],
      ['empty', (_q, r) => r.setHeader('content-type', 'text/plain').end()],
      // A whole policy under any other status is what somebody else's error page may be.
      ...[203, 206, 302, 404, 500].map((status): [string, typeof respond] => [
        `status ${status}`,
        (_q, r) => r.writeHead(status, { 'content-type': 'text/plain' }).end(POLICY),
      ]),
    ];
    for (const [what, how] of bad) {
      const { sts } = await start();
      respond = how;
      expect([what, await sts.policyFor('a.test')]).toEqual([what, null]);
    }
    expect(requests).toHaveLength(bad.length);
  });

  test('a policy of 65,536 bytes is read, one of a byte more is not', async () => {
    const { sts, names } = await start();
    const padded = (bytes: number): string => `${`${POLICY}x: `.padEnd(bytes - 1, 'y')}\n`;
    text(padded(65_537));
    expect(await sts.policyFor('a.test')).toBeNull();
    text(padded(65_536));
    names.set('_mta-sts.a.test', 'TXT', ['v=STSv1; id=two;'], 0);
    expect(await sts.policyFor('a.test')).toMatchObject({ mode: 'enforce' });
  });

  test('not under a certificate for another name', async () => {
    const { sts } = await start('mta-sts.evil.test');
    expect(await sts.policyFor('a.test')).toBeNull();
    expect(requests).toEqual([]);
  });
});

describe('what it means for a host', () => {
  const never = {
    cname: () => Promise.resolve({ kind: 'nodata', isAuthenticated: false } as const),
    tlsa: () => Promise.resolve({ kind: 'nodata', isAuthenticated: false } as const),
  };
  const plan = (mode: 'enforce' | 'testing' | 'none' | null, host: string) =>
    planTls(
      never,
      mode === null ? null : { mode, mxPatterns: ['mx.a.test'], maxAgeSeconds: 60 },
      { name: host, isAuthenticated: false },
      false,
      25,
      'a.test',
    );

  test('enforce: TLS with a valid certificate, at the named hosts alone', async () => {
    expect(await plan('enforce', 'mx.a.test')).toEqual({
      kind: 'use',
      policy: { source: 'mta-sts', mode: 'required', verify: true },
    });
    expect(await plan('enforce', 'mx.evil.test')).toEqual({
      kind: 'avoid',
      source: 'mta-sts',
      reason: 'mx.evil.test is not in the MTA-STS policy of a.test',
    });
  });

  test('testing, none, no policy: as well as possible', async () => {
    const policy = { mode: 'opportunistic', verify: false } as const;
    expect(await plan('testing', 'mx.evil.test')).toEqual({
      kind: 'use',
      policy: { ...policy, source: 'mta-sts-testing' },
    });
    for (const mode of ['none', null] as const) {
      expect(await plan(mode, 'mx.evil.test')).toEqual({
        kind: 'use',
        policy: { ...policy, source: 'opportunistic' },
      });
    }
  });
});
