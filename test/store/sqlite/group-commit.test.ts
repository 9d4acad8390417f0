/** Group commit: items stand or fall alone, in order; nothing is answered when the file fails. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';

import { GroupCommit } from '../../../src/store/sqlite/group-commit.ts';

function setUp() {
  const db = new Database(':memory:');
  db.run('CREATE TABLE rows (name TEXT PRIMARY KEY) STRICT');
  const told: string[] = [];
  const commit = new GroupCommit(db, {
    itemKept: () => told.push('kept'),
    itemUndone: () => told.push('undone'),
    beforeCommit: () => told.push('commit'),
    groupUndone: () => told.push('group undone'),
  });
  const insert = db.prepare('INSERT INTO rows (name) VALUES (?)');
  const add = (name: string) => () => insert.run(name).changes;
  const names = (): unknown[] => db.prepare('SELECT name FROM rows').values().flat();
  return { db, commit, add, names, told };
}

test('an item that fails leaves nothing and harms no other', () => {
  const { commit, add, names, told } = setUp();
  const twice = () => {
    add('b')();
    add('b')();
  };
  const thrower = () => {
    add('c')();
    throw new RangeError('mine');
  };
  const results = commit.run([add('a'), twice, thrower, add('d')]);
  expect(results[0]).toEqual({ value: 1 });
  expect(results[1]).toMatchObject({ error: { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' } });
  expect(results[2]).toEqual({ error: new RangeError('mine') });
  expect(results[3]).toEqual({ value: 1 });
  expect(names()).toEqual(['a', 'd']);
  // Once together, and once more apart when the second one broke.
  expect(told).toEqual(['kept', 'group undone', 'kept', 'undone', 'undone', 'kept', 'commit']);
});

test('a value that is too large for SQLite is the fault of its item alone', () => {
  const { db, commit, add, names } = setUp();
  const tooLarge = () => db.prepare('SELECT zeroblob(2147483647)').all();
  const results = commit.run([add('a'), tooLarge, add('b')]);
  expect(results[1]).toMatchObject({ error: { code: 'SQLITE_TOOBIG' } });
  expect(names()).toEqual(['a', 'b']);
});

/** SQLite's primary codes that the values of one statement can cause; what else fails is the file's. */
const OWN = [1, 18, 19, 20, 25];

test.each([1, 5, 8, 10, 11, 14, 18, 19, 20, 21, 23, 25, 26])(
  'a failure with the code %d is of its item alone where its values can cause it, and else of the file',
  (code) => {
    const { db, commit, add, names } = setUp();
    const fail = (errno: number) => () => {
      throw Object.assign(new Error('failed'), { name: 'SQLiteError', errno });
    };
    // As SQLite says it, and with more of the cause above it.
    for (const errno of [code, code | (7 << 8)]) {
      const run = () => commit.run([add(`a ${errno}`), fail(errno), add(`b ${errno}`)]);
      if (!OWN.includes(code)) expect(run).toThrow('failed');
      else expect(run()).toEqual([{ value: 1 }, { error: expect.anything() }, { value: 1 }]);
      expect(db.inTransaction).toBe(false);
    }
    expect(names()).toHaveLength(OWN.includes(code) ? 4 : 0);
  },
);

test('items see what those before them did', () => {
  const { commit, add, names } = setUp();
  const results = commit.run([add('a'), names, add('b'), names]);
  expect(results[1]).toEqual({ value: ['a'] });
  expect(results[3]).toEqual({ value: ['a', 'b'] });
});

test('a fault of the file undoes everything and is thrown, not reported as a result', () => {
  const { db, commit, add, names, told } = setUp();
  // A file that cannot be written any more; the code is none that a statement's values could cause.
  const fail = () => db.run('PRAGMA query_only = ON');
  expect(() => commit.run([add('a'), fail, add('b')])).toThrow('readonly');
  db.run('PRAGMA query_only = OFF');
  expect(names()).toEqual([]);
  expect(db.inTransaction).toBe(false);
  expect(told.at(-1)).toBe('group undone');
});
