/**
 * A message that came in, split into its MIME parts once and shared by everyone who reads it.
 *
 * Promises that the bytes are split once, and that each part is decoded at most once and only when a reader wants
 * it, so that the work stays linear in the size of the message however many recipients its report names. The bytes
 * must not change meanwhile. Never throws.
 */
import { decodeBody, decodeCharset, decodeWords } from '../mime/text.ts';
import { fieldValue, partsOf, splitMime, type MimePart } from '../mime/tree.ts';

/** Bytes at the beginning that are searched for return paths. */
const SEARCHED_BYTES = 1_048_576;
const MAX_RETURN_PATHS = 20;

export class InboundMessage {
  readonly bytes: Uint8Array;
  /** Every part, parents before children, in the order they stand. */
  readonly parts: readonly MimePart[];
  readonly #root: MimePart;
  readonly #bodies = new Map<MimePart, Buffer>();
  #readableText: string | null = null;
  #returnPaths: readonly string[] | null = null;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#root = splitMime(bytes);
    this.parts = partsOf(this.#root);
  }

  /** The first value of a header field (`name` in lower case) as it stands, unfolded; null when there is none. */
  field(name: string): string | null {
    return fieldValue(this.bytes, this.#root, name);
  }

  /** The same with its encoded words decoded (RFC 2047); empty when there is none. */
  words(name: string): string {
    return decodeWords(this.field(name) ?? '');
  }

  /** The first part whose content type matches. */
  part(contentType: RegExp): MimePart | undefined {
    return this.parts.find((part) => contentType.test(part.contentType));
  }

  /** A part's body, its transfer encoding undone. */
  body(part: MimePart): Buffer {
    const known = this.#bodies.get(part);
    if (known !== undefined) return known;
    const body = this.decode(part);
    this.#bodies.set(part, body);
    return body;
  }

  /** A part's body as text. */
  text(part: MimePart): string {
    return decodeCharset(this.body(part), part.parameters.get('charset') ?? 'utf-8');
  }

  /** What a person would read first: the first plain text, else the first HTML without its tags. Lines end in LF. */
  get readableText(): string {
    this.#readableText ??= this.#findReadableText().replaceAll('\r\n', '\n');
    return this.#readableText;
  }

  /** Every return path in our form, `b-<id>-<tag>@…`, that stands anywhere in the message. At most 20. */
  get returnPaths(): readonly string[] {
    this.#returnPaths ??= returnPathsIn(
      Buffer.from(this.bytes.subarray(0, SEARCHED_BYTES)).toString('latin1'),
    );
    return this.#returnPaths;
  }

  /** Undoes the transfer encoding. A method of its own so that a test can count how often it runs. */
  protected decode(part: MimePart): Buffer {
    return decodeBody(this.bytes, part);
  }

  #findReadableText(): string {
    const leaves = this.parts.filter((part) => part.children.length === 0);
    const plain = leaves.find(({ contentType }) => contentType === 'text/plain');
    if (plain !== undefined) return this.text(plain);
    const html = leaves.find(({ contentType }) => contentType === 'text/html');
    return html === undefined ? '' : withoutTags(this.text(html));
  }
}

function withoutTags(html: string): string {
  return html
    .replace(/<(?:br|p|div|tr|li|\/p|\/div|\/tr)\b[^<>]{0,1000}>/gi, '\n')
    .replace(/<[^<>@]{0,1000}>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&amp;', '&');
}

function returnPathsIn(text: string): string[] {
  const found = new Set<string>();
  for (const match of text.matchAll(/\bb-[0-9a-f]{32}-[0-9a-f]{16}@[a-z0-9.-]{1,253}/gi)) {
    found.add(match[0].toLowerCase());
    if (found.size >= MAX_RETURN_PATHS) break;
  }
  return [...found];
}
