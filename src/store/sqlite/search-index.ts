/**
 * The substring index as its readers and its writer use it: three sources, two tables each.
 *
 * Promises candidates in order of `seq`, a superset of the indexed rows that fulfil the query. Never reads a source.
 * The index may lag behind its source: readers scan what lies beyond.
 */
import type { Database, Statement } from 'bun:sqlite';
import { readingTogether } from './database.ts';
import type { ReadTogether } from './database.ts';
import { gramQuery, pairText, tripleText } from './grams.ts';
import type { GramTable } from './grams.ts';

export type Source = 'email' | 'suppression' | 'log';

export interface CandidateQuery {
  marks: readonly string[];
  /** Folded, not empty. */
  text: string;
  /** Only rows with `above < seq < below`. */
  above: number;
  below: number;
  /** Ascending order instead of descending. */
  isForward: boolean;
}

const TABLES = {
  email: { triples: 'email_triples', pairs: 'email_pairs' },
  suppression: { triples: 'suppression_triples', pairs: 'suppression_pairs' },
  log: { triples: 'log_triples', pairs: 'log_pairs' },
} as const satisfies Record<Source, Record<GramTable, string>>;

/** Terms asked for at once: the rarest few narrow as well as all, and each costs a walk of its list. */
const TERMS_ASKED = 4;
/** Terms whose rarity is guessed, spread over a longer query. */
const TERMS_SAMPLED = 32;
/** How many of a term's newest rows are looked at to guess how rare it is. */
const SAMPLE = 64;

/** Entries taken out in one step: a millisecond of work with a million of them. Steps that bring rows take out as many. */
const ENTRIES_FORGOTTEN = 50;
/** Pages written in one step of a merge: some milliseconds of work. */
const MERGE_PAGES = 200;

type Rows = Statement<{ seq: number }, [string, number, number]>;

interface TableStatements {
  descending: Rows;
  ascending: Rows;
  sample: Statement<{ seq: number }, [string, number]>;
}

function statements(db: Database, table: string): TableStatements {
  const select = 'SELECT rowid AS seq FROM ' + table + ' WHERE ' + table + ' MATCH ?';
  return {
    descending: db.prepare(select + ' AND rowid > ? AND rowid < ? ORDER BY rowid DESC'),
    ascending: db.prepare(select + ' AND rowid > ? AND rowid < ? ORDER BY rowid'),
    sample: db.prepare(select + ' ORDER BY rowid DESC LIMIT 1 OFFSET ?'),
  };
}

export class SearchReader {
  readonly #tables: Record<GramTable, TableStatements>;
  readonly #progress;
  readonly #together: ReadTogether;
  readonly #source: Source;

  constructor(db: Database, source: Source) {
    this.#source = source;
    this.#together = readingTogether(db);
    this.#tables = {
      triples: statements(db, TABLES[source].triples),
      pairs: statements(db, TABLES[source].pairs),
    };
    this.#progress = db.prepare<{ seq: number }, [string]>(
      'SELECT seq FROM progress WHERE source = ?',
    );
  }

  /** The last `seq` that is indexed; 0 when none is. */
  indexedTo(): number {
    return this.#progress.get(this.#source)?.seq ?? 0;
  }

  /** Rows that may match, nearest to the start of the order first. Leave the loop when enough are found. */
  *candidates(query: CandidateQuery): Generator<number, void> {
    const { table, terms } = gramQuery(query.marks, query.text);
    const { descending, ascending, sample } = this.#tables[table];
    const end = this.indexedTo();
    const match = this.#together(() => rarest(terms, sample, end)).join(' AND ');
    const rows = query.isForward ? ascending : descending;
    for (const { seq } of rows.iterate(match, query.above, query.below)) yield seq;
  }
}

