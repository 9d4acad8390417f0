/**
 * The DNS records that make a domain's mail trusted, as its owner is told to publish them.
 *
 * Pure text (decisions, Domains). Two are required: the DKIM key, and the CNAME that aligns the return
 * path and brings bounces home. DMARC is recommended and never required.
 */
import type { RecordStatus } from '../base/status.ts';
import type { Domain } from '../store/rows.ts';
import type { Context } from './context.ts';

export type RecordName = 'DKIM' | 'SPF' | 'DMARC';

/** Interface, DnsRecord. */
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

/** Host of the return paths of a domain's mail: bounces go there, SPF is asked there. */
export function returnPathHost(domainName: string): string {
  return `send.${domainName}`;
}

/** Where the public key stands (RFC 6376 section 3.6.2.1). */
export function dkimName(domain: Pick<Domain, 'name' | 'selector'>): string {
  return `${domain.selector}._domainkey.${domain.name}`;
}

/** The two required records, with the status each was last seen in. */
export function requiredRecords(
  { config }: Pick<Context, 'config'>,
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
      value: config.hostname,
      ttl: 'Auto',
      status: domain.recordStates['SPF'] ?? 'not_started',
      purpose: 'Aligns the return path with your domain and brings bounces home.',
      required: true,
      group: 'sending',
    },
  ];
}

/** All three records, DMARC last. */
export function allRecords(
  ctx: Pick<Context, 'config'>,
  domain: Pick<Domain, 'name' | 'selector' | 'dkimPublicKey' | 'recordStates'>,
): DnsRecord[] {
  return [
    ...requiredRecords(ctx, domain),
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
