/** The way through a list: which pages are offered, and that a filter goes along while a notice does not. */
import { expect, test } from 'bun:test';

import { pager } from '../../../src/dashboard/frame/navigation.ts';

/** The links of a pager by their words: their queries. */
function links(query: string, next: string | null): Record<string, Record<string, string>> | null {
  const shown = pager('/dashboard/list', new URLSearchParams(query), next);
  if (shown === null) return null;
  const found = shown
    .toString()
    .matchAll(/rel="(\w+)" href="\/dashboard\/list\?([^"]*)"\s*>(\w+)<\/a\s*>/g);
  return Object.fromEntries(
    Array.from(found, ([, rel = '', text = '', words = '']) => [
      `${rel} ${words}`,
      Object.fromEntries(new URLSearchParams(text.replaceAll('&amp;', '&'))),
    ]),
  );
}

test('Older keeps the filter, and Newest leads back to the first page of it', () => {
  const filter = { q: 'a&b', status: 'failed' };
  const query = new URLSearchParams(filter).toString();
  expect(links(query, 'x1')).toEqual({ 'next Older': { ...filter, after: 'x1' } });
  expect(links(`${query}&after=x1`, 'x2')).toEqual({
    'prev Newest': filter,
    'next Older': { ...filter, after: 'x2' },
  });
  expect(links(`${query}&after=x2`, null)).toEqual({ 'prev Newest': filter });
  expect(links(query, null)).toBeNull();
});

test('no link repeats the notice of what was done', () => {
  expect(links('after=x1&done=replayed&count=3', 'x2')).toEqual({
    'prev Newest': {},
    'next Older': { after: 'x2' },
  });
});
