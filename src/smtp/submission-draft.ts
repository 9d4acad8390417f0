/**
 * From a submitted message and its envelope to a draft for acceptance.
 *
 * The envelope decides who gets it; the header only says where a recipient is shown: To, Cc or, when it
 * stands in neither, Bcc. Reads tags and the idempotency key out of header fields. Throws ApiError for
 * what the API would refuse too.
 */
import { createHash } from 'node:crypto';
import { validationFailed, type Issue } from '../base/errors.ts';
import type { Draft } from '../flow/draft.ts';
import { addressOf, type Mailbox } from '../mail/address.ts';
import { partsOf, splitMime } from '../mail/mime-tree.ts';
import type { Submission } from '../mail/repair.ts';

/** Decisions, Sending: names and values of tags. */
const TAG = /^[A-Za-z0-9_-]{1,256}$/;
const MAX_TAGS = 50;
const MAX_KEY_LENGTH = 256;

/** `envelope`: the recipients of RCPT TO. `id`: what the message will be called. Throws `validation_failed`. */
export function draftOf(id: string, submission: Submission, envelope: readonly Mailbox[]): Draft {
  const { from, replyTo, subject, messageId, tags, wantsUnsubscribe, bytes } = submission;
  checkTags(tags);
  const named = new Map<string, 'to' | 'cc'>();
  const written = new Map<string, Mailbox>();
  for (const kind of ['to', 'cc'] as const) {
    for (const mailbox of submission[kind]) {
      const key = addressOf(mailbox).toLowerCase();
      if (!named.has(key)) named.set(key, kind);
      if (!written.has(key)) written.set(key, mailbox);
    }
  }
  const places: Record<'to' | 'cc' | 'bcc', Mailbox[]> = { to: [], cc: [], bcc: [] };
  for (const recipient of envelope) {
    const key = addressOf(recipient).toLowerCase();
    const name = written.get(key)?.name ?? '';
    places[named.get(key) ?? 'bcc'].push({ ...recipient, name });
  }
  return {
    id,
    from,
    ...places,
    replyTo,
    subject,
    html: null,
    text: null,
    headers: [],
    attachments: [],
    tags,
    raw: bytes,
    messageId,
    wantsUnsubscribe,
  };
}

/** The idempotency key, or null. Throws `validation_failed`, as the API does for its header. */
export function idempotencyKey({ idempotencyKey: key }: Submission): string | null {
  if (key === null) return null;
  if (key.length > 0 && key.length <= MAX_KEY_LENGTH) return key;
  const message = `Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters.`;
  throw validationFailed([{ path: 'Idempotency-Key', message }], {
    name: 'invalid_idempotency_key',
    status: 400,
  });
}

/**
 * What makes two submissions the same: envelope, what a reader sees, and the leaves of the MIME tree. Date,
 * Message-ID and boundaries are left out, since a program that tries again makes new ones.
 */
export function contentHash(submission: Submission, envelope: readonly Mailbox[]): string {
  const { from, to, cc, replyTo, subject, tags, bytes } = submission;
  const hash = createHash('sha256');
  const recipients = envelope.map((mailbox) => addressOf(mailbox).toLowerCase()).sort();
  hash.update(JSON.stringify([from, to, cc, replyTo, subject, tags, recipients]));
  for (const part of partsOf(splitMime(bytes))) {
    if (part.children.length > 0) continue;
    hash.update(`\0${part.contentType}\0`).update(bytes.subarray(part.bodyStart, part.bodyEnd));
  }
  return hash.digest('base64');
}

function checkTags(tags: Submission['tags']): void {
  const issues: Issue[] = [];
  if (tags.length > MAX_TAGS) {
    issues.push({ path: 'tags', message: `There may be ${MAX_TAGS} X-Tag- headers.` });
  }
  for (const { name, value } of tags) {
    if (TAG.test(name) && TAG.test(value)) continue;
    const path = `X-Tag-${name}`;
    const message = `${path}: a tag's name and value have 1 to 256 letters, digits, "_" or "-".`;
    issues.push({ path, message });
  }
  if (issues.length > 0) throw validationFailed(issues);
}
