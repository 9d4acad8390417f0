/** Domains against a real DNS server: what is published, what counts as found, and what never counts as missing. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { systemClock } from '../../../src/base/clock.ts';
import { Periodic } from '../../../src/base/periodic.ts';
import { DomainChecker } from '../../../src/flow/domains/checker.ts';
import { allRecords, requiredRecords } from '../../../src/flow/domains/records.ts';
import {
  addDomain,
  domainOf,
  removeDomain,
  verifyDomain,
} from '../../../src/flow/domains/domains.ts';
import type { Domain } from '../../../src/store/rows.ts';
import type { Sender } from '../../../src/flow/draft.ts';
import { createResolver } from '../../../src/wire/dns/dns.ts';
import type { Resolver } from '../../../src/wire/dns/resolver.ts';
import { startNames, type Names } from '../../rig/names.ts';
import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const HOSTNAME = 'mail.appliance.example';
const HOUR_MS = 3_600_000;

let names: Names;
let fixture: Fixture;
let sender: Sender;
let resolver: ReturnType<typeof createResolver>;
let round = 0;
let name: string;

beforeAll(async () => {
  names = await startNames();
});
afterAll(() => names.stop());

beforeEach(async () => {
  resolver = createResolver({ servers: [names.listen], clock: systemClock });
  const current: Resolver = {
    mx: (at) => resolver.mx(at),
    a: (at) => resolver.a(at),
    aaaa: (at) => resolver.aaaa(at),
    txt: (at) => resolver.txt(at),
    cname: (at) => resolver.cname(at),
    ptr: (at) => resolver.ptr(at),
    tlsa: (at) => resolver.tlsa(at),
  };
  fixture = await openFixture({
    resolver: current,
    toml: '[[plans]]\nid = "two"\nmax_domains = 2\n',
  });
  sender = await fixture.sender();
  name = `d${(round += 1)}.example`;
});
afterEach(async () => {
  resolver.close();
  await fixture.close();
});

const add = (domain = name): Promise<Domain> => addDomain(fixture.ctx, sender.account, domain);
const verify = ({ id }: Domain) => {
  forgetAnswers();
  return verifyDomain(fixture.ctx, sender.account.id, id);
};

/** A resolver caches by real time, which the test clock does not move; a new one has no cache. */
function forgetAnswers(): void {
  resolver.close();
  resolver = createResolver({ servers: [names.listen], clock: systemClock });
}

/** Publishes what the domain's owner is told to, with TTL 0 so that every check asks again. */
function publish(domain: Domain, only: string[] = ['DKIM', 'SPF']): void {
  for (const row of requiredRecords(fixture.ctx.config.startup.hostname, domain)) {
    names.set(row.name, row.type, only.includes(row.record) ? [row.value] : [], 0);
  }
}

describe('adding', () => {
  test('returns the two records to publish, each row with a key and selector of its own', async () => {
    const domain = await add(' Shop.EXAMPLE. ');
    expect(domain).toMatchObject({ name: 'shop.example', status: 'pending' });
    const [dkim, spf, ...rest] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    expect(rest).toEqual([]);
    expect(dkim).toMatchObject({
      type: 'TXT',
      name: `${domain.selector}._domainkey.shop.example`,
      status: 'not_started',
    });
    expect(spf).toMatchObject({ type: 'CNAME', name: 'send.shop.example', value: HOSTNAME });
    expect(
      allRecords(fixture.ctx.config.startup.hostname, domain).map(({ record }) => record),
    ).toEqual(['DKIM', 'SPF', 'DMARC']);
    const other = await fixture.sender({ name: 'other' });
    const twin = await addDomain(fixture.ctx, other.account, 'shop.example');
    expect(twin.selector).not.toBe(domain.selector);
    expect(twin.dkimPublicKey).not.toBe(domain.dkimPublicKey);
    expect(Buffer.from(domain.sealedDkimKey).toString('latin1')).not.toContain('PRIVATE');
  });

  test('takes names of other scripts as A-labels', async () => {
    expect((await add('Bücher.example')).name).toBe('xn--bcher-kva.example');
  });

  test.each([
    ['co.uk'],
    ['github.io'],
    ['com'],
    ['localhost'],
    ['192.0.2.1'],
    ['[192.0.2.1]'],
    ['2001:db8::1'],
    [HOSTNAME],
    ['MAIL.Appliance.Example.'],
    ['acme.example..'],
    ['a@b.example'],
    ['exa mple.com'],
    ['-a.example'],
    [`${'a'.repeat(64)}.example`],
    ['x.example\r\nBcc: y'],
    ['https://example.com'],
    [''],
  ])('refuses %p', async (bad) => {
    const error = await refusal(add(bad));
    expect([error.code, error.status]).toEqual(['validation_failed', 422]);
  });

  test('refuses one name twice in an account, and more than the plan has', async () => {
    await add('one.example');
    expect((await refusal(add('ONE.example'))).code).toBe('conflict');
    const two = await fixture.sender({ name: 'two', plan: 'two' });
    const all = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((label) => addDomain(fixture.ctx, two.account, `${label}.example`)),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const error = await refusal(addDomain(fixture.ctx, two.account, 'e.example'));
    expect([error.code, error.status]).toEqual(['forbidden', 403]);
  });
});

