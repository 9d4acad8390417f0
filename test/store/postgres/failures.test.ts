/** What a failure of the database means for who asked, and what the operator is told of it. */
import { SQL } from 'bun';
import { expect, test } from 'bun:test';

import { OperatorError } from '../../../src/base/errors.ts';
import { failureOf, forOperator, sqlState } from '../../../src/store/postgres/failures.ts';
import { StoreAwayError, StoreUnconfirmedError } from '../../../src/store/store.ts';

/** As the client makes it: `errno` is the state that the server gave. */
const failed = (code: string, errno?: string): Error =>
  new SQL.PostgresError('it says why', { code, ...(errno === undefined ? {} : { errno }) });
const said = (state: string): Error => failed('ERR_POSTGRES_SERVER_ERROR', state);

test.each([
  ['a unique key that is taken', said('23505'), 'refused'],
  ['a division by zero', said('22012'), 'refused'],
  ['a role that may not', said('42501'), 'refused'],
  ['an operation that a state of the transaction forbids', said('25001'), 'refused'],
  ['too much memory asked for', said('53200'), 'refused'],
  ['what is no state', said(''), 'refused'],
  ['a serialization failure', said('40001'), 'conflict'],
  ['a deadlock', said('40P01'), 'conflict'],
  ['a statement that somebody cancelled', said('57014'), 'conflict'],
  ['another rollback', said('40002'), 'refused'],
  ['a full disk', said('53100'), 'full'],
  ['a standby, which takes no writes', said('25006'), 'away'],
  ['too many connections', said('53300'), 'away'],
  ['a session that the operator ended', said('57P01'), 'away'],
  ['a server that starts', said('57P03'), 'away'],
  ['a connection that failed', said('08006'), 'away'],
  ['a connection that was closed', failed('ERR_POSTGRES_CONNECTION_CLOSED'), 'away'],
  ['a connection that took too long', failed('ERR_POSTGRES_CONNECTION_TIMEOUT'), 'away'],
  ['one that was idle for too long', failed('ERR_POSTGRES_IDLE_TIMEOUT'), 'away'],
  ['a value that no type takes', failed('ERR_POSTGRES_UNSUPPORTED_BYTEA_FORMAT'), 'refused'],
  ['our own word that it is away', new StoreAwayError('away'), 'away'],
  ['our own word that no standby has it', new StoreUnconfirmedError('none'), 'unconfirmed'],
  ['any other fault', new Error('ERR_POSTGRES_CONNECTION_CLOSED'), 'refused'],
  ['what is no error', 'word', 'refused'],
] as const)('%s', (_, error, kind) => {
  expect(failureOf(error)).toBe(kind);
});

test('a state is what the server gave, and nothing else', () => {
  expect(sqlState(said('23505'))).toBe('23505');
  expect(sqlState(failed('ERR_POSTGRES_CONNECTION_CLOSED'))).toBeNull();
  expect(sqlState(Object.assign(new Error('x'), { errno: '23505' }))).toBeNull();
  expect(sqlState(null)).toBeNull();
});

test('the operator is told what to repair; what is ours stays as it is', () => {
  const told = (error: unknown): unknown => {
    const as = forOperator(error);
    return as instanceof OperatorError ? `${as.message} | ${as.hint} | ${as.exitCode}` : as;
  };
  const reach =
    'Check url in [store], the server and its log. Of several hosts one must be a primary.';
  expect(told(said('57P03'))).toBe(`The database cannot be reached: it says why | ${reach} | 1`);
  expect(told(new StoreAwayError('no host'))).toBe(
    `The database cannot be reached: no host | ${reach} | 1`,
  );
  expect(told(said('42501'))).toBe(
    'The database cannot be used: it says why | Check role, password and database in [store]. The role needs the right to create tables and the extensions pg_trgm and btree_gin (package postgresql-contrib). | 1',
  );
  const known = new OperatorError('known', 'hint', 78);
  expect(forOperator(known)).toBe(known);
  const fault = new Error('ours');
  expect(forOperator(fault)).toBe(fault);
  expect(forOperator('word')).toBe('word');
});
