/**
 * The substring index as its readers and its writer use it: three sources, two tables each.
 *
 * Promises candidates in order of `seq`, a superset of the rows up to the indexed place that fulfil the
 * query. Never reads a source. The index may lag behind its source: readers scan what lies beyond.
 */
import type { Database, Statement } from 'bun:sqlite';
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
/** Few enough candidates to stop adding terms. */
const FEW = 64;
/** How many of a term's newest rows are looked at to guess how rare it is. */
const SAMPLE = 64;

type Rows = Statement<{ seq: number }, [string, number, number]>;

interface TableStatements {
  descending: Rows;
  ascending: Rows;
  sample: Statement<{ seq: number }, [string, number, number, number]>;
}

function statements(db: Database, table: string): TableStatements {
  const select = 'SELECT rowid AS seq FROM ' + table + ' WHERE ' + table + ' MATCH ?';
  return {
    descending: db.prepare(select + ' AND rowid > ? AND rowid < ? ORDER BY rowid DESC'),
    ascending: db.prepare(select + ' AND rowid > ? AND rowid < ? ORDER BY rowid'),
    sample: db.prepare(
      select + ' AND rowid > ? AND rowid < ? ORDER BY rowid DESC LIMIT 1 OFFSET ?',
    ),
  };
}

export class SearchReader {
  readonly #tables: Record<GramTable, TableStatements>;
  readonly #progress;
  readonly #source: Source;

  constructor(db: Database, source: Source) {
    this.#source = source;
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
    const match = rarest(terms, sample, query).join(' AND ');
    const rows = query.isForward ? ascending : descending;
    for (const { seq } of rows.iterate(match, query.above, query.below)) yield seq;
  }
}

/** The few terms that together leave the fewest rows, guessed from how dense each one is among the newest. */
function rarest(
  terms: readonly string[],
  sample: TableStatements['sample'],
  { above, below }: CandidateQuery,
): string[] {
  const newest = terms.map((term) => sample.get(term, above, below, 0)?.seq ?? 0);
  const end = Math.max(...newest);
  const span = Math.max(end - above, 1);
  const weighed = terms
    .map((term) => {
      const reached = sample.get(term, above, below, SAMPLE)?.seq;
      return { term, share: reached === undefined ? 0 : SAMPLE / Math.max(end - reached, SAMPLE) };
    })
    .sort((a, b) => a.share - b.share);
  const chosen: string[] = [];
  let expected = span;
  for (const { term, share } of weighed.slice(0, TERMS_ASKED)) {
    chosen.push(term);
    expected *= share;
    if (expected < FEW) break;
  }
  return chosen;
}

/** Adds rows and notes how far the index has come. Every call belongs inside one transaction of `db`. */
export class SearchWriter {
  readonly #addTriples;
  readonly #addPairs;
  readonly #note;
  readonly #source: Source;

  constructor(db: Database, source: Source) {
    const { triples, pairs } = TABLES[source];
    this.#source = source;
    this.#addTriples = db.prepare('INSERT INTO ' + triples + ' (rowid, text) VALUES (?, ?)');
    this.#addPairs = db.prepare('INSERT INTO ' + pairs + ' (rowid, text) VALUES (?, ?)');
    this.#note = db.prepare(
      'INSERT OR REPLACE INTO progress (source, seq, row_id) VALUES (?, ?, ?)',
    );
  }

  add(seq: number, marks: readonly string[], folded: string): void {
    this.#addTriples.run(seq, tripleText(marks, folded));
    this.#addPairs.run(seq, pairText(marks, folded));
  }

  note(seq: number, rowId: string): void {
    this.#note.run(this.#source, seq, rowId);
  }
}
