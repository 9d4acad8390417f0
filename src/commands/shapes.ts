/** The API's own shapes of keys and domains, for `--json` (operator.md: `create --json` is the API's CreatedApiKey). */
import type { Config } from '../base/config.ts';
import type { PublicDomain } from '../control/domains.ts';
import type { DnsRecord } from '../flow/domain-records.ts';
import type { DomainVerification } from '../flow/domains.ts';
import type { Key } from '../store/rows.ts';

type Json = Record<string, unknown>;

const iso = (atMs: number | null): string | null =>
  atMs === null ? null : new Date(atMs).toISOString();

export function keyShape(key: Key): Json {
  const { id, name, permission, prefix, last4 } = key;
  return {
    id,
    name,
    permission,
    scope: permission === 'full_access' ? 'full' : 'send',
    prefix,
    last4,
    last_used_at: iso(key.lastUsedAt),
    revoked_at: iso(key.revokedAt),
    created_at: iso(key.createdAt),
  };
}

export function createdKeyShape(key: Key, token: string): Json {
  const { last_used_at: _used, revoked_at: _revoked, ...created } = keyShape(key);
  return { ...created, token, key: token };
}

export function domainSummary(config: Config, domain: PublicDomain): Json {
  return {
    id: domain.id,
    name: domain.name,
    domain: domain.name,
    status: domain.status,
    region: config.api.region,
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    created_at: iso(domain.createdAt),
    verified_at: iso(domain.verifiedAt),
    last_checked_at: iso(domain.lastCheckedAt),
  };
}

export function domainShape(config: Config, domain: PublicDomain, records: DnsRecord[]): Json {
  return { object: 'domain', ...domainSummary(config, domain), records };
}

export function verifyShape(
  seen: Omit<DomainVerification, 'domain'> & { domain: PublicDomain },
): Json {
  const { id, name, status } = seen.domain;
  return {
    object: 'domain',
    id,
    name,
    domain: name,
    status,
    dns_ready: seen.isDnsReady,
    ses_verified: seen.isProven,
    records: seen.records,
  };
}
