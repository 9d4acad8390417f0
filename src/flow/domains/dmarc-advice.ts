/**
 * What a domain's owner should do next about DMARC, by what is published now.
 *
 * Pure text. Promises one sentence for every state, and never advises a stricter policy before reports are read: mail of
 * other senders of the domain would be lost with it (RFC 7489 section 6.6.4, Gmail and Yahoo sender guidelines of 2024).
 */
import type { SeenRecord } from '../../store/domains.ts';
import { tagOf } from './check.ts';

export interface DmarcAdvice {
  level: 'ok' | 'warning';
  words: string;
}

/** `seen`: of the last check; absent before the first one. */
export function dmarcAdvice(domainName: string, seen: SeenRecord | undefined): DmarcAdvice {
  if (seen === undefined)
    return warning('Publish the record: Gmail and Yahoo ask bulk senders for one.');
  if (seen.problem !== null) return withoutPolicy(domainName, seen);
  const record = seen.values[0] ?? '';
  const own = `_dmarc.${domainName}`;
  const isInherited = seen.at !== own;
  const policy = (isInherited ? tagOf(record, 'sp') : undefined) ?? tagOf(record, 'p') ?? 'none';
  const where = isInherited ? `The policy of ${seen.at} applies (${policy}). ` : '';
  const hasReports = (tagOf(record, 'rua') ?? '') !== '';
  switch (policy.toLowerCase()) {
    case 'reject':
      return ok(`${where}Receivers reject what fails: the best protection there is.`);
    case 'quarantine':
      return ok(
        `${where}Receivers put what fails into spam. When the reports show only your own senders, change it to p=reject.`,
      );
    default:
      return hasReports
        ? ok(
            `${where}Receivers report and deliver everything. Read the reports for some weeks; when all your senders pass, change it to p=quarantine.`,
          )
        : warning(
            `${where}Receivers deliver everything, and nobody tells you who sends in your name. Add rua=mailto:… with an address of yours to receive reports.`,
          );
  }
}

function withoutPolicy(domainName: string, { values }: SeenRecord): DmarcAdvice {
  const count = values.filter((text) => /^v\s*=\s*DMARC1/i.test(text)).length;
  if (count > 1) {
    return warning(`There are ${count} DMARC records: receivers ignore all of them. Leave one.`);
  }
  if (count === 1) {
    return warning('The DMARC record has no valid policy: add p=none, p=quarantine or p=reject.');
  }
  return warning(
    `There is no policy for ${domainName}. Publish the record: Gmail and Yahoo ask bulk senders for one.`,
  );
}

const ok = (words: string): DmarcAdvice => ({ level: 'ok', words });
const warning = (words: string): DmarcAdvice => ({ level: 'warning', words });
