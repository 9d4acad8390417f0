/**
 * Charts drawn on the server: columns over time, stacked, with the lines that matter.
 *
 * Promises no script and no picture: an SVG whose colours come from the style sheet, a legend with totals, and the same
 * numbers as a table. Scales with the page: only the columns are stretched, words are HTML. Pure.
 */
import { html, type Html } from './html.ts';
import { table } from './table.ts';

export interface Series {
  /** Names its colour: `delivered`, `delayed`, `bounced`, `complained`, `failed`, `used`. */
  key: string;
  label: string;
  /** One for each column. */
  values: readonly number[];
}

export interface Chart {
  /** What it shows, for those who do not see it. */
  title: string;
  /** Heading of the table's first column. */
  over: string;
  /** One for each column, such as `2026-11-22 13:00`. */
  columns: readonly string[];
  /** Words below the columns, from the first to the last, evenly spread. */
  ticks: readonly string[];
  /** Stacked from the first, at the bottom, to the last. */
  series: readonly Series[];
  /** Values are counts: the scale has no halves. */
  isWhole?: boolean;
  /** A value as people read it. */
  words: (value: number) => string;
  /** What a whole chart's series comes to, for the legend; the sum when absent. */
  totals?: readonly string[];
  /** Values that must not be reached. */
  lines?: readonly { value: number; label: string; tone: 'fair' | 'bad' }[];
}

/** Height of the drawing in its own units; a column is 10 wide. */
const HEIGHT = 100;
const WIDTH = 10;
/** Free space above the highest line or column. */
const HEADROOM = 1.1;

/** The chart, its legend and its table. */
export function chart(spec: Chart): Html {
  const { columns, series, lines = [] } = spec;
  const sums = columns.map((_, at) => sum(series.map(({ values }) => values[at] ?? 0)));
  const highest = Math.max(...sums, ...lines.map(({ value }) => value * HEADROOM));
  const nice = niceAbove(highest);
  const top = spec.isWhole === true && nice % 2 !== 0 ? nice + 1 : nice;
  return html`<figure class="chart">
    <div class="plot">
      <div class="scale" aria-hidden="true">
        <span>${spec.words(top)}</span><span>${spec.words(top / 2)}</span><span>0</span>
      </div>
      <svg
        viewBox="0 0 ${columns.length * WIDTH} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${spec.title}"
      >
        ${[0, 0.5].map((share) => lineAt(share * HEIGHT, columns.length, 'grid'))}
        ${columns.map((name, at) => column(spec, name, at, top))}
        ${lines.map(({ value, tone }) => lineAt(HEIGHT * (1 - value / top), columns.length, tone))}
      </svg>
    </div>
    <div class="ticks" aria-hidden="true">
      ${spec.ticks.map((words) => html`<span>${words}</span>`)}
    </div>
    ${legend(spec)}
    <details>
      <summary>The numbers as a table</summary>
      ${numbers(spec, sums)}
    </details>
  </figure>`;
}

function column(spec: Chart, name: string, at: number, top: number): Html {
  let below = 0;
  const said = spec.series.map(({ label, values }) => `${label} ${spec.words(values[at] ?? 0)}`);
  const bars = spec.series.map(({ key, values }) => {
    const value = values[at] ?? 0;
    if (value <= 0) return null;
    const height = (value / top) * HEIGHT;
    below += height;
    return html`<rect
      class="bar-${key}"
      x="${at * WIDTH + 1}"
      y="${rounded(HEIGHT - below)}"
      width="${WIDTH - 2}"
      height="${rounded(height)}"
    />`;
  });
  return html`<g
    ><title>${name}: ${said.join(', ')}</title
    ><rect class="hover" x="${at * WIDTH}" y="0" width="${WIDTH}" height="${HEIGHT}" />${bars}</g
  >`;
}

function lineAt(y: number, columns: number, kind: string): Html {
  return html`<line
    class="line-${kind}"
    x1="0"
    x2="${columns * WIDTH}"
    y1="${rounded(y)}"
    y2="${rounded(y)}"
    vector-effect="non-scaling-stroke"
  />`;
}

function legend({ series, words, totals, lines = [] }: Chart): Html {
  return html`<ul class="legend">
    ${series.map(
      ({ key, label, values }, at) =>
        html`<li>
          ${swatch(`bar-${key}`)} ${label} <b>${totals?.[at] ?? words(sum(values))}</b>
        </li>`,
    )}
    ${lines.map(({ label, tone }) => html`<li>${swatch(`bar-${tone}`)} ${label}</li>`)}
  </ul>`;
}

function swatch(kind: string): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect class="${kind}" width="10" height="10" rx="2" />
  </svg>`;
}

/** Columns in which something happened, the newest first: a table of zeros helps nobody. */
function numbers({ over, columns, series, words }: Chart, sums: readonly number[]): Html {
  const rows = columns.flatMap((name, at) =>
    sums[at] === 0 ? [] : [[name, ...series.map(({ values }) => words(values[at] ?? 0))]],
  );
  return table([over, ...series.map(({ label }) => label)], rows.toReversed(), 'Nothing yet.');
}

/** The next round number that is not below `value`; 1 for nothing. */
function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  // A sum of fractions may be a little more than what it is.
  const least = value * (1 - 1e-9);
  return (
    [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= least) ?? value
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
