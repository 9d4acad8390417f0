/**
 * Spam complaints (ARF, RFC 5965; Outlook.com's own form): which message somebody called spam.
 *
 * Promises the means to find the message even when the reporter hides the recipient: return path,
 * Message-ID, Feedback-ID. Reports about authentication and "not spam" are told apart, since they are no
 * complaints. Never throws; null for what is no feedback report.
 */
import { decodeBody, decodeText } from './mime-text.ts';
import { partsOf, splitMime, type MimePart } from './mime-tree.ts';
import {
  fieldGroups,
  originalIn,
  readOriginal,
  returnPathsIn,
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
  returnPaths: string[];
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

/** Reads a whole message as a feedback report; null when it is none. */
export function parseArf(message: Uint8Array): ArfReport | null {
  const parts = partsOf(splitMime(message));
  const feedback = parts.find(({ contentType }) => contentType === 'message/feedback-report');
  const returnPaths = returnPathsIn(Buffer.from(message.subarray(0, 1_048_576)).toString('latin1'));
  if (feedback === undefined) return readOutlook(message, parts, returnPaths);
  // RFC 5965 section 3.1: one group; what stands behind an empty line is read too.
  const fields = new Map<string, string[]>();
  for (const group of fieldGroups(decodeText(message, feedback))) {
    for (const [name, values] of group) {
      fields.set(name, [...(fields.get(name) ?? []), ...values]);
    }
  }
  const first = (name: string): string | null => fields.get(name)?.[0] ?? null;
  const feedbackType = first('feedback-type')?.toLowerCase() ?? 'other';
  const original = readOriginal(message, parts);
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
    returnPaths,
    reportedDomain: first('reported-domain'),
    userAgent: first('user-agent'),
  };
}

/** RFC 6590: the local part is replaced, often by the word or by a hash without form. */
function isRedacted(value: string): boolean {
  return /redacted|\bhidden\b|removed|x{4,}|\*{2,}/i.test(value);
}

/**
 * Outlook.com's Junk Mail Reporting Program attaches the whole message, with the recipient in a field
 * of its own (sendersupport.olc.protection.outlook.com/pm, "JMRP").
 */
function readOutlook(
  message: Uint8Array,
  parts: MimePart[],
  returnPaths: string[],
): ArfReport | null {
  const attached = parts.find(({ contentType }) => contentType === 'message/rfc822');
  if (attached === undefined) return null;
  const original = decodeBody(message, attached);
  const header = original.toString('latin1', 0, 65_536);
  const recipient = /^X-HmXmrOriginalRecipient:[ \t]*(\S{1,320})/im.exec(header)?.[1];
  if (recipient === undefined) return null;
  const address = typedAddress(recipient);
  return {
    ...originalIn(original),
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: address === null ? [] : [address],
    returnPaths,
    reportedDomain: null,
    userAgent: 'JMRP',
  };
}
