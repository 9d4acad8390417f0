/**
 * What mail programs make of an email's HTML: which of its features some of them do not show, and its links.
 *
 * Looks at tags and style texts, not at a document tree: enough to name what is used. Promises work linear in the HTML,
 * of which the first `MAX_LENGTH` characters are looked at. Support after caniemail.com, as of 2026. Never throws.
 */

const MAX_LENGTH = 524_288;
/** Gmail shows no more of a message and hides the rest behind a link. */
const GMAIL_CLIP_BYTES = 102_400;
/** Gmail drops a style element that is longer. */
const GMAIL_STYLE_LENGTH = 8_192;
const MOST_LINKS = 500;

export type Support = 'yes' | 'partly' | 'no';

/** A feature that the HTML uses. */
export interface UsedFeature {
  feature: string;
  gmail: Support;
  /** Outlook on Windows, which draws with Word. */
  outlook: Support;
  apple: Support;
  yahoo: Support;
}

export interface HtmlCheck {
  features: UsedFeature[];
  /** What is wrong for every reader, in whole sentences. */
  problems: string[];
  /** Whether there was more than is looked at. */
  isCut: boolean;
}

export interface Link {
  kind: 'link' | 'image';
  url: string;
  /** Why it should be changed; null when all is well. */
  problem: string | null;
}

type Row = readonly [
  feature: string,
  gmail: Support,
  outlook: Support,
  apple: Support,
  yahoo: Support,
];

/** By the name of the element. */
const ELEMENTS: Readonly<Record<string, Row>> = {
  style: ['<style>', 'partly', 'yes', 'yes', 'partly'],
  link: ['<link>: style sheets from elsewhere', 'no', 'no', 'yes', 'no'],
  script: ['<script>', 'no', 'no', 'no', 'no'],
  svg: ['<svg>', 'no', 'no', 'yes', 'no'],
  video: ['<video>', 'no', 'no', 'yes', 'no'],
  audio: ['<audio>', 'no', 'no', 'yes', 'no'],
  form: ['<form>', 'partly', 'no', 'yes', 'partly'],
  iframe: ['<iframe>', 'no', 'no', 'no', 'no'],
  object: ['<object>', 'no', 'no', 'no', 'no'],
  picture: ['<picture>', 'no', 'no', 'yes', 'no'],
};

