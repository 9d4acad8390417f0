/**
 * The `headers` of an email: custom fields, and those that mail libraries add by themselves.
 *
 * Promises that nothing here replaces what the service writes. Reply-To, Message-ID and Sender are read into the draft
 * (docs/contract.md C7.14 to C7.16), Date and Return-Path are ignored, other fields of the service are refused by name.
 * Names are compared without regard to case; a list of values makes a field of each. Whether a Sender may be used,
 * acceptance decides.
 */
import type { Draft } from '../../flow/draft.ts';
import { addressOf, parseAddress, type Mailbox } from '../../mail/header/address.ts';
import { parseAddressList } from '../../mail/header/address-list.ts';
import { checkHeaderValue, isHeaderName, isReservedHeader } from '../../mail/header/headers.ts';
import { checkMessageId } from '../../mail/header/message-id.ts';
import type { Fault } from './check.ts';
import { MAX_HEADERS } from './email-fields.ts';
import { readEncodedWords } from './encoded-words.ts';
import { joinPath, shown } from '../../base/json.ts';

/** What the headers say for the draft. Message-ID and Sender are absent where no header names one. */
export interface HeadersRead extends Pick<Draft, 'headers' | 'messageId' | 'sender'> {
  /** Null without a Reply-To. `path` is that of the header. */
  replyTo: { mailboxes: Mailbox[]; path: string } | null;
}

/** Mail libraries write them for a server of their own; this service writes its own. */
const IGNORED: ReadonlySet<string> = new Set(['date', 'return-path']);

/** Puts the value of a field into what is read, or returns words for its fault. */
type FieldReader = (value: string, path: string, read: HeadersRead) => string | null;

const READERS: ReadonlyMap<string, FieldReader> = new Map([
  ['reply-to', readReplyTo],
  ['message-id', readMessageId],
  ['sender', readSender],
]);

/** Reads all headers, adding a fault for each that is not valid. */
export function readHeaders(
  headers: Readonly<Record<string, string | readonly string[]>>,
  at: string,
  faults: Fault[],
): HeadersRead {
  const read: HeadersRead = { headers: [], replyTo: null };
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const path = joinPath(at, shown(name));
    const words = readHeader(name, typeof value === 'string' ? [value] : value, {
      path,
      read,
      seen,
    });
    if (words !== null) faults.push({ path, message: `${path} ${words}.`, isMissing: false });
  }
  if (read.headers.length > MAX_HEADERS) {
    const message = `${at} must make at most ${MAX_HEADERS} header fields.`;
    faults.push({ path: at, message, isMissing: false });
  }
  return read;
}

/** Adds one header to what is `read`, or returns words for its fault. */
function readHeader(
  name: string,
  given: readonly string[],
  { path, read, seen }: { path: string; read: HeadersRead; seen: Set<string> },
): string | null {
  if (!isHeaderName(name)) return 'is not a valid header name';
  const lower = name.toLowerCase();
  const reader = READERS.get(lower);
  const isIgnored = IGNORED.has(lower);
  if (reader === undefined && !isIgnored && isReservedHeader(name)) {
    return 'is set by the service and cannot be overridden';
  }
  // Addresses keep their encoded words until they are taken apart.
  const values = reader === undefined ? given.map(readEncodedWords) : given;
  const words = values.map(checkHeaderValue).find((found) => found !== null) ?? null;
  if (words !== null || isIgnored) return words;
  if (reader === undefined) {
    for (const value of values) read.headers.push([name, value]);
    return null;
  }
  const value = values.join(', ');
  if (seen.has(lower)) return 'appears twice, in different spellings of its name';
  seen.add(lower);
  return value.trim() === '' ? null : reader(value.trim(), path, read);
}

function readReplyTo(value: string, path: string, read: HeadersRead): string | null {
  const mailboxes = mailboxesOf(value);
  if (mailboxes === null) return 'must be an address or a list of addresses, separated by commas';
  read.replyTo = { mailboxes, path };
  return null;
}

function readMessageId(value: string, _path: string, read: HeadersRead): string | null {
  const words = checkMessageId(value);
  if (words === null) read.messageId = value;
  return words;
}

function readSender(value: string, _path: string, read: HeadersRead): string | null {
  const [mailbox, ...more] = mailboxesOf(value) ?? [];
  if (mailbox === undefined || more.length > 0) return 'must be one address';
  read.sender = mailbox;
  return null;
}

/** The mailboxes of a field's value, encoded words decoded; null when any of them is not valid. */
function mailboxesOf(value: string): Mailbox[] | null {
  const single = parseAddress(value);
  // Plain text needs no second reading: most values are one address.
  if (!('error' in single) && !value.includes('=?')) return [single];
  const { mailboxes, refused } = parseAddressList(Buffer.from(value, 'utf8').toString('latin1'));
  return refused > 0 || mailboxes.length === 0 ? null : mailboxes;
}

/**
 * The mailboxes of a Reply-To header where it repeats `field`, names in it or not, and perhaps names more: Symfony
 * writes only the first address into the field. Null where the two differ.
 */
export function joinReplyTo(
  field: readonly Mailbox[],
  header: readonly Mailbox[],
): Mailbox[] | null {
  if (!isSameList(field, header.slice(0, field.length))) return null;
  return header.map((mailbox, at) => (mailbox.name === '' ? (field[at] ?? mailbox) : mailbox));
}

/** Whether both name the same addresses in the same order. A name may be missing on one side. */
function isSameList(one: readonly Mailbox[], other: readonly Mailbox[]): boolean {
  return (
    one.length === other.length &&
    one.every((mailbox, at) => {
      const twin = other[at];
      if (twin === undefined || addressOf(mailbox) !== addressOf(twin)) return false;
      return mailbox.name === '' || twin.name === '' || mailbox.name === twin.name;
    })
  );
}
