/**
 * Domains and their DNS records as the interface shows them.
 *
 * Promises exactly the two records to publish in a Domain; DMARC appears only in a check, because one
 * client library can not read it (resend-compat, section 1 row 12).
 */
import { Type, type Static } from '@sinclair/typebox';
import type { Config } from '../../base/config.ts';
import type { DnsRecord as DnsRecordRow } from '../../flow/domain-records.ts';
import type { DomainVerification } from '../../flow/domains.ts';
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
      description: 'A message signed with the stored key verifies against the published key.',
    }),
    records: Type.Array(
      Type.Object({
        ...record,
        found: Type.Boolean(),
        reason: Type.Optional(
          Type.String({ description: 'What is wrong, when it was not found.' }),
        ),
      }),
    ),
  },
  { title: 'DomainVerify' },
);

/** A domain as far as it may be seen: the key never is. */
type PublicRow = Omit<DomainRow, 'sealedDkimKey'>;

/** An item of the domain list. */
export function domainSummary(domain: PublicRow, config: Config): Static<typeof DomainSummary> {
  return {
    id: domain.id,
    name: domain.name,
    domain: domain.name,
    status: domain.status,
    region: config.api.region,
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
  config: Config,
): Static<typeof Domain> {
  return { object: 'domain', ...domainSummary(domain, config), records: [...records] };
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
    // A check revives a failed domain, so it ends in one of two states (interface, DomainVerify).
    status: domain.status === 'verified' ? 'verified' : 'pending',
    dns_ready: check.isDnsReady,
    ses_verified: check.isProven,
    records: check.records.map(({ reason, ...rest }) => ({
      ...rest,
      ...(reason !== null && { reason }),
    })),
  };
}
