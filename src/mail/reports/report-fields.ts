/**
 * The fields of delivery-status and feedback-report parts: groups of header-like lines (RFC 3464 section 2.1).
 *
 * Promises groups of unfolded fields for any text, within limits. Never throws.
 */
import { fieldValue, splitMime } from '../mime/tree.ts';
import type { InboundMessage } from './inbound-message.ts';

/** Groups read of one report: the message's own, and fifty recipients. Ours name one, an alias some more. */
const MAX_GROUPS = 51;
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
      const value = last?.at(-1) ?? '';
      if (last !== null && value.length < MAX_VALUE_LENGTH) {
        last[last.length - 1] = `${value} ${line.trim()}`.trimStart().slice(0, MAX_VALUE_LENGTH);
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

/** `rfc822; a@b` and similar as `a@b`; null for what is not an address (RFC 3464 section 2.1.2). */
export function typedAddress(value: string | undefined): string | null {
  if (value === undefined) return null;
  const address = value
    .replace(/^\s*[\w-]{1,20}\s*;/, '')
    .trim()
    .replace(/^<(.*)>$/, '$1');
  return address.includes('@') && address.length <= 320 && !/\s/.test(address) ? address : null;
}

/** What a report tells about the message it is about. */
export interface OriginalMessage {
  /** With angle brackets. */
  messageId: string | null;
  feedbackId: string | null;
  /** `Return-Path` of the original as the reporter received it, without angle brackets. */
  returnPath: string | null;
}

const NO_ORIGINAL: OriginalMessage = { messageId: null, feedbackId: null, returnPath: null };

/** The original's header from the part that holds it, in whole or only its header (RFC 3462). */
export function readOriginal(message: InboundMessage): OriginalMessage {
  const part = message.part(
    /^(?:message\/(?:rfc822|global|rfc822-headers|global-headers)|text\/rfc822(?:-headers)?)$/,
  );
  return part === undefined ? NO_ORIGINAL : originalIn(message.body(part));
}

/** The same from the bytes of a message or of its header alone. */
export function originalIn(message: Uint8Array): OriginalMessage {
  // Also right for a header alone, which has no empty line at its end.
  const root = splitMime(message, { depth: 0, parts: 1, fields: 300, fieldBytes: 4_000 });
  const value = (name: string): string | null => fieldValue(message, root, name);
  return {
    messageId: /<[^<>\s]{1,500}>/.exec(value('message-id') ?? '')?.[0] ?? null,
    feedbackId: value('feedback-id'),
    returnPath: typedAddress(value('return-path') ?? undefined),
  };
}
