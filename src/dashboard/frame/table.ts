/**
 * How objects and lists stand on a page: tables, facts, tiles, cards, empty states, timelines.
 *
 * On a phone a table becomes a list of cards: each cell carries its heading (`data-label`), unless the kind of its column
 * says more than a word could. A wide table scrolls inside its own region, which the keyboard can reach; the page never
 * scrolls sideways.
 */
import { html, type Html, type HtmlValue } from './html.ts';

/**
 * How a column is laid out. `title`: what the row is about; it gets the space that is left, and heads the card. `state`
 * and `time`: beside each other in the card, without their headings. `short`: two stand in one line of the card.
 * `number`: right-aligned; of several, three stand in one line of the card. `minor`: left out where there is little
 * space. `words`: sentences with long words, such as addresses of pages, which break anywhere.
 */
export type ColumnKind = 'title' | 'state' | 'time' | 'short' | 'number' | 'minor' | 'words';

/** The heading of a column; empty for controls. */
export type Heading = string | readonly [label: string, kind: ColumnKind];

/**
 * A table, or `none` when it has no rows: a sentence, or an `empty` that says what to do next. A column without a heading
 * holds controls; it is left out for whom it has none.
 */
export function table(
  headings: readonly Heading[],
  rows: readonly (readonly HtmlValue[])[],
  none: HtmlValue,
): Html {
  if (rows.length === 0) return html`<div class="none">${none}</div>`;
  const columns = headings.flatMap((heading, at) =>
    heading !== '' || rows.some((row) => !isEmpty(row[at])) ? [{ heading, at }] : [],
  );
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${columns.map(({ heading }) => headingCell(heading))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${columns.map(({ heading, at }) => cellOf(heading, cells[at]))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** An address that is not what its row is about: cut off where it is very long, whole on a phone and in its title. */
export function addressCell(address: string, title = address): Html {
  return html`<span class="address" title="${title}">${address}</span>`;
}

function headingCell(heading: Heading): Html {
  if (heading === '') return html`<th scope="col"><span class="hidden">Actions</span></th>`;
  const [label, kind] = typeof heading === 'string' ? [heading] : heading;
  return html`<th scope="col" ${kind !== undefined && html`class="col-${kind}"`}>${label}</th>`;
}

function cellOf(heading: Heading, cell: HtmlValue): Html {
  const [label, kind] = typeof heading === 'string' ? [heading] : heading;
  const words = [
    ...(kind === undefined ? [] : [`col-${kind}`]),
    ...(isEmpty(cell) ? ['void'] : []),
  ];
  const marks = words.length > 0 && html`class="${words.join(' ')}"`;
  return html`<td data-label="${label}" ${marks}>${cell}</td>`;
}

function isEmpty(cell: HtmlValue): boolean {
  return cell === null || cell === undefined || cell === false || cell === '';
}

/** Names and values of one object; rows without a value are left out. */
export function facts(rows: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  return html`<dl class="facts">
    ${rows
      .filter(([, value]) => value !== null && value !== false && value !== '')
      .map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
  </dl>`;
}

export interface Tile {
  label: string;
  value: HtmlValue;
  /** A line below, such as what the value is measured against. */
  hint?: HtmlValue;
  tone?: 'good' | 'fair' | 'bad';
  /** Where the number leads. */
  href?: string;
}

/** Numbers at a glance. */
export function tiles(list: readonly Tile[]): Html {
  return html`<ul class="tiles">
    ${list.map(
      ({ label, value, hint, tone, href }) =>
        html`<li class="tile ${tone}">
          <span class="tile-label"
            >${href === undefined ? label : html`<a href="${href}">${label}</a>`}</span
          >
          <b>${value}</b>
          ${hint !== undefined && html`<span class="soft">${hint}</span>`}
        </li>`,
    )}
  </ul>`;
}

/** A titled sheet; none without a body, such as a form that is not for this viewer. `tools`: at the right of its title. */
export function card(title: string, body: HtmlValue, tools: HtmlValue = null): Html | null {
  if (isEmpty(body)) return null;
  return html`<section class="card">
    <div class="card-head">
      <h2>${title}</h2>
      ${tools}
    </div>
    ${body}
  </section>`;
}

/** What stands where nothing is yet: what is missing, what to do next, and where. */
export function empty(title: string, words: HtmlValue, next: HtmlValue = null): Html {
  return html`<div class="empty">
    <strong>${title}</strong>
    <p>${words}</p>
    ${next}
  </div>`;
}

export interface Moment {
  /** From `time`. */
  at: HtmlValue;
  tone: 'good' | 'fair' | 'bad' | 'neutral';
  title: HtmlValue;
  detail?: HtmlValue;
}

/** What happened, in its order. */
export function timeline(moments: readonly Moment[]): Html {
  return html`<ol class="timeline">
    ${moments.map(
      ({ at, tone, title, detail }) =>
        html`<li class="${tone}">
          <p class="moment"><strong>${title}</strong> ${at}</p>
          ${detail !== undefined && detail !== null && html`<div class="detail">${detail}</div>`}
        </li>`,
    )}
  </ol>`;
}
