/**
 * From parts to bytes: one RFC 5322 message with its MIME tree.
 *
 * The story of this folder. A message comes from the API as parts, or from SMTP submission as bytes. Parts are composed
 * here: the header in this file alone, the body by `mime-write.ts`, or with attachments (`attachments.ts`) by
 * nodemailer's MailComposer. Submitted bytes are kept and, where an RFC wants it, repaired (`repair.ts`,
 * `repair-parts.ts`). For receivers without 8BITMIME, `seven-bit.ts` encodes a message anew. What comes out is
 * CRLF-clean and ready to be signed (`mail/dkim`). Pure functions: the same input gives the same bytes, also after a
 * crash.
 *
 * Promises that lines end in CRLF and hold at most 998 bytes, that everything is 7-bit (but addresses that only
 * SMTPUTF8 can carry), and that no Bcc is written. Throws for input that the API and submission should have refused:
 * control characters, reserved or impossible names.
 */
import { createHash } from 'node:crypto';
import { addressOf, hasNonAsciiLocal, parseAddress } from '../header/address.ts';
import { mimeAttachments, type ComposeAttachment } from './attachments.ts';
import {
  checkCharacters,
  checkHeaderValue,
  encodePhrase,
  encodeText,
  isHeaderName,
  isReservedHeader,
  writeField,
} from '../header/headers.ts';
import { MAX_LINE_BYTES, hasLongLine, isReady, normalizeLines } from '../mime/lines.ts';
import { writeMime } from './mime-write.ts';

/** `=_` cannot occur in quoted-printable (RFC 2045 section 6.7, note 1) nor in base64. */
const BOUNDARY_PREFIX = '=_pr';

export type { ComposeAttachment } from './attachments.ts';

/** Addresses as `formatAddress` prints them. */
export interface ComposeInput {
  from: string;
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string;
  html: string | null;
  text: string | null;
  headers: [name: string, value: string][];
  attachments: ComposeAttachment[];
  /** With angle brackets. */
  messageId: string;
  date: Date;
  feedbackId: string | null;
  /**
   * Whether the receiver takes SMTPUTF8; default true. When false, recipients with a non-ASCII local
   * part are shown as text in an empty group (RFC 6857 section 3.1.4) and the message is pure 7-bit.
   */
  mayUseUtf8?: boolean;
}

/** How much has to be written: characters of text, bytes of files. */
export function contentLength({ html, text, attachments }: ComposeInput): number {
  return attachments.reduce(
    (sum, one) => sum + one.content.length,
    (html?.length ?? 0) + (text?.length ?? 0),
  );
}

/** `input` with a text part made of its html, where one can be made. What makes it is loaded with the first such message. */
export async function withTextPart(input: ComposeInput): Promise<ComposeInput> {
  const { textFromHtml } = await import('./text-from-html.ts');
  return { ...input, text: textFromHtml(input.html ?? '') };
}

/** The whole message. Throws an Error that names the field when the input cannot be written. */
export async function compose(input: ComposeInput): Promise<Buffer> {
  const message = await composeAny(input);
  return typeof message === 'string' ? Buffer.from(message, 'latin1') : message;
}

/** The same: as text where it `isReady`, which is most messages and costs much less to search, else as bytes. */
export async function composeAny(input: ComposeInput): Promise<string | Buffer> {
  const header = writeHeader(input);
  const text = input.attachments.length === 0 ? header + plainParts(input) : null;
  if (text !== null && isReady(text)) return text;
  const message = normalizeLines(
    text !== null
      ? Buffer.from(text, 'utf8')
      : Buffer.concat([Buffer.from(header, 'utf8'), await builtParts(input)]),
  );
  if (hasLongLine(message)) {
    throw new Error(`the message has a line of more than ${MAX_LINE_BYTES} bytes`);
  }
  return message;
}

