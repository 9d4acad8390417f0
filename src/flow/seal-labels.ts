/**
 * The labels under which secrets are sealed: each binds a sealed value to its row.
 *
 * Promises that a value which was copied to another row does not open there. Labels are part of what is on disk: one
 * that changes makes stored secrets unreadable.
 */
import type { SealedSecret } from '../store/secrets.ts';

/** Of a domain's DKIM key. */
export function dkimLabel(domainId: string): string {
  return `dkim:${domainId}`;
}

/** Of an endpoint's signing secret and of the one before it. */
export function endpointLabel(endpointId: string): string {
  return `endpoint:${endpointId}`;
}

/** Of an operator's secret for one-time codes. */
export function totpLabel(operatorId: string): string {
  return `totp:${operatorId}`;
}

/** Of any sealed value that a store holds. */
export function labelOf({ kind, id }: Pick<SealedSecret, 'kind' | 'id'>): string {
  if (kind === 'totp') return totpLabel(id);
  if (kind === 'setting') return id;
  return kind === 'dkim' || kind === 'next_dkim' ? dkimLabel(id) : endpointLabel(id);
}
