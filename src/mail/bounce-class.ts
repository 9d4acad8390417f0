/**
 * What a refusal means: from reply code, enhanced code and text to class, bounce type and suppression.
 *
 * One table (`bounce-table.ts`) serves replies in a session and reports that come later. Promises that
 * only a permanent refusal which speaks of the address itself suppresses it (decisions, Status and
 * last_event): a blocklisted sender must never wipe out an audience. Never throws; what it does not
 * know is `unknown` and suppresses nothing.
 */
import { PROVIDERS, ROWS, type BounceRow } from './bounce-table.ts';

export type BounceClass =
  | 'recipient'
  | 'mailbox_full'
  | 'content'
  | 'policy'
  | 'reputation'
  /** Too much at once: slow down, nothing else is wrong. */
  | 'rate'
  | 'network'
  | 'protocol'
  | 'unknown';

/** `bounce.type` of the interface. */
export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

/** `bounce.subType` of the interface. */
export type BounceSubType =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'PolicyBlocked';

export interface Reply {
  /** Three digits; 0 when a report names none. */
  code: number;
  /** RFC 3463 code such as `5.1.1`; null when there is none. */
  enhanced: string | null;
  text: string;
  /** Where in the session: `connect`, `banner`, `ehlo`, `mail`, `rcpt`, `data`, `dot`, …, or `report`. */
  stage: string;
}

export interface BounceVerdict {
  class: BounceClass;
  isPermanent: boolean;
  bounceType: BounceType;
  subType: BounceSubType;
  /** Whether the address must not be mailed again. */
  isSuppressing: boolean;
  /** What the operator or sender can do, with the provider's own link where there is one. */
  hint: string | null;
  /** Who answered, as far as the text shows: `Gmail`, `Outlook`, … */
  provider: string | null;
}

/** The enhanced codes that speak of the address (decisions, Status and last_event). */
const ADDRESS_CODES: ReadonlySet<string> = new Set([
  '5.1.1',
  '5.1.2',
  '5.1.3',
  '5.1.6',
  '5.1.10',
  '5.2.1',
]);

/** Stages at which a reply speaks of one recipient. */
const RECIPIENT_STAGES: ReadonlySet<string> = new Set(['rcpt', 'dot', 'data', 'report']);

/** Classifies one reply or one recipient of a report. Pure; the same input gives the same verdict. */
export function classifyReply(reply: Reply): BounceVerdict {
  const text = reply.text.slice(0, 4_000);
  const enhanced = reply.enhanced ?? enhancedIn(text);
  const row = ROWS.find((row) => matches(row, reply.code, enhanced, text)) ?? null;
  const bounceType = typeOf(reply.code, enhanced);
  const isPermanent = bounceType === 'Permanent';
  const isAddressCode = enhanced === null || ADDRESS_CODES.has(enhanced);
  return {
    class: row?.class ?? 'unknown',
    isPermanent,
    bounceType,
    subType: row?.subType ?? 'General',
    isSuppressing:
      isPermanent &&
      row?.class === 'recipient' &&
      row.isAboutAddress &&
      isAddressCode &&
      RECIPIENT_STAGES.has(reply.stage),
    hint: row?.hint ?? null,
    provider: row?.provider ?? PROVIDERS.find((provider) => provider.text.test(text))?.name ?? null,
  };
}

/** The first enhanced code inside a reply's text, which some servers put behind other words. */
export function enhancedIn(text: string): string | null {
  return /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/.exec(text)?.[0] ?? null;
}

function matches(row: BounceRow, code: number, enhanced: string | null, text: string): boolean {
  if (row.codes !== undefined && !row.codes.includes(code)) return false;
  if (row.enhanced !== undefined && (enhanced === null || !row.enhanced.test(enhanced)))
    return false;
  return row.text === undefined || row.text.test(text);
}

/** The reply code decides; where a report has none, the class digit of the enhanced code. */
function typeOf(code: number, enhanced: string | null): BounceType {
  const digit = code >= 400 && code < 600 ? Math.floor(code / 100) : Number(enhanced?.[0] ?? 0);
  if (digit === 5) return 'Permanent';
  return digit === 4 ? 'Transient' : 'Undetermined';
}
