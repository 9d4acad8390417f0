/** What a domain's owner is told, word for word, and the rows that a domain and its keys leave. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { dmarcAdvice } from '../../../src/flow/domains/dmarc-advice.ts';
import {
  addDomain,
  domainOf,
  newDomain,
  removeDomain,
  verifyDomain,
} from '../../../src/flow/domains/domains.ts';
import { activateKey, prepareKey, rotationOf } from '../../../src/flow/domains/rotation.ts';
import { sendingDomain } from '../../../src/flow/domains/lookup.ts';
import { dkimLabel } from '../../../src/flow/seal-labels.ts';
import type { Domain } from '../../../src/store/rows.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { openFixture, refusal, type Fixture, type RequestSender } from '../fixture.ts';

const NODATA = { kind: 'nodata', isAuthenticated: false } as const;
const NOBODY = '01913c7e-89ab-7cde-8f01-23456789abce';

let fixture: Fixture;
let sender: RequestSender;
let txt: Record<string, string[] | 'fail'>;
let cname: 'ours' | 'none' | 'fail';
let forgotten: string[];

beforeEach(async () => {
  [txt, cname, forgotten] = [{}, 'ours', []];
  const answer = (records: string[] | 'fail' | undefined): DnsAnswer<string> => {
    if (records === 'fail') return { kind: 'failed', reason: 'SERVFAIL' };
    if (records === undefined) return NODATA;
    return { kind: 'found', records, ttlSeconds: 0, isAuthenticated: false };
  };
  const none = async () => NODATA;
  const resolver: Resolver = {
    mx: none,
    a: none,
    aaaa: none,
    ptr: none,
    tlsa: none,
    txt: async (name) => answer(txt[name]),
    async cname() {
      if (cname === 'none') return NODATA;
      return answer(cname === 'fail' ? 'fail' : ['mail.appliance.example']);
    },
    forget: (domain) => void forgotten.push(domain),
  };
  fixture = await openFixture({
    resolver,
    toml: '[[plans]]\nid = "two"\nmax_domains = 2\n',
  });
  sender = await fixture.sender();
});
afterEach(() => fixture.close());

const told = async (name: string, by = sender): Promise<unknown> => {
  const { code, status, message, detail } = await refusal(addDomain(fixture.ctx, by.account, name));
  const [issue] = detail?.issues ?? [];
  return issue === undefined ? [code, status, message] : [code, issue.path, issue.message];
};
const invalid = (message: string): string[] => ['validation_failed', 'name', message];
/** Publishes the DKIM record of this key. */
const publish = ({ name, selector, dkimPublicKey }: Domain): void => {
  txt[`${selector}._domainkey.${name}`] = [`v=DKIM1; k=rsa; p=${dkimPublicKey}`];
};

test('why a name is refused', async () => {
  for (const name of [
    '',
    'a b.example',
    'a@b.example',
    '-a.example',
    'https://a.example/',
    '192.0.2.1',
  ]) {
    expect([name, await told(name)]).toEqual([
      name,
      invalid('name must be a domain name such as example.com.'),
    ]);
  }
  expect(await told('Mail.Appliance.example.')).toEqual(
    invalid('mail.appliance.example is a name of this service; mail is sent from other domains.'),
  );
  expect(await told('github.io')).toEqual(
    invalid('github.io is a public suffix; add a domain below it.'),
  );
  const two = await fixture.sender({ name: 'two', plan: 'two' });
  for (const name of ['a.example', 'b.example']) await fixture.verified(two, name);
  // Before a key is made, which takes long.
  fixture.ctx.store.createDomain = () => Promise.reject(new Error('asked'));
  expect(await told('A.example', two)).toEqual([
    'conflict',
    409,
    'This account has the domain a.example already.',
  ]);
  expect(await told('c.example', two)).toEqual([
    'forbidden',
    403,
    "This account's plan allows 2 domains.",
  ]);
});

test('a name may be as long as its return paths may', async () => {
  const label = 'x'.repeat(60);
  const name = (length: number): string =>
    `${label}.${label}.${label}.example`.slice(-length).padStart(length, 'y');
  const refusedAt: unknown[] = [];
  for (let length = 196; length <= 200; length += 1) {
    const made = await newDomain(fixture.ctx, sender.account.id, name(length)).catch(
      (error: Error) => error.message,
    );
    if (typeof made === 'string') refusedAt.push([length, made]);
    if (refusedAt.length === 2) break;
  }
  const words = (excess: number): string =>
    `name is too long by ${excess} octets: its return paths would have more than 256.`;
  expect(refusedAt).toEqual([
    [198, words(1)],
    [199, words(2)],
  ]);
});

