/**
 * From the JSON of one email to a draft that flow/accept can decide about.
 *
 * Promises every fault of the email at once, each with its path, of any kind: shape, address, header, tag or
 * attachment. Nothing a caller wrote reaches a header without its check. Never reads the store.
 */
import type { Static } from '@sinclair/typebox';
import type { Draft } from '../../flow/draft.ts';
import { addressOf, type Mailbox } from '../../mail/header/address.ts';
import { checkCharacters } from '../../mail/header/headers.ts';
import type { Tag } from '../../store/rows.ts';
import { isRecord, joinPath, shown } from '../../base/json.ts';
import { readAddress, readAddresses, tidyAddresses } from './addresses.ts';
import {
  readAttachments,
  tidyAttachments,
  type LinkedAttachment,
  type ListedBytes,
} from './attachments.ts';
import { hasFault, Shape, withoutNulls, type Fault } from './check.ts';
import {
  FullEmail,
  LONGEST_LISTS,
  PluralEmail,
  REFUSED,
  SingularEmail,
  TAG_WORDS,
} from './email-fields.ts';
import { joinReplyTo, readHeaders, type HeadersRead } from './email-headers.ts';

/** Which fields an email may have: `full` all, `plural` those of `POST /emails`, `singular` those of `/email/send`. */
export type EmailKind = 'singular' | 'plural' | 'full';

export interface EmailRules {
  kind: EmailKind;
  /** Path of the email in the body: empty, or `[3]` in a batch. */
  at: string;
  mayLink: boolean;
  /** Whether html or text is required (docs/contract.md C4.1; not in a batch, C5.2). */
  needsContent: boolean;
  /** Most faults to look for: what the request's budget has left. */
  mostFaults?: number;
}

/** A draft, and its attachments that must still be fetched. */
export interface EmailRead {
  draft: Draft;
  links: LinkedAttachment[];
}

const SHAPES = {
  singular: new Shape(SingularEmail),
  plural: new Shape(PluralEmail),
  full: new Shape(FullEmail),
};

const ADDRESS_FIELDS = ['from', 'to', 'cc', 'bcc', 'reply_to', 'replyTo'] as const;
/** Absent when empty (docs/contract.md C7.11): libraries write "" or [] for what was not set. */
const MAY_BE_EMPTY = ['cc', 'bcc', 'reply_to', 'replyTo'] as const;
const CONTENT_FIELDS = ['html', 'text'] as const;

/** The draft of one email, or its faults when it has any. */
export function readEmail(value: unknown, rules: EmailRules): EmailRead | Fault[] {
  const faults: Fault[] = [];
  const listed: ListedBytes = new Map();
  const fields = knownFields(value, rules, faults, listed);
  faults.push(...SHAPES[rules.kind].faults(fields, rules.at, rules.mostFaults));
  if (!isRecord(fields)) return faults;
  // Fields that the shape refused are not checked again; the others are, so that all faults are reported at once.
  const email = pick(fields, faults, rules.at) as Partial<Static<typeof FullEmail>>;
  const at = (field: string): string => joinPath(rules.at, field);

  const from = email.from === undefined ? null : readAddress(email.from, at('from'), faults);
  const links: LinkedAttachment[] = [];
  const addresses = (list: typeof email.to, path: string): Mailbox[] =>
    readAddresses(list, path, faults, rules.mostFaults);
  const to = addresses(email.to, at('to'));
  if (Array.isArray(email.to) && email.to.length === 0) {
    faults.push(fault(at('to'), 'must have at least one recipient'));
  }
  const reply = email.reply_to ?? email.replyTo;
  if (email.reply_to !== undefined && email.replyTo !== undefined) {
    faults.push(fault(at('replyTo'), 'and reply_to are the same field; send only one of them'));
  }
  if (email.subject !== undefined) {
    addFault(faults, at('subject'), checkCharacters(email.subject));
  }
  for (const field of CONTENT_FIELDS) {
    if (email[field]?.includes('\0') === true)
      faults.push(fault(at(field), 'must not contain NUL characters'));
  }
  const lacking = contentFault(value, fields, rules);
  if (lacking !== null) faults.push(lacking);
  const headers = readHeaders(email.headers ?? {}, at('headers'), faults);
  const replyPath = at(email.reply_to === undefined ? 'replyTo' : 'reply_to');
  const draft: Omit<Draft, 'from'> = {
    to,
    cc: addresses(email.cc, at('cc')),
    bcc: addresses(email.bcc, at('bcc')),
    replyTo: oneReplyTo(addresses(reply, replyPath), replyPath, headers, faults),
    subject: email.subject ?? '',
    html: email.html ?? null,
    text: email.text ?? null,
    headers: headers.headers,
    attachments: readAttachments(
      email.attachments ?? [],
      { path: at('attachments'), mayLink: rules.mayLink, links, listed },
      faults,
    ),
    tags: readTags(email.tags ?? [], at('tags'), faults),
    raw: null,
    ...(headers.messageId !== undefined && { messageId: headers.messageId }),
  };
  if (faults.length > 0 || from === null) return faults;
  const sender = senderBeside(from, headers);
  return { draft: { ...draft, from, ...(sender !== null && { sender }) }, links };
}

