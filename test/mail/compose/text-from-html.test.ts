/** Text out of html: what readers of a transactional email need is in it, and the work has a bound. */
import { describe, expect, test } from 'bun:test';
import { textFromHtml } from '../../../src/mail/compose/text-from-html.ts';
import { seeded } from '../random.ts';

const ORDER = `<!doctype html><html><head><title>Order</title><style>p { color: red }</style></head><body>
<div style="display:none;max-height:0;overflow:hidden">Preheader&nbsp;&zwnj;&nbsp;&zwnj;&nbsp;&#847;</div>
<!--[if mso]><table><tr><td><![endif]-->
<table role="presentation" width="100%"><tr><td align="center"><table><tbody>
<tr><td><a href="https://shop.example.com/"><img src="https://cdn.example.com/l.png" alt="Shop"></a></td></tr>
<tr><td><h1>Your order has shipped</h1><p>Hi Ümit, your order <b>#12345</b> is on its way:</p>
<a href="https://shop.example.com/t/abc?x=1&amp;y=2">Track package</a></td></tr>
<tr><td><table><tr><th>Item</th><th>Qty</th><th>Price</th></tr>
<tr><td>Blue shirt</td><td>1</td><td>€ 12.50</td></tr><tr><td>Green hat</td><td>2</td><td>€ 8.00</td></tr></table></td></tr>
<tr><td><ul><li>One</li><li>Two</li></ul><img src="https://track.example.com/o.gif" width="1" height="1">
<p>Questions? <a href="mailto:help@shop.example.com">help@shop.example.com</a><br>&copy; 2026 Shop GmbH</p>
<p><a href="https://shop.example.com/unsub">https://shop.example.com/unsub</a> <a href="#top">Top</a></p>
</td></tr></tbody></table></td></tr></table></body></html>`;

test('a transactional email: rows of a table are lines, links and images keep their words', () => {
  expect(textFromHtml(ORDER)).toBe(`Shop <https://shop.example.com/>

Your order has shipped

Hi Ümit, your order #12345 is on its way:

Track package <https://shop.example.com/t/abc?x=1&y=2>
Item Qty Price
Blue shirt 1 € 12.50
Green hat 2 € 8.00

 * One
 * Two

Questions? help@shop.example.com
© 2026 Shop GmbH

https://shop.example.com/unsub Top`);
});

test.each([
  ['<b hidden>no</b><i style="color:red; DISPLAY: none">no</i>yes', 'yes'],
  ['<p data-skip-in-text="true">no</p><p>yes</p>', 'yes'],
  ['<script>no</script><style>no</style>yes', 'yes'],
  ['<blockquote><blockquote>quoted</blockquote></blockquote>', 'quoted'],
  ['5 &lt; 6 &amp; &#x1F600;', '5 < 6 & 😀'],
  ['no tags at all', 'no tags at all'],
  ['<h1>A</h1><h2>b</h2><h3>c</h3><h4>d</h4><h5>e</h5><h6>f</h6>', 'A\n\nb\n\nc\n\nd\n\ne\n\nf'],
  ['<p>a</p><p>b</p>', 'a\n\nb'],
  ['a<img alt="x">b<img>c', 'axbc'],
  ['<table><tr><td>a</td><th>b</th></tr><tr><td>c</td></tr></table>', 'a b\nc'],
  ['<a href="https://x.example">https://x.example</a>', 'https://x.example'],
  ['<a href="https://x.example">x</a>', 'x <https://x.example>'],
  ['<a href="#t">t</a>', 't'],
  ['<a href="mailto:a@b.example">mail</a>', 'mail <a@b.example>'],
  ['<a href="https://x.example/"></a>', 'https://x.example/'],
  ['<a>n</a>', 'n'],
  ['x<blockquote>a</blockquote>y', 'x\n\na\n\ny'],
  ['<head>h</head><title>t</title>a', 'a'],
  ['<i style="display:none">n</i>a', 'a'],
  ['<i style="DISPLAY:None">n</i><i style="Display: none">n</i>a', 'a'],
  ['<i style="display:inline">y</i>a', 'ya'],
  ['<i data-skip-in-text>y</i>a', 'ya'],
  ['<i style="color: red;display: NONE">n</i>a', 'a'],
  ['<i data-skip-in-text="false">y</i>a', 'ya'],
  ['<ol><li>a</li><li>b</li></ol>', ' 1. a\n 2. b'],
  ['<ul><li>a<ul><li>b</li></ul></li></ul>', ' * a\n   * b'],
  ['<pre>a  b\nc</pre>', 'a  b\nc'],
  ['a<br>b', 'a\nb'],
  ['word '.repeat(15), 'word '.repeat(15).trim()],
  [`${'word '.repeat(15)}w`, `${'word '.repeat(15)}w`],
  [`${'word '.repeat(15)}ww`, `${'word '.repeat(15).trim()}\nww`],
])('%s', (html, text) => {
  expect(textFromHtml(html)).toBe(text);
});