describe('verifying', () => {
  test('finds the published records, and lets mail be sent', async () => {
    const domain = await add();
    const from = draft({ from: mailbox(`a@${name}`) });
    expect((await refusal(fixture.accept(sender, from))).code).toBe('domain_not_verified');
    publish(domain);
    names.set(`_dmarc.${name}`, 'TXT', ['v=DMARC1; p=reject'], 0);
    const result = await verify(domain);
    expect(result).toMatchObject({ isDnsReady: true, isProven: true });
    expect(result.records.map(({ record, found, status }) => [record, found, status])).toEqual([
      ['DKIM', true, 'verified'],
      ['SPF', true, 'verified'],
      ['DMARC', true, 'verified'],
    ]);
    expect(result.domain).toMatchObject({ status: 'verified', verifiedAt: fixture.clock.now() });
    expect(await domainOf(fixture.ctx, sender.account.id, domain.id)).toEqual(result.domain);
    expect((await fixture.accept(sender, from)).status).toBe(200);
    await removeDomain(fixture.ctx, sender.account.id, domain.id);
    expect((await refusal(fixture.accept(sender, from))).code).toBe('from_domain_not_allowed');
    expect((await refusal(verify(domain))).code).toBe('not_found');
  });

  test('says of each record what is wrong while nothing is published', async () => {
    const { domain, isDnsReady, isProven, records } = await verify(await add());
    expect([domain.status, isDnsReady, isProven]).toEqual(['pending', false, false]);
    expect(records.map(({ found, status }) => [found, status])).toEqual([
      [false, 'pending'],
      [false, 'pending'],
      [false, 'pending'],
    ]);
    for (const { reason, name: at } of records) expect(reason).toContain(at);
  });

  test('keeps what DNS showed, beside the problem, in bounds and for its account alone', async () => {
    const domain = await add();
    publish(domain, ['DKIM']);
    const [dkim, spf] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    names.set(`send.${name}`, 'TXT', ['v=spf1 -all', 'something else'], 0);
    names.set(`send.${name}`, 'MX', ['10 mx.elsewhere.example'], 0);
    names.set(`_dmarc.${name}`, 'TXT', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 0);
    const { store } = fixture.ctx;
    expect(await store.seenRecords(sender.account.id, domain.id)).toEqual({});
    await verify(domain);
    expect(await store.seenRecords(sender.account.id, domain.id)).toEqual({
      DKIM: { at: dkim?.name ?? '', values: [dkim?.value ?? ''], problem: null },
      SPF: {
        at: spf?.name ?? '',
        values: ['TXT v=spf1 -all', 'MX 10 mx.elsewhere.example'],
        problem: expect.stringContaining('no CNAME'),
      },
      DMARC: {
        at: `_dmarc.${name}`,
        values: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'],
        problem: expect.stringContaining('no valid DMARC record'),
      },
    });
    const other = await fixture.sender({ name: 'other' });
    expect(await store.seenRecords(other.account.id, domain.id)).toEqual({});

    names.set(
      dkim?.name ?? '',
      'TXT',
      Array.from({ length: 9 }, (_, n) => `${n}${'x'.repeat(5_000)}`),
      0,
    );
    await verify(domain);
    const values = (await store.seenRecords(sender.account.id, domain.id))['DKIM']?.values ?? [];
    expect([values.length, Math.max(...values.map((text) => text.length))]).toEqual([5, 1_500]);
  });

  test('ignores spaces in the key and strings of 100 bytes', async () => {
    const domain = await add();
    publish(domain);
    const [dkim] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    const spaced = (dkim?.value ?? '').replace(/(p=.{40})/, '$1 \t');
    names.set(dkim?.name ?? '', 'TXT', [spaced.match(/.{1,100}/g) ?? []], 0);
    expect((await verify(domain)).isProven).toBe(true);
  });

  test.each([
    ['two records at the selector', (value: string) => [value, value.replace('rsa', 'rsa; n=2')]],
    ['another key', (value: string) => [value.replace(/p=...../, 'p=AAAAA')]],
    ['a revoked key', () => ['v=DKIM1; p=']],
    ['no key', () => ['v=DKIM1; k=rsa']],
  ])('does not take %s for ours', async (_, change) => {
    const domain = await add();
    publish(domain);
    const [dkim] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    names.set(dkim?.name ?? '', 'TXT', change(dkim?.value ?? ''), 0);
    const result = await verify(domain);
    expect([result.domain.status, result.records[0]?.found]).toEqual(['pending', false]);
    expect(result.records[0]?.reason).toContain(dkim?.name ?? '-');
  });

  test('asks for the proof too: a record that is ours but says another hash is not enough', async () => {
    const domain = await add();
    publish(domain);
    const [dkim] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    names.set(dkim?.name ?? '', 'TXT', [(dkim?.value ?? '').replace('k=rsa', 'k=rsa; h=sha1')], 0);
    const result = await verify(domain);
    expect([result.domain.status, result.isDnsReady, result.isProven]).toEqual([
      'pending',
      true,
      false,
    ]);
    const seen = await fixture.ctx.store.seenRecords(sender.account.id, domain.id);
    expect(seen['DKIM']?.problem).toContain('does not verify');
  });

  describe('a return-path host with its own SPF and MX', () => {
    const own = async (spf: string | null, exchange: string | null): Promise<boolean> => {
      const domain = await add();
      publish(domain, ['DKIM']);
      const host = `send.${name}`;
      names.set(HOSTNAME, 'A', ['198.51.100.7'], 0);
      names.set('other-name-of-it.example', 'A', ['198.51.100.7'], 0);
      names.set('elsewhere.example', 'A', ['198.51.100.99'], 0);
      names.set(host, 'TXT', spf === null ? [] : [spf], 0);
      names.set(host, 'MX', exchange === null ? [] : [`10 ${exchange}`], 0);
      return (await verify(domain)).domain.status === 'verified';
    };
    test.each([
      ['v=spf1 ip4:198.51.100.0/24 -all', HOSTNAME, true],
      ['v=spf1 ip4:198.51.100.0/24 -all', 'other-name-of-it.example', true],
      ['v=spf1 ip4:198.51.100.0/24 -all', 'elsewhere.example', false],
      ['v=spf1 ip4:198.51.100.0/24 -all', null, false],
      ['v=spf1 ip4:192.0.2.0/24 -all', HOSTNAME, false],
      ['v=spf1 ?all', HOSTNAME, false],
      [null, HOSTNAME, false],
    ])('SPF %p, MX %p: %p', async (spf, exchange, isVerified) => {
      expect(await own(spf, exchange)).toBe(isVerified);
    });
  });

  test.each(['servfail', 'refused'] as const)(
    'refuses with provider_error when the resolver fails with %s, and changes nothing',
    async (how) => {
      const domain = await add();
      publish(domain);
      await verify(domain);
      const before = await domainOf(fixture.ctx, sender.account.id, domain.id);
      const [dkim] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
      names.fail(dkim?.name ?? '', how);
      const error = await refusal(verify(domain));
      expect([error.code, error.status]).toEqual(['provider_error', 502]);
      expect(await domainOf(fixture.ctx, sender.account.id, domain.id)).toEqual(before);
      names.fail(dkim?.name ?? '', null);
    },
    30_000,
  );

  test('DMARC counts at the organisational domain, and never when it is published twice', async () => {
    const domain = await add(`news.${name}`);
    names.set(`_dmarc.${name}`, 'TXT', ['v=DMARC1; p=none'], 0);
    expect((await verify(domain)).records[2]?.found).toBe(true);
    names.set(`_dmarc.${name}`, 'TXT', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 0);
    expect((await verify(domain)).records[2]?.found).toBe(false);
  });
});

