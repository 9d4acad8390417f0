/**
 * Domains and their DNS records as the API returns them.
 *
 * Promises exactly the two records to publish in a Domain; DMARC appears only in a check, because one client library
 * cannot read it (docs/client-libraries.md L12).
 */
import { Type, type Static } from '@sinclair/typebox';
import type { DnsRecord as DnsRecordRow } from '../../flow/domains/records.ts';
import type { DomainVerification } from '../../flow/domains/domains.ts';
import type { Domain as DomainRow } from '../../store/rows.ts';
import { Id, iso, isoOrNull, nullable, Time, words } from './common.ts';

const record = {
  record: words(['DKIM', 'SPF', 'DMARC']),
  type: words(['CNAME', 'TXT', 'MX']),
  name: Type.String(),
  value: Type.String(),
  priority: Type.Optional(Type.Integer()),
  ttl: Type.Literal('Auto'),
  status: words(['verified', 'pending', 'not_started']),
  purpose: Type.String(),
  required: Type.Boolean(),
  group: words(['dkim', 'sending', 'dmarc']),
};

const summary = {
  id: Id,
  name: Type.String({ examples: ['example.com'] }),
  domain: Type.String({ description: 'The same as `name`.' }),
  status: words(['pending', 'verified', 'failed']),
  region: Type.String(),
  capabilities: Type.Object({
    sending: Type.Literal('enabled'),
    receiving: Type.Literal('disabled'),
  }),
  created_at: Time,
  verified_at: nullable(Time),
  last_checked_at: nullable(Time),
};

export const DomainSummary = Type.Object(summary, { title: 'DomainSummary' });

export const Domain = Type.Object(
  { object: Type.Literal('domain'), ...summary, records: Type.Array(Type.Object(record)) },
  { title: 'Domain' },
);

export const DomainVerify = Type.Object(
  {
    object: Type.Literal('domain'),
    id: Id,
    name: Type.String(),
    domain: Type.String(),
    status: words(['pending', 'verified']),
    dns_ready: Type.Boolean(),
    ses_verified: Type.Boolean({
      description:
        'True when the published DKIM key verifies a message signed with the stored key.',
    }),
    records: Type.Array(
      Type.Object({
        ...record,
        found: Type.Boolean(),
        reason: Type.Optional(
          Type.String({ description: 'What is wrong with the record. Absent when it was found.' }),
        ),
      }),
    ),
  },
  { title: 'DomainVerify' },
);

/** What of a domain is shown: never its key. */
type PublicRow = Pick<
  DomainRow,
  'id' | 'name' | 'status' | 'createdAt' | 'verifiedAt' | 'lastCheckedAt'
>;

/** One item of the domain list. */
export function domainSummary(domain: PublicRow, region: string): Static<typeof DomainSummary> {
  return {
    id: domain.id,
    name: domain.name,
    domain: domain.name,
    status: domain.status,
    region,
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    created_at: iso(domain.createdAt),
    verified_at: isoOrNull(domain.verifiedAt),
    last_checked_at: isoOrNull(domain.lastCheckedAt),
  };
}

/** One domain with the records to publish. */
export function domainDetail(
  domain: PublicRow,
  records: readonly DnsRecordRow[],
  region: string,
): Static<typeof Domain> {
  return { object: 'domain', ...domainSummary(domain, region), records: [...records] };
}

/** What a DNS check found. */
export function domainCheck(
  check: Omit<DomainVerification, 'domain'> & { domain: PublicRow },
): Static<typeof DomainVerify> {
  const { domain } = check;
  return {
    object: 'domain',
    id: domain.id,
    name: domain.name,
    domain: domain.name,
    // A check makes a failed domain pending again, so it has one of two states (docs/contract.md C10.7).
    status: domain.status === 'verified' ? 'verified' : 'pending',
    dns_ready: check.isDnsReady,
    ses_verified: check.isProven,
    records: check.records.map(({ reason, ...rest }) => ({
      ...rest,
      ...(reason !== null && { reason }),
    })),
  };
}
