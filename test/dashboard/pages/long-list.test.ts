/** A list that may be long: what the query asks of the store, and when there is a search and a way to other pages. */
import { expect, test } from 'bun:test';

import { longList } from '../../../src/dashboard/pages/long-list.ts';
import type { ListPart } from '../../../src/store/pages.ts';
import { visitOf } from '../drawn/page.ts';

/** The page that `query` asks for, of a list with so many, and what was read for it. */
async function listOf(count: number, query = '') {
  const asked: (ListPart | string)[] = [];
  const all = Array.from({ length: count }, (_, at) => ({ id: `i${at + 100}` }));
  const list = await longList(visitOf({ query }), '/dashboard/things', {
    noun: 'thing',
    part: (part) => {
      asked.push(part);
      const from = all.findIndex(({ id }) => id === part.after) + 1;
      return Promise.resolve(all.slice(from, from + part.limit));
    },
    named: (name) => {
      asked.push(name);
      return Promise.resolve(all.find(({ id }) => id === name) ?? null);
    },
  });
  const links = String(list.pager).matchAll(/\?([^"]*)"\s*>(\w+)<\/a/g);
  return {
    asked,
    count: list.rows.length,
    last: list.rows.at(-1)?.id,
    isSearched: list.search !== null,
    links: Array.from(links, ([, to, words]) => `${words} ${to}`),
    none: list.none && (/<strong>([^<]*)/.exec(String(list.none))?.[1] ?? ''),
  };
}

test.each([0, 1, 50])('of %d all are shown, without a search', async (count) => {
  expect(await listOf(count)).toMatchObject({
    asked: [{ limit: 51 }],
    count,
    isSearched: false,
    links: [],
    none: null,
  });
});

test('of one more fifty are shown, with a search and a way to the last', async () => {
  const first = await listOf(51);
  expect(first).toMatchObject({ count: 50, last: 'i149', isSearched: true });
  expect(first.links).toEqual(['Next after=i149']);
  expect(await listOf(51, 'after=i149')).toEqual({
    asked: [{ limit: 51, after: 'i149' }],
    count: 1,
    last: 'i150',
    isSearched: true,
    links: ['First '],
    none: 'There are no more things.',
  });
});

test('a name is searched for by itself, and only where one is entered', async () => {
  const found = { isSearched: true, links: [], none: 'No thing has this name.' };
  expect(await listOf(3, 'name=+i101+&after=i100')).toMatchObject({
    ...found,
    asked: ['i101'],
    count: 1,
    last: 'i101',
  });
  expect(await listOf(3, 'name=i1')).toMatchObject({ ...found, asked: ['i1'], count: 0 });
  expect(await listOf(3, 'name=+')).toMatchObject({ asked: [{ limit: 51 }], count: 3 });
});
