/**
 * A message that a sender wants to send, checked for shape but not yet accepted, and the sender.
 *
 * HTTP and SMTP submission each make a draft of what they received; `accept` decides about it. Holds no behaviour.
 */
import type { Plan } from '../base/config.ts';
import type { Mailbox } from '../mail/header/address.ts';
import type { Account, Key, Tag } from '../store/rows.ts';

export interface DraftAttachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  content: Uint8Array;
}

export interface Draft {
  /** The id the message is to have, where a listener had to name it beforehand; absent: accept draws one. */
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
  /** A whole message taken over SMTP, instead of subject, html, text, headers and attachments. */
  raw: Uint8Array | null;
  /** The Message-ID that the sender chose, with angle brackets; absent: accept makes one. */
  messageId?: string;
  /** Who sent it for `from`, written as the Sender field; that of a `raw` message stands in it already. */
  sender?: Mailbox;
  /** Of all attachments of `raw` together; absent: those of `attachments`. */
  attachmentBytes?: number;
  /** The sender of `raw` asked for a one-click unsubscribe link. */
  wantsUnsubscribe?: boolean;
}

/** A key that may be used, with the account and plan it acts for. */
export interface Identity {
  key: Key;
  account: Account;
  plan: Plan;
  /** Of the store, when these were read, or an earlier one; null: no other process changes it. */
  revision: number | null;
}

/** Who sends: found by the guard from the key, or the operator, who needs none. */
export interface Sender {
  /** The id is null for the operator, whose mail is live. */
  key: { id: string | null; isTest: boolean };
  account: Account;
  plan: Plan;
  /** Id of the request (or SMTP transaction), the `log_id` of what it sends; null for the operator, whom no log lists. */
  requestId: string | null;
  /** As that of `Identity`; absent: account and key are read anew where other nodes may have changed them. */
  revision?: number | null;
}
