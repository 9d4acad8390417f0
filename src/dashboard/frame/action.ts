/**
 * Buttons that change something: each is a form of its own that posts. And links to what only some may open.
 *
 * Promises that nobody sees a button or a link that would refuse them: each is given the visit and is null where the
 * same rule that guards the route (`../access.ts`) would not let it pass. What cannot be undone is behind `confirm`: the
 * first press opens what will happen, the second does it; no script.
 */
import { html, Html, type HtmlValue } from './html.ts';
import type { Visit } from './visit.ts';

/** Whoever looks at the page, as far as controls go. */
export type Viewer = Pick<Visit, 'may'>;

/** Hidden fields of the posted form. */
type Fields = Readonly<Record<string, string>>;

/** A button that posts to the path `to`. */
export function action(
  viewer: Viewer,
  to: string,
  label: string,
  kind: 'primary' | 'plain' | 'danger' = 'plain',
  fields: Fields = {},
): Html | null {
  if (!viewer.may('POST', to)) return null;
  return html`<form class="inline" method="post" action="${to}">
    ${hidden(fields)}<button class="${kind}">${label}</button>
  </form>`;
}

export interface Confirmation {
  to: string;
  /** The first button: `Remove`. */
  label: string;
  /** What will happen, in whole sentences. */
  words: HtmlValue;
  /** The second button names the object: `Remove example.com`. */
  sure: string;
  fields?: Fields;
  /** Inputs to fill in before, such as a reason. */
  inputs?: HtmlValue;
  kind?: 'plain' | 'danger';
}

/** A button that says what it does before it does it. */
export function confirm(viewer: Viewer, asked: Confirmation): Html | null {
  if (!viewer.may('POST', asked.to)) return null;
  const kind = asked.kind ?? 'danger';
  return html`<details class="confirm">
    <summary class="button ${kind}">${asked.label}</summary>
    <form class="fields" method="post" action="${asked.to}">
      <div>${asked.words}</div>
      ${hidden(asked.fields ?? {})} ${asked.inputs}
      <button class="${kind === 'danger' ? 'danger solid' : 'primary'}">${asked.sure}</button>
    </form>
  </details>`;
}

/** A link that looks like a button. */
export function linkButton(
  viewer: Viewer,
  href: string,
  label: string,
  kind: 'plain' | 'danger' = 'plain',
): Html | null {
  if (!viewer.may('GET', href)) return null;
  return html`<a class="button ${kind}" href="${href}">${label}</a>`;
}

/** A link to the form with this id further down the page, for whom it is there: `to` is what it posts to. */
export function jumpTo(viewer: Viewer, to: string, id: string, label: string): Html | null {
  if (!viewer.may('POST', to)) return null;
  return html`<a class="button plain" href="#${id}">${label}</a>`;
}

/** A link within a text; its words alone for whom it would not open. */
export function linkTo(viewer: Viewer, href: string, words: string): HtmlValue {
  return viewer.may('GET', href) ? html`<a href="${href}">${words}</a>` : words;
}

/** Controls beside each other; null when there is none. */
export function together(list: readonly (Html | null | false)[]): Html | null {
  const shown = list.filter((one) => one instanceof Html);
  return shown.length === 0 ? null : html`${shown.flatMap((one) => [one, ' '])}`;
}

/** The controls of a row or a section; null when there is none. */
export function actions(list: readonly (Html | null | false)[]): Html | null {
  const shown = together(list);
  return shown && html`<div class="actions">${shown}</div>`;
}

function hidden(fields: Fields): Html[] {
  return Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}
