/** Mailboxes as RFC 5322 section 3.4 and RFC 6531 write them. */

/** One parsed address. `domain` is lower-case A-labels; `name` is decoded text, empty when there is none. */
export interface Mailbox {
  name: string;
  local: string;
  domain: string;
}
