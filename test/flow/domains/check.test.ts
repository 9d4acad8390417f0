/** What DNS must show for each record of a domain, record by record, without a name server. */
import { expect, test } from 'bun:test';
import { parseConfig } from '../../../src/base/config-file.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import { checkDns, tagOf } from '../../../src/flow/domains/check.ts';
import { afterCheck } from '../../../src/flow/domains/state.ts';
import { allRecords, dkimName, returnPathHost } from '../../../src/flow/domains/records.ts';
import { relativeName, zoneFile, zoneOf } from '../../../src/flow/domains/zone-file.ts';
import { dkimLabel } from '../../../src/flow/seal-labels.ts';
import { generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import type { Domain } from '../../../src/store/rows.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const found = <T>(...records: T[]): DnsAnswer<T> => ({
  kind: 'found',
  records,
  ttlSeconds: 0,
  isAuthenticated: false,
});
const NODATA = { kind: 'nodata', isAuthenticated: false } as const;
const FAILED = { kind: 'failed', reason: 'SERVFAIL' } as const;

const secrets = new SecretBox(Buffer.alloc(32, 7));
const config = parseConfig('hostname = "mail.rig.test"\n', 'rig');
const key = await generateDkimKey();
const clock = new TestClock();
const domain: Domain = {
  id: 'd',
  accountId: 'a',
  name: 'news.acme.example',
  status: 'pending',
  selector: 'pr1',
  dkimPublicKey: key.publicKeyBase64,
  sealedDkimKey: secrets.seal(key.privateKeyPem, dkimLabel('d')),
  recordStates: {},
  createdAt: 0,
  verifiedAt: null,
  lastCheckedAt: null,
  nextCheckAt: null,
  failingSince: null,
  pendingSince: clock.steady(),
  deletedAt: null,
};
const DKIM = dkimName(domain);
const OURS = `v=DKIM1; k=rsa; p=${key.publicKeyBase64}`;

/** What is found where DNS has these TXT records; a name whose records are null cannot be asked. */
function check(txt: Record<string, string[] | null>, of = domain) {
  const resolver: Resolver = {
    a: async () => NODATA,
    aaaa: async () => NODATA,
    mx: async () => NODATA,
    ptr: async () => NODATA,
    tlsa: async () => NODATA,
    cname: async (name) => (name === 'send.news.acme.example' ? found('mail.rig.test') : NODATA),
    txt: async (name) => {
      const records = txt[name];
      if (records === null) return FAILED;
      return records === undefined ? NODATA : found(...records);
    },
  };
  return checkDns({ config, resolver, secrets, emulation: null }, of);
}

test.each([
  ['our record', [OURS], 'found', true],
  ['the key with white space', [OURS.replace(/(.{50})/g, '$1 ')], 'found', true],
  ['our record twice', [OURS, OURS], 'missing', false],
  ['another key', ['v=DKIM1; p=AAAA'], 'missing', false],
  ['no p= tag', ['v=DKIM1; k=rsa'], 'missing', false],
  ['nothing', [], 'missing', false],
  ['a name server that fails', null, 'unknown', false],
] as [string, string[] | null, string, boolean][])(
  'DKIM with %s',
  async (_words, txt, kind, isProven) => {
    const { records, ...rest } = await check({ [DKIM]: txt });
    const shown: string = records.DKIM.kind;
    expect([shown, rest.isProven]).toEqual([kind, isProven]);
  },
);

const own = '_dmarc.news.acme.example';
const parent = '_dmarc.acme.example';

test.each([
  ['a policy', { [own]: ['v=DMARC1; p=none'] }, 'found'],
  ['a policy in capitals, and blanks', { [own]: ['v = DMARC1 ; p = REJECT'] }, 'found'],
  ['no policy', { [own]: ['v=DMARC1; rua=mailto:a@b.example'] }, 'missing'],
  ['an unknown policy', { [own]: ['v=DMARC1; p=maybe'] }, 'missing'],
  ['two records', { [own]: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] }, 'missing'],
  ['the version alone', { [own]: ['v=DMARC1'] }, 'missing'],
  ['the version alone beside a policy', { [own]: ['v=DMARC1', 'v=DMARC1; p=none'] }, 'missing'],
  ['another text beside it', { [own]: ['hello', 'v=DMARC1; p=none'] }, 'found'],
  ['a record of another version', { [own]: ['v=DMARC10; p=none'] }, 'missing'],
  ['one at the organisational domain', { [parent]: ['v=DMARC1; p=quarantine'] }, 'found'],
  ['a name server that fails', { [own]: null }, 'unknown'],
  ['a name server that fails above', { [parent]: null }, 'unknown'],
] as [string, Record<string, string[] | null>, string][])(
  'DMARC with %s',
  async (_words, txt, kind) => {
    const shown: string = (await check(txt)).records.DMARC.kind;
    expect(shown).toBe(kind);
  },
);

