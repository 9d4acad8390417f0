/**
 * What the reference writes of values, calls, schemas and operations that the document itself does not have, so that
 * each branch stands in a transcript once.
 *
 *   bun test/api/reference/written.ts
 *
 * writes written.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { goStruct, literal, type Json } from '../../../src/api/reference/literals.ts';
import {
  operationView,
  type Found,
  type Operation,
} from '../../../src/api/reference/operation-view.ts';
import { fieldsOf, resolved, typeOf, type Schema } from '../../../src/api/reference/schema-view.ts';
import { LANGUAGES, snippetOf, type Call } from '../../../src/api/reference/snippets.ts';
import { paragraphs, words } from '../../../src/api/reference/words.ts';

export const WRITTEN_FILE = join(import.meta.dir, 'written.txt');

const VALUE: Json = {
  a: 1.5,
  'b-c': [true, false, null],
  d_e: { f: `q'"\\`, g: {} },
  '1x': [],
  Zz: [['x'], []],
};
const GO = {
  to: 'a',
  cc: ['a', 'b'],
  bcc: 'c',
  reply_to: 'x',
  on: true,
  n: 3,
  headers: { 'X-A': '1', b: 'q"' },
  empty: [],
};

function literals(): string[] {
  const blocks: string[] = [];
  for (const language of ['node', 'python', 'php', 'ruby'] as const) {
    const short = [null, true, false, 0, 'x', [], {}].map((value) => literal(language, value));
    blocks.push(`= ${language}: ${short.join(' ')}`, literal(language, VALUE));
    blocks.push(`    ${literal(language, ['x'], '    ')}`);
  }
  return [...blocks, '= go', goStruct('&T', GO), `\t${goStruct('', { a_b: 'x' }, '\t')}`];
}

const CALLS: readonly Call[] = [
  {
    operationId: 'getSuppression',
    method: 'get',
    path: '/suppressions/{email}',
    base: 'https://b.example:8443/below',
  },
  {
    operationId: 'addDomain',
    method: 'post',
    path: '/domains',
    base: 'https://b.example',
    body: { name: "x'y" },
  },
  { operationId: 'addDomain', method: 'post', path: '/domains', base: 'https://b.example' },
  {
    operationId: 'listSuppressions',
    method: 'get',
    path: '/suppressions',
    base: 'https://b.example',
  },
  {
    operationId: 'another',
    method: 'patch',
    path: '/x/{id}/y/{event}',
    base: 'https://b.example',
    body: { name: "x'y'" },
  },
  { operationId: 'sendBatch', method: 'post', path: '/emails/batch', base: 'https://b.example' },
  {
    operationId: 'sendEmail',
    method: 'post',
    path: '/emails',
    base: 'https://b.example:8443/below',
  },
  { operationId: 'sendEmail', method: 'post', path: '/emails', base: 'no address' },
];

function snippets(): string[] {
  return LANGUAGES.flatMap(([language]) =>
    CALLS.flatMap((call) => {
      const { code, note } = snippetOf(call, language);
      return [`= ${language} ${call.operationId}${note === null ? '' : `\n# ${note}`}`, code];
    }),
  );
}

const LOOP: Schema = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' }, inner: { $ref: '#/components/schemas/Loop' } },
};
const SCHEMAS = { Loop: LOOP, Plain: { type: 'string', format: 'uuid' } };
const FIELDS: Record<string, Schema> = {
  text: { type: 'string', description: 'With `code` & <markup>.', maxLength: 9 },
  id: { type: 'string', format: 'uuid' },
  whole: { type: 'integer', minimum: 0, maximum: 7, default: 3 },
  number: { type: 'number', minimum: 1 },
  yes: { type: 'boolean', default: false },
  none: {},
  constant: { const: 'a' },
  seven: { const: 7 },
  some: { enum: ['a', 'b', 1] },
  either: { anyOf: [{ type: 'string' }, { type: 'string' }, { type: 'null' }] },
  maybe: { type: ['string', 'null'] },
  list: { type: 'array', items: { type: 'integer' }, maxItems: 4 },
  anyList: { type: 'array' },
  named: { $ref: '#/components/schemas/Plain' },
  lost: { $ref: '#/components/schemas/Lost' },
  loops: { type: 'array', items: { $ref: '#/components/schemas/Loop' } },
  oneOfThem: { anyOf: [{ type: 'null' }, LOOP] },
  empty: { type: 'object', properties: {} },
};

/** Markup with one line for each of its own, without indentation. */
const lines = (markup: unknown): string => String(markup).replaceAll(/\s*\n\s*/g, '\n');

const FLAT: Schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } };

function schemas(): string[] {
  const whole: Schema = { type: 'object', required: ['text', 'list'], properties: FIELDS };
  return [
    ...Object.entries(FIELDS).map(
      ([name, schema]) =>
        `${name}: ${typeOf(schema, SCHEMAS)} ${JSON.stringify(resolved(schema, SCHEMAS))}`,
    ),
    lines(fieldsOf(whole, SCHEMAS)),
    ...[0, 2, 3].map((depth) => `= ${depth}: ${lines(fieldsOf(LOOP, SCHEMAS, depth))}`),
    ...[{}, { type: 'string' }, { type: 'array' }, { anyOf: [] }].map((schema) =>
      String(fieldsOf(schema, SCHEMAS)),
    ),
  ];
}

const OPERATION: Operation = {
  operationId: 'doIt',
  tags: ['T'],
  summary: 'Do <it>',
  description: 'First `line`\ngoes on.\n\nSecond.\n\nContract: C1.1, C2.2.',
  parameters: [
    {
      name: 'id',
      in: 'path',
      required: true,
      description: 'The `id`.',
      schema: FIELDS['id'] ?? {},
    },
    { name: 'q', in: 'query', required: true, schema: { type: 'string' } },
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Rows.',
      schema: { type: 'integer' },
    },
  ],
  requestBody: {
    content: { 'application/json': { schema: FLAT, example: { name: 'x' } } },
  },
  responses: {
    '200': { description: 'Good.\n\nVery.', content: { 'application/json': { schema: FLAT } } },
    '202': { description: 'Later.', content: {} },
    '404': { description: '`not_found`: none.' },
    '5XX': { description: 'A fault.' },
  },
};

function operations(): string[] {
  const found: Found = { method: 'post', path: '/x/{id}', operation: OPERATION, isCall: false };
  const bare: Operation = { operationId: 'bare', tags: [], summary: 'Bare', responses: {} };
  const views: [Found, 'node' | 'curl'][] = [
    [found, 'node'],
    [{ ...found, isCall: true }, 'node'],
    [{ ...found, method: 'get', operation: bare }, 'curl'],
    [{ ...found, operation: { ...bare, description: 'Contract: C3.' } }, 'curl'],
  ];
  return views.map(([one, language]) =>
    lines(operationView(one, SCHEMAS, 'https://b.example', language)),
  );
}

function texts(): string[] {
  const text = 'One `code` and `<more>`\nin two lines.\n\n\n \n\nThe `next`';
  return [words(text), words('`all`'), words(''), paragraphs(text), paragraphs('')].map(String);
}

export function written(): string {
  const parts = { literals, snippets, schemas, operations, texts };
  return Object.entries(parts)
    .map(([name, part]) => `== ${name}\n${part().join('\n')}\n`)
    .join('\n');
}

if (import.meta.main) writeFileSync(WRITTEN_FILE, written());
