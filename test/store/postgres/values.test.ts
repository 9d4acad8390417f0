/** Values and statements on their way to PostgreSQL: what its text cannot hold, wide numbers, parts that become one. */
import { expect, test } from 'bun:test';

import { shared } from '../../../src/base/shared-bytes.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import {
  columnOf,
  fieldsOf,
  insertInto,
  insertOne,
  lasting,
  part,
  selectFrom,
  table,
  together,
  updateFrom,
} from '../../../src/store/postgres/statement.ts';
import { decodeRows, parameter } from '../../../src/store/postgres/values.ts';
import { testServer } from '../../rig/postgres.ts';
import { accepted, newAccount, newLogRecord, newMessage } from '../samples.ts';

test('U+0000 becomes U+FFFD in texts, wherever they come in, and stays in content', async () => {
  const url = await (await testServer()).freshDatabase();
  const store = await openPostgres({ url, passwordFile: '', now: Date.now() });
  const account = newAccount('a\0b');
  expect(await store.createAccount(account)).toBe('created');
  const kept = { ...account, name: 'a\uFFFDb' };
  // The same text is found by what it was asked with.
  expect(await store.account('a\0b')).toEqual(kept);
  expect(await store.accounts()).toEqual([kept]);
  await store.setSetting('n\0', 'v\0\0');
  expect(await store.setting('n\0')).toBe('v\uFFFD\uFFFD');

  const sent = newMessage(account.id, { subject: 'one\0two' });
  // As large files come in: in memory that threads share.
  const large = shared(Buffer.alloc(80_000, 'x\0'));
  expect(large.buffer instanceof SharedArrayBuffer).toBe(true);
  const file = { contentType: 't\0', contentId: null };
  sent.body.html = 'h\0';
  sent.body.text = large.toString();
  sent.body.headers = [['X', 'y\0']];
  // One that is a statement of its own, and one beside others.
  sent.body.attachments = [
    { ...file, filename: 'large\0', content: large },
    { ...file, filename: 'small\0', content: Buffer.of(0, 1) },
  ];
  const { message } = await accepted(store, sent);
  const body = (await store.messageForDelivery(message.id))?.body;
  expect([body?.html, body?.text === large.toString(), body?.headers]).toEqual([
    'h\0',
    true,
    // As JSON, which escapes it.
    [['X', 'y\0']],
  ]);
  expect(
    body?.attachments.map(({ filename, contentType, content }) => [
      filename,
      contentType,
      content.byteLength,
      content[1],
    ]),
  ).toEqual([
    ['large\uFFFD', 't\uFFFD', 80_000, 0],
    ['small\uFFFD', 't\uFFFD', 2, 1],
  ]);
  const page = { limit: 9, after: null, before: null, status: null };
  const found = await store.emails(account.id, { ...page, q: 'E\0T' });
  expect(found.rows.map(({ subject }) => subject)).toEqual(['one\uFFFDtwo']);

  const log = newLogRecord(account.id, { path: '/p\0', requestBody: '\0' });
  await store.appendLogs([log]);
  expect(await store.log(account.id, log.id)).toMatchObject({
    path: '/p\uFFFD',
    requestBody: '\uFFFD',
  });
  const logs = await store.logs(account.id, { ...page, q: 'P\0', method: null });
  expect(logs.rows).toHaveLength(1);
  expect(await store.suppressed(account.id, ['x\0@x.example'])).toEqual(new Map());
  expect(await store.idempotencyRecord(account.id, 'k\0', 0)).toBeNull();
  await store.close();
});

