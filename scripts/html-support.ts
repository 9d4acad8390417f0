/**
 * Writes `src/mail/mime/html-support.ts`: what mail programs make of the features that the inbox of capture mode looks
 * for, from the data of caniemail.com as its npm package has them.
 *
 *   npm pack caniemail && tar xzf caniemail-*.tgz && bun scripts/html-support.ts package/data/caniemail.json
 *
 * Of each program its newest tested version on each platform counts: all of them support it, none, or it is said which
 * do not. The words of the notes are caniemail's, without Markdown.
 */
import { join } from 'node:path';

import { FEATURES } from '../src/mail/mime/html-features.ts';

const FILE = join(import.meta.dir, '../src/mail/mime/html-support.ts');

/** As far as caniemail's features are read. `stats`: by family, platform and version, oldest first. */
export interface TestedFeature {
  slug: string;
  stats: Record<string, Record<string, Record<string, string>> | undefined>;
  notes_by_num: Record<string, string> | null;
}

interface TestedData {
  last_update_date: string;
  data: TestedFeature[];
}

/** Family and platforms of each program, and how its platforms are called. */
const PROGRAMS: readonly (readonly [
  family: string,
  platforms: Readonly<Record<string, string>>,
])[] = [
  [
    'gmail',
    {
      'desktop-webmail': 'the webmail',
      ios: 'iOS',
      android: 'Android',
      'mobile-webmail': 'the mobile webmail',
    },
  ],
  ['outlook', { windows: 'Windows' }],
  ['apple-mail', { macos: 'macOS', ios: 'iOS' }],
  ['yahoo', { 'desktop-webmail': 'the webmail', ios: 'iOS', android: 'Android' }],
];

/** Negative margins are the first note of `css-margin`, not its support. */
const NEGATIVE_MARGIN = 'Negative values are not supported.';

/** For each program `yes`, `no`, `partly`, or one of the last two with a note behind a colon. */
export function supportOf(feature: TestedFeature): string[] {
  return PROGRAMS.map(([family, platforms]) => {
    const tested = Object.entries(platforms).flatMap(([platform, name]) => {
      const newest = Object.values(feature.stats[family]?.[platform] ?? {}).at(-1);
      return newest === undefined || newest.startsWith('u') ? [] : [{ name, newest }];
    });
    const notes = notesOf(feature, tested);
    if (feature.slug === 'css-margin') return notes.includes(NEGATIVE_MARGIN) ? 'no' : 'yes';
    const without = tested.filter(({ newest }) => newest.startsWith('n'));
    if (tested.length === 0) throw new Error(`${feature.slug} was never tested in ${family}`);
    if (without.length === tested.length) return 'no';
    const missing =
      without.length === 0 ? [] : [`Not in ${without.map(({ name }) => name).join(', ')}.`];
    const words = [...missing, ...notes].join(' ');
    if (tested.every(({ newest }) => newest.startsWith('y'))) return 'yes';
    return words === '' ? 'partly' : `partly: ${words}`;
  });
}

/** The notes of what supports it in part, each once. */
function notesOf(
  { notes_by_num: notes }: TestedFeature,
  tested: readonly { newest: string }[],
): string[] {
  const numbers = tested
    .filter(({ newest }) => newest.startsWith('a'))
    .flatMap(({ newest }) => Array.from(newest.matchAll(/#(\d+)/g), ([, number]) => number ?? ''));
  return Array.from(new Set(numbers)).flatMap((number) => {
    const note = notes?.[number];
    return note === undefined ? [] : [plain(note)];
  });
}

/** Without Markdown, and without the word that `partly` says already. */
function plain(note: string): string {
  const text = note
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replace(/^(?:Partial(?:ly supported| support)?|Buggy)[.:]? /, '')
    .trim();
  return text.endsWith('.') ? text : `${text}.`;
}

async function main(path: string): Promise<void> {
  const { data, last_update_date: updated } = (await Bun.file(path).json()) as TestedData;
  const known = new Map(data.map((feature) => [feature.slug, feature]));
  const rows = FEATURES.map(({ slug }) => {
    const feature = known.get(slug);
    if (feature === undefined) throw new Error(`caniemail.com has no ${slug}`);
    return `  ${JSON.stringify(slug)}: ${JSON.stringify(supportOf(feature))},`;
  });
  const head = (await Bun.file(FILE).text()).split('\n */\n')[0] ?? '';
  await Bun.write(
    FILE,
    `${head}
 */

/** Day of caniemail's data. */
export const SUPPORT_DATE = ${JSON.stringify(updated.slice(0, 10))};

/** By feature: Gmail, Outlook on Windows, Apple Mail, Yahoo. */
export const SUPPORT: Readonly<
  Record<string, readonly [gmail: string, outlook: string, apple: string, yahoo: string]>
> = {
${rows.join('\n')}
};
`,
  );
  Bun.spawnSync(['node_modules/.bin/oxfmt', FILE]);
}

const [path] = process.argv.slice(2);
if (import.meta.main && path !== undefined) await main(path);
