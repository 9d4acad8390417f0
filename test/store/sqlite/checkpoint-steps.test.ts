/** When the WAL is copied back, when readers are waited for, and how long, at each size: on a connection that the test plays. */
import { expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';

import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts';

interface Row {
  busy: number;
  log: number;
  checkpointed: number;
}

/** A connection whose WAL has `frames`; `answer` is what a checkpoint does. */
function connection(): {
  db: Database;
  state: { frames: number; answer: (kind: string) => Row | null };
  ran: string[];
} {
  const ran: string[] = [];
  const state: { frames: number; answer: (kind: string) => Row | null } = {
    frames: 0,
    answer: () => ({ busy: 0, log: state.frames, checkpointed: state.frames }),
  };
  const run = (sql: string): void => void ran.push(sql.replace('PRAGMA ', ''));
  const prepare = (sql: string): object => ({
    get(): Row | null {
      const kind = /\((\w+)\)/.exec(sql)?.[1] ?? sql;
      if (kind === 'NOOP') return { busy: 0, log: state.frames, checkpointed: 0 };
      ran.push(kind);
      return state.answer(kind);
    },
  });
  return { db: { run, prepare } as unknown as Database, state, ran };
}

/** What a commit at each size of the WAL makes run, and what is returned. */
function steps(
  sizes: readonly number[],
  { db, state, ran }: ReturnType<typeof connection>,
): unknown[] {
  const checkpoints = new Checkpoints(db);
  expect(ran.splice(0)).toEqual(['wal_autocheckpoint = 0']);
  return sizes.map((frames) => {
    state.frames = frames;
    const returned = checkpoints.afterCommit();
    return [frames, returned, ...ran.splice(0)];
  });
}

const WAITING = ['busy_timeout = 50', 'RESTART', 'busy_timeout = 5000'];

test('every thousand frames pages are copied; from eight thousand on readers are waited for', () => {
  expect(
    steps(
      [999, 1_000, 1_000, 1_999, 2_000, 1_999, 2_000, 7_999, 8_998, 8_999, 9_999],
      connection(),
    ),
  ).toEqual([
    [999, null],
    [1_000, null, 'PASSIVE'],
    [1_000, null],
    [1_999, null],
    [2_000, null, 'PASSIVE'],
    // It has started from the beginning and is already as long.
    [1_999, null, 'PASSIVE'],
    [2_000, null],
    [7_999, null, 'PASSIVE'],
    [8_998, null],
    [8_999, null, 'PASSIVE', ...WAITING],
    // Waited for again when it is half as long again.
    [9_999, null, 'PASSIVE'],
  ]);
});

test('what readers hold up is said, and again at half as much more; from the beginning it counts anew', () => {
  const blocked = connection();
  blocked.state.answer = () => ({ busy: 1, log: blocked.state.frames, checkpointed: 5 });
  expect(steps([8_000, 9_000, 11_999, 12_999, 18_999, 19_999, 10, 1_009, 8_100], blocked)).toEqual([
    [8_000, 8_000, 'PASSIVE', ...WAITING],
    [9_000, null, 'PASSIVE'],
    [11_999, null, 'PASSIVE'],
    [12_999, 12_999, 'PASSIVE', ...WAITING],
    [18_999, null, 'PASSIVE'],
    [19_999, 19_999, 'PASSIVE', ...WAITING],
    [10, null],
    [1_009, null, 'PASSIVE'],
    [8_100, 8_100, 'PASSIVE', ...WAITING],
  ]);
});

test.each([
  ['was busy', { busy: 1, log: 8_000, checkpointed: 8_000 }, 8_000],
  ['has left pages', { busy: 0, log: 8_000, checkpointed: 7_999 }, 8_000],
  ['says nothing', null, 8_000],
  ['is whole', { busy: 0, log: 8_000, checkpointed: 8_000 }, null],
])('an urgent checkpoint that %s', (_, row, returned) => {
  const one = connection();
  one.state.answer = () => row;
  expect(steps([8_000], one)).toEqual([[8_000, returned, 'PASSIVE', ...WAITING]]);
});

/** Fails as SQLite does: of a database that may not grow, or for a statement that it does not know. */
function failing(how: 'full' | 'broken'): () => never {
  return () => {
    const small = new Database(':memory:');
    small.run('PRAGMA max_page_count = 1');
    small.run(how === 'full' ? 'CREATE TABLE rows (a)' : 'nonsense');
    throw new Error('it did not fail');
  };
}

test('a full disk is for the next try, with the time-outs as they were; another failure is thrown', () => {
  const full = connection();
  full.state.answer = failing('full');
  expect(steps([1_000, 1_500, 2_000], full)).toEqual([
    [1_000, null, 'PASSIVE'],
    [1_500, null],
    [2_000, null, 'PASSIVE'],
  ]);
  const later = connection();
  later.state.answer = (kind) => (kind === 'RESTART' ? failing('full')() : null);
  expect(steps([8_000], later)).toEqual([[8_000, null, 'PASSIVE', ...WAITING]]);
  const broken = connection();
  broken.state.answer = failing('broken');
  expect(() => steps([1_000], broken)).toThrow('syntax error');
});

test('emptying the log waits longer, counts from the beginning where it could, and never ends it for a full disk', () => {
  const one = connection();
  const checkpoints = new Checkpoints(one.db);
  const emptied = (): string[] => {
    one.ran.length = 0;
    checkpoints.truncate();
    return one.ran.splice(0);
  };
  const waiting = ['busy_timeout = 250', 'TRUNCATE', 'busy_timeout = 5000'];
  const at = (frames: number): unknown[] => {
    one.state.frames = frames;
    return [checkpoints.afterCommit(), ...one.ran.splice(0)];
  };
  one.ran.length = 0;
  expect(at(8_000)).toEqual([null, 'PASSIVE', ...WAITING]);
  one.state.answer = failing('full');
  expect(emptied()).toEqual(waiting);
  expect(at(8_999)).toEqual([null]);
  one.state.answer = () => null;
  expect(emptied()).toEqual(waiting);
  expect(at(8_999)).toEqual([8_999, 'PASSIVE', ...WAITING]);
  one.state.answer = failing('broken');
  expect(() => checkpoints.truncate()).toThrow('syntax error');
  expect(one.ran).toEqual(waiting);
  one.ran.length = 0;
  checkpoints.finish();
  expect(one.ran).toEqual(['wal_checkpoint(TRUNCATE)']);
});
