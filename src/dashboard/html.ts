/**
 * HTML by tagged templates, with the one escaping function of the house.
 *
 * Promises that every value put into a template is escaped, in text and in quoted attributes alike, unless
 * it is itself the result of a template. Nothing else can become markup: there is no way to mark a string
 * as safe outside this file.
 */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Finished markup. */
export class Html {
  readonly #markup: string;

  constructor(parts: readonly string[], values: readonly HtmlValue[]) {
    this.#markup = parts
      .map((part, at) => part + (at < values.length ? render(values[at]) : ''))
      .join('');
  }

  toString(): string {
    return this.#markup;
  }
}

/** What a template takes; null, undefined and false vanish. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** A template: `html\`<p>${text}</p>\``. Attribute values must stand in double quotes. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts, values);
}

/** Text for markup and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return value.map(render).join('');
}
