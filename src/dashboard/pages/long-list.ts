/**
 * A list by rising id that is short with most and very long with some: a page of it, or the one with a name.
 *
 * Promises at most `PAGE_SIZE` rows. Where all are on the page there is neither a search nor a way to other pages.
 */
import type { ListPart } from '../../store/pages.ts';
import { filters } from '../frame/form.ts';
import type { Html } from '../frame/html.ts';
import { pager } from '../frame/navigation.ts';
import { empty } from '../frame/table.ts';
import { queryText, type Visit } from '../frame/visit.ts';

const PAGE_SIZE = 50;
const OLDEST_FIRST = ['First', 'Next'] as const;

/** How a list is read. */
interface Reads<T> {
  /** What one of it is called: `account`. */
  noun: string;
  part: (part: ListPart) => Promise<T[]>;
  /** The one with exactly this name or id. */
  named: (name: string) => Promise<T | null>;
}

interface LongList<T> {
  rows: readonly T[];
  search: Html | null;
  pager: Html | null;
  /** Why there are no rows, where the list itself may have some; null for the whole list. */
  none: Html | null;
}

/** The page that the query asks for: `name` searches, `after` is the last id of the page before. */
export async function longList<T extends { id: string }>(
  visit: Visit,
  path: string,
  { noun, part, named }: Reads<T>,
): Promise<LongList<T>> {
  const name = queryText(visit, 'name');
  const field = {
    kind: 'text',
    type: 'search',
    name: 'name',
    label: 'Name',
    value: name,
    placeholder: 'whole name, or id',
  } as const;
  if (name !== null) {
    const found = await named(name);
    const none = empty(`No ${noun} has this name.`, 'Write the whole name, or the id.');
    const rows = found === null ? [] : [found];
    return { rows, search: filters(path, [field]), pager: null, none };
  }
  const after = queryText(visit, 'after');
  const read = await part({ limit: PAGE_SIZE + 1, ...(after !== null && { after }) });
  const rows = read.slice(0, PAGE_SIZE);
  const next = read.length > PAGE_SIZE ? (rows.at(-1)?.id ?? null) : null;
  const pages = pager(path, visit.query, next, OLDEST_FIRST);
  return {
    rows,
    search: pages && filters(path, [field]),
    pager: pages,
    none: after === null ? null : empty(`There are no more ${noun}s.`, 'Go to the first page.'),
  };
}
