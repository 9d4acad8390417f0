/**
 * Spam complaints (ARF, RFC 5965; Outlook.com's own form): which message a person reported as spam.
 *
 * Promises what is needed to find the message even when the reporter hides the recipient: return path and Feedback-ID. Reports about authentication and "not spam" are told apart, since they are not complaints. Never throws;
 * null for what is not a feedback report.
 */
import type { InboundMessage } from './inbound-message.ts';
import {
  fieldGroups,
  originalIn,
  readOriginal,
  typedAddress,
  type OriginalMessage,
} from './report-fields.ts';

export interface ArfReport extends OriginalMessage {
  /** Lower case: `abuse`, `fraud`, `virus`, `other`, `not-spam`, `auth-failure`, … */
  feedbackType: string;
  /** Whether a person complained: not so for `not-spam` (RFC 6430) and `auth-failure` (RFC 6591). */
  isComplaint: boolean;
  /** Recipients as far as the reporter names them; empty when redacted (RFC 6590). */
  recipients: string[];
  /** Return paths of ours found anywhere in the report. */
  returnPaths: readonly string[];
  reportedDomain: string | null;
  userAgent: string | null;
}

const COMPLAINTS: ReadonlySet<string> = new Set([
  'abuse',
  'fraud',
  'virus',
  'other',
  'opt-out',
  'opt-out-list',
]);

/** Bytes at the beginning of an attached message in which its header is looked at. */
const MAX_HEADER_BYTES = 65_536;

/** Reads a whole message as a feedback report; null when it is not one. */
export function parseArf(message: InboundMessage): ArfReport | null {
  const feedback = message.part(/^message\/feedback-report$/);
  if (feedback === undefined) return readOutlook(message);
  // RFC 5965 section 3.1: one group; what follows an empty line is read too.
  const fields = new Map<string, string[]>();
  for (const group of fieldGroups(message.text(feedback))) {
    for (const [name, values] of group) {
      const same = fields.get(name);
      if (same === undefined) fields.set(name, values);
      else same.push(...values);
    }
  }
  const first = (name: string): string | null => fields.get(name)?.[0] ?? null;
  const feedbackType = first('feedback-type')?.toLowerCase() ?? 'other';
  const original = readOriginal(message);
  const mailFrom = typedAddress(first('original-mail-from') ?? undefined);
  return {
    messageId: original.messageId,
    feedbackId: original.feedbackId,
    returnPath: original.returnPath ?? mailFrom,
    feedbackType,
    isComplaint: COMPLAINTS.has(feedbackType),
    recipients: (fields.get('original-rcpt-to') ?? []).flatMap((value) =>
      isRedacted(value) ? [] : (typedAddress(value) ?? []),
    ),
    returnPaths: message.returnPaths,
    reportedDomain: first('reported-domain'),
    userAgent: first('user-agent'),
  };
}

/** RFC 6590: the local part is replaced, often by the word "redacted" or by a hash. */
function isRedacted(value: string): boolean {
  return /redacted|\bhidden\b|removed|x{4,}|\*{2,}/i.test(value);
}

/**
 * Outlook.com's Junk Mail Reporting Program attaches the whole message, with the recipient in a field
 * of its own (sendersupport.olc.protection.outlook.com/pm, "JMRP").
 */
function readOutlook(message: InboundMessage): ArfReport | null {
  const attached = message.part(/^message\/rfc822$/);
  if (attached === undefined) return null;
  const original = message.body(attached);
  // Its body is the sender's text, which may quote such a field.
  const [header = ''] = original.toString('latin1', 0, MAX_HEADER_BYTES).split(/\r?\n\r?\n/, 1);
  const recipient = /^X-HmXmrOriginalRecipient:[ \t]*(\S+)/im.exec(header)?.[1];
  if (recipient === undefined) return null;
  const address = typedAddress(recipient);
  return {
    ...originalIn(original),
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: address === null ? [] : [address],
    returnPaths: message.returnPaths,
    reportedDomain: null,
    userAgent: 'JMRP',
  };
}
