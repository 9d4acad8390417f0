/** A database as the target of a transfer: who else may have it, and what becomes of a COMMIT whose answer was lost. */
import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { databaseAddress } from '../../../src/store/postgres/address.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { openDatabaseTarget } from '../../../src/store/postgres/transfer-writing.ts';
import { StoreAwayError } from '../../../src/store/store.ts';

const ADDRESS = databaseAddress('postgres://u@db/mail?sslmode=disable', '');

/** What a database answers, connection by connection, and what became of them. */
let answers: (text: string) => unknown;
let said: string[];
let now = 0;

beforeEach(() => {
  [said, now] = [[], 0];
  let opened = 0;
  spyOn(performance, 'now').mockImplementation(() => now);
  const passing = (ms: number): void => {
    said.push(`${ms} ms pass`);
    now += ms;
  };
  spyOn(Bun, 'sleep').mockImplementation(async (ms) => passing(Number(ms)));
  spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    passing(ms);
    work();
  }) as never);
  spyOn(Database.prototype, 'transaction').mockResolvedValue(undefined);
  spyOn(Database.prototype, 'all').mockResolvedValue([]);
  spyOn(Database.prototype, 'connect').mockImplementation((async () => {
    const number = (opened += 1);
    said.push(`${number} opens`);
    answers('connect');
    return {
      isLost: false,
      ask: async (text: string) => {
        const rows = answers(text);
        if (/LOCK|lock\(|COMMIT|settings/.test(text)) said.push(`${number} ${text.slice(0, 30)}`);
        return { rows: rows ?? [] };
      },
      abandon: () => said.push(`${number} is abandoned`),
      close: async () => void said.push(`${number} closes`),
    };
  }) as never);
});
afterEach(() => mock.restore());

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'it was not refused',
    (error: unknown) =>
      error instanceof OperatorError ? `${error.message} | ${error.hint}` : String(error),
  );
const target = () => openDatabaseTarget(ADDRESS, 0);

/** A sound database; `change` answers first, unless it has nothing to say. */
function answering(change: (text: string) => unknown = () => undefined): void {
  answers = (text) => {
    const own = change(text);
    if (own !== undefined) return own;
    if (text.includes('pg_stat_activity')) return [{ count: 0 }];
    if (text.includes('pg_try_advisory_lock')) return [{ isOurs: true }];
    return undefined;
  };
}
const away = (): never => {
  throw new StoreAwayError('away');
};
const named =
  (...names: string[]) =>
  (text: string): unknown => {
    if (text === 'COMMIT') return away();
    return text.includes('FROM settings') ? names.map((name) => ({ name })) : undefined;
  };

test('a second transfer into it is refused, and its connection closed', async () => {
  answering((text) => (text.includes('advisory') ? [{ isOurs: false }] : undefined));
  expect(await refusal(target())).toBe(
    'Another migration into this database is under way | Wait for it.',
  );
  expect(said).toEqual(['1 opens', '1 SELECT pg_try_advisory_lock($1', '1 closes']);
});

test('a connection whose settings are refused is given up', async () => {
  answering((text) => {
    if (text.includes('statement_timeout')) throw new Error('a fault');
    return undefined;
  });
  expect(await refusal(target())).toBe('Error: a fault');
  expect(said.at(-1)).toBe('1 is abandoned');
});

test('others are waited for two seconds, and asked about every 50 ms', async () => {
  answering((text) => (text.includes('pg_stat_activity') ? [{ count: 1 }] : undefined));
  expect(await refusal(target())).toBe(
    'A server or a command has this database open | Stop the servers of all nodes first, and wait for commands to end.',
  );
  expect(said).toEqual(['1 opens', ...Array<string>(40).fill('50 ms pass'), '1 closes']);
  let left = 2;
  answering((text) =>
    text.includes('pg_stat_activity') ? [{ count: (left -= 1) > 0 ? 1 : 0 }] : undefined,
  );
  await (await target()).close();
  expect(left).toBe(0);
});

test('a COMMIT that is refused is told as it is', async () => {
  answering((text) => {
    if (text === 'COMMIT') throw new Error('a fault');
    return undefined;
  });
  expect(await refusal((await target()).settle())).toBe('Error: a fault');
});

test('a COMMIT whose answer was lost is looked up by what it has left', async () => {
  const lost =
    'The connection to the database was lost at the very end: nothing of the migration is in it | Run it again: it begins anew. Nothing was changed on the side that was read.';
  for (const [names, end] of [
    [['key_fingerprint'], 'it was not refused'],
    [['migration', 'key_fingerprint'], lost],
    [['migration'], lost],
    [[], lost],
  ] as const) {
    answering(named(...names));
    expect(await refusal((await target()).settle())).toBe(end);
  }
  expect(said.slice(-4)).toEqual([
    '8 opens',
    '8 SELECT pg_try_advisory_lock($1',
    '8 SELECT name FROM settings WHER',
    '8 is abandoned',
  ]);
});

test('while the lost session lives, or nobody answers, it is looked for every half second', async () => {
  answering(named('key_fingerprint'));
  const opened = await target();
  let looks = 0;
  answering((text) => {
    if (text === 'connect' && (looks += 1) === 1) return away();
    if (text.includes('advisory') && looks === 2) return [{ isOurs: false }];
    return named('key_fingerprint')(text);
  });
  said = [];
  expect(await refusal(opened.settle())).toBe('it was not refused');
  expect(said).toEqual([
    '2 opens',
    '500 ms pass',
    '3 opens',
    '3 SELECT pg_try_advisory_lock($1',
    '3 is abandoned',
    '500 ms pass',
    '4 opens',
    '4 SELECT pg_try_advisory_lock($1',
    '4 SELECT name FROM settings WHER',
    '4 is abandoned',
  ]);
  answering((text) => {
    if (text === 'connect') throw new Error('another fault');
    return named()(text);
  });
  expect(await refusal(opened.settle())).toBe('Error: another fault');
});

test('after a minute without an answer it is told that nobody knows', async () => {
  answering();
  const opened = await target();
  answering((text) => (text === 'connect' || text === 'COMMIT' ? away() : undefined));
  said = [];
  expect(await refusal(opened.settle())).toBe(
    'The connection to the database was lost at the very end, and it does not answer: whether everything is in it is not known | When it answers, run the same command again. It begins anew if nothing is there, and says so if all of it is.',
  );
  expect(said.filter((line) => line === '500 ms pass')).toHaveLength(121);
});
