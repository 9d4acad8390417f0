/**
 * The shape of a row in the bounce tables, and the words a row is written in.
 *
 * Data only; `bounce-providers.ts` and `bounce-table.ts` hold the rows, `bounce-class.ts` reads them.
 */

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

/** `bounce.subType` of the interface. */
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
  /** Reply codes it is limited to. */
  codes: readonly number[] | null;
  /** The enhanced code it is limited to. */
  enhanced: RegExp | null;
  text: RegExp | null;
  /** Whether it says that this address takes no mail at all, which is what suppresses. */
  isAboutAddress: boolean;
  provider: string | null;
  hint: string | null;
  source: string;
}

/** What each class is in the interface, unless a row says otherwise. */
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

/** One row. Conditions that are left out always hold. */
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
