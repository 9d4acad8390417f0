/**
 * DKIM (RFC 6376): keys, and the signature of one message.
 *
 * Promises one complete DKIM-Signature field or a throw, never a message without one. RSA runs off the main thread (see
 * rsa.ts), so signing does not stop the appliance. The signature has no time stamp: the same message gets the same
 * bytes at every attempt. The fields that a reader sees or a program acts on are listed once more than they occur, so
 * that none can be added later (RFC 6376 section 8.15, docs/decisions.md D142).
 */
import { createHash, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { RelaxedHash } from 'mailauth/lib/dkim/body/relaxed.js';
import type { Libcrypto } from './libcrypto.ts';
import { RsaKey } from './rsa.ts';

/** RFC 8301 section 3.2: signers should use at least 2048 bits. */
const MODULUS_BITS = 2048;
const HEADER_END = '\r\n\r\n';

/**
 * Signed once more than they occur, so that nobody can add the first or another one: what a reader sees, what mail
 * programs act on, and what says how to read the body. RFC 8058 section 4 wants the List-Unsubscribe pair signed,
 * Gmail's feedback loop its Feedback-ID. In the order of the `h=` tag.
 */
const OVERSIGNED = [
  'from',
  'to',
  'cc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
  'content-description',
  'sender',
  'in-reply-to',
  'references',
  'feedback-id',
  'list-id',
  'list-help',
  'list-subscribe',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-post',
  'list-owner',
  'list-archive',
  'auto-submitted',
  'disposition-notification-to',
];

/** Signed where they occur: who forwards a message by hand puts new ones in front (RFC 5322 section 3.6.6). */
const SIGNED = [
  'resent-from',
  'resent-sender',
  'resent-to',
  'resent-cc',
  'resent-date',
  'resent-message-id',
];

const CHOSEN = [...OVERSIGNED, ...SIGNED];
const CHOSEN_NAMES: ReadonlySet<string> = new Set(CHOSEN);
const OVERSIGNED_NAMES = OVERSIGNED.join(':');

export interface DkimKey {
  /** PKCS #8, PEM. */
  privateKeyPem: string;
  /** Base64 of the DER SubjectPublicKeyInfo, the `p=` of the record. */
  publicKeyBase64: string;
}

const generate = promisify(generateKeyPair);

/** A new RSA-2048 key pair, made off the main thread. */
export async function generateDkimKey(): Promise<DkimKey> {
  const pair = await generate('rsa', { modulusLength: MODULUS_BITS });
  return {
    privateKeyPem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKeyBase64: pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  };
}

export interface DkimIdentity {
  /** Lower-case A-labels. */
  domain: string;
  selector: string;
  privateKeyPem: string;
}

/** A DKIM-Signature field around its body hash: up to `bh=`, and from there to the empty `b=`. */
interface Frame {
  /** The `h=` tag. */
  names: string;
  /** Folded where relaxed canonicalisation does not see it. */
  before: string;
  after: string;
  relaxedBefore: string;
  relaxedAfter: string;
}

/** Signs for one domain; keep it, since reading the key costs more than using it. */
export class DkimSigner {
  readonly #domain: string;
  readonly #selector: string;
  readonly #key: RsaKey;
  #frame: Frame | null = null;

  /**
   * Throws when the key is no RSA key, or domain or selector could break out of their tags. `library`: see `RsaKey`.
   */
  constructor(identity: DkimIdentity, library: Libcrypto | null = null) {
    for (const name of [identity.domain, identity.selector]) {
      if (!/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(name)) {
        throw new Error(`not a DKIM domain or selector: ${JSON.stringify(name)}`);
      }
    }
    this.#domain = identity.domain;
    this.#selector = identity.selector;
    this.#key = new RsaKey(identity.privateKeyPem, library);
  }

  /** Gives back what the key holds outside of JavaScript. Do not sign afterwards. */
  free(): void {
    this.#key.free();
  }

  /**
   * The DKIM-Signature field with its closing CRLF, to be put in front of `message`: bytes, or ASCII text, which
   * costs less. `message` must be CRLF-clean. Throws when it has no From or no end of its header, and when signing
   * fails.
   */
  async sign(message: Buffer | string): Promise<string> {
    const end = message.indexOf(HEADER_END);
    if (end === -1) throw new Error('cannot sign: the header of the message has no end');
    const fields = readFields(message.slice(0, end).toString('latin1'));
    if (!fields.has('from')) throw new Error('cannot sign: the message has no From');
    const { names, lines } = chooseFields(fields);
    const { before, after, relaxedBefore, relaxedAfter } = this.#frameOf(names);
    const bh = bodyHash(message.slice(end + HEADER_END.length));
    // RFC 6376 section 3.7: the signature field itself comes last, its b= empty, without a CRLF.
    const signature = await this.#key.sign(`${lines}${relaxedBefore}${bh}${relaxedAfter}`);
    if (signature.length !== this.#key.signatureBytes) {
      throw new Error(`cannot sign: the signature has ${signature.length} bytes`);
    }
    return `${before}${bh}${after}${foldBase64(signature.toString('base64'))}\r\n`;
  }

  /** Most messages of a domain have the same fields, so the last frame usually fits. */
  #frameOf(names: string): Frame {
    if (this.#frame?.names === names) return this.#frame;
    const [before, after] = [
      `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${this.#domain};\r\n s=${this.#selector}; q=dns/txt;\r\n bh=`,
      [';', ...foldNames(names), 'b='].join('\r\n '),
    ];
    this.#frame = {
      names,
      before,
      after,
      relaxedBefore: relaxField(before.replaceAll('\r\n', '')),
      relaxedAfter: after.replaceAll('\r\n', ''),
    };
    return this.#frame;
  }
}

