/**
 * What a storage holds after each part of the story, as a transfer carries it: every table with all columns, also those
 * that no answer shows.
 */
import { join } from 'node:path';

import type { Store } from '../../src/store/store.ts';
import { fieldValue, rowsIn } from '../../src/store/transfer-lines.ts';
import { planTransfer } from '../../src/store/transfer-tables.ts';
import type { TransferSource } from '../../src/store/transfer.ts';
import { withKinds } from './sqlite/carried-files.ts';
import { Story } from './story.ts';
import type { Storage } from './stores.ts';

export const ROWS_FILE = join(import.meta.dir, 'story-rows.txt');

/** The rows by their tables, a line each, in the order in which they are carried. */
type Rows = ReadonlyMap<string, readonly string[]>;

export async function rowsOf(source: TransferSource, story: Story): Promise<Rows> {
  const catalog = withKinds(await source.catalog());
  const tables = new Map<string, string[]>();
  for (const table of planTransfer(catalog, catalog)) {
    const lines: string[] = [];
    for await (const piece of source.read(table)) {
      for (const fields of rowsIn(piece)) {
        const row = table.columns.map(({ name, kind }, at) => [
          name,
          fieldValue(fields[at] ?? '', kind),
        ]);
        lines.push(story.line(Object.fromEntries(row)));
      }
    }
    if ((await source.count(table)) !== lines.length)
      throw new Error(`not every row of ${table.name} was counted`);
    tables.set(table.name, lines);
  }
  return tables;
}

/** What has changed in each table: rows that went, then rows that came. */
export function changesOf(title: string, before: Rows | null, after: Rows): string {
  const lines = [`== ${title}`];
  for (const [table, rows] of after) {
    const earlier = before?.get(table) ?? [];
    const gone = earlier.filter((row) => !rows.includes(row));
    const come = rows.filter((row) => !earlier.includes(row));
    if (gone.length + come.length === 0) continue;
    lines.push(table, ...gone.map((row) => `- ${row}`), ...come.map((row) => `+ ${row}`));
  }
  return lines.join('\n') + '\n';
}

/**
 * Tells the parts one after the other to a storage that is opened anew for each; returns every answer, and after each part
 * the rows that have changed. Which numbers rows have is left out: it is the store's own.
 */
export async function textOfParts(
  storage: Storage,
  parts: readonly (readonly [title: string, ...tells: ((story: Story) => Promise<unknown>)[]])[],
): Promise<string> {
  let store: Store;
  const current = new Proxy({} as Store, {
    get: (_, verb: keyof Store) => (store[verb] as CallableFunction).bind(store),
  });
  const story = new Story(current);
  const texts: string[] = [];
  let before: Rows | null = null;
  for (const [title, ...tells] of parts) {
    store = await storage.open();
    const from = story.blocks.length;
    for (const tell of tells) await tell(story);
    texts.push(...story.blocks.slice(from));
    await store.close();
    const source = await storage.source();
    const rows = await rowsOf(source, story);
    await source.close();
    texts.push(changesOf(title, before, rows));
    before = rows;
  }
  return texts.join('\n').replaceAll(/"seq":\d+,/g, '');
}
