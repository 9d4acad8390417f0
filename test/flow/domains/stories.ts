/**
 * Stories of domain checks: what DNS has, what is asked of it, what is found, and what a check then stores, as it stands
 * in stories.txt.
 *
 *   bun test/flow/domains/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseConfig } from '../../../src/base/config-file.ts';
import { SecretBox } from '../../../src/base/secret-box.ts';
import { checkDns } from '../../../src/flow/domains/check.ts';
import { dmarcAdvice } from '../../../src/flow/domains/dmarc-advice.ts';
import { allRecords } from '../../../src/flow/domains/records.ts';
import { afterCheck } from '../../../src/flow/domains/state.ts';
import { zoneFile } from '../../../src/flow/domains/zone-file.ts';
import { dkimLabel } from '../../../src/flow/seal-labels.ts';
import { generateDkimKey } from '../../../src/mail/dkim/dkim.ts';
import type { Domain } from '../../../src/store/rows.ts';
import type { DnsAnswer, Resolver } from '../../../src/wire/dns/resolver.ts';
import { TestClock } from '../../rig/clock.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

const secrets = new SecretBox(Buffer.alloc(32, 7));
const key = await generateDkimKey();
const HOST = 'send.news.acme.example';
const DKIM = 'pr1._domainkey.news.acme.example TXT OURS';
const CNAME = `${HOST} CNAME mail.rig.test`;
const DMARC = '_dmarc.news.acme.example TXT v=DMARC1; p=reject';
const A = 'mail.rig.test A 8.8.8.8';

interface Story {
  /** Lines of `name TYPE value`; a value FAIL fails the question, NX says that there is no such name. */
  zone: string[];
  toml?: string;
}

const FIRST = 'all three records';

export const STORIES: Readonly<Record<string, Story>> = {
  [FIRST]: { zone: [DKIM, CNAME, DMARC] },
  'nothing at all': { zone: [] },
  'names that are not there': {
    zone: [`${HOST} CNAME NX`, 'pr1._domainkey.news.acme.example TXT NX'],
  },
  'two keys, no key, another key': {
    zone: [DKIM, 'pr1._domainkey.news.acme.example TXT v=DKIM1; p=AAAA', CNAME],
  },
  'a text without a key': { zone: ['pr1._domainkey.news.acme.example TXT hello', CNAME] },
  'another key': { zone: ['pr1._domainkey.news.acme.example TXT v=DKIM1; p=AAAA', CNAME] },
  'our key for another hash': { zone: [`${DKIM}; h=sha1`, CNAME, DMARC] },
  'name servers that fail': {
    zone: [
      'pr1._domainkey.news.acme.example TXT FAIL',
      `${HOST} CNAME FAIL`,
      '_dmarc.news.acme.example TXT FAIL',
    ],
  },
  'a DMARC record above, and another text beside the own name': {
    zone: [
      DKIM,
      CNAME,
      '_dmarc.news.acme.example TXT hello',
      '_dmarc.acme.example TXT v=DMARC1; p=none',
    ],
  },
  'two DMARC records': {
    zone: [DKIM, CNAME, DMARC, '_dmarc.news.acme.example TXT v=DMARC1; p=none'],
  },
  'another text above': { zone: [DKIM, CNAME, '_dmarc.acme.example TXT hello'] },
  'a CNAME to this server behind the name of the service': {
    zone: [DKIM, CNAME],
    toml: '[cluster]\nname = "mail.service.test"\n',
  },
  'a CNAME to the service': {
    zone: [DKIM, `${HOST} CNAME mail.service.test`],
    toml: '[cluster]\nname = "mail.service.test"\n',
  },
  'a CNAME to somebody else': { zone: [DKIM, `${HOST} CNAME elsewhere.example`, A] },
  'a CNAME to somebody else, whose SPF and MX are ours': {
    zone: [
      DKIM,
      A,
      `${HOST} CNAME elsewhere.example`,
      `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`,
      `${HOST} MX 10 mail.rig.test`,
    ],
  },
  'records of its own': {
    zone: [
      DKIM,
      A,
      `${HOST} TXT hello`,
      `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`,
      `${HOST} MX 10 mail.rig.test`,
      `${HOST} MX 20 other.example`,
    ],
  },
  'records of its own, of which the MX leads elsewhere': {
    zone: [DKIM, A, `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`, `${HOST} MX 10 other.example`],
  },
  'records of its own without an MX': {
    zone: [DKIM, A, `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`],
  },
  'an MX that is this server by its address': {
    zone: [
      DKIM,
      A,
      'mail.rig.test AAAA 2001:4860:4860::8888',
      `${HOST} TXT v=spf1 ip4:8.8.8.8 ip6:2001:4860:4860::8888 -all`,
      `${HOST} MX 10 other.example`,
      `${HOST} MX 20 alias.example`,
      'other.example A 192.0.2.1',
      'alias.example AAAA 2001:4860:4860::8888',
    ],
  },
  'an SPF record that allows one of two addresses': {
    zone: [DKIM, A, `${HOST} TXT v=spf1 ip4:8.8.8.8 ~all`, `${HOST} MX 10 mail.rig.test`],
    toml: '[delivery]\nsource_addresses = ["8.8.8.8", "8.8.4.4"]\n',
  },
  'a private source address: the host name counts': {
    zone: [DKIM, A, `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`, `${HOST} MX 10 mail.rig.test`],
    toml: '[delivery]\nsource_addresses = ["10.0.0.1"]\n',
  },
  'a host name without an address': {
    zone: [DKIM, `${HOST} TXT v=spf1 -all`],
    toml: '[cluster]\nname = "mail.service.test"\n',
  },
  'the address of the host name cannot be asked': { zone: [DKIM, 'mail.rig.test AAAA FAIL'] },
  'the SPF record cannot be asked': { zone: [DKIM, A, `${HOST} TXT FAIL`] },
  'the MX cannot be asked': {
    zone: [DKIM, A, `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`, `${HOST} MX FAIL`],
  },
  'the address of an MX cannot be asked': {
    zone: [
      DKIM,
      A,
      `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`,
      `${HOST} MX 10 other.example`,
      'other.example A FAIL',
    ],
  },
  'an eleventh MX is not looked at': {
    zone: [
      DKIM,
      A,
      `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`,
      ...Array.from({ length: 11 }, (_, n) => `${HOST} MX ${n} mx${n}.example`),
      'mx10.example A 8.8.8.8',
    ],
  },
  'a tenth MX is': {
    zone: [
      DKIM,
      A,
      `${HOST} TXT v=spf1 ip4:8.8.8.8 -all`,
      ...Array.from({ length: 10 }, (_, n) => `${HOST} MX ${n} mx${n}.example`),
      'mx9.example A 8.8.8.8',
    ],
  },
};

