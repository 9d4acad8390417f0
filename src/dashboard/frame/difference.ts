/**
 * Two texts beside each other, with what differs in the second one marked.
 *
 * Linear in their length: what stands between the common beginning and the common end is the difference.
 */
import { html, type Html } from './html.ts';

/** `found` with the part that is not as in `expected` marked. */
export function difference(expected: string, found: string): Html {
  const shorter = Math.min(expected.length, found.length);
  let head = 0;
  while (head < shorter && expected[head] === found[head]) head += 1;
  let tail = 0;
  while (
    tail < shorter - head &&
    expected[expected.length - 1 - tail] === found[found.length - 1 - tail]
  ) {
    tail += 1;
  }
  const until = found.length - tail;
  const middle = found.slice(head, until);
  // Something is missing here, and there is nothing else instead.
  const isGap = middle === '' && expected.length > found.length;
  return html`<code class="found"
    >${found.slice(0, head)}${middle !== '' && html`<mark>${middle}</mark>`}${
      isGap && html`<mark title="Something is missing here">…</mark>`
    }${found.slice(until)}</code
  >`;
}
