/**
 * The indexer: brings the substring index up to date with its sources, in the background.
 *
 * Promises that rows and the note of how far they reach commit together. An index file that is damaged, of a newer
 * schema, or ahead of its sources (they were restored from a backup) is built again from the start: nothing in it is
 * the only copy. Reads the sources; never writes them.
 */
import { join } from 'node:path';
import { rmSync } from 'node:fs';
import type { Database } from 'bun:sqlite';
import { isDiskFull } from '../full-disk.ts';
import { openForReading, openForWriting } from './database.ts';
import { rememberingMarks } from './grams.ts';
import { SEARCH_MIGRATIONS, migrate } from './migrations.ts';
import { SearchWriter } from './search-index.ts';
import { SEARCH_SOURCES } from './search-sources.ts';
import type { RowsAfter, SearchSource } from './search-sources.ts';

export const SEARCH_FILE = 'search.db';

/** Rows of one transaction: some tens of milliseconds of work on the indexer's own thread. */
const ROWS_PER_COMMIT = 1000;

/**
 * Pages of each table that are merged for a row, and for a commit, while rows come. A row is rewritten once on each of
 * about three levels, of which each takes 0.02 pages; commits of few rows leave small segments, of which a page holds many.
 */
const PAGES_PER_ROW = 0.1;
const PAGES_PER_COMMIT = 1;
/** Pages that are worth a statement. */
const LEAST_PAGES = 16;

/** The index is merged when it has grown by half since the last time, and by this many rows. */
const GROWTH = 1.5;
const LEAST_GROWTH = 2000;

interface Indexed {
  definition: SearchSource;
  rowsAfter: RowsAfter;
  /** The first `seq` that the source still has; null where it never loses rows. */
  first: (() => number | null) | null;
  writer: SearchWriter;
  at: number;
  /** Pages that may be merged while rows come. */
  pages: number;
  mergedTo: number;
  /** How far the index went when the merge that is under way began. */
  mergingTo: number | null;
}

export class Indexer {
  readonly #search: Database;
  readonly #readers: readonly Database[];
  readonly #sources: readonly Indexed[];
  /** The source of the next step. */
  #next = 0;
  /** Sources in a row that had no more rows than fit into one step. */
  #atEnd = 0;

