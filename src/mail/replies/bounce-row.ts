/**
 * The shape of a row in the bounce tables, and the classes and types it can have.
 *
 * Data only; `bounce-providers.ts` and `bounce-table.ts` hold the rows, `bounce-class.ts` reads them.
 */

export type BounceClass =
  | 'recipient'
  | 'mailbox_full'
  | 'content'
  | 'policy'
  | 'reputation'
  /** Too much at once: only the rate is wrong. */
  | 'rate'
  | 'network'
  | 'protocol'
  | 'unknown';

/** `bounce.subType` of the API (docs/decisions.md D30). */
export type BounceSubType =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'PolicyBlocked';

export interface BounceRow {
  class: BounceClass;
  subType: BounceSubType;
  /** The reply codes it applies to. */
  codes: readonly number[] | null;
  /** The enhanced codes it applies to. */
  enhanced: RegExp | null;
  text: RegExp | null;
  /** Whether it says that this address accepts no mail at all, which suppresses the address. */
  isAboutAddress: boolean;
  provider: string | null;
  hint: string | null;
  source: string;
}

/** What each class is in the API, unless a row says otherwise. */
const SUB_TYPES: Record<BounceClass, BounceSubType> = {
  recipient: 'NoEmail',
  mailbox_full: 'MailboxFull',
  content: 'ContentRejected',
  policy: 'PolicyBlocked',
  reputation: 'PolicyBlocked',
  rate: 'General',
  network: 'General',
  protocol: 'General',
  unknown: 'General',
};

/** One row. A condition that is left out always matches. */
export function row(
  bounceClass: BounceClass,
  source: string,
  rest: Partial<Omit<BounceRow, 'class' | 'source'>>,
): BounceRow {
  return {
    class: bounceClass,
    subType: SUB_TYPES[bounceClass],
    codes: null,
    enhanced: null,
    text: null,
    isAboutAddress: false,
    provider: null,
    hint: null,
    source,
    ...rest,
  };
}
