/**
 * Writing one accepted message: its row, content, attachments and recipients.
 *
 * Runs inside an item of a commit; a failure undoes the item. Never decides anything about the message.
 */
import type { Database } from 'bun:sqlite';
import { contentBytes } from '../accept-answer.ts';
import { ownerAtAccept } from '../attempt-choice.ts';
import type { NewMessage } from '../journey.ts';
import type { Body, Message, Recipient } from '../rows.ts';
import { headersText, listText } from '../json-columns.ts';
import { POSITION } from './positions.ts';
import type { MessageSeqs } from './message-seqs.ts';
import type { Positions } from './positions.ts';
import type { StatusCounts } from './status-counts.ts';
import type { StoredBytes } from './stored-bytes.ts';

/** The row number of a message, as SQLite gives it. */
type Seq = number | bigint;

/** What is counted and numbered with each message. */
export interface Counters {
  counts: StatusCounts;
  positions: Positions;
  stored: StoredBytes;
  seqs: MessageSeqs;
}

export class MessageWriter {
  readonly #counts: StatusCounts;
  readonly #positions: Positions;
  readonly #stored: StoredBytes;
  readonly #seqs: MessageSeqs;
  readonly #addMessage;
  readonly #addBody;
  readonly #addAttachment;
  readonly #addRecipient;

  constructor(db: Database, { counts, positions, stored, seqs }: Counters) {
    this.#counts = counts;
    this.#positions = positions;
    this.#stored = stored;
    this.#seqs = seqs;
    this.#addMessage = db.prepare(
      'INSERT INTO messages (seq, id, account_id, ' +
        POSITION +
        ', status, created_at, updated_at, key_id, log_id, domain_id,' +
        ' is_sandbox, message_id, sender, to_list, cc_list, bcc_list, reply_to_list, subject, tags,' +
        ' event_headers, failure_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#addBody = db.prepare(
      'INSERT INTO bodies (message_seq, html, text, headers, raw, bytes) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#addAttachment = db.prepare(
      'INSERT INTO attachments (message_seq, ' +
        POSITION +
        ', filename, content_type, content_id, content)' +
        ' VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#addRecipient = db.prepare(
      'INSERT INTO recipients (id, message_id, account_id, address, domain, kind, status, attempts,' +
        ' next_attempt_at, expires_at, last_reason, delayed_at, updated_at, owner)' +
        ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
  }

  /** Adds the message and counts it; its events are recorded by `EventWriter`. */
  add({ message, body, recipients, owner }: NewMessage): void {
    const seq = this.#insert(message);
    this.#counts.note(message.accountId, message.createdAt, message.status, 1);
    this.#insertBody(seq, message.accountId, body);
    for (const recipient of recipients) this.#insertRecipient(recipient, owner);
  }

  #insert(message: Message): Seq {
    const { lastInsertRowid } = this.#addMessage.run(
      this.#seqs.next(),
      message.id,
      message.accountId,
      this.#positions.next(message.accountId),
      message.status,
      message.createdAt,
      message.updatedAt,
      message.keyId,
      message.logId,
      message.domainId,
      message.isSandbox ? 1 : 0,
      message.messageId,
      message.from,
      listText(message.to),
      listText(message.cc),
      listText(message.bcc),
      listText(message.replyTo),
      message.subject,
      listText(message.tags),
      headersText(message.eventHeaders),
      message.failureReason,
    );
    return lastInsertRowid;
  }

  #insertBody(seq: Seq, accountId: string, body: Body): void {
    const { html, text, raw, attachments } = body;
    const headers = headersText(body.headers);
    const bytes = contentBytes(body, headers);
    this.#addBody.run(seq, html, text, headers, raw, bytes);
    this.#stored.note(accountId, bytes);
    for (const [at, file] of attachments.entries()) {
      const { filename, contentType, contentId, content } = file;
      this.#addAttachment.run(seq, at, filename, contentType, contentId, content);
    }
  }

  #insertRecipient(recipient: Recipient, owner: string | undefined): void {
    this.#addRecipient.run(
      recipient.id,
      recipient.messageId,
      recipient.accountId,
      recipient.address,
      recipient.domain,
      recipient.kind,
      recipient.status,
      recipient.attempts,
      recipient.nextAttemptAt,
      recipient.expiresAt,
      recipient.lastReason,
      recipient.delayedAt,
      recipient.updatedAt,
      ownerAtAccept(recipient, owner),
    );
  }
}
