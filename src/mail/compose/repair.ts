/**
 * A message accepted over SMTP submission: reads its header, and makes its bytes fit to be signed.
 *
 * Promises that a sound message keeps its MIME structure byte for byte. Repairs what violates an RFC: line ends,
 * Date, Message-ID, MIME-Version, doubled fields, lines over 998 bytes, blanks before a colon, and encoded words that
 * hide control characters or direction overrides in Subject or names. Removes Bcc, Return-Path and the fields that
 * are addressed to the service. Refuses, with a reason for the sender, what can be read in two ways: no From field,
 * several, or one with several addresses. Never throws.
 */
import { createHash } from 'node:crypto';
import { addressOf, hasNonAsciiLocal, type Mailbox } from '../header/address.ts';
import { parseAddressList } from '../header/address-list.ts';
import {
  encodePhrase,
  encodeText,
  foldField,
  readableText,
  writeField,
} from '../header/headers.ts';
import { ownMessageId } from '../header/message-id.ts';
import { attachmentBytes } from '../mime/message-parts.ts';
import { MAX_LINE_BYTES, hasLongLine, normalizeLines } from '../mime/lines.ts';
import { decodeWords } from '../mime/text.ts';
import { partsOf, splitMime, valueOf, type MimeField, type MimePart } from '../mime/tree.ts';
import { repairParts } from './repair-parts.ts';

export interface Submission {
  /** CRLF-clean, to be signed and sent as it is. */
  bytes: Buffer;
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  subject: string;
  /** With angle brackets: the sender's own where it was valid. */
  messageId: string;
  /** `X-Tag-<name>: <value>`, as written. */
  tags: { name: string; value: string }[];
  /** `Idempotency-Key` or `Resend-Idempotency-Key`. */
  idempotencyKey: string | null;
  /** Digest of the leaves of the MIME tree as they came, with their types; only beside an idempotency key. */
  contentDigest: string | null;
  /** The address of the Sender field; null without one. */
  sender: Mailbox | null;
  /** Of all attachments together, decoded. */
  attachmentBytes: number;
  /** Whether the sender asks for one-click unsubscribe (`X-Postrider-Unsubscribe: yes`). */
  wantsUnsubscribe: boolean;
}

export interface SubmissionDefaults {
  /** Used where the message has no valid one; with angle brackets. */
  messageId: string;
  /** Used where the message has no readable date. */
  date: Date;
  /** The hosts in Message-IDs of this service. */
  ownNames: readonly string[];
}

/** The field with which a sender asks for our List-Unsubscribe. Lower case. */
export const UNSUBSCRIBE_FIELD = 'x-postrider-unsubscribe';

const MAX_HEADER_BYTES = 262_144;
const LIMITS = { depth: 50, parts: 1_000, fields: 2_000, fieldBytes: MAX_HEADER_BYTES };
const MESSAGE_ID = /^<[\x21-\x3b=\x3f-\x7e]{1,400}@[\x21-\x3b=\x3f-\x7e]{1,255}>$/;

/** At most one of each (RFC 5322 section 3.6, RFC 2045 section 3); of several the first is kept. */
const SINGLE: ReadonlySet<string> = new Set([
  'date',
  'sender',
  'message-id',
  'in-reply-to',
  'references',
  'subject',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-id',
  'content-description',
  'content-disposition',
]);
/** Several of these are joined into one. */
const LISTS: ReadonlySet<string> = new Set(['to', 'cc', 'reply-to']);
const REMOVED: ReadonlySet<string> = new Set([
  'bcc',
  'resent-bcc',
  'return-path',
  'idempotency-key',
  'resend-idempotency-key',
  UNSUBSCRIBE_FIELD,
]);

