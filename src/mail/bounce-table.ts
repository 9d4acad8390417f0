/**
 * The table behind `classifyReply`: known replies, most telling first; the first row that fits decides.
 *
 * Data only. Each row names its source. Texts stand before bare codes, since servers use 5.1.1 for
 * blocklists and 5.7.1 for unknown users alike, and their words are what their postmasters meant.
 */
import type { BounceClass, BounceSubType } from './bounce-class.ts';

export interface BounceRow {
  /** Reply codes it is limited to. */
  codes?: readonly number[];
  /** Enhanced code, whole. */
  enhanced?: RegExp;
  text?: RegExp;
  class: BounceClass;
  subType: BounceSubType;
  /** For class `recipient`: whether it says that this address can never take mail. */
  isAboutAddress: boolean;
  provider: string | null;
  hint: string | null;
  source: string;
}

/** Who wrote a reply, by words that only they use. */
export const PROVIDERS: readonly { name: string; text: RegExp }[] = [
  { name: 'Gmail', text: /\bgsmtp\b|support\.google\.com/i },
  { name: 'Outlook', text: /\boutlook\.com\b|\bprotection\.outlook\b|hotmail/i },
  { name: 'Yahoo', text: /\byahoo\b|postmaster\.yahooinc\.com/i },
  { name: 'Apple', text: /\bicloud\.com\b|support\.apple\.com/i },
];

export const ROWS: readonly BounceRow[] = [
  {
    enhanced: /^[45]\.1\.(?:1|2|3|6|10)$/,
    class: 'recipient',
    subType: 'NoEmail',
    isAboutAddress: true,
    provider: null,
    hint: null,
    source: 'RFC 3463 section 3.2; RFC 7505 section 4.1 for 5.1.10',
  },
  {
    enhanced: /^[45]\.2\.2$/,
    class: 'mailbox_full',
    subType: 'MailboxFull',
    isAboutAddress: false,
    provider: null,
    hint: null,
    source: 'RFC 3463 section 3.3',
  },
];
