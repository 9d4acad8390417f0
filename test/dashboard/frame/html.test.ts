/** The one escaping function, and that nothing becomes markup by another way. */
import { expect, test } from 'bun:test';

import { escapeHtml, html } from '../../../src/dashboard/frame/html.ts';

test('markup characters are escaped, in text and in quoted attributes', () => {
  const hostile = `<script>alert("1")</script>&'`;
  expect(escapeHtml(hostile)).toBe('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;');
  expect(html`<a title="${hostile}">${hostile}</a>`.toString()).toBe(
    `<a title="${escapeHtml(hostile)}">${escapeHtml(hostile)}</a>`,
  );
});

test('templates nest, lists are joined, and only null, undefined and false are left out', () => {
  const rows = ['<a>', '<b>'].map((text) => html`<li>${text}</li>`);
  expect(html`${rows}${null}${undefined}${false}${0}${''}`.toString()).toBe(
    '<li>&lt;a&gt;</li><li>&lt;b&gt;</li>0',
  );
});

test('a value that only looks like a template is escaped', () => {
  const forged = { toString: () => '<script>' } as unknown as string;
  expect(() => html`${forged}`.toString()).toThrow();
});
