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
