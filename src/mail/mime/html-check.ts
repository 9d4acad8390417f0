/**
 * What mail programs make of an email's HTML: which of its features some of them do not show, and its links.
 *
 * Looks at tags and style texts, not at a document tree: enough to name what is used (`html-features.ts`). What the
 * programs make of it is caniemail.com's (`html-support.ts`). Promises work linear in the HTML, of which the first
 * `MAX_LENGTH` characters are looked at. Never throws.
 */
import { FEATURES, type Feature } from './html-features.ts';
import { SUPPORT } from './html-support.ts';
import { styleFacts } from './style-facts.ts';

const MAX_LENGTH = 262_144;
/** Gmail shows no more of a message and hides the rest behind a link: github.com/hteumeuleu/email-bugs/issues/41. */
const GMAIL_CLIP_BYTES = 102_400;
/** Gmail takes so much of all style elements: github.com/hteumeuleu/email-bugs/issues/90. */
const GMAIL_STYLE_BYTES = 16_384;
const MOST_LINKS = 500;
/** Of an image's address, what is looked at for its kind. */
const MOST_URL = 2_000;

export type Support = 'yes' | 'partly' | 'no';

/** What one program makes of a feature. */
export interface Answer {
  support: Support;
  /** What is missing, where it is supported in part. */
  note: string | null;
}

/** A feature that the HTML uses, and that some program leaves out. */
export interface UsedFeature {
  feature: string;
  /** Where caniemail.com says more. */
  url: string;
  gmail: Answer;
  /** Outlook on Windows, which draws with Word. */
  outlook: Answer;
  apple: Answer;
  yahoo: Answer;
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

/** What is looked for, with what is known of it. */
const KNOWN: readonly (UsedFeature & Pick<Feature, 'facts'>)[] = FEATURES.flatMap(
  ({ slug, title, facts }) => {
    const support = SUPPORT[slug];
    if (support === undefined) return [];
    const [gmail, outlook, apple, yahoo] = support;
    return {
      feature: title,
      url: `https://www.caniemail.com/features/${slug}/`,
      facts,
      gmail: answerOf(gmail),
      outlook: answerOf(outlook),
      apple: answerOf(apple),
      yahoo: answerOf(yahoo),
    };
  },
);
const BY_FACT = new Map(KNOWN.flatMap((one) => one.facts.map((fact) => [fact, one] as const)));

/** Taken out by every program, since what they run or load would be others' in the reader's name. */
const NEVER_SHOWN = new Set(['script', 'iframe', 'embed', 'applet']);

interface Tag {
  name: string;
  text: string;
  /** Behind its `>`. */
  end: number;
}

/** What was seen on the way through the tags. */
class Seen {
  readonly features = new Set<UsedFeature>();
  readonly never = new Set<string>();
  readonly styles: string[] = [];
  withoutAlt = 0;
  styleBytes = 0;
  isStyleInBody = false;

  note(fact: string): void {
    const feature = BY_FACT.get(fact);
    if (feature !== undefined) this.features.add(feature);
  }
}

/** Checks the HTML of an email. `textPart`: its plain text; null when it has none. */
export function checkHtml(whole: string, textPart: string | null): HtmlCheck {
  const html = whole.slice(0, MAX_LENGTH);
  const seen = lookThrough(html);
  styleFacts(seen.styles.join('\n').toLowerCase(), (fact) => seen.note(fact));
  return {
    features: KNOWN.filter((feature) => seen.features.has(feature)),
    problems: problemsOf(seen, html, textPart),
    isCut: whole.length > MAX_LENGTH,
  };
}

function lookThrough(html: string): Seen {
  const seen = new Seen();
  let isInBody = false;
  let styleEnd = 0;
  for (const tag of tagsOf(html)) {
    // What looks like a tag inside a style element is none, and its text is read once.
    if (tag.end <= styleEnd) continue;
    if (tag.name !== 'link' || /stylesheet/i.test(tag.text)) seen.note(`tag ${tag.name}`);
    if (NEVER_SHOWN.has(tag.name)) seen.never.add(tag.name);
    if (tag.name === 'body') isInBody = true;
    if (tag.name === 'style') {
      styleEnd = endOfStyle(html, tag.end);
      const content = html.slice(tag.end, styleEnd);
      seen.styles.push(content);
      seen.styleBytes += Buffer.byteLength(content);
      seen.isStyleInBody ||= isInBody;
    }
    if (tag.name === 'img') noteImage(tag, seen);
    for (const name of ['background', 'srcset']) {
      // Without a value it is a word in another attribute.
      if ((attribute(tag.text, name) ?? '') !== '') seen.note(`attribute ${name}`);
    }
    const style = attribute(tag.text, 'style');
    if (style !== null) seen.styles.push(style);
  }
  return seen;
}

function noteImage({ text }: Tag, seen: Seen): void {
  if (attribute(text, 'alt') === null) seen.withoutAlt += 1;
  const source = attribute(text, 'src') ?? '';
  if (source.startsWith('data:')) seen.note('image data');
  const kind = /\.([a-z]{3,4})(?:[?#]|$)/i.exec(source.slice(0, MOST_URL))?.[1]?.toLowerCase();
  if (kind !== undefined) seen.note(`image ${kind}`);
}

function problemsOf(seen: Seen, html: string, textPart: string | null): string[] {
  const problems: string[] = [];
  if (Buffer.byteLength(html) > GMAIL_CLIP_BYTES) {
    problems.push('Gmail cuts messages of more than 102,400 bytes of HTML and hides the rest.');
  }
  if (seen.styleBytes > GMAIL_STYLE_BYTES) {
    problems.push(
      'Gmail takes 16,384 bytes of <style> elements and drops those that go beyond: make the styles shorter.',
    );
  }
  if (seen.isStyleInBody) {
    problems.push('Gmail reads <style> in the <head> only: move it there.');
  }
  if (seen.never.size > 0) {
    const names = Array.from(seen.never, (name) => `<${name}>`).join(', ');
    problems.push(`Every mail program takes out ${names}.`);
  }
  if (seen.withoutAlt > 0) {
    const images = seen.withoutAlt === 1 ? '1 image has' : `${seen.withoutAlt} images have`;
    problems.push(`${images} no alt text: many readers see no images at first.`);
  }
  if (textPart === null) problems.push('There is no plain text for readers that show no HTML.');
  return problems;
}

/** `partly: what is missing` in its parts. */
function answerOf(text: string): Answer {
  const [support = 'no', ...note] = text.split(': ');
  return { support: support as Support, note: note.length === 0 ? null : note.join(': ') };
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
  ['alt', 'background', 'href', 'src', 'srcset', 'style'].map((name) => [
    name,
    new RegExp(
      `[\\s"']${name}(?:\\s{0,9}=\\s{0,9}(?:"([^"]*)|'([^']*)|([^\\s"'>]+)))?(?![\\w-])`,
      'i',
    ),
  ]),
);
