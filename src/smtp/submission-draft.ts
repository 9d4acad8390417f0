/**
 * Turns a submitted message and its envelope into a draft for flow/accept.
 *
 * The envelope decides who gets the message; the header only decides how a recipient is listed: To, Cc or, when it is
 * in neither, Bcc. Reads tags and the idempotency key from header fields. Throws `ApiError` for what the API refuses
 * too. The content stays in `raw`; flow/content reads its parts, attachments too, when somebody asks for them.
 */
import { createHash } from 'node:crypto';
import { validationFailed, type Issue } from '../base/errors.ts';
import type { Draft } from '../flow/draft.ts';
import { addressOf, type Mailbox } from '../mail/header/address.ts';
import type { Submission } from '../mail/compose/repair.ts';

/** docs/decisions.md D17: names and values of tags. */
const TAG = /^[A-Za-z0-9_-]{1,256}$/;
const MAX_TAGS = 50;
const MAX_KEY_LENGTH = 256;

/** The draft. `id`: of the message to be. `envelope`: the recipients of RCPT TO. Throws `validation_failed`. */
export function draftOf(id: string, submission: Submission, envelope: readonly Mailbox[]): Draft {
  const { from, replyTo, subject, messageId, tags, sender, wantsUnsubscribe, bytes } = submission;
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
  const listed: Record<'to' | 'cc' | 'bcc', Mailbox[]> = { to: [], cc: [], bcc: [] };
  for (const recipient of envelope) {
    const key = addressOf(recipient).toLowerCase();
    const name = written.get(key)?.name ?? '';
    listed[named.get(key) ?? 'bcc'].push({ ...recipient, name });
  }
  return {
    id,
    from,
    ...listed,
    replyTo,
    subject,
    html: null,
    text: null,
    headers: [],
    attachments: [],
    tags,
    raw: bytes,
    messageId,
    ...(sender !== null && { sender }),
    attachmentBytes: submission.attachmentBytes,
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
 * Hash of what makes two submissions the same: envelope, visible header fields, and the leaves of the MIME tree.
 */
export function contentHash(submission: Submission, envelope: readonly Mailbox[]): string {
  const { from, to, cc, replyTo, subject, tags, contentDigest } = submission;
  const hash = createHash('sha256');
  const recipients = envelope.map((mailbox) => addressOf(mailbox).toLowerCase()).sort();
  hash.update(JSON.stringify([from, to, cc, replyTo, subject, tags, recipients, contentDigest]));
  return hash.digest('base64');
}

function checkTags(tags: Submission['tags']): void {
  const issues: Issue[] = [];
  if (tags.length > MAX_TAGS) {
    issues.push({ path: 'tags', message: `At most ${MAX_TAGS} X-Tag- header fields are allowed.` });
  }
  for (const { name, value } of tags) {
    if (TAG.test(name) && TAG.test(value) && name !== '__proto__') continue;
    const path = `X-Tag-${name}`;
    const message = `${path}: the name and the value of a tag must have 1 to 256 letters, digits, "_" or "-", and the name may not be __proto__.`;
    issues.push({ path, message });
  }
  if (issues.length > 0) throw validationFailed(issues);
}
