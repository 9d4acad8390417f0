/**
 * Mailboxes as RFC 5321, RFC 5322 section 3.4 and RFC 6531 write them, by a small grammar of our own.
 *
 * The story of this folder. Addresses and header texts come from API requests and from submitted messages. This file
 * and `address-list.ts` read mailboxes into name, local part and domain; `headers.ts` checks every text before it may
 * stand in a header, and is the only file that writes header fields. What comes out can be sent as it is: one address
 * reads the same everywhere, and one value is one field. Pure functions.
 *
 * Takes one mailbox: `a@b` or `Name <a@b>`. Never takes lists, groups, comments, routes or address
 * literals, so that header and envelope cannot be read as different addresses (CVE-2025-14874). No recursion; every
 * failure is a value with a reason. A printed mailbox parses to the same mailbox.
 */
import { domainToASCII } from 'node:url';
import { checkCharacters } from './headers.ts';

/** One parsed address. `domain` is lower-case A-labels; `name` is decoded text, empty when there is none. */
export interface Mailbox {
  name: string;
  /** In wire form: a dot-atom, or a quoted string with its quotation marks where it must be one. */
  local: string;
  domain: string;
}

/** Why a text is not a mailbox, in words that follow a field's name. */
export interface AddressError {
  error: string;
}

/** RFC 5321 sections 4.5.3.1.1 to 4.5.3.1.3 (a path of 256 has two angle brackets), in octets. */
const MAX_LOCAL_BYTES = 64;
const MAX_DOMAIN_LENGTH = 253;
const MAX_ADDRESS_BYTES = 254;
/** Our own cap on a display name, in characters. */
const MAX_NAME_LENGTH = 320;
/** More than any mailbox within the limits above can need, quotes and escapes included. */
const MAX_TEXT_LENGTH = 2_000;

