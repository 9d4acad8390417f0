/** How far a counter is computed: which rows are in it, moved, undone, and at the end. */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { RecountMark } from '../../../src/store/sqlite/recount-mark.ts';

let db: Database;
beforeEach(() => {
  db = new Database(':memory:');
  db.run('CREATE TABLE recounts (name TEXT PRIMARY KEY, seq INTEGER NOT NULL)');
});
afterEach(() => db.close());

const reached = (mark: RecountMark) => [0, 1, 6, 7, 8].filter((seq) => mark.isReached(seq));

test('rows from the mark on are counted, itself among them; without a mark all are', () => {
  const [outcomes, harm] = [new RecountMark(db, 'outcomes'), new RecountMark(db, 'harm')];
  db.run("INSERT INTO recounts VALUES ('outcomes', 7)");
  expect([outcomes.at, reached(outcomes)]).toEqual([7, [7, 8]]);
  expect([harm.at, reached(harm)]).toEqual([0, [0, 1, 6, 7, 8]]);
  outcomes.moveTo(6);
  expect([outcomes.at, reached(outcomes)]).toEqual([6, [6, 7, 8]]);
  expect(db.query('SELECT * FROM recounts').all()).toEqual([{ name: 'outcomes', seq: 6 }]);
  outcomes.moveTo(0);
  expect(reached(outcomes)).toHaveLength(5);
  expect(db.query('SELECT * FROM recounts').all()).toEqual([]);
});

test('a move that was undone is read anew, once it is told', () => {
  db.run("INSERT INTO recounts VALUES ('harm', 7)");
  const mark = new RecountMark(db, 'harm');
  expect(mark.at).toBe(7);
  db.run('BEGIN');
  mark.moveTo(2);
  db.run('ROLLBACK');
  expect(mark.at).toBe(2);
  mark.forget();
  expect([mark.at, reached(mark)]).toEqual([7, [7, 8]]);
});
