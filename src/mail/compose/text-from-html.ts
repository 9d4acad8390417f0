/**
 * A text part out of html, for emails that came without one.
 *
 * Promises that the work is bounded by counts, never by the clock, so that the same html gives the same text at each
 * attempt: html that is longer, has more tags or is nested deeper than any real email gets no text. Hidden elements
 * (a preheader, tracking pixels) are left out, links and alternative texts of images stay. A text takes some ten
 * milliseconds at worst, so for mail it is only made on the signing thread. Never fails.
 */
import { compile } from 'html-to-text';

/** Gmail shows the first 102 KB of a message; characters. */
const MAX_LENGTH = 128 * 1024;
/** Opening and closing tags together. */
const MAX_TAGS = 8_000;
const MAX_DEPTH = 64;
/** RFC 5322 section 2.1.1 asks for at most 78 characters. */
const LINE_LENGTH = 76;
/** Stands where the library left out what was too deep: a private-use character, which no text needs. */
const LEFT_OUT = '\u{10FFFD}';

const BLOCK = { leadingLineBreaks: 1, trailingLineBreaks: 1 };
const PARAGRAPH = { leadingLineBreaks: 2, trailingLineBreaks: 2 };
const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
/** Beside `script` and `style`, which are no elements with text to the parser. */
const HIDDEN = [
  'head',
  'title',
  '[hidden]',
  '[style*="display:none" i]',
  '[style*="display: none" i]',
  // What React Email marks in previews.
  '[data-skip-in-text="true"]',
];

const convert = compile({
  wordwrap: LINE_LENGTH,
  limits: { maxDepth: MAX_DEPTH, ellipsis: LEFT_OUT },
  formatters: {
    alternative: (image, _walk, builder) => builder.addInline(image.attribs['alt'] ?? ''),
    cell(cell, walk, builder) {
      walk(cell.children, builder);
      builder.addInline(' ');
    },
  },
  selectors: [
    {
      selector: 'a',
      options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['<', '>'], noAnchorUrl: true },
    },
    { selector: 'img', format: 'alternative' },
    ...HEADINGS.map((selector) => ({ selector, options: { ...PARAGRAPH, uppercase: false } })),
    // Most tables only lay out: a row is a line, whatever it shows.
    { selector: 'tr', format: 'block', options: BLOCK },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
    // Quote signs in front of each line of each level would be work that the counts do not bound.
    { selector: 'blockquote', format: 'block', options: PARAGRAPH },
    ...HIDDEN.map((selector) => ({ selector, format: 'skip' })),
  ],
});

/** The text of `html`; null where it has none, or is too much work. */
export function textFromHtml(html: string): string | null {
  if (html.length > MAX_LENGTH || hasMoreTags(html)) return null;
  const text = convertOrNull(html);
  return text === null || text.includes(LEFT_OUT) || text.trim() === '' ? null : text;
}

function hasMoreTags(html: string): boolean {
  let count = 0;
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    count += 1;
    if (count > MAX_TAGS) return true;
  }
  return false;
}

/** An email without a text part is better than none. */
function convertOrNull(html: string): string | null {
  try {
    return convert(html);
  } catch {
    return null;
  }
}
