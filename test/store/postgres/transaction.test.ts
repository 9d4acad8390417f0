/** One run of a transaction: how it ends, whatever the connection does. */
import { expect, test } from 'bun:test';

import type { Connection } from '../../../src/store/postgres/connection.ts';
import { part } from '../../../src/store/postgres/statement.ts';
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
