/**
 * The names of states and events: of messages, recipients, domains, accounts, endpoints and keys.
 *
 * Every floor above shares them; `messageStatus` is the rule by which a message shows the state of its
 * recipients (docs/decisions.md D32). Pure: holds no state.
 */

export type MessageStatus =
  | 'queued'
  | 'sent'
  | 'delivered'
  | 'delivery_delayed'
  | 'bounced'
  | 'complained'
  | 'failed'
  | 'suppressed';

export const MESSAGE_STATUSES: readonly MessageStatus[] = [
  'queued',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'complained',
  'failed',
  'suppressed',
];

/** What is recorded of a message; all but the last two go to webhooks. */
export type EventType =
  | 'email.sent'
  | 'email.delivered'
  | 'email.delivery_delayed'
  | 'email.bounced'
  | 'email.complained'
  | 'email.failed'
  | 'email.queued'
  | 'email.suppressed';

/** Event names an endpoint may subscribe to (docs/contract.md C12.4). */
export const WEBHOOK_EVENTS = [
  'email.sent',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.failed',
  'email.delivery_delayed',
  'email.opened',
  'email.clicked',
] as const;

export type AccountStatus = 'active' | 'paused' | 'payment_required';
export type DomainStatus = 'pending' | 'verified' | 'failed';
export type RecordStatus = 'verified' | 'pending' | 'not_started';
export type EndpointStatus = 'active' | 'disabled';
export type Permission = 'full_access' | 'sending_access';
export type SuppressionReason = 'hard_bounce' | 'complaint' | 'unsubscribe' | 'manual';

/** States after which a recipient is never tried again. */
const FINAL: ReadonlySet<MessageStatus> = new Set([
  'delivered',
  'bounced',
  'complained',
  'failed',
  'suppressed',
]);

/** Worst first: the order in which final states win (docs/decisions.md D32). */
const WORST_FIRST: readonly MessageStatus[] = [
  'complained',
  'bounced',
  'failed',
  'delivered',
  'sent',
  'suppressed',
];

/**
 * Whether nothing more will be tried. After a smarthost took it, `sent` needs no further attempt either, but may still
 * become `delivered`.
 */
export function isFinal(status: MessageStatus): boolean {
  return FINAL.has(status);
}

/**
 * What a message shows: while a recipient is open its newest event, then the worst of the final states.
 * `isOpen` says whether any recipient still waits for an attempt; suppressed recipients never decide
 * while another recipient exists.
 */
export function messageStatus(
  recipients: readonly MessageStatus[],
  isOpen: boolean,
  newest: MessageStatus,
): MessageStatus {
  if (isOpen) return newest;
  return WORST_FIRST.find((status) => recipients.includes(status)) ?? newest;
}