test('what is shown of DMARC are its own records, at the name that has them', async () => {
  const seen = await check({ [parent]: ['hello', 'v=DMARC1; p=none'] });
  expect(seen.records.DMARC).toEqual({
    kind: 'found',
    published: { at: parent, values: ['v=DMARC1; p=none'] },
  });
});

test('of two names without a policy the own one is shown, and none above a public suffix counts', async () => {
  const { records } = await check({ [own]: ['hello'], [parent]: ['world'] });
  expect(records.DMARC).toMatchObject({ published: { at: own, values: ['hello'] } });
  const shared = { ...domain, name: 'acme.github.io' };
  const above = await check({ '_dmarc.github.io': ['v=DMARC1; p=reject'] }, shared);
  expect(above.records.DMARC).toMatchObject({
    kind: 'missing',
    reason: 'there is no valid DMARC record at _dmarc.acme.github.io',
  });
});

test.each([
  ['v=DMARC1; p=none', 'p', 'none'],
  ['v=DMARC1;p=none;sp=reject', 'sp', 'reject'],
  ['v=DKIM1; p=AA==', 'p', 'AA=='],
  ['v=DMARC1; sp=reject', 'p', undefined],
  ['=x; p', 'p', undefined],
])('of %p the tag %p is %p', (record, name, value) => {
  expect(tagOf(record, name)).toBe(value);
});

test('a pending domain is looked at after a quarter of the time it waited, and not within a minute', async () => {
  const findings = await check({});
  const waits = [0, 1, 4, 60, 24 * 60].map((minutes) => {
    const before = { ...domain, pendingSince: clock.steady() - minutes * MINUTE_MS };
    const { nextCheckAt } = afterCheck(before, findings, clock, false);
    return ((nextCheckAt ?? 0) - clock.steady()) / MINUTE_MS;
  });
  expect(waits).toEqual([1, 1, 1, 15, 360]);
});

test('a verified domain is looked at once a day, every six hours while something is missing or unknown', async () => {
  const wait = async (txt: Record<string, string[] | null>) => {
    const before: Domain = { ...domain, status: 'verified' };
    const { nextCheckAt } = afterCheck(before, await check(txt), clock, false);
    return ((nextCheckAt ?? 0) - clock.steady()) / HOUR_MS;
  };
  expect(await wait({ [DKIM]: [OURS] })).toBe(24);
  expect(await wait({ [DKIM]: [] })).toBe(6);
  expect(await wait({ [DKIM]: null })).toBe(6);
});

test('of what DNS shows five values are kept, 1,500 characters of each', async () => {
  const values = Array.from({ length: 6 }, (_, n) => `${n}${'x'.repeat(2_000)}`);
  const { seen } = afterCheck(domain, await check({ [DKIM]: values }), clock, false);
  expect(seen?.['DKIM']?.values.map((value) => value.length)).toEqual([
    1_500, 1_500, 1_500, 1_500, 1_500,
  ]);
  expect(seen?.['DKIM']).toMatchObject({ at: DKIM, problem: expect.stringContaining('6 TXT') });
});

test('the records have the names and values that owners publish', () => {
  expect(returnPathHost('acme.example')).toBe('send.acme.example');
  const rows = allRecords('mail.rig.test', { ...domain, recordStates: { SPF: 'verified' } });
  expect(rows.map((row) => [row.record, row.type, row.name, row.status, row.required])).toEqual([
    ['DKIM', 'TXT', 'pr1._domainkey.news.acme.example', 'not_started', true],
    ['SPF', 'CNAME', 'send.news.acme.example', 'verified', true],
    ['DMARC', 'TXT', '_dmarc.news.acme.example', 'not_started', false],
  ]);
  expect(rows.map(({ value }) => value)).toEqual([OURS, 'mail.rig.test', 'v=DMARC1; p=none;']);
});

test('names in a zone are relative to it, and those of a zone that ends alike are not', () => {
  expect(zoneOf('news.acme.co.uk')).toBe('acme.co.uk');
  expect(relativeName('send.acme.example', 'acme.example')).toBe('send');
  expect(relativeName('acme.example', 'acme.example')).toBe('@');
  expect(relativeName('send.notacme.example', 'acme.example')).toBe('send.notacme.example');
});

test('a text of a zone file is cut after 255 octets, and quotes in it are escaped', () => {
  const [row] = allRecords('mail.rig.test', domain);
  if (row === undefined) throw new Error('a domain has records');
  const line = (value: string) => zoneFile('acme.example', [{ ...row, value }]).split('\n')[1];
  expect(line('x'.repeat(256))).toEndWith(`IN TXT "${'x'.repeat(255)}" "x"`);
  expect(line('a"b\\c')).toEndWith(String.raw`IN TXT "a\"b\\c"`);
});