/** Reads and repairs a whole submitted message. `error` follows the words "The message". */
export function repairSubmission(
  message: Uint8Array,
  defaults: SubmissionDefaults,
): Submission | { error: string } {
  const bytes = normalizeLines(message);
  let hasMoreParts = false;
  const root = splitMime(bytes, LIMITS, () => (hasMoreParts = true));
  if (root.bodyStart > MAX_HEADER_BYTES) return { error: 'has too large a header' };
  if (root.fields.length >= LIMITS.fields) return { error: 'has too many header fields' };
  if (hasMoreParts) return { error: `has more than ${LIMITS.parts} MIME parts` };
  const bad = root.fields.find((field) => hasControl(bytes, field));
  if (bad !== undefined) return { error: `has a control character in its header ${bad.name}` };
  const all = (name: string): string[] =>
    root.fields.filter((field) => field.name === name).map((field) => valueOf(bytes, field));
  const fromValues = all('from');
  const from = parseAddressList(fromValues[0] ?? '');
  const author = from.mailboxes[0];
  if (
    fromValues.length !== 1 ||
    from.mailboxes.length !== 1 ||
    from.refused > 0 ||
    author === undefined
  ) {
    return { error: 'must have exactly one From field with exactly one address' };
  }
  const sender = senderOf(all('sender')[0]);
  if (sender === undefined) return { error: 'must have exactly one address in its Sender field' };
  const mailboxes = (name: string): Mailbox[] => parseAddressList(all(name).join(', ')).mailboxes;
  const messageId = chosenMessageId(all('message-id'), defaults) ?? defaults.messageId;
  const { body, encoding } = repairParts(bytes, root);
  const idempotencyKey = all('idempotency-key')[0] ?? all('resend-idempotency-key')[0] ?? null;
  const header = writeHeader(bytes, root, {
    author,
    isPlainFrom: from.isPlain && !from.isMisleading,
    messageId,
    encoding,
    date: defaults.date,
  });
  if (hasLongLine(Buffer.from(header, 'latin1'))) {
    return { error: `has a header field with a word of more than ${MAX_LINE_BYTES} characters` };
  }
  return {
    bytes: Buffer.concat([Buffer.from(`${header}\r\n`, 'latin1'), body]),
    from: author,
    to: mailboxes('to'),
    cc: mailboxes('cc'),
    replyTo: mailboxes('reply-to'),
    subject: readableText(decodeWords(all('subject')[0] ?? '')),
    messageId,
    tags: tagsOf(bytes, root),
    idempotencyKey,
    sender,
    attachmentBytes: attachmentBytes(bytes, root),
    contentDigest: idempotencyKey === null ? null : digestOf(bytes, root),
    wantsUnsubscribe: asksForUnsubscribe(all(UNSUBSCRIBE_FIELD)[0] ?? ''),
  };
}

/** RFC 5322 section 3.6.2: one mailbox. Null without the field, undefined where it is not one address. */
function senderOf(value: string | undefined): Mailbox | null | undefined {
  if (value === undefined) return null;
  const { mailboxes, refused } = parseAddressList(value);
  return mailboxes.length === 1 && refused === 0 ? mailboxes[0] : undefined;
}

/** Date, Message-ID and boundaries are left out, since a program that tries again generates new ones. */
function digestOf(bytes: Buffer, root: MimePart): string {
  const hash = createHash('sha256');
  for (const part of partsOf(root)) {
    if (part.children.length > 0) continue;
    hash.update(`\0${part.contentType}\0`).update(bytes.subarray(part.bodyStart, part.bodyEnd));
  }
  return hash.digest('base64');
}

/** The first sound one that does not name another email of this service, to which people and logs would be led. */
function chosenMessageId(
  values: readonly string[],
  { ownNames }: SubmissionDefaults,
): string | undefined {
  const isOwn = (value: string): boolean =>
    ownNames.some((name) => ownMessageId(value, name) !== null);
  return values.find((value) => MESSAGE_ID.test(value) && !isOwn(value));
}

/** Whether the value of `UNSUBSCRIBE_FIELD` asks for a link: `yes`, `true`, `1` and `one-click` do. */
export function asksForUnsubscribe(value: string): boolean {
  return /^(?:yes|true|1|one-click)$/i.test(value.trim());
}

function tagsOf(bytes: Buffer, root: MimePart): Submission['tags'] {
  return root.fields
    .filter((field) => isTag(field.name))
    .map((field) => ({
      name: bytes
        .toString('latin1', field.start, field.valueStart - 1)
        .trim()
        .slice('X-Tag-'.length),
      value: valueOf(bytes, field),
    }));
}

function isTag(name: string): boolean {
  return name.startsWith('x-tag-') && name.length > 'x-tag-'.length;
}

/** C0 but for TAB and the folds, and DEL (docs/reliability.md R20). */
function hasControl(bytes: Buffer, field: MimeField): boolean {
  const text = bytes.toString('latin1', field.start, field.end);
  // oxlint-disable-next-line no-control-regex -- finding control characters is the point
  return /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text);
}

interface HeaderPlan {
  author: Mailbox;
  isPlainFrom: boolean;
  messageId: string;
  /** A new Content-Transfer-Encoding, or null to leave it. */
  encoding: string | null;
  date: Date;
}

