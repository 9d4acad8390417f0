/**
 * The bytes that go out: composed and signed once for all recipients of a message, however many sessions
 * carry them.
 *
 * Promises a signed message or a throw, never an unsigned one, and the same bytes at each attempt. What
 * is in use is held; what is not is kept for its other recipients up to `KEPT_BYTES`. Throws
 * `UncomposableError` for what can never be made; another error counts for this attempt only.
 */
import { isAscii } from 'node:buffer';
import type { ComposeInput } from '../mail/compose.ts';
import { MessageSigner } from '../mail/signing.ts';
import { UncomposableError } from '../mail/signed-message.ts';
import type { Content, Signed } from '../mail/signed-message.ts';
import { writeField } from '../mail/headers.ts';
import { normalizeLines } from '../mail/lines.ts';
import { fieldValue, splitMime } from '../mail/mime-tree.ts';
import { toSevenBit } from '../mail/seven-bit.ts';
import type { Body, Message } from '../store/rows.ts';
import type { NewMessage } from '../store/store.ts';
import type { Context } from './context.ts';
import { feedbackIdOf } from './feedback-id.ts';

/** Ready messages without a user, kept for recipients that come soon. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** Above this much in use, the next message waits until one is released. */
const IN_USE_BYTES = 192 * 1024 * 1024;
/** Bodies of accepted messages kept until their first attempt, so that it need not read the store. */
const FRESH_BODIES = 2_000;
const FRESH_BYTES = 32 * 1024 * 1024;
const KEPT_SIGNERS = 500;

export interface SignedMessage {
  message: Message;
  /** Header and body, DKIM-Signature first. */
  bytes: Buffer;
  /** What DATA transfers of them, where that is at hand (see `Signed`). */
  data: Buffer | null;
  /** The sending domain, whose `send.` name is the return path's domain. */
  domain: string;
  /** The header itself needs SMTPUTF8 (RFC 6532). */
  needsSmtpUtf8: boolean;
  /**
   * The same message for receivers without SMTPUTF8 or 8BITMIME, signed: its parts encoded, and recipients beyond
   * ASCII shown, but not to be answered. Made at each call, since that is rare; null where it is ASCII already, and
   * what it gives is null where the message can not do without.
   */
  inAscii: (() => Promise<Signed | null>) | null;
}

interface Entry {
  ready: Promise<SignedMessage>;
  bytes: number;
  users: number;
  /** Recipients that may still come for it. */
  left: number;
}

export class SignedMessages {
  readonly #ctx: Context;
  readonly #entries = new Map<string, Entry>();
  readonly #fresh = new Map<string, { message: Message; body: Body; bytes: number }>();
  readonly #signers = new Map<string, Promise<{ name: string; signer: MessageSigner }>>();
  #keptBytes = 0;
  #freshBytes = 0;
  #bytesInUse = 0;
  #waiting: (() => void)[] = [];

  constructor(ctx: Context) {
    this.#ctx = ctx;
  }