const DOT_ATOM =
  /^[\w!#$%&'*+\-/=?^`{|}~\u{a0}-\u{10ffff}]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u{a0}-\u{10ffff}]+)*$/u;
/** Nearly every address: a dot-atom in ASCII and a lower-case host name. The grammar below gives the same result. */
const COMMON =
  /^([\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*)@((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)$/;
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/u;

/** Parses `a@b`, `<a@b>` or `Name <a@b>`; the name may be quoted in whole or in part. Never throws. */
export function parseAddress(text: string): Mailbox | AddressError {
  if (text.length > MAX_TEXT_LENGTH) return { error: 'is too long for an email address' };
  const reason = checkCharacters(text);
  if (reason !== null) return { error: reason };
  const trimmed = text.trim();
  if (trimmed === '') return { error: 'must not be empty' };
  if (!trimmed.endsWith('>')) {
    const isGroup = trimmed.endsWith(';') && /^[^"<:]*:/.test(trimmed);
    if (isGroup) return { error: 'must be one address, not a group' };
    return parseSpec(trimmed, '');
  }
  const open = findAngle(trimmed);
  if (open === -1) return { error: 'has a ">" without a "<" outside quotation marks' };
  const name = parseName(trimmed.slice(0, open));
  if (typeof name !== 'string') return name;
  return parseSpec(trimmed.slice(open + 1, -1), name);
}

/** The mailbox of the form `{email, name}`: `email` a bare address, `name` any text. Never throws. */
export function makeAddress(email: string, name = ''): Mailbox | AddressError {
  if (email.length > MAX_TEXT_LENGTH) return { error: 'is too long for an email address' };
  const reason = checkCharacters(email) ?? checkCharacters(name);
  if (reason !== null) return { error: reason };
  const trimmed = name.trim();
  if (trimmed.length > MAX_NAME_LENGTH) return nameTooLong();
  return parseSpec(email.trim(), trimmed);
}

/** The mailbox as text for people and JSON: `a@b` or `Name <a@b>`, Unicode as it is. */
export function formatAddress(mailbox: Mailbox): string {
  const address = addressOf(mailbox);
  if (mailbox.name === '') return address;
  const isPlain = /^[\w!#$%&'*+\-/=?^`{|}~\u{a0}-\u{10ffff} ]+$/u.test(mailbox.name);
  const name = isPlain ? mailbox.name : `"${mailbox.name.replace(/["\\]/g, '\\$&')}"`;
  return `${name} <${address}>`;
}

/** `local@domain`, the form of the envelope. */
export function addressOf(mailbox: Mailbox): string {
  return `${mailbox.local}@${mailbox.domain}`;
}

/** Whether the mailbox can only be reached by SMTPUTF8 (RFC 6531). */
export function hasNonAsciiLocal(mailbox: Mailbox): boolean {
  return /[^\x20-\x7e]/.test(mailbox.local);
}

/** Position of the first `<` outside quotation marks, or -1. */
function findAngle(text: string): number {
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\' && isQuoted) at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === '<' && !isQuoted) return at;
  }
  return -1;
}

/** The display name before the angle bracket, quotation marks and escapes removed. */
function parseName(text: string): string | AddressError {
  let name = '';
  let bare = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\\' && isQuoted) {
      at += 1;
      name += text[at] ?? '';
    } else if (character === '"') {
      isQuoted = !isQuoted;
    } else {
      if (character === '>' && !isQuoted) return { error: 'has a ">" outside quotation marks' };
      if (!isQuoted) bare += character;
      name += character;
    }
  }
  if (isQuoted) return { error: 'has a quotation mark that is not closed' };
  // Otherwise a list in one string would silently be sent to its last address only.
  if (bare.includes('@') && /[,;]/.test(bare)) return { error: 'must be one address, not a list' };
  name = name.trim();
  return name.length > MAX_NAME_LENGTH ? nameTooLong() : name;
}

function nameTooLong(): AddressError {
  return { error: `has a name of more than ${MAX_NAME_LENGTH} characters` };
}

/** addr-spec of RFC 5321 section 4.1.2, `local@domain`, without comments or white space around its parts. */
function parseSpec(text: string, name: string): Mailbox | AddressError {
  const common = text.length <= MAX_ADDRESS_BYTES ? COMMON.exec(text) : null;
  if (common !== null) {
    const [, local = '', domain = ''] = common;
    if (local.length <= MAX_LOCAL_BYTES && !domain.includes('xn--')) return { name, local, domain };
  }
  if (/[<>]/.test(text.replace(/^"(?:[^"\\]|\\.)*"/u, ''))) {
    return { error: 'must have its address once, between "<" and ">"' };
  }
  if (text.startsWith('@')) {
    return { error: text.includes(':') ? 'must not have a route' : 'has nothing before the "@"' };
  }
  const split = text.startsWith('"') ? endOfQuoted(text) : text.indexOf('@');
  if (split === -1 || text[split] !== '@') return { error: 'must be of the form name@domain' };
  const local = parseLocal(text.slice(0, split));
  if (typeof local !== 'string') return local;
  const domain = parseDomain(text.slice(split + 1));
  if (typeof domain !== 'string') return domain;
  if (Buffer.byteLength(local) + 1 + domain.length > MAX_ADDRESS_BYTES) {
    return { error: `is longer than ${MAX_ADDRESS_BYTES} bytes` };
  }
  return { name, local, domain };
}

/** Position behind the quoted string that `text` begins with; -1 when it is not closed. */
function endOfQuoted(text: string): number {
  for (let at = 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

/** The local part in its shortest wire form (RFC 5321 section 4.1.2 asks for that). */
function parseLocal(text: string): string | AddressError {
  const quoted = QUOTED.exec(text);
  const plain = (quoted ? (quoted[1] ?? '').replace(/\\(.)/gu, '$1') : text).normalize('NFC');
  if (plain === '') return { error: 'has nothing before the "@"' };
  // Spaces of other scripts and bidirectional marks make two addresses look alike.
  if (
    /[\u{a0}\u{1680}\u{2000}-\u{200a}\u{200e}\u{200f}\u{202a}-\u{202f}\u{205f}-\u{2069}\u{3000}\u{feff}\u{fffe}\u{ffff}]/u.test(
      plain,
    )
  ) {
    return { error: 'has an invisible or space character before the "@"' };
  }
  const isAtom = DOT_ATOM.test(plain);
  if (!isAtom && quoted === null) {
    if (/[()]/.test(plain)) return { error: 'must not have a comment' };
    if (/,/.test(plain)) return { error: 'must be one address, not a list' };
    if (/^\.|\.\.|\.$/.test(plain)) return { error: 'has a misplaced dot before the "@"' };
    return { error: 'has a character before the "@" that is not allowed without quotation marks' };
  }
  const local = isAtom ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
  if (Buffer.byteLength(local) > MAX_LOCAL_BYTES) {
    return { error: `has more than ${MAX_LOCAL_BYTES} bytes before the "@"` };
  }
  return local;
}

/** The domain as lower-case A-labels: letters, digits and hyphens, at least two labels. */
function parseDomain(text: string): string | AddressError {
  if (text === '') return { error: 'has nothing after the "@"' };
  if (text.startsWith('[')) return { error: 'must have a domain name, not an address literal' };
  if (text.includes('@')) {
    const isList = /[,;]/.test(text);
    return { error: isList ? 'must be one address, not a list' : 'has more than one "@"' };
  }
  // RFC 5891 section 4.2.3.1: no label begins or ends with a hyphen, in either form.
  if (/(?:^|\.)-|-(?:\.|$)/.test(text)) return notADomain();
  const isAscii = /^[\x21-\x7e]+$/.test(text);
  // ASCII is checked as it stands: domainToASCII follows the rules for URLs, which decode %41 and 0x7f.
  if (isAscii && !/^[A-Za-z0-9.-]+$/.test(text)) return notADomain();
  const isPlain = isAscii && !/(^|\.)xn--/i.test(text);
  const domain = isPlain ? text.toLowerCase() : domainToASCII(text.normalize('NFC'));
  if (domain === '') return notADomain();
  const labels = domain.split('.');
  if (labels.length < 2) return { error: 'has a domain without a dot' };
  if (!labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label))) {
    return notADomain();
  }
  // RFC 3696 section 2: a top-level domain is not all digits; so an IPv4 address is not a domain.
  if (/^\d+$/.test(labels.at(-1) ?? '')) return notADomain();
  if (domain.length > MAX_DOMAIN_LENGTH) {
    return { error: `has a domain of more than ${MAX_DOMAIN_LENGTH} characters` };
  }
  return domain;
}

function notADomain(): AddressError {
  return { error: 'does not have a valid domain name after the "@"' };
}
