/**
 * Address lists as other software writes them into headers (RFC 5322 section 3.4): groups, comments,
 * encoded words. Only for messages accepted over SMTP; the API takes single mailboxes.
 *
 * The structure is read first and names are decoded afterwards, so that an encoded word cannot add
 * an address. No recursion and no search that begins again; work is linear in the text, which is cut. Never throws: what
 * is not a mailbox is left out and counted.
 */
import { makeAddress, type Mailbox } from './address.ts';
import { decodeCharset, decodeWords } from '../mime/text.ts';
import { readableText } from './headers.ts';

export interface AddressList {
  mailboxes: Mailbox[];
  /** Entries that our grammar does not accept. */
  refused: number;
  /** Whether there was nothing but plain mailboxes: no comment, no group, no raw 8-bit text. */
  isPlain: boolean;
  /** Whether an encoded word hid control characters or direction overrides, which the names here no longer have. */
  isMisleading: boolean;
}

const MAX_TEXT_LENGTH = 200_000;
const MAX_MAILBOXES = 2_000;
/** Characters of a display name that are kept. */
const MAX_NAME_LENGTH = 320;

/** Reads one address field's value, given as Latin-1 text of its bytes. */
export function parseAddressList(value: string): AddressList {
  const text = decodeCharset(Buffer.from(value.slice(0, MAX_TEXT_LENGTH), 'latin1'), 'utf-8');
  const list: AddressList = {
    mailboxes: [],
    refused: 0,
    isPlain: /^[\t\x20-\x7e]*$/.test(text),
    isMisleading: false,
  };
  let entry = '';
  // Known without a search, which would cost the whole entry at each colon.
  let hasAt = false;
  let depth = 0;
  let isQuoted = false;
  let isAngle = false;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at] ?? ',';
    const isEnd = at === text.length;
    if (character === '\\' && (isQuoted || depth > 0) && !isEnd) {
      if (isQuoted) entry += character + (text[at + 1] ?? '');
      at += 1;
    } else if (character === '"' && depth === 0) {
      isQuoted = !isQuoted;
      entry += character;
    } else if (isQuoted && !isEnd) {
      hasAt ||= character === '@';
      entry += character;
    } else if (character === '(' || (character === ')' && depth > 0)) {
      // A comment may hold comments; it counts as a space (RFC 5322 section 3.2.2).
      depth += character === '(' ? 1 : -1;
      list.isPlain = false;
      entry += ' ';
    } else if (depth > 0 && !isEnd) {
      continue;
    } else if (character === ':' && !isAngle && !hasAt) {
      list.isPlain = false;
      entry = '';
    } else if (isEnd || (!isAngle && (character === ',' || character === ';'))) {
      addEntry(list, entry);
      entry = '';
      hasAt = false;
      if (list.mailboxes.length >= MAX_MAILBOXES) return list;
    } else {
      if (character === '<') isAngle = true;
      if (character === '>') isAngle = false;
      hasAt ||= character === '@';
      entry += character;
    }
  }
  return list;
}

function addEntry(list: AddressList, entry: string): void {
  const text = entry.trim();
  if (text === '') return;
  const open = text.endsWith('>') ? text.lastIndexOf('<') : -1;
  // Outside quotation marks a name has no brackets, and "@" there makes some readers see two addresses.
  const { bare, plain, isClosed } = unquote(text.slice(0, Math.max(open, 0)));
  if (!isClosed || /[<>]/.test(bare)) {
    list.refused += 1;
    return;
  }
  if (bare.includes('@')) list.isPlain = false;
  const decoded = decodeWords(Buffer.from(plain, 'utf8').toString('latin1'));
  const name = readableText(decoded);
  if (name !== decoded) list.isMisleading = true;
  const spec = open === -1 ? text : text.slice(open + 1, -1);
  const mailbox = makeAddress(
    spec.trim(),
    name.replaceAll('\t', ' ').trim().slice(0, MAX_NAME_LENGTH),
  );
  if ('error' in mailbox) list.refused += 1;
  else list.mailboxes.push(mailbox);
}

/** A display name in one pass: what stands outside its quotation marks, and all of it without marks and escapes. */
function unquote(text: string): { bare: string; plain: string; isClosed: boolean } {
  let bare = '';
  let plain = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') {
      isQuoted = !isQuoted;
    } else if (character === '\\' && isQuoted) {
      at += 1;
      plain += text[at] ?? '';
    } else {
      if (!isQuoted) bare += character;
      plain += character;
    }
  }
  return { bare, plain: plain.trim(), isClosed: !isQuoted };
}