function writeHeader(input: ComposeInput): string {
  const mayUseUtf8 = input.mayUseUtf8 ?? true;
  const mailboxes = (list: string[]): string =>
    list.map((address) => wireMailbox(address, mayUseUtf8)).join(', ');
  if (!/^<[\x21-\x3b=\x3f-\x7e]+@[\x21-\x3b=\x3f-\x7e]+>$/.test(input.messageId)) {
    throw new Error('not a Message-ID');
  }
  // RFC 5322 section 3.6 wants no To at all or a full one; an empty group stands for undisclosed recipients.
  const hasNobody = input.to.length === 0 && input.cc.length === 0;
  const to = hasNobody ? 'undisclosed-recipients:;' : mailboxes(input.to);
  let header = writeField('From', wireMailbox(input.from, true));
  if (to !== '') header += writeField('To', to);
  if (input.cc.length > 0) header += writeField('Cc', mailboxes(input.cc));
  if (input.replyTo.length > 0) header += writeField('Reply-To', mailboxes(input.replyTo));
  const reason = checkCharacters(input.subject, true);
  if (reason !== null) throw new Error(`header Subject ${reason}`);
  header += writeField('Subject', encodeText(input.subject, 'Subject: '.length));
  // RFC 5322 section 3.3: the zone is numeric.
  header += writeField('Date', input.date.toUTCString().replace('GMT', '+0000'));
  header += writeField('Message-ID', input.messageId);
  if (input.feedbackId !== null) header += checkedField('Feedback-ID', input.feedbackId);
  for (const [name, value] of input.headers) {
    header += isSender(name)
      ? writeField('Sender', wireMailbox(value, true))
      : customField(name, value);
  }
  return header;
}

/** The one field of the service that comes among the custom ones: an address, as `formatAddress` prints it. */
function isSender(name: string): boolean {
  return name.toLowerCase() === 'sender';
}

function customField(name: string, value: string): string {
  if (!isHeaderName(name) || isReservedHeader(name)) {
    throw new Error(`not a custom header: ${JSON.stringify(name)}`);
  }
  return checkedField(name, value);
}

function checkedField(name: string, value: string): string {
  const reason = checkHeaderValue(value);
  if (reason !== null) throw new Error(`header ${name} ${reason}`);
  return writeField(name, encodeText(value, name.length + 2));
}

/** One mailbox in wire form. */
function wireMailbox(text: string, mayUseUtf8: boolean): string {
  const mailbox = parseAddress(text);
  if ('error' in mailbox) throw new Error(`address ${JSON.stringify(text)} ${mailbox.error}`);
  const address = addressOf(mailbox);
  if (hasNonAsciiLocal(mailbox) && !mayUseUtf8) {
    const shown = mailbox.name === '' ? address : `${mailbox.name} <${address}>`;
    return `${encodePhrase(shown)} :;`;
  }
  return mailbox.name === '' ? address : `${encodePhrase(mailbox.name)} <${address}>`;
}

/** The MIME fields and the body: everything after our own fields, in ASCII. */
function plainParts(input: ComposeInput): string {
  const { text, html } = normalizedParts(input);
  return writeMime(text, html, `${BOUNDARY_PREFIX}-${boundaryOf(input)}`);
}

function normalizedParts(input: ComposeInput): { text: string | null; html: string | null } {
  return {
    text: input.text === null ? null : normalizeText(input.text),
    html: input.html === null ? null : normalizeText(input.html),
  };
}

/** Not to be guessed from a Message-ID that the sender chose: the Feedback-ID has our HMAC of the email's own id. */
function boundaryOf({ messageId, feedbackId }: ComposeInput): string {
  const hash = createHash('sha256')
    .update(messageId)
    .update(feedbackId ?? '');
  return hash.digest('hex').slice(0, 32);
}

/** The same for a message with attachments, which nodemailer builds; it is loaded with the first of them. */
async function builtParts(input: ComposeInput): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const { text, html } = normalizedParts(input);
  const message = new MailComposer({
    ...(text !== null && { text }),
    ...(html !== null && { html }),
    attachments: mimeAttachments(input.attachments, input.html ?? ''),
    messageId: input.messageId,
    date: input.date,
    boundaryPrefix: BOUNDARY_PREFIX,
    baseBoundary: boundaryOf(input),
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: 'win',
  }).compile();
  const built = await message.build();
  const end = built.indexOf('\r\n\r\n');
  const fields = built.toString('utf8', 0, end).split(/\r\n(?![ \t])/);
  const mime = ['MIME-Version', 'Content-Type', 'Content-Transfer-Encoding'].flatMap((name) =>
    fields.filter((field) => field.startsWith(`${name}:`)),
  );
  return Buffer.concat([Buffer.from(`${mime.join('\r\n')}\r\n`, 'utf8'), built.subarray(end + 2)]);
}

/** Line ends as CRLF; what is not Unicode becomes U+FFFD. */
function normalizeText(text: string): string {
  const wellFormed = text.toWellFormed();
  // Most text has LF alone, for which replaceAll is much faster.
  return wellFormed.includes('\r')
    ? wellFormed.replace(/\r\n|\r|\n/g, '\r\n')
    : wellFormed.replaceAll('\n', '\r\n');
}
