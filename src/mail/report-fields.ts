/**
 * The fields of delivery-status and feedback-report parts: groups of header-like lines (RFC 3464 section 2.1).
 *
 * Promises groups of unfolded fields for any text, within limits. Never throws.
 */
import { decodeBody, decodeText } from './mime-text.ts';
import { fieldValue, partsOf, splitMime, type MimePart } from './mime-tree.ts';

/** Groups read of one report; more recipients than a message of ours can have. */
const MAX_GROUPS = 500;
/** Fields read of one group. */
const MAX_FIELDS = 100;
/** Characters of one field's value. */
const MAX_VALUE_LENGTH = 4_000;

/** Fields by lower-case name, values in order. */
export type FieldGroup = Map<string, string[]>;

/** Splits text into groups at empty lines. */
export function fieldGroups(text: string): FieldGroup[] {
  const groups: FieldGroup[] = [];
  let group: FieldGroup = new Map();
  let count = 0;
  let last: string[] | null = null;
  for (const raw of text.split('\n')) {
    const line = raw.trimEnd();
    if (line === '') {
      if (group.size > 0) groups.push(group);
      if (groups.length >= MAX_GROUPS) return groups;
      group = new Map();
      count = 0;
      last = null;
    } else if (/^[ \t]/.test(line)) {
      // A folded value: the white space is part of it (RFC 5322 section 2.2.3).
      const place = (last?.length ?? 0) - 1;
      if (last !== null && (last[place]?.length ?? 0) < MAX_VALUE_LENGTH) {
        last[place] = `${last[place]} ${line.trim()}`.slice(0, MAX_VALUE_LENGTH);
      }
    } else {
      last = null;
      const match = /^([A-Za-z][\w-]{0,99})[ \t]*:(.*)$/.exec(line);
      if (match === null || count >= MAX_FIELDS) continue;
      const name = (match[1] ?? '').toLowerCase();
      last = group.get(name) ?? [];
      last.push((match[2] ?? '').trim().slice(0, MAX_VALUE_LENGTH));
      group.set(name, last);
      count += 1;
    }
  }
  if (group.size > 0) groups.push(group);
  return groups;
}

/** `rfc822; a@b` and its kin as `a@b`; null for what is no address (RFC 3464 section 2.1.2). */
export function typedAddress(value: string | undefined): string | null {
  if (value === undefined) return null;
  const address = value
    .replace(/^\s*[\w-]{1,20}\s*;/, '')
    .trim()
    .replace(/^<(.*)>$/, '$1');
  return address.includes('@') && address.length <= 320 && !/\s/.test(address) ? address : null;
}

/** What a report says about the message it speaks of. */
export interface OriginalMessage {
  /** With angle brackets. */
  messageId: string | null;
  feedbackId: string | null;
  /** `Return-Path` of the original as the reporter got it, without angle brackets. */
  returnPath: string | null;
}

const NO_ORIGINAL: OriginalMessage = { messageId: null, feedbackId: null, returnPath: null };

/** The original's header from the part that holds it, in whole or only its header (RFC 3462). */
export function readOriginal(bytes: Uint8Array, parts: MimePart[]): OriginalMessage {
  const part = parts.find(({ contentType }) =>
    /^(?:message\/(?:rfc822|global|rfc822-headers|global-headers)|text\/rfc822(?:-headers)?)$/.test(
      contentType,
    ),
  );
  return part === undefined ? NO_ORIGINAL : originalIn(decodeBody(bytes, part));
}

/** The same from the bytes of a message or of its header alone. */
export function originalIn(message: Uint8Array): OriginalMessage {
  // A header alone has no empty line; one more at its end does no harm.
  const root = splitMime(message, { depth: 0, parts: 1, fields: 300, fieldBytes: 4_000 });
  const value = (name: string): string | null => fieldValue(message, root, name);
  return {
    messageId: /<[^<>\s]{1,500}>/.exec(value('message-id') ?? '')?.[0] ?? null,
    feedbackId: value('feedback-id'),
    returnPath: typedAddress(value('return-path') ?? undefined),
  };
}

/** Every return path of ours that is named anywhere in the text: `b-<id>-<tag>@…`. At most 20. */
export function returnPathsIn(text: string): string[] {
  const found = new Set<string>();
  for (const match of text.matchAll(/\bb-[0-9a-f]{32}-[0-9a-f]{16}@[a-z0-9.-]{1,253}/gi)) {
    found.add(match[0].toLowerCase());
    if (found.size >= 20) break;
  }
  return [...found];
}

/** The text a person would read first: the first text part, HTML stripped of its tags when there is no plain one. */
export function readableText(bytes: Uint8Array, root: MimePart): string {
  const parts = partsOf(root).filter((part) => part.children.length === 0);
  const plain = parts.find(({ contentType }) => contentType === 'text/plain');
  if (plain !== undefined) return decodeText(bytes, plain);
  const html = parts.find(({ contentType }) => contentType === 'text/html');
  if (html === undefined) return '';
  return decodeText(bytes, html)
    .replace(/<(?:br|p|div|tr|li|\/p|\/div|\/tr)\b[^<>]{0,1000}>/gi, '\n')
    .replace(/<[^<>@]{0,1000}>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&');
}
