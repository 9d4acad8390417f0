/**
 * Buttons that change something: each is a form of its own that posts.
 *
 * What cannot be undone is behind `confirm`: the first press opens what will happen, the second does it; no script.
 */
import { html, type Html, type HtmlValue } from './html.ts';

/** Hidden fields of the posted form. */
type Fields = Readonly<Record<string, string>>;

/** A button that posts to the path `to`. */
export function action(
  to: string,
  label: string,
  kind: 'primary' | 'plain' | 'danger' = 'plain',
  fields: Fields = {},
): Html {
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
export function confirm(asked: Confirmation): Html {
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

function hidden(fields: Fields): Html[] {
  return Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
}