/** The new header as Latin-1 text of its bytes, in the old order, what was missing at its end. */
function writeHeader(bytes: Buffer, root: MimePart, plan: HeaderPlan): string {
  const seen = new Set<string>();
  let header = '';
  for (const field of root.fields) {
    const { name } = field;
    if (REMOVED.has(name) || isTag(name)) continue;
    if (name === 'content-transfer-encoding' && plan.encoding !== null) continue;
    const isFirst = !seen.has(name);
    seen.add(name);
    if (!isFirst && (SINGLE.has(name) || LISTS.has(name))) continue;
    if (name === 'from' && !plan.isPlainFrom) header += writeMailboxes('From', [plan.author]);
    else if (LISTS.has(name))
      header += writeList(
        bytes,
        root.fields.filter((other) => other.name === name),
      );
    else if (name === 'subject') header += writeSubject(bytes, field);
    else if (name === 'date' && !isDate(valueOf(bytes, field))) seen.delete(name);
    else if (name === 'message-id') header += `Message-ID: ${plan.messageId}\r\n`;
    else header += keepField(bytes, field);
  }
  if (!seen.has('date')) {
    header += writeField('Date', plan.date.toUTCString().replace('GMT', '+0000'));
  }
  if (!seen.has('message-id')) header += `Message-ID: ${plan.messageId}\r\n`;
  if (!seen.has('to') && !seen.has('cc')) header += 'To: undisclosed-recipients:;\r\n';
  const isMime = seen.has('content-type') || plan.encoding !== null;
  if (!seen.has('mime-version') && isMime) header += 'MIME-Version: 1.0\r\n';
  if (plan.encoding !== null) header += `Content-Transfer-Encoding: ${plan.encoding}\r\n`;
  return header;
}

/** Date.parse is lenient, in some runtimes more than in others. */
function isDate(value: string): boolean {
  return /^[\t\x20-\x7e]+$/.test(value) && !Number.isNaN(Date.parse(value));
}

/** The field as it stands; folded anew when a line is too long, encoded when it is raw 8-bit text. */
function keepField(bytes: Buffer, field: MimeField): string {
  const raw = rawField(bytes, field);
  const isRaw = /[\x80-\xff]/.test(raw) && !field.name.startsWith('content-');
  if (!isRaw && !hasLongLine(Buffer.from(raw, 'latin1'))) return raw;
  const name = raw.slice(0, raw.indexOf(':')).trim();
  const value = decodeWords(valueOf(bytes, field)).toWellFormed();
  if (isRaw && /[\p{Cc}\u2028\u2029]/u.test(value.replaceAll('\t', ''))) return raw;
  return foldField(name, isRaw ? encodeText(value, name.length + 2) : valueOf(bytes, field));
}

/** The field's bytes with one line end, its colon right behind the name: many readers do not take `From : x`. */
function rawField(bytes: Buffer, field: MimeField): string {
  const text = bytes.toString('latin1', field.start, field.end);
  const colon = text.indexOf(':');
  return `${text.slice(0, colon).trimEnd()}${text.slice(colon)}${text.endsWith('\r\n') ? '' : '\r\n'}`;
}

/** Subject: as it stands, unless its encoded words hide what a reader must not get. */
function writeSubject(bytes: Buffer, field: MimeField): string {
  const text = decodeWords(valueOf(bytes, field));
  const shown = readableText(text);
  return shown === text
    ? keepField(bytes, field)
    : foldField('Subject', encodeText(shown, 'Subject: '.length));
}

/** To, Cc or Reply-To: as it stands where it occurs once and is ASCII, else written anew. */
function writeList(bytes: Buffer, fields: MimeField[]): string {
  const first = fields[0];
  if (first === undefined) return '';
  const raw = fields.map((field) => valueOf(bytes, field)).join(', ');
  const list = parseAddressList(raw);
  const isSound =
    fields.length === 1 &&
    !list.isMisleading &&
    !/[\x80-\xff]/.test(raw) &&
    !hasLongLine(bytes.subarray(first.start, first.end));
  if (isSound || list.mailboxes.length === 0) return keepField(bytes, first);
  const name = bytes.toString('latin1', first.start, first.valueStart - 1).trim();
  return writeMailboxes(name, list.mailboxes);
}

function writeMailboxes(name: string, mailboxes: Mailbox[]): string {
  const list = mailboxes.map((mailbox) =>
    mailbox.name === ''
      ? addressOf(mailbox)
      : `${encodePhrase(mailbox.name)} <${addressOf(mailbox)}>`,
  );
  const field = writeField(name, list.join(', '));
  return mailboxes.some(hasNonAsciiLocal) ? Buffer.from(field, 'utf8').toString('latin1') : field;
}
