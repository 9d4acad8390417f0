/**
 * The DNS records that make a domain's mail trusted, as its owner is told to publish them.
 *
 * Pure text. Two are required: the DKIM key, and the CNAME that aligns the return
 * path and makes bounces reach the appliance. DMARC is recommended and never required.
 */
import type { RecordStatus } from '../../base/status.ts';
import type { Domain } from '../../store/rows.ts';

export type RecordName = 'DKIM' | 'SPF' | 'DMARC';

/** docs/contract.md C10.4. */
export interface DnsRecord {
  record: RecordName;
  type: 'CNAME' | 'TXT';
  /** The full name. */
  name: string;
  value: string;
  ttl: 'Auto';
  status: RecordStatus;
  purpose: string;
  required: boolean;
  group: 'dkim' | 'sending' | 'dmarc';
}

/** Host of the return paths of a domain's mail: bounces are sent to it, and receivers look up its SPF record. */
export function returnPathHost(domainName: string): string {
  return `send.${domainName}`;
}

/** The DNS name of the public key (RFC 6376 section 3.6.2.1). */
export function dkimName(domain: Pick<Domain, 'name' | 'selector'>): string {
  return `${domain.selector}._domainkey.${domain.name}`;
}

/** The two required records, with the last status of each. `serviceName`: `[cluster] name`. */
export function requiredRecords(
  serviceName: string,
  domain: Pick<Domain, 'name' | 'selector' | 'dkimPublicKey' | 'recordStates'>,
): DnsRecord[] {
  return [
    {
      record: 'DKIM',
      type: 'TXT',
      name: dkimName(domain),
      value: `v=DKIM1; k=rsa; p=${domain.dkimPublicKey}`,
      ttl: 'Auto',
      status: domain.recordStates['DKIM'] ?? 'not_started',
      purpose: 'Lets receivers verify the signature of your mail.',
      required: true,
      group: 'dkim',
    },
    {
      record: 'SPF',
      type: 'CNAME',
      name: returnPathHost(domain.name),
      value: serviceName,
      ttl: 'Auto',
      status: domain.recordStates['SPF'] ?? 'not_started',
      purpose: 'Aligns the return path with your domain and lets bounces reach this service.',
      required: true,
      group: 'sending',
    },
  ];
}

/** All three records, DMARC last. */
export function allRecords(
  serviceName: string,
  domain: Pick<Domain, 'name' | 'selector' | 'dkimPublicKey' | 'recordStates'>,
): DnsRecord[] {
  return [
    ...requiredRecords(serviceName, domain),
    {
      record: 'DMARC',
      type: 'TXT',
      name: `_dmarc.${domain.name}`,
      value: 'v=DMARC1; p=none;',
      ttl: 'Auto',
      status: domain.recordStates['DMARC'] ?? 'not_started',
      purpose: 'Tells receivers what to do with mail that fails DKIM and SPF.',
      required: false,
      group: 'dmarc',
    },
  ];
}
