/**
 * The bytes that go out: composed and signed once for all recipients of a message, however many sessions carry them.
 *
 * Promises a signed message or a throw, never an unsigned one, and the same bytes at each attempt (but for a text part
 * made of html, which needs the signing thread). Messages in use stay in memory; those not in use are kept for their
 * other recipients up to `KEPT_BYTES`. Throws `UncomposableError` for a message that can never be composed; any other
 * error concerns this attempt only.
 */
import { isAscii } from 'node:buffer';
import { PassingMap } from '../../base/passing-map.ts';
import { LARGE_FROM } from '../../mail/dkim/signing.ts';
import type { MessageSigner } from '../../mail/dkim/signing.ts';
import { UncomposableError } from '../../mail/dkim/signed-message.ts';
import type { Content, Signed } from '../../mail/dkim/signed-message.ts';
import { writeField } from '../../mail/header/headers.ts';
import type { Body, Message } from '../../store/rows.ts';
import type { ForDelivery, NewMessage } from '../../store/journey.ts';
import { OutgoingMessage } from '../../wire/smtp/body.ts';
import { bodyBytes } from '../body-bytes.ts';
import { ALONE_FROM } from '../byte-budget.ts';
import { composeInputOf } from '../compose-input.ts';
import type { Context } from '../context.ts';
import { BytesInUse } from './bytes-in-use.ts';
import { dkimLabel } from '../seal-labels.ts';
import { feedbackIdOf } from '../feedback-id.ts';

/** Ready messages without a user, kept for recipients that come soon. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** While a message is made, its content, its parts and its signed bytes are in memory side by side. */
const MAKING_FACTOR = 3;
/** Milliseconds. Reading that takes longer is done behind large content, on which no other attempt has to wait. */
const LONG_READ_MS = 20;
/** Bodies of accepted messages kept until their first attempt. Behind so many it comes late, and reads the store again. */
const FRESH_BODIES = 200;
const FRESH_BYTES = 32 * 1024 * 1024;
const KEPT_SIGNERS = 500;
const SIGNERS_MS = 60_000;

export interface SignedMessage {
  message: Message;
  /** Header and body, DKIM-Signature first, ready for any number of sessions. */
  outgoing: OutgoingMessage;
  /** The sending domain, whose `send.` name is the return path's domain. */
  domain: string;
  /** The header itself needs SMTPUTF8 (RFC 6532). */
  needsSmtpUtf8: boolean;
  /**
   * The same message for receivers without SMTPUTF8 or 8BITMIME, signed: its parts encoded, and non-ASCII recipients
   * shown in a form that cannot be replied to. Made at each call, since that is rare; null where the message is ASCII
   * already. The call returns null where the message cannot be written in ASCII.
   */
  inAscii: (() => Promise<Signed | null>) | null;
}

/** What a message counts for its account among those in use; 0 for one that is not read yet, or failed. */
interface Use {
  accountId: string;
  bytes: number;
}

interface Entry {
  ready: Promise<SignedMessage>;
  use: Use;
  users: number;
  /** Recipients that may still come for it. */
  left: number;
}

export class SignedMessages {
  readonly #ctx: Context;
  readonly #entries = new PassingMap<string, Entry>();
  readonly #fresh = new PassingMap<string, ForDelivery & { bytes: number }>();
  #signersSince = 0;
  readonly #signers = new Map<string, Promise<{ name: string; signer: MessageSigner }>>();
  #keptBytes = 0;
  #freshBytes = 0;
  readonly #inUse = new BytesInUse();
  /** Ends when the last message asked for was read. */
  #reading: Promise<unknown> = Promise.resolve();

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

  /**
   * The signed message; call `release` as often as `acquire`, also when this rejects. `waits` is called where other
   * attempts do not wait for its signature: another one has asked for the message, it waits for memory, its content is
   * read for long, or it is large.
   */
  async acquire(messageId: string, waits: () => void = () => undefined): Promise<SignedMessage> {
    const known = this.#entries.get(messageId);
    if (known !== undefined) {
      if (known.users === 0) {
        this.#keptBytes -= known.use.bytes;
        this.#inUse.add(known.use.accountId, known.use.bytes);
      }
      known.users += 1;
      waits();
      return known.ready;
    }
    const use: Use = { accountId: '', bytes: 0 };
    const entry: Entry = { ready: this.#make(messageId, use, waits), use, users: 1, left: 1 };
    this.#entries.set(messageId, entry);
    const signed = await entry.ready;
    const { to, cc, bcc } = signed.message;
    entry.left += to.length + cc.length + bcc.length - 1;
    return signed;
  }

  release(messageId: string): void {
    const entry = this.#entries.get(messageId);
    if (entry === undefined) return;
    entry.users -= 1;
    entry.left -= 1;
    if (entry.users > 0) return;
    const { accountId, bytes } = entry.use;
    this.#entries.take(messageId);
    this.#inUse.add(accountId, -bytes);
    if (entry.left <= 0 || bytes === 0) return;
    // Last used goes last: the map's order is the order of eviction.
    this.#entries.set(messageId, entry);
    this.#keptBytes += bytes;
    for (const [id, oldest] of this.#entries) {
      if (this.#keptBytes <= KEPT_BYTES) break;
      if (oldest.users > 0) continue;
      this.#entries.take(id);
      this.#keptBytes -= oldest.use.bytes;
    }
  }

  async #make(messageId: string, use: Use, waits: () => void): Promise<SignedMessage> {
    try {
      const signed = await this.#sign(await this.#load(messageId, use, waits));
      this.#weigh(use, signed.outgoing.bytes.length);
      return signed;
    } catch (error) {
      this.#weigh(use, 0);
      throw error;
    }
  }

  #weigh(use: Use, bytes: number): void {
    const more = bytes - use.bytes;
    use.bytes = bytes;
    this.#inUse.add(use.accountId, more);
  }

