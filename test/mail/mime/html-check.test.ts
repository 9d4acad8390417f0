/** What is said of an email's HTML: features that mail programs leave out, problems for everybody, links. */
import { expect, test } from 'bun:test';
import { checkHtml, linksOf } from '../../../src/mail/mime/html-check.ts';

const used = (html: string): string[] =>
  checkHtml(html, 'text').features.map(({ feature }) => feature);

test.each([
  ['<style>a{}</style>', ['<style>']],
  ['<p style="display : flex">', ['display: flex']],
  ["<p style='POSITION:absolute; color: red'>", ['position']],
  ['<style>@media print{} @font-face{}</style>', ['<style>', '@media', '@font-face']],
  ['<td style="background: #fff url(https://x.example/a.png)">', ['background-image']],
  ['<p style="margin-left:-4px">', ['negative margin']],
  ['<p style="margin: 4px 8px; background: #fff; width: 10px">', []],
  ['<img alt="" src="data:image/png;base64,AA==">', ['images as data: URLs']],
  ['<svg><path d="M0"></svg>', ['<svg>']],
  ['<p>display: flex</p><!-- <video> --><constructor>', []],
  ['<style><svg>@media</style><video>', ['<style>', '<video>', '@media']],
])('%j uses %j', (html, features) => {
  expect(used(html)).toEqual(features);
});

test('support is told for each program', () => {
  const [flex] = checkHtml('<p style="display:flex">', 'text').features;
  expect(flex).toEqual({
    feature: 'display: flex',
    gmail: 'yes',
    outlook: 'no',
    apple: 'yes',
    yahoo: 'yes',
  });
});

test.each([
  ['<p>Hello</p>', 'text', []],
  ['<p>Hello</p>', null, ['no plain text']],
  ['<img src="a"><img src="b" alt="B"><img alt src="c">', 'text', ['1 of the images']],
  ['<body><style>a{}</style>', 'text', ['in the <head> only']],
  [`<style>${'a'.repeat(8_193)}</style>`, 'text', ['more than 8,192 characters']],
  ['ü'.repeat(51_201), 'text', ['102,400 bytes']],
] as const)('%#: problems', (html, text, words) => {
  const { problems } = checkHtml(html, text);
  expect(problems).toHaveLength(words.length);
  for (const [at, each] of words.entries()) expect(problems[at]).toContain(each);
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
])('repeated %j takes time by its length', (part) => {
  const timeOf = (length: number): number => {
    const html = part.repeat(length / part.length);
    const tries = Array.from({ length: 3 }, () => {
      const beganAt = performance.now();
      checkHtml(html, null);
      linksOf(html);
      return performance.now() - beganAt;
    });
    return Math.min(...tries);
  };
  timeOf(50_000);
  // Quadratic work would take 100 times as long.
  expect(timeOf(500_000)).toBeLessThan(Math.max(40 * timeOf(50_000), 100));
});
