/** What is said of a value that does not fit its shape: every fault with its path and its words, in order. */
import { expect, test } from 'bun:test';
import { Type, type TSchema } from '@sinclair/typebox';

import {
  bodyOf,
  hasFault,
  must,
  refusalFor,
  Shape,
  withoutNulls,
  type Fault,
} from '../../../src/api/shapes/check.ts';
import { nullable, words } from '../../../src/api/shapes/common.ts';
import { ApiError } from '../../../src/base/errors.ts';

/** Each fault as `path | message`, a plus before those of what lacks. */
const said = (faults: readonly Fault[]): string[] =>
  faults.map(({ path, message, isMissing }) => `${isMissing ? '+' : ''}${path} | ${message}`);

const NAMED = Type.Object(
  { a: Type.String(), 'b/c~1': Type.Optional(Type.Integer()) },
  { additionalProperties: false },
);
const LISTED = Type.Object({
  l: Type.Array(Type.Object({ n: Type.String({ minLength: 2, maxLength: 3 }) }), {
    minItems: 1,
    maxItems: 2,
  }),
});
const MAP = Type.Object(
  {},
  { additionalProperties: Type.String({ minLength: 1 }), maxProperties: 1 },
);
const MIXED = Type.Union([Type.String({ minLength: 2 }), Type.Array(Type.String())]);

test.each([
  [NAMED, { a: '' }, []],
  [NAMED, { a: 'x', 'b/c~1': 1 }, []],
  [NAMED, {}, ['+a | Missing `a` field.']],
  [NAMED, { a: 1 }, ['a | a must be a string.']],
  [NAMED, 5, [' | The body must be an object.']],
  [NAMED, null, [' | The body must be an object.']],
  [NAMED, [], [' | The body must be an object.']],
  [
    NAMED,
    { a: 'x', 'b/c~1': 'x', e: 1, f: 2 },
    [
      'e | e is not a field of this request.',
      'f | f is not a field of this request.',
      'b/c~1 | b/c~1 must be an integer.',
    ],
  ],
  [LISTED, { l: [{ n: 'xx' }, { n: 'xxx' }] }, []],
  [LISTED, { l: [] }, ['l | l must not be empty.']],
  [LISTED, { l: 'x' }, ['l | l must be an array.']],
  [
    LISTED,
    { l: [{ n: 'x' }, { n: 'xxxx' }] },
    [
      'l[0].n | l[0].n must have at least 2 characters.',
      'l[1].n | l[1].n must have at most 3 characters.',
    ],
  ],
  [
    LISTED,
    { l: Array.from({ length: 3 }, () => ({ n: 'xx' })) },
    ['l | l must have at most 2 items.'],
  ],
  [LISTED, { l: [{ n: 'xx' }, {}] }, ['+l[1].n | Missing `l[1].n` field.']],
  [MAP, { a: 'x' }, []],
  [MAP, { a: 'x', b: 'y' }, [' | The body must have at most 1 fields.']],
  [MAP, { a: '' }, ['a | a must not be empty.']],
  [MAP, { ['k'.repeat(81)]: 5 }, [`${'k'.repeat(80)}… | ${'k'.repeat(80)}… must be a string.`]],
  [MIXED, 'xx', []],
  // The branch that has the type of the value says what is wrong with it.
  [MIXED, 'x', [' | The body must have at least 2 characters.']],
  [MIXED, [1], ['[0] | [0] must be a string.']],
  [MIXED, 5, [' | The body must be a string or an array.']],
  [MIXED, null, [' | The body must be a string or an array.']],
  [words(['a', 'b']), 'b', []],
  [words(['a', 'b']), 'c', [' | The body must be one of "a", "b".']],
  [words(['a', 'b']), 5, [' | The body must be one of "a", "b".']],
  [nullable(Type.Integer()), null, []],
  [nullable(Type.Integer()), 'x', [' | The body must be an integer or a null.']],
  [
    Type.Union([Type.Literal('a'), Type.String({ maxLength: 0 })]),
    'c',
    [' | The body must have at most 0 characters.'],
  ],
  [
    Type.Union([Type.Literal('a'), Type.Integer()]),
    true,
    [' | The body must be a string or an integer.'],
  ],
  [NAMED, { a: 'x', 'd/e/f~g~h': 1 }, ['d/e/f~g~h | d/e/f~g~h is not a field of this request.']],
  [Type.Boolean(), 'x', [' | The body must be a boolean.']],
  [Type.Integer({ minimum: 1 }), 0, [' | The body must be an integer.']],
  [Type.Not(Type.Unknown()), 0, [' | The body is not valid.']],
  [must(Type.Array(Type.String()), 'must be words'), 5, [' | The body must be words.']],
  [must(Type.Array(Type.String()), 'must be words'), [5], ['[0] | [0] must be a string.']],
  [must(words(['a']), 'must be the word'), 'b', [' | The body must be the word.']],
] as [TSchema, unknown, string[]][])('%j with %j', (schema, value, faults) => {
  expect(said(new Shape(schema).faults(value))).toEqual(faults);
});

