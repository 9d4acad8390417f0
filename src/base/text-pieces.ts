/**
 * A long text in pieces, each small enough for one tick of the event loop.
 *
 * Promises that the pieces together are the text, and that none is cut between the two halves of a character, so that
 * each can be encoded by itself. Never fails.
 */

/** Of a text: up to three bytes each in UTF-8. */
export const PIECE_CHARACTERS = 128 * 1024;

/** `text` in pieces of `PIECE_CHARACTERS`, or one less. */
export function* textPieces(text: string): Generator<string, void> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE_CHARACTERS, text.length);
    const last = text.charCodeAt(end - 1);
    // The first half of a pair, or one that stands alone: it goes with what follows, which tells.
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}
