/** One operation of the document as a section of its page: what it does, what it takes, what it answers, how to call it. */
import { html, type Html } from '../../dashboard/frame/html.ts';
import type { Json } from './literals.ts';
import { fieldsOf, typeOf, type Schema, type Schemas } from './schema-view.ts';
import { snippetOf, type Language } from './snippets.ts';
import { paragraphs, words } from './words.ts';

interface Content {
  'application/json'?: { schema?: Schema; example?: Json };
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

/** As far as the document's own operations go. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

/** An operation with where it is. `isCall`: made by this service to an endpoint. */
export interface Found {
  method: string;
  path: string;
  operation: Operation;
  isCall: boolean;
}

const CONTRACT = /(?<!\n)\n*Contract: ([^\n]*)\.?$/;

/** A section; its id is that of the operation. */
export function operationView(
  found: Found,
  schemas: Schemas,
  base: string,
  language: Language,
): Html {
  const { operation, method, path, isCall } = found;
  const text = operation.description ?? '';
  const clauses = CONTRACT.exec(text)?.[1];
  return html`<section id="${operation.operationId}" aria-labelledby="${operation.operationId}-h">
    <h2 id="${operation.operationId}-h">
      <a href="#${operation.operationId}">${operation.summary}</a>
    </h2>
    <p class="route">
      <b class="method ${method}">${method.toUpperCase()}</b> <code>${path}</code>
    </p>
    ${paragraphs(text.replace(CONTRACT, ''))} ${!isCall && snippetView(found, base, language)}
    ${parametersView(operation, schemas)}
    ${bodyView('What is sent', operation.requestBody?.content, schemas)}
    ${answersView(operation, schemas)}
    ${clauses !== undefined && html`<p class="soft">In the contract: ${clauses}</p>`}
  </section>`;
}

function snippetView({ operation, method, path }: Found, base: string, language: Language): Html {
  const body = operation.requestBody?.content['application/json']?.example;
  const call = { operationId: operation.operationId, method, path, base };
  const { code, note } = snippetOf({ ...call, ...(body !== undefined && { body }) }, language);
  return html`${note !== null && html`<p class="soft">${note}</p>`}
    <pre tabindex="0" aria-label="Example"><code>${code}</code></pre>`;
}

function parametersView({ parameters = [] }: Operation, schemas: Schemas): Html | null {
  if (parameters.length === 0) return null;
  return html`<h3>Parameters</h3>
    <dl class="fields">
      ${parameters.map(
        (one) =>
          html`<div>
            <dt>
              <code>${one.name}</code>
              <span class="type">${one.in}, ${typeOf(one.schema, schemas)}</span>
              ${one.required === true && one.in === 'path' && html`<span class="needed">required</span>`}
            </dt>
            <dd>${one.description !== undefined && words(one.description)}</dd>
          </div>`,
      )}
    </dl>`;
}

function bodyView(title: string, content: Content | undefined, schemas: Schemas): Html | null {
  const schema = content?.['application/json']?.schema;
  const fields = schema === undefined ? null : fieldsOf(schema, schemas);
  if (fields === null) return null;
  return html`<h3>${title}</h3>
    ${fields}`;
}

function answersView({ responses }: Operation, schemas: Schemas): Html {
  const entries = Object.entries(responses);
  const good = entries.filter(([status]) => status.startsWith('2'));
  const refusals = entries.filter(([status]) => !status.startsWith('2'));
  return html`${good.map(
    ([status, { description, content }]) =>
      html`<h3>Answer ${status}</h3>
        ${paragraphs(description)}
        ${
          content?.['application/json']?.schema !== undefined &&
          html`<details>
            <summary>Its fields</summary>
            ${fieldsOf(content['application/json'].schema, schemas)}
          </details>`
        }`,
  )}
  ${
    refusals.length > 0 &&
    html`<details>
      <summary>Refusals</summary>
      <dl>
        ${refusals.map(
          ([status, { description }]) =>
            html`<dt>${status}</dt>
              <dd>${paragraphs(description)}</dd>`,
        )}
      </dl>
    </details>`
  }`;
}