test('the row of a new domain, and its private key', async () => {
  const { ctx, clock } = fixture;
  clock.jump(5_000);
  const { sealedDkimKey, ...row } = await addDomain(ctx, sender.account, ' Bücher.Example. ');
  expect(row).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    accountId: sender.account.id,
    name: 'xn--bcher-kva.example',
    status: 'pending',
    selector: expect.stringMatching(/^pr[0-9a-f]{8}$/),
    dkimPublicKey: expect.stringMatching(/^MII[\w+/=]{389}$/),
    recordStates: { DKIM: 'not_started', SPF: 'not_started', DMARC: 'not_started' },
    createdAt: clock.now(),
    verifiedAt: null,
    lastCheckedAt: null,
    nextCheckAt: clock.steady() + 60_000,
    failingSince: null,
    pendingSince: clock.steady(),
    deletedAt: null,
  } as unknown as typeof row);
  expect(ctx.secrets.open(sealedDkimKey, dkimLabel(row.id))).toContain('PRIVATE KEY');
  expect(await domainOf(ctx, sender.account.id, row.id)).toEqual({ ...row, sealedDkimKey });
  // Asked before it was there, a sender finds it all the same.
  expect(await sendingDomain(ctx, sender.account.id, 'late.example')).toBeNull();
  const late = await addDomain(ctx, sender.account, 'late.example');
  expect((await sendingDomain(ctx, sender.account.id, 'late.example'))?.id).toBe(late.id);
  await removeDomain(ctx, sender.account.id, late.id);
  expect(await sendingDomain(ctx, sender.account.id, 'late.example')).toBeNull();
  const other = await fixture.sender({ name: 'other' });
  for (const ask of [
    () => removeDomain(ctx, sender.account.id, late.id),
    () => removeDomain(ctx, other.account.id, row.id),
    () => domainOf(ctx, sender.account.id, NOBODY),
    () => verifyDomain(ctx, other.account.id, row.id),
  ]) {
    const { code, message } = await refusal(ask());
    expect([code, message]).toEqual(['not_found', 'There is no such domain.']);
  }
});

test('of requests at once for one name, or for the last domain of a plan, one is granted and the other told why', async () => {
  const { account } = await fixture.sender({ name: 'many', plan: 'two' });
  const refusedOf = async (...names: string[]): Promise<unknown[]> => {
    const ends = await Promise.allSettled(names.map((one) => addDomain(fixture.ctx, account, one)));
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    return reasons.map(({ code, message }: { code: string; message: string }) => [code, message]);
  };
  expect(await refusedOf('one.example', 'ONE.example')).toEqual([
    ['conflict', 'This account has the domain one.example already.'],
  ]);
  expect(await refusedOf('two.example', 'three.example')).toEqual([
    ['forbidden', "This account's plan allows 2 domains."],
  ]);
});

test('a check that is asked for says what is wrong of each record, and forgets what DNS said before', async () => {
  const { ctx, clock } = fixture;
  const domain = await addDomain(ctx, sender.account, 'news.acme.example');
  const verify = () => verifyDomain(ctx, sender.account.id, domain.id);
  publish(domain);
  cname = 'none';
  const first = await verify();
  expect([first.isDnsReady, first.isProven, first.domain.status]).toEqual([false, true, 'pending']);
  expect(
    first.records.map(({ record, found, status, reason }) => [record, found, status, reason]),
  ).toEqual([
    ['DKIM', true, 'verified', null],
    [
      'SPF',
      false,
      'pending',
      'no CNAME to mail.appliance.example, and mail.appliance.example has no address to check SPF with',
    ],
    ['DMARC', false, 'pending', 'there is no valid DMARC record at _dmarc.news.acme.example'],
  ]);
  cname = 'ours';
  txt['_dmarc.news.acme.example'] = 'fail';
  clock.pass(1_000);
  const second = await verify();
  expect([second.isDnsReady, second.domain.lastCheckedAt]).toEqual([true, clock.now()]);
  expect(second.records[2]).toMatchObject({ found: false, status: 'pending', reason: 'SERVFAIL' });
  expect(await domainOf(ctx, sender.account.id, domain.id)).toEqual(second.domain);
  expect((await sendingDomain(ctx, sender.account.id, domain.name))?.status).toBe('verified');
  const unasked = async (): Promise<unknown> => {
    const { code, status, message } = await refusal(verify());
    return [code, status, message];
  };
  const failed = [
    'provider_error',
    502,
    'DNS could not be asked about news.acme.example (SERVFAIL); try again shortly.',
  ];
  cname = 'fail';
  expect(await unasked()).toEqual(failed);
  cname = 'ours';
  txt[`${domain.selector}._domainkey.${domain.name}`] = 'fail';
  expect(await unasked()).toEqual(failed);
  expect(forgotten).toEqual(Array.from({ length: 4 }, () => 'news.acme.example'));
});

