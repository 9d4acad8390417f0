/**
 * Delivery status notifications (RFC 3464, RFC 6533): who was and was not reached, and why.
 *
 * Promises per-recipient outcomes in the receiver's own words, classified by the same table as replies
 * in a session. Bounces that follow no standard are read by `plain-bounce.ts`. A message that is not
 * a report gives null, so that a person's reply never counts as a bounce. Never throws.
 */
import { classifyReply, enhancedIn, type Classification } from '../replies/bounce-class.ts';
import type { InboundMessage } from './inbound-message.ts';
import { ReasonTable, readPlainBounce } from './plain-bounce.ts';
import {
  fieldGroups,
  originalIn,
  readOriginal,
  typedAddress,
  type FieldGroup,
  type OriginalMessage,
} from './report-fields.ts';

/** RFC 3464 section 2.3.3. `delayed` is not a bounce: the reporter keeps trying. */
export type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

export interface DsnRecipient {
  action: DsnAction;
  /** Final-Recipient: the address that was tried last; null when the report names none. */
  finalRecipient: string | null;
  /** Original-Recipient: the address as we sent to it. */
  originalRecipient: string | null;
  /** RFC 3463 status such as `5.1.1`. */
  status: string | null;
  /** The remote server's words, or the reporter's own. */
  diagnostic: string;
  remoteMta: string | null;
  /** Meaningful for `failed` and `delayed` only. */
  classification: Classification;
}

export interface DsnReport extends OriginalMessage {
  isStandard: boolean;
  recipients: DsnRecipient[];
  /** Return paths of ours found anywhere in the report. */
  returnPaths: readonly string[];
  /** ENVID of RFC 3461, when the reporter gives it back. */
  envelopeId: string | null;
}

const ACTIONS: readonly DsnAction[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'];
/** A status code (RFC 3463 section 2), and no part of a longer number. */
const STATUS = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/;

/** Reads a whole message as a delivery report; null when it is not one. */
export function parseDsn(message: InboundMessage): DsnReport | null {
  const status = message.part(/^message\/(?:global-)?delivery-status$/);
  if (status === undefined) return readWithoutStandard(message);
  const groups = fieldGroups(message.text(status));
  const reasons = new ReasonTable(message);
  const recipients = groups
    .filter(isRecipientGroup)
    .map((group) => readRecipient(group, (address) => reasons.find(address)));
  if (recipients.length === 0) return null;
  return {
    ...readOriginal(message),
    isStandard: true,
    recipients,
    returnPaths: message.returnPaths,
    envelopeId: groups[0]?.get('original-envelope-id')?.[0] ?? null,
  };
}

function readWithoutStandard(message: InboundMessage): DsnReport | null {
  const plain = readPlainBounce(message);
  if (plain === null) return null;
  const attached = readOriginal(message);
  const original = attached.messageId === null ? originalIn(Buffer.from(plain.original)) : attached;
  return {
    ...original,
    isStandard: false,
    recipients: plain.recipients.map((recipient) => ({
      ...recipient,
      originalRecipient: null,
      remoteMta: null,
      classification: classify(recipient.status, recipient.diagnostic),
    })),
    returnPaths: message.returnPaths,
    envelopeId: null,
  };
}

function isRecipientGroup(group: FieldGroup): boolean {
  return group.has('final-recipient') || group.has('action') || group.has('status');
}

function readRecipient(group: FieldGroup, reason: (address: string) => string): DsnRecipient {
  const first = (name: string): string | undefined => group.get(name)?.[0];
  // RFC 3464 section 2.3.6: a type, a semicolon, then the words of the remote server.
  const finalRecipient = typedAddress(first('final-recipient'));
  const stated = (first('diagnostic-code') ?? '').replace(/^[\w-]{1,20}\s*;\s*/, '');
  const diagnostic = stated === '' && finalRecipient !== null ? reason(finalRecipient) : stated;
  const status = STATUS.exec(first('status') ?? '')?.[0] ?? null;
  return {
    action: actionOf(first('action'), status),
    finalRecipient,
    originalRecipient:
      typedAddress(first('original-recipient')) ?? typedAddress(first('x-actual-recipient')),
    status,
    diagnostic,
    remoteMta: first('remote-mta')?.replace(/^[\w-]{1,20}\s*;\s*/, '') ?? null,
    classification: classify(status, diagnostic),
  };
}

/** The stated action; where it is missing or unknown, what the status says. */
function actionOf(value: string | undefined, status: string | null): DsnAction {
  const word = /[a-z]+/.exec(value?.toLowerCase() ?? '')?.[0];
  const stated = ACTIONS.find((action) => action === word);
  if (stated !== undefined) return stated;
  if (status?.startsWith('2') === true) return 'delivered';
  return status?.startsWith('4') === true ? 'delayed' : 'failed';
}

/** The remote server's own enhanced code says more than a reporter's generic status. */
function classify(status: string | null, diagnostic: string): Classification {
  const code = Number(/(?:^|[^\d.])([245]\d\d)(?=[ :-]|$)/.exec(diagnostic)?.[1] ?? 0);
  const isGeneric = status === null || /^\d\.0\.0$/.test(status);
  const enhanced = isGeneric ? (enhancedIn(diagnostic) ?? status) : status;
  const reply = { code, enhanced, text: diagnostic, stage: 'report' };
  const classification = classifyReply(reply);
  // Words about the mailbox without any code, as qmail writes them: the reporter has given up.
  const isWordsOnly =
    classification.bounceType === 'Undetermined' && classification.class === 'recipient';
  return isWordsOnly ? classifyReply({ ...reply, code: 550 }) : classification;
}