test('lines have at most 76 characters, a long URL on a line of its own', () => {
  const url = `https://shop.example.com/${'x'.repeat(200)}`;
  const text = textFromHtml(`<p>${'word '.repeat(100)}<a href="${url}">here</a></p>`) ?? '';
  expect(text).toContain(url);
  const long = text.split('\n').filter((line) => line.length > 76);
  expect(long.map((line) => line.includes(url))).toEqual([true]);
});

describe('no text part', () => {
  const nested = (tag: string, depth: number): string => `<${tag}>`.repeat(depth);
  test.each([
    ['for html without words', '<img src="https://a.example/x.png"><br>&nbsp;'],
    ['for nothing', ''],
    ['for html that is too long', `<p>${'a '.repeat(500_000)}</p>`],
    ['for too many tags', `${'<br>'.repeat(8_001)}x`],
    ['for html that is nested too deep', `${nested('div', 70)}x`],
    ['for html that would exhaust a stack', `${nested('b', 8_000)}x`],
  ])('%s', (_, html) => {
    expect(textFromHtml(html)).toBeNull();
  });

  test('and to the last tag, level and character within them there is one', () => {
    expect([64, 65].map((depth) => textFromHtml(`${nested('div', depth)}x`))).toEqual(['x', null]);
    const breaks = [8_000, 8_001].map((count) => textFromHtml(`${'<br>'.repeat(count)}x`)?.length);
    expect(breaks).toEqual([8_001, undefined]);
    const long = [131_072, 131_073].map((length) => textFromHtml('a'.repeat(length))?.length);
    expect(long).toEqual([131_072, undefined]);
  });

  test('but for what is just within the bounds', () => {
    expect(textFromHtml(`${nested('div', 40)}x`)).toBe('x');
    expect(textFromHtml(`${'<br>'.repeat(7_990)}x`)).toContain('x');
    expect(textFromHtml('a '.repeat(65_000))).toHaveLength(129_999);
  });
});

test('whatever html it is, there is a text or none, the same each time', () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  const random = seeded(seed);
  const pieces = [
    '<p>',
    '</p>',
    '<table>',
    '<tr>',
    '<td>',
    '</td>',
    '<a href="',
    '">',
    '&am',
    '&#0;',
    '<!--',
    '-->',
  ];
  pieces.push(
    '<![CDATA[',
    ']]>',
    '<ul><li>',
    '</ul>',
    'ü',
    '\0',
    '\uD800',
    '<img alt="x',
    '"',
    '<',
    'word ',
    '\n',
  );
  for (let round = 0; round < 500; round += 1) {
    const html = Array.from({ length: random.int(60) }, () => random.pick(pieces)).join('');
    const text = textFromHtml(html);
    expect([seed, html, textFromHtml(html)]).toEqual([seed, html, text]);
    expect(text).not.toBe('');
  }
});
