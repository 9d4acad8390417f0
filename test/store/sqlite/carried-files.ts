/** Carrying a data directory into another, as a transfer between SQLite and PostgreSQL does it on SQLite's side. */
import { openFilesSource } from '../../../src/store/sqlite/transfer-reading.ts';
import { openFilesTarget } from '../../../src/store/sqlite/transfer-writing.ts';
import { rowsIn } from '../../../src/store/transfer-lines.ts';
import { transfer } from '../../../src/store/transfer-run.ts';
import type { Carried, TransferProgress } from '../../../src/store/transfer-run.ts';
import type { Catalog, ColumnKind, TransferSource } from '../../../src/store/transfer.ts';
import { planTransfer } from '../../../src/store/transfer-tables.ts';

const FLAGS = new Set(['is_sandbox', 'is_test', 'may_be_duplicate', 'ok']);
const BYTES = /^(hash|sealed_.*|html|raw|content)$/;
const NUMBERS =
  /^(.*_at|.*_ms|.*_until|.*_since|since|at|.*_step|seq|status_code|attempts?|number|hour|count|bytes|position|day|.*_count|delivered|delayed|bounced|complained|failed|hard_bounces|complaints)$/;

/** As PostgreSQL tells the kinds of these columns. */
function kindOf(table: string, column: string): ColumnKind {
  if (FLAGS.has(column)) return 'flag';
  if (BYTES.test(column) || (table === 'bodies' && column === 'text')) return 'bytes';
  if (table === 'usage_days' && column === 'day') return 'text';
  if (column === 'status') return table === 'logs' || table === 'idempotency' ? 'number' : 'text';
  return NUMBERS.test(column) ? 'number' : 'text';
}

/** The catalog with kinds, which SQLite does not tell. */
export function withKinds(catalog: Catalog): Catalog {
  return Object.fromEntries(
    Object.entries(catalog).map(([table, columns]) => [
      table,
      Object.fromEntries(Object.keys(columns).map((column) => [column, kindOf(table, column)])),
    ]),
  );
}

/** Carries everything; the caller's `report` hears how far it is. */
export async function carry(
  from: string,
  to: string,
  report: (progress: TransferProgress) => void = () => undefined,
): Promise<Carried[]> {
  const source = openFilesSource(from);
  const target = openFilesTarget(to, 7);
  try {
    const told: TransferSource = {
      ...source,
      catalog: async () => withKinds(await source.catalog()),
    };
    return await transfer(told, target, report);
  } finally {
    await source.close();
    await target.close();
  }
}

/** The lines of a table in `dataDir`, from its source. */
export async function linesOf(dataDir: string, name: string): Promise<string[][]> {
  const source = openFilesSource(dataDir);
  try {
    const catalog = withKinds(await source.catalog());
    const table = planTransfer(catalog, catalog).find((each) => each.name === name);
    if (table === undefined) throw new Error(`no table ${name}`);
    const lines: string[][] = [];
    for await (const piece of source.read(table)) lines.push(...rowsIn(piece));
    if ((await source.count(table)) !== lines.length) throw new Error(`not every row of ${name}`);
    return lines;
  } finally {
    await source.close();
  }
}
