/** Queries: what each text of a parameter becomes, and every fault of one with its path. */
import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';

import { check } from './refused.ts';
import {
  count,
  CursorFields,
  pageOfQuery,
  queryOf,
  search,
  WholeListQuery,
} from '../../../src/api/shapes/query.ts';

const ID = '01913c7e-89ab-7cde-8f01-23456789abcd';
const OTHER = '01913c7e-89ab-7cde-8f01-23456789abce';

const Query = queryOf(
  Type.Object({
    limit: count(2, 30, 7),
    page: count(1, Number.MAX_SAFE_INTEGER, 1, 'Number of the page.'),
    q: Type.Optional(search('Part of it.')),
    ...CursorFields,
  }),
);
const read = (text: string) =>
  check(() => Query.read(new URLSearchParams(text), {} as never) as object);

const LIMIT = ['limit', 'limit must be a whole number from 2 to 30.'];
const WORDS = 'must be at most 200 characters without control characters';
const cursor = (name: string) => [
  name,
  `${name} must be a cursor from this list: the value of next in an earlier page.`,
];

test.each([
  ['', { limit: 7, page: 1 }],
  ['other=1&limit=2', { limit: 2, page: 1 }],
  ['limit=30', { limit: 30, page: 1 }],
  ['limit=0030', { limit: 30, page: 1 }],
  ['page=9007199254740991', { limit: 7, page: 9007199254740991 }],
  ['q=', { limit: 7, page: 1, q: '' }],
  ['q=17', { limit: 7, page: 1, q: '17' }],
  [`q=${'x'.repeat(200)}`, { limit: 7, page: 1, q: 'x'.repeat(200) }],
  [`after=${ID}`, { limit: 7, page: 1, after: ID }],
  [`before=${ID}`, { limit: 7, page: 1, before: ID }],
])('%j is read', (text, fields) => {
  expect(read(text)).toEqual(fields);
});

test.each([
  ['limit=1', [LIMIT]],
  ['limit=31', [LIMIT]],
  ['limit=', [LIMIT]],
  ['limit=+2', [LIMIT]],
  ['limit=2.0', [LIMIT]],
  // Of 17 digits none is looked at.
  ['limit=00000000000000007', [LIMIT]],
  ['page=9007199254740992', [['page', 'page must be a whole number from 1 to 9007199254740991.']]],
  ['limit=2&limit=2', [['limit', 'limit must appear only once.']]],
  ['limit=1&limit=2', [['limit', 'limit must appear only once.'], LIMIT]],
  [`q=${'x'.repeat(201)}`, [['q', `q ${WORDS}.`]]],
  ['q=%00', [['q', `q ${WORDS}.`]]],
  ['q=a%1fb', [['q', `q ${WORDS}.`]]],
  ['q=a%7f', [['q', `q ${WORDS}.`]]],
  ['after=', [cursor('after')]],
  ['before=x', [cursor('before')]],
  [
    `after=${ID}&before=${OTHER}`,
    [['before', 'after and before cannot be combined. Send one of them.']],
  ],
  [
    'after=x&before=y&limit=x',
    [
      cursor('after'),
      cursor('before'),
      ['before', 'after and before cannot be combined. Send one of them.'],
      LIMIT,
    ],
  ],
] as [string, string[][]][])('%j is refused', (text, issues) => {
  expect(read(text)).toEqual(issues);
});

test('characters from a space on, and beyond ASCII, may be searched for', () => {
  for (const q of [' ', '~', '\u0080', 'ü', '😀']) {
    expect(read(`q=${encodeURIComponent(q)}`)).toMatchObject({ q });
  }
});

test('what a cursor is, a list may say itself', () => {
  const own = queryOf(Type.Object({ after: Type.Optional(Type.String()) }), (text) => text === 'x');
  const of = (text: string) =>
    check(() => own.read(new URLSearchParams(text), {} as never) as object);
  expect([of('after=x'), of(`after=${ID}`)]).toEqual([{ after: 'x' }, [cursor('after')]]);
});

test('a whole list has all rows where no limit is set', () => {
  const of = (text: string) =>
    check(() => WholeListQuery.read(new URLSearchParams(text), {} as never));
  const refused = [['limit', 'limit must be a whole number from 1 to 100.']];
  expect(['', 'limit=1', 'limit=100', 'limit=0', 'limit=101'].map(of)).toEqual([
    {},
    { limit: 1 },
    { limit: 100 },
    refused,
    refused,
  ]);
});

test('the page of a query has null for what was not set', () => {
  expect(pageOfQuery({ limit: 3 })).toEqual({ limit: 3, after: null, before: null });
  expect(pageOfQuery({ limit: 3, after: ID })).toEqual({ limit: 3, after: ID, before: null });
  expect(pageOfQuery({ limit: 3, before: ID })).toEqual({ limit: 3, after: null, before: ID });
});

test('the schema says what a number is for, and what is looked for by default', () => {
  const { limit, page, q, after } = Query.schema.properties;
  expect([limit, page, q, after].map((one) => JSON.parse(JSON.stringify(one)) as unknown)).toEqual([
    { type: 'integer', minimum: 2, maximum: 30, default: 7, description: 'Rows of a page.' },
    {
      type: 'integer',
      minimum: 1,
      maximum: 9007199254740991,
      default: 1,
      description: 'Number of the page.',
    },
    {
      type: 'string',
      maxLength: 200,
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description: 'Part of it.',
    },
    {
      type: 'string',
      format: 'uuid',
      description: 'The id of a row. `next` of a page is the id of its last row.',
    },
  ]);
});