/** Looked for in style elements and attributes, in lower case. */
const STYLES: readonly (readonly [pattern: RegExp, row: Row])[] = [
  [/@media\b/, ['@media', 'partly', 'no', 'yes', 'partly']],
  [/@font-face\b/, ['@font-face', 'no', 'no', 'yes', 'no']],
  [/@import\b/, ['@import', 'no', 'no', 'yes', 'no']],
  [/@keyframes\b|\banimation\b/, ['animation', 'no', 'no', 'yes', 'no']],
  [/\bdisplay\s{0,9}:\s{0,9}(?:inline-)?flex\b/, ['display: flex', 'yes', 'no', 'yes', 'yes']],
  [/\bdisplay\s{0,9}:\s{0,9}(?:inline-)?grid\b/, ['display: grid', 'no', 'no', 'yes', 'no']],
  [/\bposition\s{0,9}:/, ['position', 'no', 'no', 'yes', 'no']],
  [/\btransform\s{0,9}:/, ['transform', 'no', 'no', 'yes', 'no']],
  [/\bborder-radius\s{0,9}:/, ['border-radius', 'yes', 'no', 'yes', 'yes']],
  [/\bmax-width\s{0,9}:/, ['max-width', 'yes', 'partly', 'yes', 'yes']],
  [
    /\bbackground(?:-image)?\s{0,9}:[^;}"]{0,99}url\(/,
    ['background-image', 'yes', 'no', 'yes', 'yes'],
  ],
  [/\bmargin[a-z-]{0,9}\s{0,9}:[^;}"]{0,40}-\d/, ['negative margin', 'no', 'no', 'yes', 'no']],
  [/\bvar\(/, ['var()', 'no', 'no', 'yes', 'no']],
  [/\bcalc\(/, ['calc()', 'yes', 'no', 'yes', 'partly']],
  [/:hover\b/, [':hover', 'partly', 'no', 'yes', 'yes']],
];
const DATA_IMAGE: Row = ['images as data: URLs', 'no', 'no', 'yes', 'no'];

interface Tag {
  name: string;
  text: string;
  /** Behind its `>`. */
  end: number;
}

/** Checks the HTML of an email. `textPart`: its plain text; null when it has none. */
export function checkHtml(whole: string, textPart: string | null): HtmlCheck {
  const html = whole.slice(0, MAX_LENGTH);
  const rows = new Map<string, Row>();
  const add = (row: Row): void => void rows.set(row[0], row);
  const styles: string[] = [];
  const problems: string[] = [];
  let [withoutAlt, longestStyle] = [0, 0];
  let isStyleInBody = false;
  let isInBody = false;
  let styleEnd = 0;
  for (const tag of tagsOf(html)) {
    // What looks like a tag inside a style element is none, and its text is read once.
    if (tag.end <= styleEnd) continue;
    const element = ELEMENTS[tag.name];
    if (element !== undefined && Object.hasOwn(ELEMENTS, tag.name)) add(element);
    if (tag.name === 'body') isInBody = true;
    if (tag.name === 'style') {
      styleEnd = endOfStyle(html, tag.end);
      const content = html.slice(tag.end, styleEnd);
      styles.push(content);
      longestStyle = Math.max(longestStyle, content.length);
      isStyleInBody ||= isInBody;
    }
    if (tag.name === 'img') {
      if (attribute(tag.text, 'alt') === null) withoutAlt += 1;
      if (attribute(tag.text, 'src')?.startsWith('data:') === true) add(DATA_IMAGE);
    }
    const style = attribute(tag.text, 'style');
    if (style !== null) styles.push(style);
  }
  const css = styles.join('\n').toLowerCase();
  for (const [pattern, row] of STYLES) if (pattern.test(css)) add(row);
  if (Buffer.byteLength(html) > GMAIL_CLIP_BYTES) {
    problems.push('Gmail cuts messages of more than 102,400 bytes of HTML and hides the rest.');
  }
  if (longestStyle > GMAIL_STYLE_LENGTH) {
    problems.push('Gmail drops a <style> element of more than 8,192 characters as a whole.');
  }
  if (isStyleInBody) problems.push('Gmail reads <style> in the <head> only: move it there.');
  if (withoutAlt > 0) {
    problems.push(
      `${withoutAlt} of the images have no alt text: many readers see no images at first.`,
    );
  }
  if (textPart === null) problems.push('There is no plain text for readers that show no HTML.');
  return {
    features: [...rows.values()].map(featureOf),
    problems,
    isCut: whole.length > MAX_LENGTH,
  };
}

function featureOf([feature, gmail, outlook, apple, yahoo]: Row): UsedFeature {
  return { feature, gmail, outlook, apple, yahoo };
}

function endOfStyle(html: string, from: number): number {
  const end = html.indexOf('</', from);
  return end < 0 ? html.length : end;
}

/** Where the HTML leads and what it loads, each address once, in order; up to a bound. */
export function linksOf(whole: string): Link[] {
  const links = new Map<string, Link>();
  for (const { name, text } of tagsOf(whole.slice(0, MAX_LENGTH))) {
    const kind = name === 'a' || name === 'area' ? 'link' : name === 'img' ? 'image' : null;
    if (kind === null) continue;
    const url = attribute(text, kind === 'link' ? 'href' : 'src');
    if (url === null || url.startsWith('data:')) continue;
    links.set(`${kind} ${url}`, { kind, url, problem: problemOf(url) });
    if (links.size >= MOST_LINKS) break;
  }
  return [...links.values()];
}

function problemOf(url: string): string | null {
  if (/^(?:mailto|tel|cid):/i.test(url)) return null;
  if (url === '' || url === '#') return 'leads nowhere';
  const parsed = URL.parse(url);
  if (parsed === null) return 'no whole address: it leads nowhere in a mail program';
  if (parsed.protocol === 'http:') return 'not encrypted: use https';
  return parsed.protocol === 'https:' ? null : `${parsed.protocol} is blocked by mail programs`;
}

/** The opening tags, each looked at once. */
function* tagsOf(html: string): Generator<Tag> {
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at)) {
    const comment = html.startsWith('<!--', at);
    const end = html.indexOf(comment ? '-->' : '>', at + 1);
    if (end < 0) return;
    const name = /^<([a-z][a-z0-9]{0,19})/i.exec(html.slice(at, at + 21))?.[1]?.toLowerCase();
    if (name !== undefined) yield { name, text: html.slice(at, end), end: end + 1 };
    at = end + 1;
  }
}

/** The value of an attribute without its quotes; null when there is none. */
function attribute(tag: string, name: string): string | null {
  const found = ATTRIBUTE[name]?.exec(tag);
  if (found === null || found === undefined) return null;
  return (found[1] ?? found[2] ?? found[3] ?? '').trim().replaceAll('&amp;', '&');
}

const ATTRIBUTE: Readonly<Record<string, RegExp>> = Object.fromEntries(
  ['alt', 'src', 'href', 'style'].map((name) => [
    name,
    new RegExp(
      `[\\s"']${name}(?:\\s{0,9}=\\s{0,9}(?:"([^"]*)|'([^']*)|([^\\s"'>]+)))?(?![\\w-])`,
      'i',
    ),
  ]),
);
