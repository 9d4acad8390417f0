/**
 * The table of `scripts/bench`: what was recorded, as rows of medians beside their references, and as JSON.
 *
 * Pure: no clock, no file, no process. A ratio is made of two figures of the same run, never of two medians, because a
 * machine's speed changes between runs.
 */

/** The subject whose figures are compared with all others. */
export const OURS = 'postrider';

/** One figure of one run. */
export interface Sample {
  /** The line of the table it belongs to, such as `deliver, closed`. */
  case: string;
  /** What was counted, with its unit: `delivered a second`. */
  figure: string;
  /** `postrider`, or the name of a reference. */
  subject: string;
  /** From 0. */
  run: number;
  value: number;
}

/** A subject without figures, or a case that broke off. */
export interface Note {
  case: string;
  subject: string;
  /** In words, such as `not installed: …`. */
  why: string;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A figure of Postrider beside one reference; without one where there is none. */
export interface Row {
  case: string;
  figure: string;
  ours: Spread | null;
  reference: string;
  theirs: Spread | null;
  /** Ours divided by theirs. */
  ratio: Spread | null;
}

/** The median of an even number of values is the mean of the middle two. Throws without a value. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error('no run');
  const all = values.toSorted((a, b) => a - b);
  const at = (index: number): number => all[Math.floor(index)] ?? NaN;
  const median = (at((all.length - 1) / 2) + at(all.length / 2)) / 2;
  return { median, min: at(0), max: at(all.length - 1) };
}

/** Ours divided by theirs, run by run; null without a run that has both. */
export function ratioOf(ours: readonly Sample[], theirs: readonly Sample[]): Spread | null {
  const ratios = ours.flatMap(({ run, value }) => {
    const other = theirs.find((sample) => sample.run === run);
    return other === undefined || other.value === 0 ? [] : [value / other.value];
  });
  return ratios.length === 0 ? null : spread(ratios);
}

/** One row for each figure and reference, in the order in which they were recorded first. */
export function rowsOf(samples: readonly Sample[]): Row[] {
  const figures = Map.groupBy(samples, (sample) => JSON.stringify([sample.case, sample.figure]));
  return [...figures.values()].flatMap((of): Row[] => {
    const [first] = of;
    if (first === undefined) return [];
    const bySubject = Map.groupBy(of, ({ subject }) => subject);
    const mine = bySubject.get(OURS) ?? [];
    const ours = mine.length === 0 ? null : spread(mine.map(({ value }) => value));
    const base = { case: first.case, figure: first.figure, ours };
    const others = [...bySubject].filter(([subject]) => subject !== OURS);
    if (others.length === 0) return [{ ...base, reference: '', theirs: null, ratio: null }];
    return others.map(([reference, theirs]) => ({
      ...base,
      reference,
      theirs: spread(theirs.map(({ value }) => value)),
      ratio: ratioOf(mine, theirs),
    }));
  });
}

/** Three digits that count, or whole numbers with separators: `0.703`, `21.4`, `2,502`. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** `median (min to max)`. */
export function spreadText({ median, min, max }: Spread): string {
  return `${numberText(median)} (${numberText(min)} to ${numberText(max)})`;
}

const HEAD = ['case', 'figure', 'Postrider', 'beside', 'its figure', 'Postrider ÷ it'];

/** The whole as a Markdown table whose columns are aligned. What a row repeats of the one before is left out. */
export function tableOf(samples: readonly Sample[], notes: readonly Note[]): string {
  const rows = rowsOf(samples);
  const cases = new Set([...rows.map((row) => row.case), ...notes.map((note) => note.case)]);
  const cells = [...cases].flatMap((name) => {
    const figures = rows.filter((row) => row.case === name);
    const lines = figures.map((row, index): string[] => {
      const isSame = figures[index - 1]?.figure === row.figure;
      return [
        index === 0 ? name : '',
        isSame ? '' : row.figure,
        isSame || row.ours === null ? '' : spreadText(row.ours),
        row.reference,
        row.theirs === null ? '' : spreadText(row.theirs),
        row.ratio === null ? '' : spreadText(row.ratio),
      ];
    });
    const said = notes
      .filter((note) => note.case === name)
      .map(({ subject, why }, index) => {
        const title = lines.length + index === 0 ? name : '';
        return subject === OURS ? [title, why, '', '', '', ''] : [title, '', '', subject, why, ''];
      });
    return [...lines, ...said];
  });
  const widths = HEAD.map((head, column) =>
    Math.max(...[head, ...cells.map((row) => row[column] ?? '')].map((cell) => cell.length)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|\n`;
  return line(HEAD) + rule + cells.map(line).join('');
}

/** The figures of one case as a value for JSON; `values` are those of the runs, in their order. */
export function caseRecord(
  name: string,
  samples: readonly Sample[],
  notes: readonly Note[],
): Record<string, unknown> {
  const mine = samples.filter((sample) => sample.case === name);
  const valuesOf = (figure: string, subject: string): number[] =>
    mine
      .filter((sample) => sample.figure === figure && sample.subject === subject)
      .map(({ value }) => value);
  const figures = Map.groupBy(rowsOf(mine), ({ figure }) => figure);
  return {
    case: name,
    figures: [...figures].map(([figure, rows]) => ({
      figure,
      postrider: full(rows[0]?.ours ?? null, valuesOf(figure, OURS)),
      beside: rows
        .filter(({ reference }) => reference !== '')
        .map(({ reference, theirs, ratio }) => ({
          name: reference,
          ...full(theirs, valuesOf(figure, reference)),
          ratio,
        })),
    })),
    notes: notes.filter((note) => note.case === name).map(({ subject, why }) => ({ subject, why })),
  };
}

function full(of: Spread | null, values: number[]): (Spread & { values: number[] }) | null {
  return of === null ? null : { ...of, values };
}
