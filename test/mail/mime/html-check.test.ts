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

test('the name of a tag is read to its twentieth letter, and from a letter on', () => {
  expect(used('<video1>< video></video><1video><VIDEO><!video>')).toEqual(['<video>']);
  expect(used('<><video>')).toEqual(['<video>']);
  // Only opening tags have attributes.
  for (const no of ['</p', '<!p', '<1p', '< p', '<!--']) {
    const [html, links] = [`${no} style="display:flex" background="a">-->`, `${no} href="a">-->`];
    expect([no, used(html), linksOf(links)]).toEqual([no, [], []]);
  }
  expect(used('<!-- <video> -->')).toEqual([]);
  expect(used('<!-- <video> --')).toEqual([]);
  // A comment may be as short as this.
  expect(used('<!--><video>-->')).toEqual(['<video>']);
  expect(used('<video')).toEqual([]);
  expect(used('<p <video>')).toEqual([]);
  expect(used('<p><video><audio>')).toEqual(['<audio>', '<video>']);
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

test.each([
  ['<td background>', []],
  ['<td background="">', []],
  ['<td data-background="x">', []],
  ['<td background-x="y">', []],
  ['<td x="background">', []],
  ["<td background='a'>", ['background="…"']],
  ['<td background=a>', ['background="…"']],
  ['<TD BACKGROUND = "A">', ['background="…"']],
  ['<link>', []],
  ['<link rel="STYLESHEET">', ['<link>: style sheets from elsewhere']],
  ['<img alt="" src="x.WebP?y">', ['images of the type webp']],
  ['<img alt="" src="x.webp#y">', ['images of the type webp']],
  ['<img alt="" src="x.webpx">', []],
  ['<img alt="" src="webp">', []],
  [`<img alt="" src="${'a'.repeat(1_995)}.webp">`, ['images of the type webp']],
  [`<img alt="" src="${'a'.repeat(1_996)}.webp">`, []],
  ['<style>@media', ['<style>', '@media']],
  ['<style><video></style>', ['<style>']],
  ['<style>a{}</STYLE><video>', ['<style>', '<video>']],
])('%#: attributes and addresses as they are spelled', (html, features) => {
  expect(used(html)).toEqual(features);
});

test('of links as of features the first 262,144 characters are looked at', () => {
  const link = '<a href="https://x.example/">';
  const at = (end: number): number => linksOf(`${' '.repeat(end - link.length)}${link}`).length;
  expect([at(262_144), at(262_145)]).toEqual([1, 0]);
});

test.each([
  // Behind a colon there may be others.
  ['<a href="#top">', 'no whole address: it leads nowhere in a mail program'],
  ['<a href="sms:+491">', 'sms: is blocked by mail programs'],
  ['<a href="x-mailto:a">', 'x-mailto: is blocked by mail programs'],
  ['<a href="HTTPS://X.example/">', null],
  ['<a href="HTTP://x.example/">', 'not encrypted: use https'],
  ['<a href="https://x.example/?data:x">', null],
  ['<a href="//x.example/a">', 'no whole address: it leads nowhere in a mail program'],
])('%s is a link, with the problem %p', (html, problem) => {
  expect(linksOf(html).map((link) => link.problem)).toEqual([problem]);
});

test('every escaped ampersand of an address is one, and a comment begins with two dashes', () => {
  expect(linksOf('<a href="https://x.example/?a&amp;b&amp;c&lt;">')[0]?.url).toBe(
    'https://x.example/?a&b&c&lt;',
  );
  expect(used('<!- ><video>-->')).toEqual(['<video>']);
});

test('an image, like anything else, may have a background', () => {
  expect(used('<img alt="" background="a.png"><source srcset="b">')).toEqual([
    'background="…"',
    'srcset="…"',
  ]);
});

test('a style element in the head is where it belongs, whatever the body has', () => {
  const told = (html: string): string[] => checkHtml(html, 'text').problems;
  const moved = ['Gmail reads <style> in the <head> only: move it there.'];
  expect(told('<head><style>x</style></head><body><p style="a:b">')).toEqual([]);
  expect(told('<style>a{}</style><BODY><p>')).toEqual([]);
  expect(told('<style></style><body><style>')).toEqual(moved);
  const both = [...moved, 'Every mail program takes out <script>.'];
  expect(told('<body><style></style><script></script>')).toEqual(both);
});

test.each([
  ['<a href="a&amp;b">', 'link', 'a&b'],
  ["<A HREF=' x '>", 'link', 'x'],
  ['<a href>', 'link', ''],
  // The quotation mark that should close it is missing.
  ['<a href="x>y">', 'link', 'x'],
  ['<area href="x">', 'link', 'x'],
  ['<img href="x" src="y">', 'image', 'y'],
])('%s leads to %s %s', (html, kind, url) => {
  expect(linksOf(html).map((link) => [link.kind, link.url])).toEqual([[kind, url]] as never);
});

test.each([
  '<a data-href="x">',
  '<a src="x">',
  '<img href="x">',
  '<a href="data:x">',
  '<p href="x">',
])('%s leads nowhere that counts', (html) => expect(linksOf(html)).toEqual([]));

test('a link and an image of one address are two', () => {
  const url = 'https://x.example/';
  expect(linksOf(`<a href="${url}"><img src="${url}"><a href="${url}">`)).toEqual([
    { kind: 'link', url, problem: null },
    { kind: 'image', url, problem: null },
  ]);
});

test.each([
  ['display:flex', 'pseudo flex, property display, display flex'],
  ['display: inline-flex !important', 'property display, display inline-flex'],
  ['display:\tgrid;', 'property display, display grid'],
  ['display:none!important', 'pseudo none, property display, display none'],
  ['display:}none', 'property display, display '],
  ['background-image:url(x)!important', 'pseudo url, property background-image, function url'],
  ['margin:0 -1px', 'property margin, negative margin'],
  ['margin:1px;x -1px', 'property margin'],
  ['margin-top: -.5em !important', 'property margin-top, negative margin'],
  ['a::before', 'property a, pseudo before'],
  ['margin:-1px', 'pseudo -, property margin, negative margin'],
  ['margin-left:-x', 'pseudo -x, property margin-left'],
  ['margin:a-1', 'pseudo a-, property margin'],
  ['background:url(x)', 'pseudo url, property background-image, function url'],
  ['background:red;x:url(y)', 'pseudo red, pseudo url, property x, function url'],
  ['background-image:none', 'pseudo none'],
  ['animation-name:x', 'pseudo x, property animation-name, property animation'],
  ['3rem 33.5vh', 'unit rem, unit vh'],
  ['3remx rem', ''],
  ['@media(', 'at media, function media'],
  ['(x', ''],
  ['var(--a)', 'function var'],
  [`background:${' '.repeat(196)}url(x)`, 'property background-image, function url'],
  [`background:${' '.repeat(197)}url(x)`, 'function url'],
  [`x${'a'.repeat(40)}:x`, `pseudo x, property ${'a'.repeat(40)}`],
  ['position         :x', 'pseudo x, property position'],
  ['position          :x', 'pseudo x'],
])('%#: the facts of a style, in order', (css, told) => {
  const facts: string[] = [];
  styleFacts(css, (fact) => facts.push(fact));
  expect(facts.join(', ')).toBe(told);
});