  /** Opens what is in `dataDir`; both source files must exist. `now` in epoch milliseconds. */
  constructor(dataDir: string, now: number) {
    const mail = openForReading(join(dataDir, 'mail.db'));
    const log = openForReading(join(dataDir, 'log.db'));
    this.#readers = [mail, log];
    const sourceOf = { mail, log };
    this.#search = openSearch(join(dataDir, SEARCH_FILE), now, (search) =>
      SEARCH_SOURCES.every((definition) => isInStep(search, sourceOf[definition.file], definition)),
    );
    const markOf = rememberingMarks();
    this.#sources = SEARCH_SOURCES.map((definition) => {
      const progress = progressOf(this.#search, definition.source);
      return {
        definition,
        rowsAfter: definition.rowsAfter(sourceOf[definition.file], markOf),
        first: firstOf(sourceOf[definition.file], definition),
        writer: new SearchWriter(this.#search, definition.source),
        at: progress?.seq ?? 0,
        pages: 0,
        mergedTo: progress?.mergedTo ?? 0,
        mergingTo: null,
      };
    });
  }

  /** Indexes some rows of one source after the other; returns whether there may be more. Throws what SQLite throws. */
  step(): boolean {
    const source = this.#sources[this.#next];
    this.#next = (this.#next + 1) % this.#sources.length;
    const isFull = source !== undefined && this.#add(source) === ROWS_PER_COMMIT;
    this.#atEnd = isFull ? 0 : this.#atEnd + 1;
    if (this.#atEnd < this.#sources.length) return true;
    this.#atEnd = 0;
    return false;
  }

  /** Returns how many rows were added. */
  #add(source: Indexed): number {
    const rows = source.rowsAfter(source.at, ROWS_PER_COMMIT);
    const last = rows.at(-1);
    if (last === undefined) return 0;
    // In quiet moments alone they would stay where mail comes all day and all night.
    this.#forget(source);
    const pages = source.pages + PAGES_PER_COMMIT + rows.length * PAGES_PER_ROW;
    const isWorthIt = pages >= LEAST_PAGES;
    this.#search.run('BEGIN IMMEDIATE');
    try {
      for (const { seq, marks, text } of rows) source.writer.add(seq, marks, text);
      source.writer.note(last.seq, last.id);
      if (isWorthIt) source.writer.compact(Math.floor(pages));
      this.#search.run('COMMIT');
    } catch (error) {
      if (this.#search.inTransaction) this.#search.run('ROLLBACK');
      throw error;
    }
    source.at = last.seq;
    source.pages = isWorthIt ? 0 : pages;
    return rows.length;
  }

  /** A step of tidying up, for when nothing else is to do; returns whether there is more. */
  tidyStep(): boolean {
    return this.#sources.some((source) => this.#forget(source)) || this.#mergeStep();
  }

  /** Takes out entries of rows that retention has deleted; returns whether there were any. */
  #forget({ first, writer, at }: Indexed): boolean {
    return first !== null && writer.forgetBelow(first() ?? at + 1);
  }

  #mergeStep(): boolean {
    for (const source of this.#sources) {
      const isGrown = source.at > Math.max(source.mergedTo * GROWTH, LEAST_GROWTH);
      if (source.mergingTo === null && !isGrown) continue;
      const isStart = source.mergingTo === null;
      source.mergingTo ??= source.at;
      if (!source.writer.merge(isStart)) {
        source.mergedTo = source.mergingTo;
        source.mergingTo = null;
        source.writer.noteMerged(source.mergedTo);
      }
      return true;
    }
    return false;
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
    try {
      this.#search.run('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // The pages stay in the WAL, which the next start reads.
      if (!isDiskFull(error)) throw error;
    }
    this.#search.close();
  }
}

function openSearch(path: string, now: number, isUsable: (db: Database) => boolean): Database {
  const existing = tryOpen(path, now);
  if (existing !== null && isUsable(existing)) return existing;
  existing?.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  const made = openForWriting(path, 'normal');
  migrate(made, SEARCH_MIGRATIONS, now);
  return made;
}

/** Null when the file cannot be used as it is, whatever the reason; throws when the disk is full. */
function tryOpen(path: string, now: number): Database | null {
  try {
    const db = openForWriting(path, 'normal');
    migrate(db, SEARCH_MIGRATIONS, now);
    return db;
  } catch (error) {
    // It is no worse for that; made anew it would take more space.
    if (isDiskFull(error)) throw error;
    return null;
  }
}

interface Progress {
  seq: number;
  rowId: string;
  mergedTo: number;
}

function progressOf(search: Database, source: string): Progress | null {
  return search
    .prepare<Progress, [string]>(
      'SELECT seq, row_id AS rowId, merged_to AS mergedTo FROM progress WHERE source = ?',
    )
    .get(source);
}

/** Whether the source still holds what was last indexed of it, or has only lost it to retention. */
function isInStep(search: Database, file: Database, definition: SearchSource): boolean {
  const progress = progressOf(search, definition.source);
  if (progress === null) return true;
  const row = file.prepare<{ id: string }, [number]>(definition.selectId).get(progress.seq);
  if (row !== null) return row.id === progress.rowId;
  const last = file.prepare<{ seq: number | null }, []>(definition.selectLast).get()?.seq ?? null;
  return definition.source !== 'email' && (last === null || last > progress.seq);
}

function firstOf(file: Database, { selectFirst }: SearchSource): Indexed['first'] {
  if (selectFirst === null) return null;
  const select = file.prepare<{ seq: number | null }, []>(selectFirst);
  return () => select.get()?.seq ?? null;
}
