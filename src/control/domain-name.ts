/**
 * A domain as an operator names it: in any case, in letters beyond ASCII, with the closing dot of DNS.
 *
 * Promises the name as it is stored, in lower-case A-labels (RFC 5890 section 2.3.2.1). What is no name of a domain, an
 * id say, only becomes lower case. Never fails.
 */
import { makeAddress } from '../mail/header/address.ts';

export function domainNamed(text: string): string {
  const mailbox = makeAddress(`postmaster@${text.trim().replace(/\.$/, '')}`);
  return 'error' in mailbox ? text.toLowerCase() : mailbox.domain;
}