/** A resolver of this zone, which notes what it is asked. */
function resolverOf(zone: readonly string[], asked: string[]): Resolver {
  const answer =
    <T>(type: string, read: (value: string) => T) =>
    async (name: string): Promise<DnsAnswer<T>> => {
      asked.push(`${type} ${name}`);
      const values = zone.flatMap((line) => {
        const [at, kind, ...rest] = line.split(' ');
        return at === name && kind === type ? [rest.join(' ')] : [];
      });
      if (values.includes('FAIL')) return { kind: 'failed', reason: `${type} failed` };
      if (values.includes('NX')) return { kind: 'nxdomain', isAuthenticated: false };
      if (values.length === 0) return { kind: 'nodata', isAuthenticated: false };
      return { kind: 'found', records: values.map(read), ttlSeconds: 0, isAuthenticated: false };
    };
  const text = (value: string): string =>
    value.replace('OURS', `v=DKIM1; k=rsa; p=${key.publicKeyBase64}`);
  const exchange = (value: string) => {
    const [preference, name = ''] = value.split(' ');
    return { preference: Number(preference), exchange: name };
  };
  return {
    a: answer('A', text),
    aaaa: answer('AAAA', text),
    cname: answer('CNAME', text),
    txt: answer('TXT', text),
    ptr: answer('PTR', text),
    mx: answer('MX', exchange),
    tlsa: async () => ({ kind: 'nodata', isAuthenticated: false }),
  };
}

/** One story: a domain that is pending since an hour ago. */
export async function tell(name: string): Promise<string> {
  const story = STORIES[name];
  if (story === undefined) throw new Error(`there is no story ${name}`);
  const config = parseConfig(`hostname = "mail.rig.test"\n${story.toml ?? ''}`, 'rig');
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
    pendingSince: clock.steady() - 3_600_000,
    deletedAt: null,
  };
  const asked: string[] = [];
  const resolver = resolverOf(story.zone, asked);
  const findings = await checkDns({ config, resolver, secrets, emulation: null }, domain);
  const { seen, ...check } = afterCheck(domain, findings, clock, false);
  const shown = allRecords(config.startup.cluster.name, {
    ...domain,
    recordStates: check.recordStates,
  });
  const lines = [
    `> ${name}`,
    ...asked.toSorted().map((question) => `asked ${question}`),
    ...Object.entries(findings.records).map((row) => `found ${JSON.stringify(row)}`),
    `proven ${findings.isProven}`,
    `check ${JSON.stringify(check)}`,
    ...Object.entries(seen ?? {}).map((row) => `seen ${JSON.stringify(row)}`),
    `advice ${JSON.stringify(dmarcAdvice(domain.name, seen?.['DMARC']))}`,
    // The same in each story but for their states, which the check has.
    ...(name === FIRST ? shown.map((row) => `record ${JSON.stringify(row)}`) : []),
    name === FIRST ? zoneFile(domain.name, shown) : '',
  ];
  return lines
    .join('\n')
    .replaceAll(key.publicKeyBase64, 'OURS')
    .replaceAll(/p=[\w+/]{100,}" "[\w+/=]+"/g, 'p=OURS" "OURS"');
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
