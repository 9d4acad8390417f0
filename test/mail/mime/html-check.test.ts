/** What is said of an email's HTML: features that mail programs leave out, problems for everybody, links. */
import { expect, test } from 'bun:test';
import { supportOf } from '../../../scripts/html-support.ts';
import { checkHtml, linksOf } from '../../../src/mail/mime/html-check.ts';
import { styleFacts } from '../../../src/mail/mime/style-facts.ts';
import { FEATURES } from '../../../src/mail/mime/html-features.ts';
import { SUPPORT, SUPPORT_DATE } from '../../../src/mail/mime/html-support.ts';

const used = (html: string): string[] =>
  checkHtml(html, 'text').features.map(({ feature }) => feature);

test.each([
  ['<style>a{}</style>', ['<style>']],
  ['<p style="display : flex">', ['display: flex']],
  ['<p style="display:inline-block; display: none !important">', ['display: none']],
  ["<p style='POSITION:absolute; color: red'>", ['position']],
  ['<style>@media print{} @font-face{}</style>', ['<style>', '@font-face', '@media']],
  [
    '<style>@media (prefers-color-scheme: dark){a:hover{}}</style>',
    ['<style>', '@media', '@media (prefers-color-scheme)', ':hover'],
  ],
  ['<td style="background: #fff url(https://x.example/a.png)">', ['background-image']],
  ['<td style="background-image: linear-gradient(red, blue)">', ['linear-gradient()']],
  [
    '<td background="a.png"><img alt="" srcset="b 2x" src="https://x.example/c.webp?d">',
    ['background="…"', 'srcset="…"', 'images of the type webp'],
  ],
  ['<p style="margin-left:-4px">', ['negative margin']],
  ['<p style="margin: 0 -.5em">', ['negative margin']],
  ['<p style="margin: 4px 8px; background: #fff; width: 10px">', []],
  ['<p style="width:calc(100% - 2rem);height:50vh">', ['calc()', 'rem as a unit', 'vh as a unit']],
  ['<p style="color:var(--ink);--max:3">', ['var()']],
  ['<style>li:nth-child(2)::before{}</style>', ['<style>', ':nth-child', '::before']],
  ['<p style="animation-name:x;grid-template-columns:1fr">', ['animation', 'grid-template']],
  ['<img alt="" src="data:image/png;base64,AA==">', ['images as data: URLs']],
  ['<svg><path d="M0"></svg>', ['<svg>']],
  [
    '<link rel="icon" href="a"><link rel=StyleSheet href="b">',
    ['<link>: style sheets from elsewhere'],
  ],
  ['<p>display: flex</p><!-- <video> --><constructor>', []],
  ['<style><svg>@media</style><video>', ['<style>', '<video>', '@media']],
])('%j uses %j', (html, features) => {
  expect(used(html)).toEqual(features);
});

test('support is told for each program, with what is missing and where it says more', () => {
  const [flex] = checkHtml('<p style="display:flex">', 'text').features;
  expect(flex).toMatchObject({
    feature: 'display: flex',
    url: 'https://www.caniemail.com/features/css-display-flex/',
    gmail: { support: 'partly', note: 'Not supported with non Google accounts.' },
    outlook: { support: 'no', note: null },
    apple: { support: 'yes', note: null },
    yahoo: { support: 'yes', note: null },
  });
});

test('support is known of each feature that is looked for, and no program lacks none of them', () => {
  expect(FEATURES.map(({ slug }) => slug).toSorted()).toEqual(Object.keys(SUPPORT).toSorted());
  for (const [slug, answers] of Object.entries(SUPPORT)) {
    expect([slug, answers.length]).toEqual([slug, 4]);
    for (const answer of answers) expect(answer).toMatch(/^(?:yes|no|partly(?:: .+)?)$/);
    expect([slug, answers.every((answer) => answer === 'yes')]).toEqual([slug, false]);
  }
  const facts = FEATURES.flatMap((feature) => feature.facts);
  expect(new Set(facts).size).toBe(facts.length);
});

test('of the tests of a program the newest on each platform count', () => {
  const feature = {
    slug: 'css-any',
    stats: {
      gmail: { 'desktop-webmail': { '2019': 'n', '2023': 'y' }, ios: { '2019': 'a #2' } },
      outlook: { windows: { '2016': 'y', '2019': 'n' }, macos: { '2020': 'y' } },
      'apple-mail': { macos: { '9': 'n', '13': 'y' }, ios: { '13': 'u' } },
      yahoo: { 'desktop-webmail': { '2019': 'y' }, android: { '2019': 'n' } },
    },
    notes_by_num: {
      '1': 'Another.',
      '2': 'Partial. Not with [a link](https://x.example) and `code`',
    },
  };
  expect(supportOf(feature)).toEqual([
    'partly: Not with a link and code.',
    'no',
    'yes',
    'partly: Not in Android.',
  ]);
});

const NO_ALT = 'no alt text: many readers see no images at first.';