describe('the checker', () => {
  const look = async (id: string): Promise<Domain> => domainOf(fixture.ctx, sender.account.id, id);

  /** Lets the checker do what is due now, and waits until that check is stored. */
  async function checked(domain: Domain): Promise<Domain> {
    const before = (await look(domain.id)).lastCheckedAt;
    forgetAnswers();
    const checker = new Periodic(fixture.ctx, new DomainChecker(fixture.ctx));
    checker.start();
    let after = await look(domain.id);
    for (const until = Date.now() + 10_000; after.lastCheckedAt === before && Date.now() < until;) {
      await fixture.clock.advance(0);
      after = await look(domain.id);
    }
    await checker.stop();
    return after;
  }

  test('verifies by itself', async () => {
    const domain = await add();
    publish(domain);
    await fixture.clock.advance(60_000);
    const after = await checked(domain);
    expect([after.status, after.nextCheckAt]).toEqual([
      'verified',
      fixture.clock.now() + 24 * HOUR_MS,
    ]);
  });

  test('checks ever less often, then fails after 72 hours; verify revives', async () => {
    let domain = await add();
    const waits: number[] = [];
    while (domain.nextCheckAt !== null && waits.length < 200) {
      const waitMs = domain.nextCheckAt - fixture.clock.now();
      waits.push(waitMs);
      fixture.clock.pass(waitMs);
      domain = await checked(domain);
    }
    expect(domain.status).toBe('failed');
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(waits.length).toBeLessThan(50);
    expect(fixture.clock.now() - domain.createdAt).toBeGreaterThanOrEqual(72 * HOUR_MS);
    expect(fixture.clock.now() - domain.createdAt).toBeLessThan(96 * HOUR_MS);
    const revived = (await verify(domain)).domain;
    expect([revived.status, revived.pendingSince]).toEqual(['pending', fixture.clock.now()]);
    publish(domain);
    expect((await verify(domain)).domain.status).toBe('verified');
  }, 30_000);

  test('a verified domain fails only after three days in a row without a record', async () => {
    let domain = await add();
    publish(domain);
    domain = (await verify(domain)).domain;
    const day = async (): Promise<string> => {
      const until = fixture.clock.now() + 24 * HOUR_MS;
      while ((domain.nextCheckAt ?? Infinity) <= until) {
        fixture.clock.pass((domain.nextCheckAt ?? 0) - fixture.clock.now());
        domain = await checked(domain);
      }
      fixture.clock.pass(until - fixture.clock.now());
      return domain.status;
    };
    publish(domain, ['SPF']);
    expect([await day(), await day()]).toEqual(['verified', 'verified']);
    publish(domain);
    expect([await day(), domain.failingSince]).toEqual(['verified', null]);
    publish(domain, ['SPF']);
    expect([await day(), await day(), await day(), await day()]).toEqual([
      'verified',
      'verified',
      'verified',
      'failed',
    ]);
  }, 30_000);

  test('a resolver that fails for a week changes no verified domain', async () => {
    let domain = await add();
    publish(domain);
    domain = (await verify(domain)).domain;
    const [dkim] = requiredRecords(fixture.ctx.config.startup.hostname, domain);
    names.fail(dkim?.name ?? '', 'servfail');
    while (fixture.clock.now() < domain.createdAt + 168 * HOUR_MS) {
      fixture.clock.pass((domain.nextCheckAt ?? 0) - fixture.clock.now());
      domain = await checked(domain);
    }
    names.fail(dkim?.name ?? '', null);
    expect([domain.status, domain.failingSince]).toEqual(['verified', null]);
  }, 60_000);

  test('a domain whose key cannot be opened is checked later and logged; the others are checked', async () => {
    const broken = await fixture.verified(sender, `broken.${name}`);
    names.set(`${broken.selector}._domainkey.broken.${name}`, 'TXT', ['v=DKIM1; p=AAAA'], 0);
    await fixture.ctx.store.finishDomainCheck({ ...broken, now: 1, nextCheckAt: 1 });
    const good = await add();
    publish(good);
    fixture.clock.pass(60_000);
    expect((await checked(good)).status).toBe('verified');
    const after = await look(broken.id);
    expect([after.status, after.nextCheckAt]).toEqual(['verified', fixture.clock.now() + HOUR_MS]);
    expect(fixture.logged.filter(({ event }) => event === 'domain_check_failed')).toHaveLength(1);
  });
});
