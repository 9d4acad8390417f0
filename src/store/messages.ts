/**
 * The port for reading messages: one with all that belongs to it, and an account's lists.
 *
 * Promises lists newest first in the order of commits, so that a page read later neither repeats nor skips a row. Verbs
 * that take an account answer null for another account's message, as for none. Writes nothing.
 */
import type { MessageStatus } from '../base/status.ts';
import type { Page, PageOf } from './pages.ts';
import type { Attempt, Body, ContentSizes, Event, ListedBody, Message, Recipient } from './rows.ts';

export interface EmailFilter extends Page {
  /** Substring of subject, sender or a `to` address, whatever its case. */
  q: string | null;
  status: MessageStatus | null;
  /** Only what sandbox keys sent. */
  isSandboxOnly?: boolean;
}

export interface MessageStore {
  message(accountId: string, id: string): Promise<Message | null>;
  messageById(id: string): Promise<Message | null>;
  recipients(messageId: string): Promise<Recipient[]>;
  recipientById(id: string): Promise<Recipient | null>;
  /** Oldest first. */
  attempts(messageId: string): Promise<Attempt[]>;
  /** Oldest first. */
  events(messageId: string): Promise<Event[]>;
  /** What `body` would read; null once retention has taken the content. Reads no content. */
  contentSizes(accountId: string, id: string): Promise<ContentSizes | null>;
  /** `body` without the bytes of attachments. */
  listedBody(
    accountId: string,
    id: string,
    isLarge?: boolean,
  ): Promise<{ body: ListedBody | null } | null>;
  /**
   * `body` is null once retention has taken the content. `isLarge`: reading it would keep the caller's thread for long, so
   * that a store may read it elsewhere.
   */
  body(accountId: string, id: string, isLarge?: boolean): Promise<{ body: Body | null } | null>;
  emails(accountId: string, filter: EmailFilter): Promise<PageOf<Message>>;
  /** The older list: page from 1. */
  emailsByPage(
    accountId: string,
    page: number,
    limit: number,
    isSandboxOnly?: boolean,
  ): Promise<Message[]>;
}
