/**
 * What a check of its DNS means for a domain: its status, and when to check again.
 *
 * Pure rules (docs/decisions.md): pending domains are checked ever less often for 72 hours, verified
 * ones daily; only records that are certainly missing count against a domain.
 */
import type { Clock } from '../../base/clock.ts';
import type { DomainStatus, RecordStatus } from '../../base/status.ts';
import type { Domain } from '../../store/rows.ts';
import type { DomainCheck, SeenRecord, SeenRecords } from '../../store/domains.ts';
import type { DomainFindings } from './check.ts';
import type { Finding } from './finding.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How long a domain may stay pending before it fails. */
const PENDING_MS = 72 * 3_600_000;
/** How long a required record may be missing before a verified domain fails. */
const MISSING_MS = 3 * DAY_MS;
/** While a record is missing or unknown, a verified domain is checked more often than daily. */
const UNCERTAIN_MS = 6 * 3_600_000;

/** Values of one record that are kept, and characters of each: twice what a key of 4,096 bits takes. */
const MAX_SEEN = 5;
const MAX_SEEN_LENGTH = 1_500;

const RECORDS = ['DKIM', 'SPF', 'DMARC'] as const;
const REQUIRED = ['DKIM', 'SPF'] as const;

/** Every required record is published and the published key is ours. */
export function isComplete({ records, isProven }: DomainFindings): boolean {
  return isProven && REQUIRED.every((name) => records[name].kind === 'found');
}

/** Something required is certainly missing; false when DNS only could not be asked. */
function isLacking({ records, isProven }: DomainFindings): boolean {
  const lacks = REQUIRED.some((name) => records[name].kind === 'missing');
  return lacks || (records.DKIM.kind === 'found' && !isProven);
}

/** The domain's state after `findings`. `isAsked`: the owner or the operator asked for this check, which revives a failed domain. */
export function afterCheck(
  domain: Domain,
  findings: DomainFindings,
  clock: Pick<Clock, 'now' | 'steady'>,
  isAsked: boolean,
): DomainCheck {
  const [wallNow, now] = [clock.now(), clock.steady()];
  const isRevived = isAsked && domain.status === 'failed';
  const before: DomainStatus = isRevived ? 'pending' : domain.status;
  const pendingSince = isRevived ? now : domain.pendingSince;
  const failingSince = failingFrom(domain, findings, now);
  const status = nextStatus(before, findings, now, pendingSince, failingSince);
  return {
    id: domain.id,
    now: wallNow,
    status,
    recordStates: nextRecords(domain.recordStates, findings),
    verifiedAt: status === 'verified' ? (domain.verifiedAt ?? wallNow) : domain.verifiedAt,
    nextCheckAt: nextCheck(status, now, pendingSince, isComplete(findings)),
    failingSince,
    pendingSince,
    seen: seenRecords(findings),
  };
}

function seenRecords({ records, isProven }: DomainFindings): SeenRecords {
  const seen: SeenRecords = {};
  for (const name of RECORDS) seen[name] = seenOf(records[name]);
  const dkim = seen['DKIM'];
  if (dkim?.problem === null && !isProven) {
    dkim.problem = 'the key is ours, but a signature of ours does not verify with this record';
  }
  return seen;
}

/** What was found, in the bounds of what is stored: anybody may publish anything. */
function seenOf(finding: Finding): SeenRecord {
  if (finding.kind === 'unknown') {
    return { at: '', values: [], problem: `DNS could not be asked: ${finding.reason}` };
  }
  const { at = '', values = [] } = finding.published ?? {};
  return {
    at,
    values: values.slice(0, MAX_SEEN).map((value) => value.slice(0, MAX_SEEN_LENGTH)),
    problem: finding.kind === 'found' ? null : finding.reason,
  };
}

function failingFrom(domain: Domain, findings: DomainFindings, now: number): number | null {
  if (isComplete(findings)) return null;
  return isLacking(findings) ? (domain.failingSince ?? now) : domain.failingSince;
}

function nextStatus(
  before: DomainStatus,
  findings: DomainFindings,
  now: number,
  pendingSince: number,
  failingSince: number | null,
): DomainStatus {
  if (isComplete(findings)) return 'verified';
  if (!isLacking(findings)) return before;
  if (before === 'pending') return now - pendingSince >= PENDING_MS ? 'failed' : 'pending';
  if (before === 'verified') {
    return failingSince !== null && now - failingSince >= MISSING_MS ? 'failed' : 'verified';
  }
  return before;
}

/** A record that DNS could not be asked for keeps its last state. */
function nextRecords(
  before: Record<string, RecordStatus>,
  findings: DomainFindings,
): Record<string, RecordStatus> {
  const after: Record<string, RecordStatus> = { ...before };
  for (const name of RECORDS) {
    const { kind } = findings.records[name];
    if (kind === 'found') after[name] = 'verified';
    else if (kind === 'missing') after[name] = 'pending';
    else after[name] ??= 'not_started';
  }
  return after;
}

function nextCheck(
  status: DomainStatus,
  now: number,
  pendingSince: number,
  isWell: boolean,
): number | null {
  if (status === 'failed') return null;
  if (status === 'verified') return now + (isWell ? DAY_MS : UNCERTAIN_MS);
  // A quarter of the time waited so far: 1, 1, 2, 3 … minutes at first, hours on the third day.
  const waitMs = Math.max(MINUTE_MS, (now - pendingSince) / 4);
  return Math.round(now + waitMs);
}
