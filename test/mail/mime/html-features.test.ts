/** Each feature by itself: the HTML that uses it, and the one name under which it is told. */
import { expect, test } from 'bun:test';
import { checkHtml } from '../../../src/mail/mime/html-check.ts';
import { FEATURES } from '../../../src/mail/mime/html-features.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);
const inStyle = (css: string): string => `<p style="${css}">`;

/** The name of a feature, and each HTML that uses it and no other. */
const USES: [name: string, html: string][] = [
  ...words(
    'audio base dialog form marquee meter object picture progress select style svg textarea video',
  ).map((name): [string, string] => [`<${name}>`, `<${name}>`]),
  ['<link>: style sheets from elsewhere', '<link rel="stylesheet" href="a">'],
  ['<button>', '<button>'],
  ['<input>', '<input>'],
  ['<map>: image maps', '<map>'],
  ...words('article aside details figure footer header main nav section').map(
    (name): [string, string] => ['<article>, <section> and the like', `<${name}>`],
  ),
  ['background="…"', '<td background="a">'],
  ['srcset="…"', '<img alt="" srcset="a 2x">'],
  ['images as data: URLs', '<img alt="" src="data:,">'],
  ...words('avif heif svg tiff webp').map((kind): [string, string] => [
    `images of the type ${kind}`,
    `<img alt="" src="a.${kind}">`,
  ]),
  ...words('font-face import keyframes media supports').map((name): [string, string] => [
    `@${name}`,
    inStyle(`@${name} {}`),
  ]),
  ...words('prefers-color-scheme prefers-reduced-motion').map((name): [string, string] => [
    `@media (${name})`,
    inStyle(`(${name}: x)`),
  ]),
  ...words(`align-items animation aspect-ratio backdrop-filter background-blend-mode background-clip background-position
    background-repeat background-size border-image border-radius box-shadow box-sizing clip-path color-scheme column-count
    filter flex-direction flex-wrap float gap hyphens justify-content list-style-image mask-image max-height max-width
    min-height min-width mix-blend-mode object-fit object-position opacity outline overflow position table-layout
    text-overflow text-shadow text-wrap transform transition user-select visibility white-space word-break word-spacing
    writing-mode z-index`).map((name): [string, string] => [name, inStyle(`${name}: x`)]),
  ['animation', inStyle('animation-name: x')],
  ['background-image', inStyle('background-image: url(a)')],
  ['background-image', inStyle('background: url(a)')],
  ...words('grid-template grid-template-columns grid-template-rows grid-template-areas').map(
    (name): [string, string] => ['grid-template', inStyle(`${name}: x`)],
  ),
  ...words('margin padding').flatMap((name) =>
    words('inline block').map((end): [string, string] => [
      `${name}-inline, ${name}-block`,
      inStyle(`${name}-${end}: 1px`),
    ]),
  ),
  ...words('flex grid').flatMap((name) =>
    [name, `inline-${name}`].map((value): [string, string] => [
      `display: ${name}`,
      inStyle(`display: ${value}`),
    ]),
  ),
  ['display: none', inStyle('display: none')],
  ['negative margin', inStyle('margin-top: -1px')],
  ...words(
    'var calc clamp max min light-dark linear-gradient radial-gradient conic-gradient rgba',
  ).map((name): [string, string] => [`${name}()`, inStyle(`x: ${name}(1)`)]),
  ...words('lch oklch lab oklab').map((name): [string, string] => [
    'lch(), oklch(), lab(), oklab()',
    inStyle(`x: ${name}(1)`),
  ]),
  ...words('ch rem vh vmax vmin vw').map((unit): [string, string] => [
    `${unit} as a unit`,
    inStyle(`x: 1${unit}`),
  ]),
  ...words('active checked first-child focus has hover last-child not nth-child target').map(
    (name): [string, string] => [`:${name}`, inStyle(`a:${name}`)],
  ),
  ...words('after before').map((name): [string, string] => [`::${name}`, inStyle(`a::${name}`)]),
];

test.each(USES)('%s: %s', (name, html) => {
  expect(checkHtml(html, 'text').features.map(({ feature }) => feature)).toEqual([name]);
});

test('of many in one email each is told once, in the order of the table', () => {
  const named = USES.filter(([name]) => name !== '<style>');
  const html = named.map(([, one]) => one).join('\n');
  const titles = FEATURES.map(({ title }) => title);
  const told = (whole: string): string[] =>
    checkHtml(whole, 'text').features.map(({ feature }) => feature);
  expect(told(html)).toEqual(titles.filter((title) => title !== '<style>'));
  // What stands in a style attribute may as well stand in one style element, in any order.
  const [inside, outside] = [/^<p style="(.*)">$/, /^<(?!p style)/];
  const styles = named.flatMap(([, one]) => inside.exec(one)?.[1] ?? []).map((one) => `{${one}}`);
  const tags = named.flatMap(([, one]) => (outside.test(one) ? [one] : [])).join('');
  for (const css of [styles, styles.toReversed()]) {
    expect(told(`${tags}<style>${css.join('\n')}</style>`)).toEqual(titles);
  }
});

test('no feature is left out', () => {
  const named = new Set(USES.map(([name]) => name));
  expect(FEATURES.map(({ title }) => title).toSorted()).toEqual([...named].toSorted());
});
