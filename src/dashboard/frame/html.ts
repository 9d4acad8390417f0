/**
 * HTML by tagged templates, with the only escaping function of the dashboard.
 *
 * Promises that every value in a template is escaped, in text and in quoted attributes, unless it is the result of
 * another template. Nothing else can become markup: outside this file there is no way to mark a string as safe.
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

/** A value in a template; null, undefined and false become nothing. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** A template: `html\`<p>${text}</p>\``. Attribute values must be in double quotes. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts, values);
}

/** Escapes text for markup and for quoted attributes. */
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