  /** The content of a message once it may be in memory. */
  async #load(messageId: string, use: Use, waits: () => void): Promise<ForDelivery> {
    const fresh = this.#takeFresh(messageId);
    let content =
      fresh === null ? await this.#readNext(messageId, use, waits) : this.#counted(fresh, use);
    while (typeof content === 'number') {
      waits();
      // What did not fit is not kept while it waits: it is read again.
      await this.#inUse.wait(use.accountId, content);
      content = await this.#readNext(messageId, use, waits);
    }
    // It is signed on a thread on which no other message waits for it.
    if (bodyBytes(content.body) >= LARGE_FROM) waits();
    return content;
  }

  /** One is read at a time, so that each is counted before the next; the time is not that of the signing thread. */
  async #readNext(messageId: string, use: Use, waits: () => void): Promise<ForDelivery | number> {
    const next = this.#reading.then(async () => this.#counted(await this.#read(messageId), use));
    this.#reading = next.catch(() => undefined);
    const timer = setTimeout(waits, LONG_READ_MS);
    try {
      return await next;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The content, or its bytes where they do not fit now. */
  #counted(content: ForDelivery, use: Use): ForDelivery | number {
    const bytes = MAKING_FACTOR * bodyBytes(content.body);
    use.accountId = content.message.accountId;
    if (!this.#inUse.isFree(use.accountId, bytes)) return bytes;
    this.#weigh(use, bytes);
    return content;
  }

  async #sign(content: ForDelivery): Promise<SignedMessage> {
    const { message, body } = content;
    if (message.domainId === null) throw new UncomposableError('it has no sending domain');
    const { name, signer } = await this.#signer(message.domainId);
    const made = this.#content(message, body);
    const { message: bytes, data, dotted } = await signer.sign(made);
    const isPlain = data !== null || isAscii(bytes);
    const needsSmtpUtf8 = !isPlain && hasNonAsciiHeader(bytes);
    const inAscii = isPlain ? null : () => signInAscii(signer, made);
    const outgoing = await OutgoingMessage.prepare(bytes, data, dotted);
    return { message, outgoing, domain: name, needsSmtpUtf8, inAscii };
  }

  #takeFresh(messageId: string): ForDelivery | null {
    const fresh = this.#fresh.take(messageId);
    if (fresh === undefined) return null;
    this.#freshBytes -= fresh.bytes;
    return fresh;
  }

  async #read(messageId: string): Promise<ForDelivery> {
    const content = await this.#ctx.store.messageForDelivery(messageId, ALONE_FROM);
    if (content === null) throw new UncomposableError('its content is gone');
    return content;
  }

  #content(message: Message, body: Body): Content {
    if (body.raw !== null) {
      const feedbackField = writeField('Feedback-ID', feedbackIdOf(this.#ctx, message));
      return { kind: 'whole', bytes: body.raw, feedbackField };
    }
    const input = composeInputOf(this.#ctx, message, body);
    const isTextWanted =
      this.#ctx.config.live.api.textFromHtml && body.text === null && body.html !== null;
    // Most emails bring their text: nothing more crosses to the signing thread for them.
    return isTextWanted ? { kind: 'parts', input, isTextWanted } : { kind: 'parts', input };
  }

  /** Deleted domains too: what was accepted before is still signed with their key. */
  #signer(domainId: string): Promise<{ name: string; signer: MessageSigner }> {
    const now = this.#ctx.clock.steady();
    // A key that was changed signs within this time; the record of the one before is still in DNS.
    if (Math.abs(now - this.#signersSince) > SIGNERS_MS) {
      this.#signers.clear();
      this.#signersSince = now;
    }
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
    const privateKeyPem = this.#ctx.secrets.open(domain.sealedDkimKey, dkimLabel(domain.id));
    const signer = this.#ctx.signing.signer({
      domain: domain.name,
      selector: domain.selector,
      privateKeyPem,
    });
    return { name: domain.name, signer };
  }
}

async function signInAscii(signer: MessageSigner, made: Content): Promise<Signed | null> {
  if (made.kind === 'whole') {
    return signer.sign({ ...made, mustBeAscii: true }).catch((error: unknown) => {
      if (error instanceof UncomposableError) return null;
      throw error;
    });
  }
  const input = { ...made.input, mayUseUtf8: false };
  const signed = await signer.sign({ ...made, input });
  return hasNonAsciiHeader(signed.message) ? null : signed;
}

function hasNonAsciiHeader(bytes: Buffer): boolean {
  const end = bytes.indexOf('\r\n\r\n');
  return !isAscii(end < 0 ? bytes : bytes.subarray(0, end));
}