test('a change of the key, in its words, its rows and its line of the log', async () => {
  const { ctx, clock, logged } = fixture;
  const domain = await addDomain(ctx, sender.account, 'acme.example');
  logged.length = 0;
  expect(await rotationOf(ctx, domain)).toEqual({ next: null, old: null });
  const none = await refusal(activateKey(ctx, domain));
  expect([none.code, none.message]).toEqual([
    'conflict',
    'acme.example has no new key: run postrider domain rotate-key acme.example first, without --activate.',
  ]);
  const prepared = await prepareKey(ctx, domain);
  const next = await ctx.store.nextDkimKey(domain.id);
  if (next === null) throw new Error('no next key');
  const name = `${next.selector}._domainkey.acme.example`;
  const record = {
    record: 'DKIM',
    type: 'TXT',
    name,
    value: `v=DKIM1; k=rsa; p=${next.dkimPublicKey}`,
    ttl: 'Auto',
    status: 'pending',
    purpose: 'Lets receivers verify the signature of your mail.',
    required: true,
    group: 'dkim',
  } as const;
  expect(prepared).toEqual({ record, isActive: false, old: null });
  expect([next.selector, next.since]).toEqual([
    expect.stringMatching(/^pr[0-9a-f]{8}$/) as unknown as string,
    clock.now(),
  ]);
  expect(await rotationOf(ctx, domain)).toEqual({ next: record, old: null });
  const refused = async (): Promise<unknown> => {
    const { code, message } = await refusal(activateKey(ctx, domain));
    return [code, message];
  };
  const notYet = (why: string): string[] => [
    'conflict',
    `The new key cannot be activated yet: ${name}: ${why}. The present key goes on signing.`,
  ];
  expect(await refused()).toEqual(notYet(`there is no TXT record at ${name}`));
  txt[name] = [`${record.value}; h=sha1`];
  expect(await refused()).toEqual(notYet('a signature of ours does not verify'));
  txt[name] = 'fail';
  expect(await refused()).toEqual([
    'provider_error',
    `DNS could not be asked for ${name} (SERVFAIL); try again shortly.`,
  ]);
  expect([forgotten, logged]).toEqual([['acme.example', 'acme.example', 'acme.example'], []]);
  txt[name] = [record.value];
  clock.pass(9_000);
  await sendingDomain(ctx, sender.account.id, 'acme.example');
  const old = { selector: domain.selector, removableAt: clock.now() + 7 * 86_400_000 };
  expect(await activateKey(ctx, domain)).toEqual({
    record: { ...record, status: 'verified' },
    isActive: true,
    old,
  });
  expect((await sendingDomain(ctx, sender.account.id, 'acme.example'))?.selector).toBe(
    next.selector,
  );
  expect(await rotationOf(ctx, domain)).toEqual({ next: null, old });
  expect((await prepareKey(ctx, domain)).old).toEqual(old);
  expect(logged).toEqual([
    {
      time: '2026-01-15T12:00:09.000Z',
      level: 'info',
      event: 'dkim_key_changed',
      domain: 'acme.example',
      selector: next.selector,
      before: domain.selector,
    },
  ]);
});

test('the advice about DMARC, word for word', () => {
  const own = '_dmarc.mail.acme.example';
  const words = (value: string | undefined, at = own, problem: string | null = null): string => {
    const values = value === undefined ? [] : value.split(' + ');
    const { level, words: text } = dmarcAdvice('mail.acme.example', { at, values, problem });
    return `${level}: ${text}`;
  };
  const above = '_dmarc.acme.example';
  const nobody =
    'Receivers deliver everything, and nobody tells you who sends in your name. Add rua=mailto:… with an address of yours to receive reports.';
  const reports =
    'Receivers report and deliver everything. Read the reports for some weeks; when all your senders pass, change it to p=quarantine.';
  const spam =
    'Receivers put what fails into spam. When the reports show only your own senders, change it to p=reject.';
  const best = 'Receivers reject what fails: the best protection there is.';
  expect(dmarcAdvice('mail.acme.example', undefined)).toEqual({
    level: 'warning',
    words: 'Publish the record: Gmail and Yahoo ask bulk senders for one.',
  });
  expect([
    words('v=DMARC1; p=none'),
    words('v=DMARC1; p=none; rua='),
    words('v=DMARC1; p=none; rua=mailto:a@b.example'),
    words('v=DMARC1; p=QUARANTINE'),
    words('v=DMARC1; p=Reject'),
    words('v=DMARC1; p=reject; sp=quarantine', above),
    words('v=DMARC1; p=reject', above),
    words('v=DMARC1; p=none; rua=mailto:a@b.example', above),
    words(undefined),
    words(undefined, own, 'x'),
    words('hello', own, 'x'),
    words('v=dmarc1', own, 'x'),
    words('v=DMARC1; p=none + v = DMARC1; p=reject + hello', own, 'x'),
  ]).toEqual([
    `warning: ${nobody}`,
    `warning: ${nobody}`,
    `ok: ${reports}`,
    `ok: ${spam}`,
    `ok: ${best}`,
    `ok: The policy of ${above} applies (quarantine). ${spam}`,
    `ok: The policy of ${above} applies (reject). ${best}`,
    `ok: The policy of ${above} applies (none). ${reports}`,
    `warning: ${nobody}`,
    'warning: There is no policy for mail.acme.example. Publish the record: Gmail and Yahoo ask bulk senders for one.',
    'warning: There is no policy for mail.acme.example. Publish the record: Gmail and Yahoo ask bulk senders for one.',
    'warning: The DMARC record has no valid policy: add p=none, p=quarantine or p=reject.',
    'warning: There are 2 DMARC records: receivers ignore all of them. Leave one.',
  ]);
});
