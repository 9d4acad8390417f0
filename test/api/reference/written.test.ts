/** What the reference writes of unusual values, calls, schemas and operations is as it was read last. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Type } from '@sinclair/typebox';

import { Components } from '../../../src/api/reference/components.ts';
import { documentOf } from '../../../src/api/reference/document.ts';
import { docsPage, type Document } from '../../../src/api/reference/page.ts';
import { exampleOf } from '../../../src/api/shapes/example.ts';
import { ROUTES } from '../../../src/api/routes/routes.ts';
import { written, WRITTEN_FILE } from './written.ts';

test('written.txt is what is written', () => {
  // When this fails and the change is meant: bun test/api/reference/written.ts, and read the difference.
  expect(written().split('\n')).toEqual(readFileSync(WRITTEN_FILE, 'utf8').split('\n'));
});

test('the address of a page may end in a slash, and there is no page for another name or language', () => {
  const document = JSON.parse(JSON.stringify(documentOf(ROUTES))) as Document;
  const page = (slug: string, language: string, base = 'https://b.example') =>
    docsPage(document, slug, language, base);
  expect(page('emails', 'curl', 'https://b.example/')).toBe(page('emails', 'curl'));
  expect(page('emails', 'curl')).toContain('curl -X POST https://b.example/emails');
  expect([page('nothing', 'node'), page('emails', 'cobol'), page('Emails', 'node')]).toEqual([
    null,
    null,
    null,
  ]);
});

test.each([
  [Type.String(), 'text'],
  [Type.String({ examples: ['a', 'b'] }), 'a'],
  [Type.String({ default: 'c' }), 'c'],
  [Type.String({ examples: ['a'], default: 'c' }), 'a'],
  [Type.Literal('l'), 'l'],
  [Type.Boolean(), true],
  [Type.Boolean({ default: false }), false],
  [Type.Integer(), 0],
  [Type.Integer({ minimum: 3 }), 3],
  [Type.Number({ minimum: 2 }), 2],
  [Type.Null(), null],
  [Type.Unknown(), null],
  [Type.Array(Type.Integer({ minimum: 1 })), [1]],
  [Type.Union([Type.Literal('a'), Type.Integer()]), 'a'],
  [Type.Object({}), {}],
  [Type.Object({}, { examples: [{ k: 1 }] }), { k: 1 }],
  [
    Type.Object({
      must: Type.String(),
      may: Type.Optional(Type.String()),
      shown: Type.Optional(Type.String({ examples: ['x'] })),
      usual: Type.Optional(Type.Integer({ default: 9 })),
    }),
    { must: 'text', shown: 'x', usual: 9 },
  ],
  [
    Type.Object(
      { a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) },
      { anyOf: [{ required: ['b'] }, { required: ['a'] }] },
    ),
    { b: 'text' },
  ],
  [
    Type.Object(
      { a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) },
      { oneOf: [{ required: ['a', 'b'] }] },
    ),
    { a: 'text', b: 'text' },
  ],
])('the example of %j is %j', (schema, example) => {
  expect(exampleOf(schema)).toEqual(example);
});

test('shapes of a title stand in the document once, and two that differ are a fault', () => {
  const components = new Components();
  const inner = Type.Object(
    { w: Type.Union([Type.Literal('a'), Type.Literal('b')]) },
    { title: 'B' },
  );
  const shape = Type.Object(
    {
      one: inner,
      list: Type.Array(inner),
      either: Type.Union([inner, Type.Null()]),
      mixed: Type.Union([Type.Literal('a'), Type.Null()]),
      map: Type.Record(Type.String(), inner),
      open: Type.Optional(Type.Object({}, { additionalProperties: true })),
      closed: Type.Optional(Type.Object({}, { additionalProperties: false })),
    },
    { title: 'A', description: 'd' },
  );
  const ref = (title: string) => ({ $ref: `#/components/schemas/${title}` });
  expect(components.schema(shape)).toEqual(ref('A'));
  expect(components.schema(shape)).toEqual(ref('A'));
  expect(components.example('z', { a: 1 })).toEqual({ $ref: '#/components/examples/z' });
  expect(components.example('z', { a: 2 })).toEqual({ $ref: '#/components/examples/z' });
  components.example('y', { a: 3 });
  const all = JSON.parse(JSON.stringify(components.all())) as ReturnType<Components['all']>;
  expect(Object.keys(all.schemas)).toEqual(['A', 'B']);
  expect(JSON.stringify(all.examples)).toBe('{"y":{"value":{"a":3}},"z":{"value":{"a":1}}}');
  expect(all.schemas).toEqual({
    A: {
      type: 'object',
      title: 'A',
      description: 'd',
      required: ['one', 'list', 'either', 'mixed', 'map'],
      properties: {
        one: ref('B'),
        list: { type: 'array', items: ref('B') },
        either: { anyOf: [ref('B'), { type: 'null' }] },
        mixed: { anyOf: [{ const: 'a', type: 'string' }, { type: 'null' }] },
        map: { type: 'object', additionalProperties: ref('B') },
        open: { type: 'object', properties: {}, additionalProperties: true },
        closed: { type: 'object', properties: {}, additionalProperties: false },
      },
    },
    B: {
      type: 'object',
      title: 'B',
      required: ['w'],
      properties: { w: { type: 'string', enum: ['a', 'b'] } },
    },
  });
  expect(() => components.schema(Type.Object({ w: Type.String() }, { title: 'B' }))).toThrow(
    'two different shapes have the title B',
  );
});