test('paths begin where the value stands, and no more faults are looked for than are asked for', () => {
  const shape = new Shape(Type.Array(Type.Integer()));
  const all = Array.from({ length: 101 }, () => 'x');
  expect(said(shape.faults(['x', 1, 'x'], 'list'))).toEqual([
    'list[0] | list[0] must be an integer.',
    'list[2] | list[2] must be an integer.',
  ]);
  expect(said(shape.faults(5, '[3]'))).toEqual(['[3] | [3] must be an array.']);
  expect([1, 2, 100].map((most) => shape.faults(all, '', most).length)).toEqual([1, 2, 100]);
  expect(shape.faults(all)).toHaveLength(100);
  expect(shape.faults(all.slice(1))).toHaveLength(100);
  expect(shape.faults(all.slice(2))).toHaveLength(99);
});

test('a body that is absent is an empty one, and null fields are absent', () => {
  const reader = bodyOf(NAMED);
  const read = (value: unknown): unknown => reader.read(value, {} as never);
  expect(reader.schema).toBe(NAMED);
  const refusal = (value: unknown): ApiError => {
    try {
      read(value);
    } catch (error) {
      if (error instanceof ApiError) return error;
    }
    throw new Error('it was read');
  };
  for (const nothing of [undefined, null, {}, { a: null }]) {
    const { status, code, errorName, message, detail } = refusal(nothing);
    expect([status, code, errorName, message, detail]).toEqual([
      422,
      'validation_failed',
      'missing_required_field',
      'Missing `a` field.',
      { issues: [{ path: 'a', message: 'Missing `a` field.' }] },
    ]);
  }
  expect(read({ a: 'x', 'b/c~1': null, e: null })).toEqual({ a: 'x' });
  const whole = { a: 'x' };
  expect(read(whole)).toBe(whole);
});

test('nulls are taken out of an object alone, and not below it', () => {
  for (const same of [null, 5, 'x', [null], { a: { b: null } }, {}]) {
    expect(withoutNulls(same)).toBe(same);
  }
  expect(withoutNulls({ a: null, b: 0, c: '', d: { e: null } })).toEqual({
    b: 0,
    c: '',
    d: { e: null },
  });
});

test.each([
  ['to', 'to', true],
  ['to[1]', 'to', true],
  ['to.name', 'to', true],
  ['to[1].name', 'to[1]', true],
  ['tofu', 'to', false],
  ['to', 'to[1]', false],
  ['to[11]', 'to[1]', false],
  ['cc', 'to', false],
])('a fault of %s is one of %s: %p', (path, of, is) => {
  const other = { path: 'x', message: '', isMissing: false };
  expect(hasFault([other, { ...other, path }], of)).toBe(is);
  expect(hasFault([], of)).toBe(false);
});

test('the first that lacks comes first and names the refusal; a hundred are told', () => {
  const fault = (path: string, isMissing = false): Fault => ({
    path,
    message: `m ${path}`,
    isMissing,
  });
  const told = (faults: Fault[]) => {
    const { errorName, message, detail } = refusalFor(faults);
    return [errorName, message, detail?.['issues']];
  };
  const issue = (path: string) => ({ path, message: `m ${path}` });
  expect(told([fault('from'), fault('a'), fault('b', true), fault('c', true)])).toEqual([
    'missing_required_field',
    'm b (and 3 more)',
    ['b', 'from', 'a', 'c'].map(issue),
  ]);
  expect(told([fault('from.email'), fault('to')])).toEqual([
    'invalid_from_address',
    'm from.email (and 1 more)',
    ['from.email', 'to'].map(issue),
  ]);
  expect(told([fault('[12].attachments[3].path')])[0]).toBe('invalid_attachment');
  expect(told([fault('attachments')])[0]).toBe('invalid_attachment');
  for (const other of ['', '[0]', 'fromage', 'to', 'headers.from', '[1][2].from']) {
    expect([other, told([fault(other)])[0]]).toEqual([other, 'validation_error']);
  }
  expect(told([])[0]).toBe('validation_error');
  const many = Array.from({ length: 101 }, (_, at) => fault(`f${at}`));
  expect(told(many)[2]).toEqual(many.slice(0, 100).map(({ path }) => issue(path)));
});