  /** Remembers the content of a message just accepted, within bounds. */
  offer({ message, body }: NewMessage): void {
    const bytes = bodyBytes(body);
    if (this.#fresh.size >= FRESH_BODIES || this.#freshBytes + bytes > FRESH_BYTES) return;
    this.#fresh.set(message.id, { message, body, bytes });
    this.#freshBytes += bytes;
  }

  /** The signed message; call `release` as often as `acquire`, also when this rejects. */
  async acquire(messageId: string): Promise<SignedMessage> {
    const held = this.#entries.get(messageId);
    if (held !== undefined) {
      if (held.users === 0) this.#keptBytes -= held.bytes;
      held.users += 1;
      return held.ready;
    }
    const entry: Entry = { ready: this.#make(messageId), bytes: 0, users: 1, left: 1 };
    this.#entries.set(messageId, entry);
    const signed = await entry.ready;
    const { to, cc, bcc } = signed.message;
    entry.left += to.length + cc.length + bcc.length - 1;
    entry.bytes = signed.bytes.length;
    this.#bytesInUse += entry.bytes;
    return signed;
  }

  release(messageId: string): void {
    const entry = this.#entries.get(messageId);
    if (entry === undefined) return;
    entry.users -= 1;
    entry.left -= 1;
    if (entry.users > 0) return;
    if (entry.left <= 0 || entry.bytes === 0) {
      this.#entries.delete(messageId);
      this.#bytesInUse -= entry.bytes;
      this.#wakeWaiting();
      return;
    }
    // Last used goes last: the map's order is the order of eviction.
    this.#entries.delete(messageId);
    this.#entries.set(messageId, entry);
    this.#keptBytes += entry.bytes;
    for (const [id, oldest] of this.#entries) {
      if (this.#keptBytes <= KEPT_BYTES) break;
      if (oldest.users > 0) continue;
      this.#entries.delete(id);
      this.#keptBytes -= oldest.bytes;
      this.#bytesInUse -= oldest.bytes;
    }
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    if (this.#waiting.length === 0) return;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #make(messageId: string): Promise<SignedMessage> {
    while (this.#bytesInUse - this.#keptBytes > IN_USE_BYTES) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const content = this.#takeFresh(messageId) ?? (await this.#read(messageId));
    const { message, body } = content;
    if (message.domainId === null) throw new UncomposableError('it has no sending domain');
    const { name, signer } = await this.#signer(message.domainId);
    const made = this.#content(message, body);
    const { message: bytes, data } = await signer.sign(made);
    const isPlain = data !== null || isAscii(bytes);
    const needsSmtpUtf8 = !isPlain && hasNonAsciiHeader(bytes);
    const inAscii = isPlain ? null : () => signInAscii(signer, made);
    return { message, bytes, data, domain: name, needsSmtpUtf8, inAscii };
  }

  #takeFresh(messageId: string): { message: Message; body: Body } | null {
    const fresh = this.#fresh.get(messageId);
    if (fresh === undefined) return null;
    this.#fresh.delete(messageId);
    this.#freshBytes -= fresh.bytes;
    return fresh;
  }

  async #read(messageId: string): Promise<{ message: Message; body: Body }> {
    const content = await this.#ctx.store.messageForDelivery(messageId);
    if (content === null) throw new UncomposableError('its content is gone');
    return content;
  }

  #content(message: Message, body: Body): Content {
    if (body.raw !== null) {
      return { kind: 'whole', bytes: this.#submitted(message, Buffer.from(body.raw)) };
    }
    const input: ComposeInput = {
      from: message.from,
      to: message.to,
      cc: message.cc,
      replyTo: message.replyTo,
      subject: message.subject,
      html: body.html,
      text: body.text,
      headers: body.headers,
      attachments: body.attachments,
      messageId: message.messageId,
      date: new Date(message.createdAt),
      feedbackId: feedbackIdOf(this.#ctx, message),
    };
    return { kind: 'parts', input };
  }

  /** Sound MIME is left alone; a Feedback-ID stands in front unless the sender brought one. */
  #submitted(message: Message, raw: Buffer): Buffer {
    const bytes = normalizeLines(raw);
    if (fieldValue(bytes, splitMime(bytes), 'feedback-id') !== null) return bytes;
    return Buffer.concat([
      Buffer.from(writeField('Feedback-ID', feedbackIdOf(this.#ctx, message)), 'latin1'),
      bytes,
    ]);
  }

  /** Deleted domains too: what was accepted before is still signed with their key. */
  #signer(domainId: string): Promise<{ name: string; signer: MessageSigner }> {
    const known = this.#signers.get(domainId);
    if (known !== undefined) return known;
    if (this.#signers.size >= KEPT_SIGNERS) this.#signers.clear();
    const made = this.#makeSigner(domainId);
    this.#signers.set(domainId, made);
    made.catch(() => this.#signers.delete(domainId));
    return made;
  }

  async #makeSigner(domainId: string): Promise<{ name: string; signer: MessageSigner }> {
    const domain = await this.#ctx.store.domainForSigning(domainId);
    if (domain === null) throw new Error('the sending domain is gone');
    const privateKeyPem = this.#ctx.secrets.open(domain.sealedDkimKey, `dkim:${domain.id}`);
    const signer = new MessageSigner({
      domain: domain.name,
      selector: domain.selector,
      privateKeyPem,
    });
    return { name: domain.name, signer };
  }
}

function bodyBytes(body: Body): number {
  let bytes = (body.html?.length ?? 0) + (body.text?.length ?? 0) + (body.raw?.length ?? 0);
  for (const attachment of body.attachments) bytes += attachment.content.length;
  return bytes;
}

async function signInAscii(signer: MessageSigner, made: Content): Promise<Signed | null> {
  if (made.kind === 'whole') {
    const { buffer, byteOffset, byteLength } = made.bytes;
    const bytes = toSevenBit(Buffer.from(buffer, byteOffset, byteLength));
    return bytes === null ? null : signer.sign({ kind: 'whole', bytes });
  }
  const input = { ...made.input, mayUseUtf8: false };
  const signed = await signer.sign({ kind: 'parts', input });
  return hasNonAsciiHeader(signed.message) ? null : signed;
}

function hasNonAsciiHeader(bytes: Buffer): boolean {
  const end = bytes.indexOf('\r\n\r\n');
  return !isAscii(end < 0 ? bytes : bytes.subarray(0, end));
}
