/**
 * From the JSON of one email to a draft that `accept` can decide about.
 *
 * Promises every fault of the email at once, each at its path, whatever its kind: shape, address, header,
 * tag or attachment. Nothing a caller wrote reaches a header without its check. Never asks the store.
 */
import type { Static } from '@sinclair/typebox';
import type { Draft } from '../../flow/draft.ts';
import {
  checkCharacters,
  checkHeaderValue,
  isHeaderName,
  isPrototypeName,
  isReservedHeader,
} from '../../mail/headers.ts';
import type { Tag } from '../../store/rows.ts';
import { joinPath, shown } from '../json.ts';
import { readAddress, readAddresses, tidyAddresses } from './addresses.ts';
import { readAttachments, tidyAttachments, type LinkedAttachment } from './attachments.ts';
import { hasFault, Shape, withoutNulls, type Fault } from './check.ts';
import { FullEmail, PluralEmail, REFUSED, SingularEmail } from './email-fields.ts';

/** Which fields an email may have: `full` everything, `plural` what `POST /emails` takes, `singular` the older family. */
export type EmailKind = 'singular' | 'plural' | 'full';

export interface EmailRules {
  kind: EmailKind;
  /** Path of the email in the body: empty, or `[3]` in a batch. */
  at: string;
  mayLink: boolean;
  /** Whether html or text must be there (interface: not in a batch). */
  needsContent: boolean;
}

/** A draft, and its attachments that are still to be fetched. */
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

/** Reads one email. Returns the faults instead when it has any. */
export function readEmail(value: unknown, rules: EmailRules): EmailRead | Fault[] {
  const faults: Fault[] = [];
  const fields = knownFields(value, rules, faults);
  const shapeFaults = SHAPES[rules.kind].faults(fields, rules.at);
  faults.push(...shapeFaults);
  if (!isRecord(fields)) return faults;
  // What the shape refused is not looked at again; the other fields are, so that all faults show at once.
  const email = pick(fields, shapeFaults, rules.at) as Partial<Static<typeof FullEmail>>;
  const at = (field: string): string => joinPath(rules.at, field);

  const from = email.from === undefined ? null : readAddress(email.from, at('from'), faults);
  const links: LinkedAttachment[] = [];
  const to = readAddresses(email.to, at('to'), faults);
  if (Array.isArray(email.to) && email.to.length === 0) {
    faults.push(fault(at('to'), 'must name at least one recipient'));
  }
  const reply = email.reply_to ?? email.replyTo;
  if (email.reply_to !== undefined && email.replyTo !== undefined) {
    faults.push(fault(at('replyTo'), 'and reply_to are the same field; send one of them'));
  }
  if (email.subject !== undefined) {
    addFault(faults, at('subject'), checkCharacters(email.subject));
  }
  for (const field of ['html', 'text'] as const) {
    if (email[field]?.includes('\0') === true)
      faults.push(fault(at(field), 'must not contain NUL'));
  }
  if (rules.needsContent && fields['html'] === undefined && fields['text'] === undefined) {
    const path = at('html');
    faults.push({ path, message: 'Missing `html` or `text` field.', isMissing: true });
  }
  const draft: Omit<Draft, 'from'> = {
    to,
    cc: readAddresses(email.cc, at('cc'), faults),
    bcc: readAddresses(email.bcc, at('bcc'), faults),
    replyTo: readAddresses(
      reply,
      at(email.reply_to === undefined ? 'replyTo' : 'reply_to'),
      faults,
    ),
    subject: email.subject ?? '',
    html: email.html ?? null,
    text: email.text ?? null,
    headers: readHeaders(email.headers ?? {}, at('headers'), faults),
    attachments: readAttachments(
      email.attachments ?? [],
      { path: at('attachments'), mayLink: rules.mayLink, links },
      faults,
    ),
    tags: readTags(email.tags ?? [], at('tags'), faults),
    raw: null,
  };
  if (faults.length > 0 || from === null) return faults;
  return { draft: { ...draft, from }, links };
}

/** The fields without nulls and without those refused by name; empty lists of the refused are nothing. */
function knownFields(value: unknown, { kind, at }: EmailRules, faults: Fault[]): unknown {
  const given = withoutNulls(value ?? {});
  if (!isRecord(given)) return given;
  const fields = { ...given };
  for (const [field, words] of Object.entries(REFUSED[kind])) {
    if (fields[field] === undefined) continue;
    const isEmpty = Array.isArray(fields[field]) && fields[field].length === 0;
    if (!isEmpty) faults.push(fault(joinPath(at, field), words));
    delete fields[field];
  }
  for (const field of ADDRESS_FIELDS) {
    // What most addresses are, text, has no members.
    if (typeof fields[field] === 'object') fields[field] = tidyAddresses(fields[field]);
  }
  if (fields['attachments'] !== undefined) {
    fields['attachments'] = tidyAttachments(fields['attachments']);
  }
  return fields;
}

/** The fields that can be read: lists stay although an item is broken, the other items have a say. */
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

function readHeaders(
  headers: Readonly<Record<string, unknown>>,
  at: string,
  faults: Fault[],
): [name: string, value: string][] {
  return Object.entries(headers).map(([name, value]) => {
    const path = joinPath(at, shown(name));
    const text = String(value);
    if (!isHeaderName(name)) faults.push(fault(path, 'is not a valid header name'));
    else if (isReservedHeader(name)) faults.push(fault(path, 'is written by the service itself'));
    else addFault(faults, path, checkHeaderValue(text));
    return [name, text];
  });
}

function readTags(tags: Tag[] | Record<string, unknown>, at: string, faults: Fault[]): Tag[] {
  if (Array.isArray(tags)) return tags;
  return Object.entries(tags).map(([name, value]) => {
    // Values have passed the shape; names of an object are not part of it.
    if (!/^[A-Za-z0-9_-]{1,256}$/.test(name) || isPrototypeName(name)) {
      faults.push(
        fault(
          joinPath(at, shown(name)),
          'must have a name of 1 to 256 letters, digits, underscores and hyphens',
        ),
      );
    }
    return { name, value: String(value) };
  });
}

function fault(path: string, words: string): Fault {
  return { path, message: `${path} ${words}.`, isMissing: false };
}

function addFault(faults: Fault[], path: string, words: string | null): void {
  if (words !== null) faults.push(fault(path, words));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
