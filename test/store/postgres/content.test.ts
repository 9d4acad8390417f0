/** Long content is read in pieces, short content with its row; both are the same as stored, or gone. */
import { expect, test } from 'bun:test';

import { contentReads, decodeHere } from '../../../src/store/postgres/content.ts';
import type { Database } from '../../../src/store/postgres/database.ts';
import type { Part } from '../../../src/store/postgres/statement.ts';
import type { Body } from '../../../src/store/rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { newMessage } from '../samples.ts';
import { withStore } from './with-store.ts';

/** Bytes from which a column is read in pieces, and of each piece. */
const LONG = 256 * 1024;
const PIECE = 1024 * 1024;

const bytes = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7) % 251));
const file = (filename: string, length: number): Body['attachments'][number] => ({
  filename,
  contentType: 'a/b',
  contentId: null,
  content: bytes(length),
});

async function store(into: Store, accountId: string, change: Partial<Body>): Promise<string> {
  const made = newMessage(accountId);
  const empty = { html: null, text: null, attachments: [], raw: null };
  made.body = { ...made.body, ...empty, ...change };
  const times = { now: 1, steadyNow: 1 };
  await into.accept({ accountId, ...times, usage: null, idempotency: null, messages: [made] });
  return made.message.id;
}

/** The reads, what they ask of the database, and the bytes that went to be decoded. */
function watched(database: Database, before: (statement: Part) => Promise<void> = async () => {}) {
  const asked: Part[] = [];
  const decoded: number[] = [];
  const note = async (statement: Part): Promise<void> => {
    asked.push(statement);
    await before(statement);
  };
  const reads = contentReads(
    {
      all: async (statement) => (await note(statement), database.all(statement)),
      first: async (statement) => (await note(statement), database.first(statement)),
    },
    async (text) => {
      decoded.push(text.length);
      return decodeHere(text);
    },
  );
  const pieces = () =>
    asked.filter(({ text }) => text.includes('substring')).map(({ params }) => params.slice(1, 3));
  return { ...reads, pieces, decoded };
}

const piecesOf = (length: number): number[][] =>
  Array.from({ length: Math.ceil(length / PIECE) }, (_, at) => [at * PIECE + 1, PIECE]);

test.each<[of: string, change: Partial<Body>, pieces: number[][], decoded: number[]]>([
  ['text one byte short', { text: 'x'.repeat(LONG - 1) }, [], []],
  ['long text', { text: 'x'.repeat(LONG) }, piecesOf(LONG), [LONG]],
  ['text in one piece', { text: 'x'.repeat(PIECE) }, piecesOf(PIECE), [PIECE]],
  ['text one byte longer', { text: 'x'.repeat(PIECE + 1) }, piecesOf(PIECE + 1), [PIECE + 1]],
  // A character lies on both sides of where the pieces meet.
  ['html', { html: 'x€'.repeat(PIECE) }, piecesOf(4 * PIECE), [4 * PIECE]],
  ['a submitted message', { raw: bytes(PIECE + 5) }, piecesOf(PIECE + 5), []],
  ['empty text', { text: '', html: null }, [], []],
  [
    'files, one of them long',
    { text: 'x', attachments: [file('a', 3), file('b', PIECE + 3), file('c', 0)] },
    piecesOf(PIECE + 3),
    [],
  ],
])('%s', (_, change, pieces, decoded) =>
  withStore(async (into, account, database) => {
    const id = await store(into, account.id, change);
    const expected = (await into.body(account.id, id))?.body;
    const reads = watched(database);
    const whole = await reads.wholeOf(id);
    expect(reads.pieces()).toEqual(pieces);
    expect(reads.decoded).toEqual(decoded);
    expect(whole).toEqual(expected ?? null);
    expect({ html: whole?.html, text: whole?.text }).toEqual({
      html: change.html ?? null,
      text: change.text ?? null,
    });
    expect(Buffer.from(whole?.raw ?? []).equals(change.raw ?? Buffer.alloc(0))).toBe(true);
    expect(whole?.attachments.map((one) => Buffer.from(one.content))).toEqual(
      (change.attachments ?? []).map((one) => Buffer.from(one.content)),
    );
    expect(whole?.attachments.map((one) => Object.keys(one))).toEqual(
      (change.attachments ?? []).map(() => ['filename', 'contentType', 'contentId', 'content']),
    );
    // Other threads read the same memory.
    const long = [whole?.raw, ...(whole?.attachments ?? []).map(({ content }) => content)].filter(
      (one) => (one?.length ?? 0) >= LONG,
    );
    expect(long.every((one) => one?.buffer instanceof SharedArrayBuffer)).toBe(true);
    const listed = await watched(database).listedOf(id);
    expect(listed?.attachments.map(({ size }) => size)).toEqual(
      (change.attachments ?? []).map(({ content }) => content.length),
    );
  }),
);

test.each<[of: string, change: Partial<Body>, statement: string]>([
  ['a text', { text: 'x'.repeat(2 * PIECE) }, 'UPDATE bodies SET text = NULL'],
  ['html', { html: 'x'.repeat(2 * PIECE) }, "UPDATE bodies SET html = 'short'"],
  ['a submitted message', { raw: bytes(2 * PIECE) }, 'DELETE FROM bodies'],
  ['a file', { attachments: [file('a', 2 * PIECE)] }, 'DELETE FROM attachments'],
])('%s that goes between two pieces takes all content with it', (_, change, statement) =>
  withStore(async (into, account, database) => {
    const id = await store(into, account.id, change);
    let count = 0;
    const reads = watched(database, async ({ text }) => {
      count += text.includes('substring') ? 1 : 0;
      if (count === 2) await database.run({ text: statement, params: [] });
    });
    expect(await reads.wholeOf(id)).toBeNull();
    expect(count).toBe(2);
  }),
);

test('content that is not there, and what is no id, is none', () =>
  withStore(async (_, __, database) => {
    const reads = watched(database);
    expect(await reads.wholeOf('01913c7e-89ab-7cde-8f01-23456789abcd')).toBeNull();
    expect(await reads.listedOf('no id')).toBeNull();
  }));
