/**
 * A message somebody wants to send, checked for shape but not yet accepted, and who wants it.
 *
 * Both doors (HTTP and SMTP submission) turn what they took into a draft; `accept` decides about it.
 */
import type { Plan } from '../base/config.ts';
import type { Mailbox } from '../mail/address.ts';
import type { Account, Key, Tag } from '../store/rows.ts';

export interface DraftAttachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  content: Uint8Array;
}

export interface Draft {
  /** The id the message is to have, where a door had to name it beforehand; absent: accept draws one. */
  id?: string;
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  bcc: Mailbox[];
  replyTo: Mailbox[];
  subject: string;
  html: string | null;
  text: string | null;
  headers: [name: string, value: string][];
  attachments: DraftAttachment[];
  tags: Tag[];
  /** A whole message taken over SMTP, in place of subject, html, text, headers and attachments. */
  raw: Uint8Array | null;
  /** The Message-ID that `raw` carries, with angle brackets; absent: accept makes one. */
  messageId?: string;
  /** The sender of `raw` asked for a one-click unsubscribe link. */
  wantsUnsubscribe?: boolean;
}

/** Who sends: found by the guard from the key. */
export interface Sender {
  account: Account;
  plan: Plan;
  key: Key;
  /** Id of the request (or SMTP transaction), the `log_id` of what it sends. */
  requestId: string;
}