test.each([
  ['<p>Hello</p>', 'text', []],
  ['<p>Hello</p>', null, ['There is no plain text for readers that show no HTML.']],
  ['<img src="a"><img src="b" alt="B"><img alt src="c">', 'text', [`1 image has ${NO_ALT}`]],
  ['<img><img>', 'text', [`2 images have ${NO_ALT}`]],
  [
    '<script>a</script><iframe src="b"></iframe>',
    'text',
    ['Every mail program takes out <script>, <iframe>.'],
  ],
  ['<body><style>a{}</style>', 'text', ['Gmail reads <style> in the <head> only: move it there.']],
  [`<style>${'a'.repeat(16_384)}</style>`, 'text', []],
  [
    `<style>${'a'.repeat(8_192)}</style><style>${'ü'.repeat(4_097)}</style>`,
    'text',
    [
      'Gmail takes 16,384 bytes of <style> elements and drops those that go beyond: make the styles shorter.',
    ],
  ],
  ['ü'.repeat(51_200), 'text', []],
  [
    `${'ü'.repeat(51_200)}x`,
    'text',
    ['Gmail cuts messages of more than 102,400 bytes of HTML and hides the rest.'],
  ],
  // What stands in a comment is no tag, and what stands behind one is.
  ['<!-- a > <img> --><img alt="x">', 'text', []],
  ['<!-- <p> --><img>', 'text', [`1 image has ${NO_ALT}`]],
] as const)('%#: problems', (html, text, words) => {
  const { problems } = checkHtml(html, text);
  expect(problems).toEqual([...words]);
});

test('links and images are listed once, with what should be changed', () => {
  const html =
    '<a href="https://x.example/?a=1&amp;b=2">x</a><a href=http://x.example/>y</a>' +
    "<a class='q' href='#'>z</a><a href='https://x.example/?a=1&b=2'>x</a><a>none</a>" +
    '<a href="mailto:a@b.example">m</a><a href="/inside">i</a><img src="cid:pixel">' +
    '<img src="data:image/png;base64,AA==" alt=""><a href="javascript:alert(1)">j</a>';
  expect(linksOf(html).map(({ kind, url, problem }) => [kind, url, problem])).toEqual([
    ['link', 'https://x.example/?a=1&b=2', null],
    ['link', 'http://x.example/', 'not encrypted: use https'],
    ['link', '#', 'leads nowhere'],
    ['link', 'mailto:a@b.example', null],
    ['link', '/inside', 'no whole address: it leads nowhere in a mail program'],
    ['image', 'cid:pixel', null],
    ['link', 'javascript:alert(1)', 'javascript: is blocked by mail programs'],
  ]);
});

test.each([
  '<style>',
  '<a href="',
  '<',
  '<!--',
  "<img src='",
  '<p style="margin:',
  ' alt="',
  'url(',
  '<p style="a:b:c:d',
  '<style>a:',
  '<style>-------',
  '<style>((((',
])('repeated %j takes time by its length', (part) => {
  const timeOf = (length: number): number => {
    const html = part.repeat(length / part.length);
    const tries = Array.from({ length: 3 }, () => {
      // Not by the clock on the wall, which counts what else the machine does.
      const before = process.cpuUsage();
      checkHtml(html, null);
      linksOf(html);
      return process.cpuUsage(before).user / 1000;
    });
    return Math.min(...tries);
  };
  timeOf(50_000);
  // Quadratic work would take 100 times as long.
  expect(timeOf(500_000)).toBeLessThan(Math.max(40 * timeOf(50_000), 100));
});

test('of the bounds of Gmail the last byte is still taken', () => {
  const told = (html: string): string[] => checkHtml(html, 'text').problems;
  expect(told('x'.repeat(102_400))).toEqual([]);
  expect(told('x'.repeat(102_401))).toHaveLength(1);
  expect(told(`<style>${'a'.repeat(16_384)}</style>`)).toEqual([]);
  expect(told(`<style>${'a'.repeat(16_385)}</style>`)).toHaveLength(1);
});

test('a long email is looked at up to 262,144 characters, and said to be cut', () => {
  const filler = '<p>'.repeat(87_381);
  expect(checkHtml(`${filler}<`, 'text').isCut).toBe(false);
  const cut = checkHtml(`${filler}<video>`, 'text');
  expect([cut.isCut, cut.features]).toEqual([true, []]);
});

test('five hundred links are listed', () => {
  const links = (count: number): string =>
    Array.from({ length: count }, (_, at) => `<a href="https://x.example/${at}">`).join('');
  expect(linksOf(links(500))).toHaveLength(500);
  expect(linksOf(links(501))).toHaveLength(500);
});

test.each([
  ['<a href="tel:+4912345">', null],
  ['<a href="CID:x">', null],
  ['<area href="https://x.example/">', null],
  ['<a href="">', 'leads nowhere'],
  ['<a href="ftp://x.example/">', 'ftp: is blocked by mail programs'],
  ['<img src="http://x.example/a.png">', 'not encrypted: use https'],
])('%s: %p', (html, problem) => expect(linksOf(html)[0]?.problem).toBe(problem));

test.each(['script', 'iframe', 'embed', 'applet'])('<%s> is taken out by all', (name) => {
  expect(checkHtml(`<${name}>`, 'text').problems).toEqual([
    `Every mail program takes out <${name}>.`,
  ]);
});

test.each(['ch', 'rem', 'vh', 'vw', 'vmin', 'vmax'])('%s is looked for as a unit', (unit) => {
  const facts: string[] = [];
  styleFacts(`width:3${unit}`, (fact) => facts.push(fact));
  expect(facts).toEqual(['property width', `unit ${unit}`]);
});

test('the table is what `scripts/html-support.ts` made of the data of that day, untouched', () => {
  const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(SUPPORT)).digest('hex');
  // After a run of the script both change together.
  expect([SUPPORT_DATE, digest]).toEqual([
    '2026-05-13',
    'af5c0b936fd0b6be945e36007a8cdb0dff5c6902dc2ad582d6b3368f1bd57397',
  ]);
});
