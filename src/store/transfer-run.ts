/**
 * Carries everything from a source into a target, then reads the target and compares.
 *
 * Promises that a target is settled only when each of its tables has as many rows as the source's and the same hash:
 * SHA-256 over the lines of all rows in the order of the key. The source is read once and never written. Fails with
 * `OperatorError`, and with what the engines throw; the target is not settled then.
 */
import { createHash } from 'node:crypto';
import { OperatorError } from '../base/errors.ts';
import type {
  Lines,
  TransferEnd,
  TransferSource,
  TransferTable,
  TransferTarget,
} from './transfer.ts';
import { planTransfer } from './transfer-tables.ts';

/** A table that stands on both sides. */
export interface Carried {
  table: string;
  rows: number;
  /** Of all rows, hexadecimal. */
  sha256: string;
}

/** How far the work on one table has come. */
export interface TransferProgress {
  step: 'copy' | 'compare';
  table: string;
  rows: number;
  of: number;
}

/** Carries all tables. The caller opens and closes both sides. */
export async function transfer(
  source: TransferSource,
  target: TransferTarget,
  report: (progress: TransferProgress) => void,
): Promise<Carried[]> {
  const tables = planTransfer(await source.catalog(), await target.catalog());
  await target.begin(tables);
  const carried: Carried[] = [];
  for (const table of tables) {
    const of = await source.count(table);
    const tally = new Tally(table.name, (rows) => {
      report({ step: 'copy', table: table.name, rows, of });
    });
    await target.write(table, tally.over(source.read(table)));
    carried.push(tally.result());
  }
  await target.complete();
  for (const [at, table] of tables.entries()) {
    const expected = carried[at];
    if (expected !== undefined) await compare(target, table, expected, report);
  }
  await source.checkQuiet();
  await target.settle();
  return carried;
}

async function compare(
  target: TransferEnd,
  table: TransferTable,
  expected: Carried,
  report: (progress: TransferProgress) => void,
): Promise<void> {
  const tally = new Tally(table.name, (rows) => {
    report({ step: 'compare', table: table.name, rows, of: expected.rows });
  });
  for await (const _ of tally.over(target.read(table)));
  const found = tally.result();
  if (found.rows === expected.rows && found.sha256 === expected.sha256) return;
  throw new OperatorError(
    `The table ${table.name} is not the same on both sides: ${expected.rows} rows with hash ${expected.sha256}, then ${found.rows} with ${found.sha256}`,
    'Nothing was changed on the side that was read. Check disk and memory of both machines, and run it again.',
  );
}

/** Counts and hashes what passes. */
class Tally {
  readonly #table: string;
  readonly #report: (rows: number) => void;
  readonly #hash = createHash('sha256');
  #rows = 0;

  constructor(table: string, report: (rows: number) => void) {
    this.#table = table;
    this.#report = report;
  }

  async *over(pieces: AsyncIterable<Lines>): AsyncGenerator<Lines> {
    for await (const lines of pieces) {
      this.#hash.update(lines.bytes);
      this.#rows += lines.rows;
      yield lines;
      this.#report(this.#rows);
    }
  }

  result(): Carried {
    return { table: this.#table, rows: this.#rows, sha256: this.#hash.digest('hex') };
  }
}
