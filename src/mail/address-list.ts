/**
 * Address lists as other software writes them into headers (RFC 5322 section 3.4): groups, comments,
 * encoded words. Only for messages taken over SMTP; the API takes single mailboxes.
 *
 * The structure is read first and names are decoded afterwards, so that an encoded word can not bring
 * in an address. No recursion; linear in the text, which is cut. Never throws: what is no mailbox is
 * left out and counted.
 */
import { makeAddress, type Mailbox } from './address.ts';
import { decodeCharset, decodeWords } from './mime-text.ts';

export interface AddressList {
  mailboxes: Mailbox[];
  /** Entries that our grammar does not take. */
  refused: number;
  /** Whether anything but plain mailboxes was there: a comment, a group, raw 8-bit text. */
  isPlain: boolean;
}

const MAX_TEXT_LENGTH = 200_000;
const MAX_MAILBOXES = 2_000;

/** Reads one address field's value, given as Latin-1 text of its bytes. */
export function parseAddressList(value: string): AddressList {
  const text = decodeCharset(Buffer.from(value.slice(0, MAX_TEXT_LENGTH), 'latin1'), 'utf-8');
  const list: AddressList = { mailboxes: [], refused: 0, isPlain: /^[\t\x20-\x7e]*$/.test(text) };
  let entry = '';
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
      entry += character;
    } else if (character === '(' || (character === ')' && depth > 0)) {
      // A comment may hold comments; it counts as a space (RFC 5322 section 3.2.2).
      depth += character === '(' ? 1 : -1;
      list.isPlain = false;
      entry += ' ';
    } else if (depth > 0 && !isEnd) {
      continue;
    } else if (character === ':' && !isAngle && !entry.includes('@')) {
      list.isPlain = false;
      entry = '';
    } else if (isEnd || (!isAngle && (character === ',' || character === ';'))) {
      addEntry(list, entry);
      entry = '';
      if (list.mailboxes.length >= MAX_MAILBOXES) return list;
    } else {
      if (character === '<') isAngle = true;
      if (character === '>') isAngle = false;
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
  const bare = text.slice(0, Math.max(open, 0)).replace(/"(?:[^"\\]|\\.)*"/g, '');
  if (/[<>"]/.test(bare)) {
    list.refused += 1;
    return;
  }
  if (bare.includes('@')) list.isPlain = false;
  const spec = open === -1 ? text : text.slice(open + 1, -1);
  const mailbox = makeAddress(spec.trim(), open === -1 ? '' : decodeName(text.slice(0, open)));
  if ('error' in mailbox) list.refused += 1;
  else list.mailboxes.push(mailbox);
}

/** A display name without its quotation marks, its encoded words decoded, control characters gone. */
function decodeName(text: string): string {
  const plain = text
    .trim()
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_, inner: string) => inner.replace(/\\(.)/g, '$1'));
  const bytes = Buffer.from(plain, 'utf8').toString('latin1');
  return decodeWords(bytes)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 320);
}