/** The SHA-256 of a body, bytes or ASCII text, under relaxed canonicalisation, in base64 (the `bh=` tag). */
export function bodyHash(body: Buffer | string): string {
  const end = body.slice(-HEADER_END.length).toString();
  if (isRelaxed(body, end)) return createHash('sha256').update(body).digest('base64');
  const hash = new RelaxedHash('sha256');
  hash.update(typeof body === 'string' ? Buffer.from(body, 'latin1') : body);
  return hash.digest('base64');
}

/**
 * Whether relaxed canonicalisation (RFC 6376 section 3.4.4) would leave the body as it is: no tab, no two
 * spaces together, none before a line end, one line end at the end. True for what we compose ourselves.
 */
function isRelaxed(body: Buffer | string, end: string): boolean {
  return (
    body.length > 2 &&
    end.endsWith('\r\n') &&
    end !== HEADER_END &&
    !body.includes('\t') &&
    !body.includes('  ') &&
    !body.includes(' \r\n')
  );
}

/** One unfolded or folded field under relaxed canonicalisation (RFC 6376 section 3.4.2), without CRLF. */
export function relaxField(line: string): string {
  const unfolded = line.includes('\r') ? line.replaceAll('\r\n', '') : line;
  const colon = unfolded.indexOf(':');
  const name = unfolded.slice(0, colon).trimEnd();
  let value = unfolded.slice(colon + 1);
  // Our own fields have single spaces only.
  if (value.includes('  ') || value.includes('\t')) value = value.replace(/[ \t]+/g, ' ');
  const begin = value.startsWith(' ') ? 1 : 0;
  const end = value.length > begin && value.endsWith(' ') ? value.length - 1 : value.length;
  // Only the name is lower-cased; it is ASCII.
  return `${name.toLowerCase()}:${value.slice(begin, end)}`;
}

/** The fields of one name: the name as often as they occur, and their canonical lines, the lowest first. */
interface Fields {
  names: string;
  lines: string;
}

/** The fields of a header that are signed, by lower-case name. */
function readFields(header: string): Map<string, Fields> {
  const fields = new Map<string, Fields>();
  for (let begin = 0; begin < header.length;) {
    const end = endOfField(header, begin);
    const name = header.slice(begin, header.indexOf(':', begin)).trimEnd().toLowerCase();
    if (CHOSEN_NAMES.has(name)) {
      const line = `${relaxField(header.slice(begin, end))}\r\n`;
      const same = fields.get(name);
      fields.set(
        name,
        same === undefined
          ? { names: `${name}:`, lines: line }
          : { names: `${same.names}${name}:`, lines: line + same.lines },
      );
    }
    begin = end + 2;
  }
  return fields;
}

/** Where the field that begins at `begin` ends, its folds included (RFC 5322 section 2.2.3). */
function endOfField(header: string, begin: number): number {
  let end = header.indexOf('\r\n', begin);
  while (end !== -1 && (header[end + 2] === ' ' || header[end + 2] === '\t')) {
    end = header.indexOf('\r\n', end + 2);
  }
  return end === -1 ? header.length : end;
}

/**
 * The `h=` tag, and the canonical lines to hash with their CRLF, the lowest of equal fields first (RFC 6376
 * section 5.4.2).
 */
function chooseFields(fields: Map<string, Fields>): Fields {
  let names = '';
  let lines = '';
  for (const name of CHOSEN) {
    const same = fields.get(name);
    if (same === undefined) continue;
    names += same.names;
    lines += same.lines;
  }
  return { names: names + OVERSIGNED_NAMES, lines };
}

/** The `h=` tag in lines of at most about 76 characters; folds stand behind colons, where they are allowed. */
function foldNames(names: string): string[] {
  const lines: string[] = [];
  let line = 'h=';
  for (const piece of `${names};`.split(/(?<=:)/)) {
    if (line.length + piece.length > 75) {
      lines.push(line);
      line = '';
    }
    line += piece;
  }
  return [...lines, line];
}

/** White space is ignored in b= (RFC 6376 section 3.5). The first line shares its line with `b=`. */
function foldBase64(text: string): string {
  const lines = [text.slice(0, 72)];
  for (let at = 72; at < text.length; at += 74) lines.push(text.slice(at, at + 74));
  return lines.join('\r\n ');
}
