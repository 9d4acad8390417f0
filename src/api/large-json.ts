/**
 * The JSON of a response with a text of megabytes, in pieces that are made one after the other.
 *
 * Made as a whole it would stop everybody for as long as all its bytes are laid down three times: as JSON, as UTF-8, and as
 * chunks. Promises the same text as `JSON.stringify`. Never fails.
 */
import { PIECE_CHARACTERS, textPieces } from '../base/text-pieces.ts';
import { isLarge } from '../flow/large-response.ts';

export class LargeJson {
  /** Characters, without the signs that stand before others in a long text. */
  readonly length: number;
  readonly #body: Readonly<Record<string, unknown>>;

  private constructor(body: Readonly<Record<string, unknown>>, length: number) {
    this.#body = body;
    this.length = length;
  }

  /** Null where the long texts among the fields of `body` are not large together. */
  static of(body: object): LargeJson | null {
    if (Array.isArray(body) || body instanceof Uint8Array) return null;
    let length = 0;
    for (const value of Object.values(body)) if (isLong(value)) length += value.length;
    if (!isLarge({ length })) return null;
    const around = JSON.stringify(body, (_, value: unknown) => (isLong(value) ? '' : value));
    return new LargeJson({ ...body }, length + around.length);
  }

  /** Its text, in order. */
  *pieces(): Generator<string, void> {
    let front = '{';
    for (const [key, value] of Object.entries(this.#body)) {
      if (value === undefined) continue;
      front += `${JSON.stringify(key)}:`;
      if (isLong(value)) {
        yield `${front}"`;
        for (const piece of textPieces(value)) yield JSON.stringify(piece).slice(1, -1);
        front = '",';
      } else {
        front += `${JSON.stringify(value)},`;
      }
    }
    yield `${front.slice(0, -1)}}`;
  }
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > PIECE_CHARACTERS;
}
