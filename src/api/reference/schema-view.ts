/**
 * JSON schemas of the document as lists of fields: name, type, whether it is needed, what it means.
 *
 * Promises an end for shapes that hold themselves: fields of fields are shown to `DEPTH_MAX`. Pure.
 */
import { html, type Html } from '../../dashboard/frame/html.ts';
import { words } from './words.ts';

const DEPTH_MAX = 3;

/** As far as the document's own schemas go. */
export interface Schema {
  $ref?: string;
  title?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Follows a reference within the document. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : (schemas[name] ?? {});
}

/** The fields of an object or of a list's objects; null where there are none. */
export function fieldsOf(schema: Schema, schemas: Schemas, depth = 0): Html | null {
  const whole = objectIn(schema, schemas);
  const entries = Object.entries(whole?.properties ?? {});
  if (whole === null || entries.length === 0 || depth >= DEPTH_MAX) return null;
  return html`<dl class="fields">
    ${entries.map(([name, field]) => {
      const one = resolved(field, schemas);
      const isNeeded = whole.required?.includes(name) === true;
      return html`<div>
        <dt>
          <code>${name}</code> <span class="type">${typeOf(field, schemas)}</span>
          ${isNeeded && html`<span class="needed">required</span>`}
        </dt>
        <dd>${meaning(one)} ${fieldsOf(field, schemas, depth + 1)}</dd>
      </div>`;
    })}
  </dl>`;
}

/** The object that a schema is, holds a list of, or may be. */
function objectIn(schema: Schema, schemas: Schemas): Schema | null {
  const one = resolved(schema, schemas);
  if (one.properties !== undefined) return one;
  if (one.items !== undefined) return objectIn(one.items, schemas);
  for (const choice of one.anyOf ?? []) {
    const found = objectIn(choice, schemas);
    if (found !== null) return found;
  }
  return null;
}

function meaning({ description, default: usual, ...limits }: Schema): Html {
  const bounds = [
    limits.maxLength === undefined ? null : `at most ${limits.maxLength} characters`,
    limits.maxItems === undefined ? null : `at most ${limits.maxItems} items`,
    limits.minimum === undefined ? null : `from ${limits.minimum}`,
    limits.maximum === undefined ? null : `to ${limits.maximum}`,
    usual === undefined ? null : `default ${JSON.stringify(usual)}`,
  ].filter((one) => one !== null);
  return html`${description !== undefined && words(description)}
  ${bounds.length > 0 && html`<span class="bounds">${bounds.join(', ')}</span>`}`;
}

/** `text`, `list of text`, `one of …`, `text or null`. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const one = resolved(schema, schemas);
  if (one.const !== undefined) return JSON.stringify(one.const);
  if (one.enum !== undefined) return one.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (one.anyOf !== undefined) {
    return [...new Set(one.anyOf.map((choice) => typeOf(choice, schemas)))].join(' or ');
  }
  if (one.type === 'array') {
    return `list of ${one.items === undefined ? 'anything' : typeOf(one.items, schemas)}`;
  }
  const type = Array.isArray(one.type) ? one.type.join(' or ') : (one.type ?? 'anything');
  return one.format === undefined
    ? (TYPE_WORDS[type] ?? type)
    : `${TYPE_WORDS[type] ?? type} (${one.format})`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
};