test('a text comes back as it was given, alone and among others, whatever it looks like', async () => {
  const database = new Database(databaseAddress(await (await testServer()).freshDatabase(), ''));
  const words = [
    'NULL',
    'null',
    '',
    ' ',
    ' before',
    'after ',
    '{}',
    '{a,b}',
    ',',
    '"',
    "'",
    '[]',
    '\\',
    '\\"',
    '\n\r\t',
    '\b\f\v\u007F',
    '\u2028',
    'ü🐎',
    '$1',
    'true',
    '12',
  ];
  const rows = await database.all<{ word: string }>(
    part('SELECT word FROM unnest($1::text[]) WITH ORDINALITY AS w (word, at) ORDER BY at', words),
  );
  expect(rows.map(({ word }) => word)).toEqual(words);
  for (const word of words) {
    expect(await database.first(part('SELECT $1::text AS word', word))).toEqual({ word });
  }
  const numbers = [null, 0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const flags = [false, null, true, false, true];
  const wide = part(
    'SELECT n, f FROM unnest($1::int8[], $2::bool[]) WITH ORDINALITY AS v (n, f, at) ORDER BY at',
    numbers,
    flags,
  );
  const both = numbers.map((n, at) => ({ n, f: flags[at] ?? null }));
  expect(await database.all<(typeof both)[number]>(wide)).toEqual(both);
  await database.close();
});

test('only texts with U+0000 are changed, and only numbers that may be wide are read from text', () => {
  const bytes = Buffer.of(0);
  for (const value of ['', 'a', 0, 1.5, true, false, null, bytes])
    expect(parameter(value)).toBe(value);
  expect(parameter('\0a\0')).toBe('\uFFFDa\uFFFD');
  const columns = [
    { name: 'wide', type: 20 },
    { name: 'sum', type: 1700 },
    { name: 'small', type: 23 },
    { name: 'text', type: 25 },
  ];
  const rows = [
    { wide: '-9007199254740991', sum: '12.5', small: 7, text: '12' },
    { wide: null, sum: null, small: null, text: null },
    { wide: 5, sum: 0, small: 0, text: '' },
  ];
  decodeRows(rows, columns);
  expect(rows as unknown[]).toEqual([
    { wide: -9_007_199_254_740_991, sum: 12.5, small: 7, text: '12' },
    { wide: null, sum: null, small: null, text: null },
    { wide: 5, sum: 0, small: 0, text: '' },
  ]);
});

test('statements name columns as fields are called, and parts of one keep their own parameters', () => {
  expect(['id', 'accountId', 'last4', 'mayBeDuplicate'].map(columnOf)).toEqual([
    'id',
    'account_id',
    'last4',
    'may_be_duplicate',
  ]);
  const some = table('some', { id: 'uuid', ownName: 'text', raw: 'bytea' });
  expect(fieldsOf(some, 's')).toBe('s.id AS "id", s.own_name AS "ownName", s.raw AS "raw"');
  expect(selectFrom(some)).toBe(`SELECT ${fieldsOf(some, 'some')} FROM some`);
  const [bytes, more] = [Buffer.of(1, 2), Buffer.of(3)];
  const row = { id: 'i', ownName: 'n\0', raw: bytes };
  expect(insertOne(some, row)).toEqual({
    text: 'INSERT INTO some (id, own_name, raw) VALUES ($1::uuid, $2::text, $3::bytea)',
    params: ['i', 'n\uFFFD', bytes],
  });
  expect(
    insertInto(some, [row, { ...row, raw: null }, { ...row, raw: more }], 'ON').params,
  ).toEqual([
    ['i', 'i', 'i'],
    ['n\uFFFD', 'n\uFFFD', 'n\uFFFD'],
    [1, null, 3],
    [2, null, 1],
    Buffer.of(1, 2, 3),
  ]);
  const pair = table('pair', { a: 'int4', b: 'int4', c: 'text' });
  expect(updateFrom(pair, ['a', 'b'], [{ a: 1, b: 2, c: 'x' }])).toEqual({
    text:
      'UPDATE pair SET c = v.c FROM unnest($1::int4[], $2::int4[], $3::text[]) AS v (a, b, c)' +
      ' WHERE pair.a = v.a AND pair.b = v.b',
    params: [[1], [2], ['x']],
  });
  const ten = Array.from({ length: 10 }, (_, at) => at);
  const all = together([
    part(`a ${ten.map((at) => `$${at + 1}`).join(' ')}`, ...ten),
    part('b $1 $2 $1', ['x\0'], 'y'),
    part('c'),
    part('d $1', null),
  ]);
  expect(all).toEqual({
    text:
      'WITH p0 AS (a $1 $2 $3 $4 $5 $6 $7 $8 $9 $10), p1 AS (b $11 $12 $11), p2 AS (c),' +
      ' p3 AS (d $13) SELECT 1 AS done',
    params: [...ten, ['x\uFFFD'], 'y', null],
  });
  expect([lasting(all).answerMs, lasting(all, 5), part('x').answerMs]).toEqual([
    600_000,
    { ...all, answerMs: 5 },
    undefined,
  ]);
});
