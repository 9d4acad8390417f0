/** One run of a transaction: how it ends, whatever the connection does. */
import { expect, test } from 'bun:test';

import type { Connection } from '../../../src/store/postgres/connection.ts';
import { lasting, part } from '../../../src/store/postgres/statement.ts';
import { InDoubt, runIn } from '../../../src/store/postgres/transaction.ts';

/** A connection on which `answer` says what becomes of each statement, and what was asked of it. */
function connectionOn(answer: (text: string, lose: () => void) => unknown = () => undefined): {
  connection: Connection;
  said: string[];
} {
  const said: string[] = [];
  const state = { isLost: false };
  const connection = {
    get isLost() {
      return state.isLost;
    },
    nextNumber: () => ({ session: 'one', number: 7 }),
    async ask(text: string) {
      said.push(text.slice(0, 19));
      const own = answer(text, () => (state.isLost = true));
      return own ?? { rows: [], changes: 0, command: text };
    },
    abandon() {
      said.push('abandoned');
      state.isLost = true;
    },
  };
  return { connection: connection as unknown as Connection, said };
}

const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  );
const fail = (words: string): never => {
  throw new Error(words);
};
const NUMBER = 'INSERT INTO commits';

test('work that fails is rolled back, unless the connection is lost; one that cannot be rolled back is given up', async () => {
  const whole = connectionOn();
  expect(await failure(runIn(whole.connection, async () => fail('a fault'), null))).toBe('a fault');
  expect(whole.said).toEqual(['BEGIN', 'ROLLBACK']);

  const stuck = connectionOn((text) => (text === 'ROLLBACK' ? fail('no rollback') : undefined));
  expect(await failure(runIn(stuck.connection, async () => fail('a fault'), null))).toBe('a fault');
  expect(stuck.said).toEqual(['BEGIN', 'ROLLBACK', 'abandoned']);

  const lost = connectionOn((text, lose) => {
    if (text !== 'UPDATE') return undefined;
    lose();
    return fail('gone');
  });
  const work = runIn(lost.connection, (session) => session.run(part('UPDATE')), null);
  expect(await failure(work)).toBe('gone');
  expect(lost.said).toEqual(['BEGIN', 'UPDATE']);
});

test('a BEGIN that fails is what the transaction fails with, though its work did not', async () => {
  const { connection, said } = connectionOn((text) => (text === 'BEGIN' ? fail('no') : undefined));
  expect(await failure(runIn(connection, () => Promise.resolve('done'), null))).toBe('no');
  expect(said).toEqual(['BEGIN', 'ROLLBACK']);
});

test('the number travels with COMMIT; what ends otherwise has failed, and a connection lost by then leaves doubt', async () => {
  const run = (answer?: Parameters<typeof connectionOn>[0]) => {
    const { connection, said } = connectionOn(answer);
    const work = runIn(
      connection,
      async (session) => {
        session.send(part('UPDATE'));
        return 'value';
      },
      null,
    );
    return { work, said };
  };
  const done = run();
  expect(await done.work).toBe('value');
  expect(done.said).toEqual(['BEGIN', 'UPDATE', NUMBER, 'COMMIT']);

  const undone = run((text) =>
    text === 'COMMIT' ? { rows: [], changes: 0, command: 'ROLLBACK' } : undefined,
  );
  expect(await failure(undone.work)).toBe('the transaction ended with ROLLBACK');
  expect(await failure(run((text) => (text === 'UPDATE' ? fail('sent') : undefined)).work)).toBe(
    'sent',
  );

  const doubtful = await run((text, lose) => {
    if (text !== 'COMMIT') return undefined;
    lose();
    return fail('gone');
  }).work;
  expect(doubtful).toEqual(new InDoubt({ session: 'one', number: 7 }, 'value'));
  expect(doubtful).toBeInstanceOf(InDoubt);
});

test('where a standby must have it, that is asked behind COMMIT, and as often as it takes until it is too late', async () => {
  const run = (flushed: readonly (boolean | 'lost')[], until: number) => {
    const answers = [...flushed];
    const { connection, said } = connectionOn((text, lose) => {
      if (text === 'COMMIT') return undefined;
      if (!text.includes('pg_stat_replication')) return undefined;
      const answer = answers.shift() ?? false;
      if (answer !== 'lost') return { rows: [{ lsn: '0/1', isFlushed: answer }] };
      lose();
      return fail('gone');
    });
    const work = runIn(connection, () => Promise.resolve('value'), until);
    const asks = (): string[] => said.filter((text) => text !== 'BEGIN' && text !== NUMBER);
    return { work, asks };
  };
  const asked = 'SELECT w.lsn::text ';
  const there = run([true], 0);
  expect(await there.work).toBe('value');
  expect(there.asks()).toEqual(['COMMIT', asked]);
  const later = run([false, false, true], Infinity);
  expect(await later.work).toBe('value');
  expect(later.asks()).toEqual(['COMMIT', asked, asked, asked]);
  const late = run([false], 0);
  expect(await failure(late.work)).toBe('no synchronous standby has it');
  // Committed it may be: who asked cannot know.
  for (const flushed of [['lost'], [false, 'lost']] as const) {
    expect(await run(flushed, Infinity).work).toEqual(
      new InDoubt({ session: 'one', number: 7 }, 'value'),
    );
  }
});

test('each statement of a transaction is given its own time for an answer', async () => {
  const asked: unknown[] = [];
  const connection = {
    isLost: false,
    nextNumber: () => ({ session: 'one', number: 7 }),
    ask: async (...args: unknown[]) => {
      asked.push(args);
      return { rows: [{ one: 1 }, { one: 2 }], changes: 3, command: 'COMMIT' };
    },
  } as unknown as Connection;
  const answers = await runIn(
    connection,
    async (session) => {
      session.send(lasting(part('SEND', 1), 11));
      return [
        await session.all(lasting(part('ALL', 2), 12)),
        await session.first(lasting(part('FIRST', 3), 13)),
        await session.run(lasting(part('RUN', 4), 14)),
        await session.run(part('SHORT')),
        [session.node, session.period],
      ];
    },
    null,
  );
  expect(answers).toEqual([[{ one: 1 }, { one: 2 }], { one: 1 }, 3, 3, [0, null]]);
  expect(asked).toEqual([
    ['BEGIN'],
    ['SEND', [1], 11],
    ['ALL', [2], 12],
    ['FIRST', [3], 13],
    ['RUN', [4], 14],
    ['SHORT', [], undefined],
    ['INSERT INTO commits (session, number) VALUES ($1, $2)', ['one', 7]],
    ['COMMIT'],
  ]);
});
