/** No row number of a message is used twice while the process lives: the search index goes on by it. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import { MessageSeqs } from '../../../src/store/sqlite/message-seqs.ts';

test('the number of the newest message that went does not come again', () => {
  const db = new Database(':memory:');
  db.run('CREATE TABLE messages (seq INTEGER PRIMARY KEY)');
  const seqs = new MessageSeqs(db);
  const add = (): number =>
    Number(db.run('INSERT INTO messages VALUES (?)', [seqs.next()]).lastInsertRowid);
  const drop = (seq: number): void => {
    seqs.keepAbove(seq);
    db.run('DELETE FROM messages WHERE seq = ?', [seq]);
  };
  expect([add(), add(), add()]).toEqual([1, 2, 3]);
  drop(2);
  expect(add()).toBe(4);
  for (const seq of [3, 4]) drop(seq);
  expect(add()).toBe(5);
  // Undone, as a commit that fails is.
  db.run('DELETE FROM messages WHERE seq = 5');
  expect(add()).toBe(5);
  for (const seq of [5, 1]) drop(seq);
  expect([add(), add()]).toEqual([6, 7]);
});