/** The fields without nulls, without empty values that count as absent, and without those refused by name. */
function knownFields(
  value: unknown,
  { kind, at }: EmailRules,
  faults: Fault[],
  listed: ListedBytes,
): unknown {
  const given = withoutNulls(value ?? {});
  if (!isRecord(given)) return given;
  const fields = { ...given };
  for (const [field, words] of REFUSED[kind]) {
    if (fields[field] === undefined) continue;
    if (!isEmpty(fields[field])) faults.push(fault(joinPath(at, field), words));
    delete fields[field];
  }
  for (const field of MAY_BE_EMPTY) if (isEmpty(fields[field])) delete fields[field];
  // By its length first: nobody looks at what stands in a list that is refused.
  for (const [field, most] of LONGEST_LISTS) {
    const list = fields[field];
    if (!Array.isArray(list) || list.length <= most) continue;
    faults.push(fault(joinPath(at, field), `must have at most ${most} items`));
    fields[field] = [];
  }
  if (Array.isArray(fields['tags'])) fields['tags'] = fields['tags'].map(tagOfPair);
  // PHP writes an empty map so.
  if (Array.isArray(fields['headers']) && isEmpty(fields['headers'])) delete fields['headers'];
  for (const field of CONTENT_FIELDS) if (fields[field] === '') delete fields[field];
  for (const field of ADDRESS_FIELDS) {
    // Most addresses are text, which has no nulls to remove.
    if (typeof fields[field] === 'object') fields[field] = tidyAddresses(fields[field]);
  }
  if (fields['attachments'] !== undefined) {
    fields['attachments'] = tidyAttachments(fields['attachments'], listed);
  }
  return fields;
}

/** The fields that can be read. A list stays even if one item is invalid, so that the other items are checked. */
function pick(
  fields: Record<string, unknown>,
  faults: readonly Fault[],
  at: string,
): Record<string, unknown> {
  if (faults.length === 0) return fields;
  const isReadable = ([field, value]: [string, unknown]): boolean => {
    const path = joinPath(at, shown(field));
    if (field !== 'tags' && Array.isArray(value)) return !faults.some((one) => one.path === path);
    return !hasFault(faults, path);
  };
  return Object.fromEntries(Object.entries(fields).filter(isReadable));
}

/** A fault where no content is left and it is required, or where an empty html or text was all there was. */
function contentFault(value: unknown, fields: object, rules: EmailRules): Fault | null {
  if (CONTENT_FIELDS.some((field) => Object.hasOwn(fields, field))) return null;
  const empty = CONTENT_FIELDS.filter((field) => isRecord(value) && value[field] === '');
  const [first] = empty;
  if (first !== undefined) {
    const words = empty.length > 1 ? 'and text must not both be empty' : 'must not be empty';
    return fault(joinPath(rules.at, first), words);
  }
  if (!rules.needsContent) return null;
  const path = joinPath(rules.at, 'html');
  return { path, message: 'Missing `html` or `text` field.', isMissing: true };
}

/** Reply addresses of the field or of a Reply-To header; a fault where the two differ. */
function oneReplyTo(
  field: Mailbox[],
  path: string,
  { replyTo: header }: HeadersRead,
  faults: Fault[],
): Mailbox[] {
  if (header === null) return field;
  if (field.length === 0) return header.mailboxes;
  const joined = joinReplyTo(field, header.mailboxes);
  if (joined === null) faults.push(fault(header.path, `and ${path} differ; send only one of them`));
  return joined ?? field;
}

/** The Sender to write: none where it says what From says (RFC 5322 section 3.6.2). */
function senderBeside(from: Mailbox, { sender }: HeadersRead): Mailbox | null {
  return sender === undefined || addressOf(sender) === addressOf(from) ? null : sender;
}

function readTags(tags: Tag[] | Record<string, unknown>, at: string, faults: Fault[]): Tag[] {
  const isList = Array.isArray(tags);
  // The shape has checked values, and the names of a list.
  const pairs = isList
    ? tags
    : Object.entries(tags).map(([name, value]) => ({ name, value: String(value) }));
  for (const [index, { name }] of pairs.entries()) {
    // As a key of an object `__proto__` is refused in every body, and tags are shown as objects too.
    if (/^[A-Za-z0-9_-]{1,256}$/.test(name) && name !== '__proto__') continue;
    const path = isList ? `${at}[${index}].name` : joinPath(at, shown(name));
    const what = isList ? '' : 'must have a name that ';
    faults.push(fault(path, `${what}${TAG_WORDS}, other than __proto__`));
  }
  return pairs;
}

/** `{"X-Tag": "welcome"}`, as Symfony writes a tag, as name and value; anything else as it is. */
function tagOfPair(item: unknown): unknown {
  if (!isRecord(item)) return item;
  const [[name, value] = [], ...more] = Object.entries(item);
  const isPair = more.length === 0 && name !== undefined && name !== 'name' && name !== 'value';
  return isPair ? { name, value } : item;
}

/** "", [] and {}. */
function isEmpty(value: unknown): boolean {
  if (value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function fault(path: string, words: string): Fault {
  return { path, message: `${path} ${words}.`, isMissing: false };
}

function addFault(faults: Fault[], path: string, words: string | null): void {
  if (words !== null) faults.push(fault(path, words));
}