/** The few terms that together leave the fewest rows, guessed from how dense each is among the newest. */
function rarest(
  terms: readonly string[],
  sample: TableStatements['sample'],
  end: number,
): string[] {
  const step = Math.max(terms.length / TERMS_SAMPLED, 1);
  const sampled = terms.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
  const weighed = sampled
    .map((term) => {
      const reached = sample.get(term, SAMPLE)?.seq;
      return { term, share: reached === undefined ? 0 : SAMPLE / Math.max(end - reached, SAMPLE) };
    })
    .sort((a, b) => a.share - b.share);
  const asked = weighed.slice(0, TERMS_ASKED);
  // A term that has hardly any rows is enough by itself: comparing those is cheaper than another list.
  return asked[0]?.share === 0 ? [asked[0].term] : asked.map(({ term }) => term);
}

/** Adds rows and notes how far the index has come. Every `add` belongs inside a transaction of `db`. */
export class SearchWriter {
  readonly #addTriples;
  readonly #addPairs;
  readonly #merges;
  readonly #changes;
  readonly #first;
  readonly #forgets;
  readonly #note;
  readonly #noteMerged;
  readonly #source: Source;

  constructor(db: Database, source: Source) {
    const { triples, pairs } = TABLES[source];
    this.#source = source;
    this.#addTriples = db.prepare('INSERT INTO ' + triples + ' (rowid, text) VALUES (?, ?)');
    this.#addPairs = db.prepare('INSERT INTO ' + pairs + ' (rowid, text) VALUES (?, ?)');
    this.#merges = [triples, pairs].map((table) =>
      db.prepare('INSERT INTO ' + table + ' (' + table + ", rank) VALUES ('merge', ?)"),
    );
    this.#changes = db.prepare<{ count: number }, []>('SELECT total_changes() AS count');
    this.#first = db.prepare<{ seq: number }, []>(
      'SELECT rowid AS seq FROM ' + triples + ' ORDER BY rowid LIMIT 1',
    );
    this.#forgets = [triples, pairs].map((table) =>
      db.prepare('DELETE FROM ' + table + ' WHERE rowid BETWEEN ? AND ?'),
    );
    this.#note = db.prepare(
      'INSERT INTO progress (source, seq, row_id, merged_to) VALUES (?, ?, ?, 0)' +
        ' ON CONFLICT (source) DO UPDATE SET seq = excluded.seq, row_id = excluded.row_id',
    );
    this.#noteMerged = db.prepare('UPDATE progress SET merged_to = ? WHERE source = ?');
  }

  add(seq: number, marks: readonly string[], folded: string): void {
    this.#addTriples.run(seq, tripleText(marks, folded));
    this.#addPairs.run(seq, pairText(marks, folded));
  }

  note(seq: number, rowId: string): void {
    this.#note.run(this.#source, seq, rowId);
  }

  /**
   * Merges where a level has gathered `usermerge` segments, writing at most about `pages` pages to each table. A merge of
   * everything that is under way goes on by as many instead, unless the small ones have become more than it merges.
   */
  compact(pages: number): void {
    for (const merge of this.#merges) merge.run(pages);
  }

  /**
   * Goes on merging the segments of the index into one, which makes look-ups many times faster; with
   * `isStart` it begins with all there are now. Returns whether there is more to do.
   */
  merge(isStart: boolean): boolean {
    // FTS5 documentation, "The 'merge' Command": a negative number of pages starts a merge of everything;
    // fewer than two changes mean that nothing was left to do.
    return this.#merges
      .map((merge) => {
        const before = this.#changes.get()?.count ?? 0;
        merge.run(isStart ? -MERGE_PAGES : MERGE_PAGES);
        return (this.#changes.get()?.count ?? 0) - before >= 2;
      })
      .includes(true);
  }

  /** Takes some entries below `seq` out; returns whether there were any. Only where entries can be deleted. */
  forgetBelow(seq: number): boolean {
    const first = this.#first.get()?.seq ?? seq;
    if (first >= seq) return false;
    for (const forget of this.#forgets) {
      forget.run(first, Math.min(first + ENTRIES_FORGOTTEN, seq) - 1);
    }
    return true;
  }

  noteMerged(seq: number): void {
    this.#noteMerged.run(seq, this.#source);
  }
}
