/**
 * Suppressions in and out as CSV, a million rows at a time.
 *
 * Promises bounded memory, progress, and that a bad row does not stop the import: bad rows are counted, and
 * the first of them are reported with their line. Importing twice adds nothing the second time.
 */
import type { SuppressionReason } from '../../base/status.ts';
import { addressOf, makeAddress } from '../../mail/header/address.ts';
import type { Suppression } from '../../store/rows.ts';
import type { Context } from '../context.ts';
import { csvPieces, csvRow, fieldOf, readCsv, type CsvPiece, type CsvRow } from './csv.ts';

/** Rows of one store call, and of one page of an export. */
const STEP = 1_000;
/** Read in one go: a few milliseconds of work. */
const SLICE_BYTES = 16 * 1024;
/** Bad rows that are named; more are only counted. */
const MAX_NAMED = 20;

const COLUMNS = ['email', 'reason', 'source', 'note', 'created_at'] as const;
type Column = (typeof COLUMNS)[number];
/** The column of each field of a row; undefined for one that is ignored. */
type Layout = readonly (Column | undefined)[];

/** Spellings of reasons and columns in the exports of other services. */
const REASONS: ReadonlyMap<string, SuppressionReason> = new Map([
  ['hard_bounce', 'hard_bounce'],
  ['bounce', 'hard_bounce'],
  ['bounced', 'hard_bounce'],
  ['complaint', 'complaint'],
  ['complained', 'complaint'],
  ['spam', 'complaint'],
  ['spam_report', 'complaint'],
  ['unsubscribe', 'unsubscribe'],
  ['unsubscribed', 'unsubscribe'],
  ['manual', 'manual'],
]);
const ALIASES: ReadonlyMap<string, Column> = new Map([
  ...COLUMNS.map((name) => [name, name] as const),
  ['address', 'email'],
  ['email_address', 'email'],
  ['created', 'created_at'],
]);

export interface ImportResult {
  /** Rows that named an address. */
  rows: number;
  added: number;
  /** Already suppressed, or twice in the file. */
  known: number;
  bad: number;
  /** The first bad rows, with the reason. */
  named: { line: number; message: string }[];
}

/**
 * Reads suppressions from CSV in chunks of UTF-8. With a header row, columns may be in any order
 * (`email` is required; `reason`, `source`, `note`, `created_at` in ISO 8601 are optional, others are
 * ignored); without one the first column is the address. A missing reason means `manual`. `progress` is
 * told the result so far after each step; `firstLine` is the number of the first line. Throws `CsvError` where the file
 * is not CSV; the rows read before are imported. Gives the event loop back every few thousand characters.
 */
export async function importSuppressions(
  ctx: Pick<Context, 'clock' | 'ids' | 'store'>,
  accountId: string,
  chunks: AsyncIterable<Uint8Array>,
  progress: (soFar: ImportResult) => void = () => undefined,
  firstLine = 1,
): Promise<ImportResult> {
  const result: ImportResult = { rows: 0, added: 0, known: 0, bad: 0, named: [] };
  const now = ctx.clock.now();
  let layout: Layout | null = null;
  let batch: Suppression[] = [];
  const flush = async (): Promise<void> => {
    const added = await ctx.store.addSuppressions(batch);
    result.added += added;
    result.known += batch.length - added;
    batch = [];
    progress(result);
  };
  for await (const row of readCsv(slices(chunks), firstLine)) {
    if (layout === null) {
      const header = headerOf(row);
      layout = header ?? ['email', 'reason', 'source', 'note', 'created_at'];
      if (header !== null) continue;
    }
    const read = readRow(row, layout, now);
    if (typeof read === 'string') {
      result.bad += 1;
      if (result.named.length < MAX_NAMED) result.named.push({ line: row.line, message: read });
      continue;
    }
    result.rows += 1;
    batch.push({ ...read, id: ctx.ids.next(now), accountId });
    if (batch.length === STEP) await flush();
  }
  if (batch.length > 0 || result.rows === 0) await flush();
  return result;
}

/** The same bytes in small slices, with other work between them: rows that are wrong cost time, too. */
async function* slices(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      await new Promise((resolve) => setImmediate(resolve));
      yield chunk.subarray(at, at + SLICE_BYTES);
    }
  }
}

/** `text` with its header row at the front of every piece of about `length` characters, each to be read alone. */
export async function* piecesWithHeader(text: string, length: number): AsyncGenerator<CsvPiece> {
  const header = await headerText(text);
  let isFirst = true;
  for (const piece of csvPieces(text, length)) {
    if (isFirst || header === null) yield piece;
    else yield { text: header.text + piece.text, line: piece.line - header.lines };
    isFirst = false;
  }
}

/** The header row as it stands in `text`, null when the first row is data. */
async function headerText(text: string): Promise<{ text: string; lines: number } | null> {
  for (const row of csvPieces(text, 1)) {
    const bytes = (async function* () {
      yield Buffer.from(row.text);
    })();
    const first = await readCsv(bytes)
      .next()
      // Whoever reads the pieces says what is wrong.
      .catch(() => null);
    if (first === null) return null;
    if (first.done === true) continue;
    const lines = row.text.split(/\r\n|\r|\n/).length - 1;
    return headerOf(first.value) === null ? null : { text: row.text, lines };
  }
  return null;
}

/** All suppressions of an account as CSV with a header row, newest first, in chunks of text. */
export async function* exportSuppressions(
  ctx: Pick<Context, 'store'>,
  accountId: string,
): AsyncGenerator<string> {
  yield csvRow(COLUMNS);
  let after: string | null = null;
  for (;;) {
    const page = { limit: STEP, after, before: null };
    const { rows, hasMore } = await ctx.store.suppressions(accountId, null, page);
    if (rows.length > 0) yield rows.map(textOf).join('');
    after = rows.at(-1)?.email ?? null;
    if (!hasMore || after === null) return;
  }
}

function textOf(row: Suppression): string {
  const createdAt = new Date(row.createdAt).toISOString();
  return csvRow([row.email, row.reason, row.source, row.note, createdAt]);
}

/** The columns that a header row names, undefined for an unknown one; null when the row is data. */
function headerOf({ fields }: CsvRow): Layout | null {
  const names = fields.map((field) => field.trim().toLowerCase());
  const columns = names.map((name) => ALIASES.get(name.replaceAll(/[ -]/g, '_')));
  if (!columns.includes('email')) return null;
  return columns;
}

function readRow(
  { fields }: CsvRow,
  layout: Layout,
  now: number,
): Omit<Suppression, 'id' | 'accountId'> | string {
  const field = (column: Column): string => fieldOf((fields[layout.indexOf(column)] ?? '').trim());
  const mailbox = makeAddress(field('email'));
  if ('error' in mailbox) return `the address ${mailbox.error}`;
  const reason = field('reason') === '' ? 'manual' : REASONS.get(field('reason').toLowerCase());
  if (reason === undefined) {
    return `"${field('reason')}" is not a reason; use hard_bounce, complaint, unsubscribe or manual`;
  }
  const createdAt = field('created_at') === '' ? now : Date.parse(field('created_at'));
  if (Number.isNaN(createdAt)) return `"${field('created_at')}" is not an ISO 8601 time`;
  return {
    email: addressOf(mailbox).toLowerCase(),
    reason,
    source: field('source') || 'import',
    note: field('note') || null,
    createdAt: Math.min(createdAt, now),
  };
}
