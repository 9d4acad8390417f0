/**
 * Classifies a refusal: reply code, enhanced code and text give class, bounce type and suppression.
 *
 * The story of this folder. A refusal comes as a reply in a session (`flow/outcome`) or in a report that arrives later
 * (`mail/reports`). The rows of `bounce-providers.ts` are tried first, then those of `bounce-table.ts`; both are data,
 * in the shape that `bounce-row.ts` gives. The first row that matches decides. To add a rule, add a row with its
 * source.
 *
 * Promises that only a permanent refusal which is about the address itself suppresses it (docs/decisions.md D31): a
 * blocklisted sender must never lose its audience. Pure, never throws; what it does not know is `unknown` and
 * suppresses nothing.
 */
import { PROVIDERS, PROVIDER_ROWS } from './bounce-providers.ts';
import type { BounceClass, BounceRow, BounceSubType } from './bounce-row.ts';
import { GENERAL_ROWS } from './bounce-table.ts';

export type { BounceClass, BounceSubType } from './bounce-row.ts';

/** `bounce.type` of the API (docs/decisions.md D30). */
export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

/** A reply as a session or a report quotes it. */
export interface QuotedReply {
  /** Three digits; 0 when a report names none. */
  code: number;
  /** RFC 3463 code such as `5.1.1`; null when there is none. */
  enhanced: string | null;
  text: string;
  /** Where in the session: `connect`, `banner`, `ehlo`, `mail`, `rcpt`, `data`, `dot`, …, or `report`. */
  stage: string;
}

export interface Classification {
  class: BounceClass;
  isPermanent: boolean;
  bounceType: BounceType;
  subType: BounceSubType;
  /** Whether the address must not be mailed again. */
  isSuppressing: boolean;
  /** What the operator or sender can do, with the provider's own link where there is one. */
  hint: string | null;
  /** Whose reply it is, as far as the text shows: `Gmail`, `Outlook`, … */
  provider: string | null;
}

/** The enhanced codes that are about the address (docs/decisions.md D31). */
const ADDRESS_CODES: ReadonlySet<string> = new Set([
  '5.1.1',
  '5.1.2',
  '5.1.3',
  '5.1.6',
  '5.1.10',
  '5.2.1',
]);

/** How much of a reply is read, in characters: bounds the work of the patterns. */
const MAX_TEXT_LENGTH = 1_000;

/** Stages at which a reply is about one recipient. */
const RECIPIENT_STAGES: ReadonlySet<string> = new Set(['rcpt', 'dot', 'data', 'report']);

/** Classifies one reply or one recipient of a report. Pure; the same input gives the same classification. */
export function classifyReply(reply: QuotedReply): Classification {
  const text = reply.text.slice(0, MAX_TEXT_LENGTH);
  // X.0.0 says nothing (RFC 3463 section 3.1); Exim's reports carry it whatever the reply was.
  const isSaying = reply.enhanced !== null && !/^\d\.0\.0$/.test(reply.enhanced);
  const enhanced = isSaying ? reply.enhanced : enhancedIn(text);
  const fits = (row: BounceRow): boolean => matches(row, reply.code, enhanced, text);
  const row = PROVIDER_ROWS.find(fits) ?? GENERAL_ROWS.find(fits);
  const bounceType = typeOf(reply.code, enhanced ?? reply.enhanced, reply.stage);
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

/** The first enhanced code inside a reply's text, which some servers write after other words. */
export function enhancedIn(text: string): string | null {
  return /(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/.exec(text)?.[0] ?? null;
}

function matches(row: BounceRow, code: number, enhanced: string | null, text: string): boolean {
  if (row.codes !== null && !row.codes.includes(code)) return false;
  if (row.enhanced !== null && (enhanced === null || !row.enhanced.test(enhanced))) return false;
  return row.text === null || row.text.test(text);
}

/**
 * In a session the reply code decides (RFC 5321 section 4.2.1), in a report the status: Exchange reports
 * an expired message as `550 4.4.7`.
 */
function typeOf(code: number, enhanced: string | null, stage: string): BounceType {
  const hasCode = code >= 400 && code < 600;
  const isByCode = hasCode && (stage !== 'report' || enhanced === null);
  const digit = isByCode ? Math.floor(code / 100) : Number(enhanced?.[0] ?? 0);
  if (digit === 5) return 'Permanent';
  return digit === 4 ? 'Transient' : 'Undetermined';
}
