/**
 * The facts of a style text that `html-features.ts` names: properties, some of their values, at-rules, pseudo-classes,
 * functions, units.
 *
 * Not a parser of CSS: names are read where a colon, an `@`, a parenthesis or a number says what they are. What stands in
 * a comment or a string counts too. Promises work linear in the text: each character is read a fixed number of times.
 * Cannot fail.
 */

/** A name at the end of what stands before a colon or a parenthesis. No name that is looked for is longer. */
const LONGEST_NAME = 40;
const NAME_AT_END = /[a-z-]{1,40}\s{0,9}$/;
const NAME_AT_START = /^:?([a-z-]{1,40})/;

/** Tells each fact of `css` (lower case) to `note`; one that occurs often is told often. */
export function styleFacts(css: string, note: (fact: string) => void): void {
  const pieces = css.split(':');
  for (const [at, piece] of pieces.entries()) {
    const before = pieces[at - 1];
    if (before === undefined) continue;
    const pseudo = NAME_AT_START.exec(piece)?.[1];
    if (pseudo !== undefined) note(`pseudo ${pseudo}`);
    const name = NAME_AT_END.exec(before.slice(-LONGEST_NAME))?.[0].trim();
    if (name !== undefined) declared(name, piece, note);
  }
  for (const [, name] of css.matchAll(/@([a-z-]{1,40})/g)) note(`at ${name}`);
  for (const [, unit] of css.matchAll(/\d(ch|rem|vh|vw|vmin|vmax)\b/g)) note(`unit ${unit}`);
  for (let at = css.indexOf('('); at >= 0; at = css.indexOf('(', at + 1)) {
    const name = NAME_AT_END.exec(css.slice(Math.max(0, at - LONGEST_NAME), at))?.[0];
    if (name !== undefined) note(`function ${name}`);
  }
}

/** `behind`: what follows the colon, up to the next one. */
function declared(name: string, behind: string, note: (fact: string) => void): void {
  if (name === 'background') {
    // The shorthand has images too.
    if (valueOf(behind).includes('url(')) note('property background-image');
    return;
  }
  if (name === 'background-image' && !valueOf(behind).includes('url(')) return;
  note(`property ${name}`);
  if (name === 'display') note(`display ${valueOf(behind).trim().split(/[\s!]/, 1)[0]}`);
  if (name.startsWith('margin') && /(?:^|\s)-[\d.]/.test(valueOf(behind))) note('negative margin');
  if (name.startsWith('animation')) note('property animation');
}

/** A value, as far as one is looked at. */
function valueOf(behind: string): string {
  return /^[^;{}]{0,200}/.exec(behind)?.[0] ?? '';
}
