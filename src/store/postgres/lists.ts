/**
 * Pages of lists that run newest first by id, or by another rising column.
 *
 * Promises that `after` and `before` never repeat the row they name, and that a cursor holds when its row has gone: it says
 * where it stood. One row more than a page holds is read; it says whether there are more.
 */
import type { Page, PageOf } from '../pages.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { part } from './statement.ts';
import type { Part } from './statement.ts';

/** The conditions joined by AND, numbered on. */
function allOf(conditions: readonly Part[]): Part {
  const params: Part['params'][number][] = [];
  const texts = conditions.map((one) => {
    const shift = params.length;
    params.push(...one.params);
    return one.text.replaceAll(/\$(\d+)/g, (_, number: string) => `$${Number(number) + shift}`);
  });
  return { text: texts.join(' AND '), params };
}

/** A page of the rows of `select` that fulfil all of `where`, by their `id`. */
export function listBy<Row>(
  database: Access,
  select: string,
  where: readonly Part[],
  page: Page,
): Promise<PageOf<Row>> {
  const cursor = page.before ?? page.after;
  const compare = page.before === null ? '<' : '>';
  const from = cursor === null ? [] : [part(`id ${compare} $1`, idOrNull(cursor))];
  return pageOf<Row>(database, `${select} WHERE`, [...where, ...from], page, 'id');
}

/** A page of the rows of `select` that fulfil all of `where`, in the order of `by`. */
export async function pageOf<Row>(
  database: Access,
  select: string,
  where: readonly Part[],
  { before, limit }: Page,
  by: string,
): Promise<PageOf<Row>> {
  const { text, params } = allOf(where);
  const direction = before === null ? 'DESC' : 'ASC';
  const rows = await database.all<Row>({
    text: `${select} ${text} ORDER BY ${by} ${direction} LIMIT $${params.length + 1}`,
    params: [...params, limit + 1],
  });
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  if (before !== null) rows.reverse();
  return { rows, hasMore };
}
