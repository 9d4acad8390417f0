/** What a command shows of each kind of failure, beside a server and without one. */
import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ApiError, OperatorError, validationFailed } from '../../src/base/errors.ts';
import { refusalOf, socketPath, toErrorLine } from '../../src/control/protocol.ts';
import { SearchUnreadyError, StoreAwayError, StoreFullError } from '../../src/store/store.ts';

const issue = (path: string) => ({ path, message: `${path} is missing.` });

test.each([
  ['of an operator, with hint and exit code', new OperatorError('No.', 'Do that.', 78), 'No.', 78],
  ['of the API', new ApiError('conflict', 'There is one already.'), 'There is one already.', 1],
  ['with detail', new ApiError('not_found', 'No.', { detail: { id: 'x' } }), 'No.', 1],
  ['with one issue', validationFailed([issue('to')]), 'to is missing.', 1],
  [
    'with three issues, each in a line',
    validationFailed([issue('from'), issue('to'), issue('subject')]),
    'from is missing.\nto is missing.\nsubject is missing.',
    1,
  ],
])('a refusal %s', (_, refusal, message, exitCode) => {
  const hint = refusal instanceof OperatorError ? 'Do that.' : '';
  expect(toErrorLine(refusal)).toEqual({ kind: 'error', message, hint, exitCode });
  expect(refusalOf(refusal)).toMatchObject({ message, hint, exitCode });
});

test('a socket whose path has 107 bytes is named by it, a longer one by the descriptor of its directory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ü'));
  const within = (bytes: number): string => {
    const rest = bytes - Buffer.byteLength(`${folder}//control.sock`);
    const dataDir = join(folder, 'x'.repeat(rest));
    mkdirSync(dataDir);
    return socketPath(dataDir);
  };
  expect(Buffer.byteLength(within(107))).toBe(107);
  expect(within(108)).toMatch(/^\/proc\/self\/fd\/\d+\/control\.sock$/);
  rmSync(folder, { recursive: true });
});

test('a full disk is told with what to do, a fault of ours with where to look', () => {
  expect(toErrorLine(new StoreFullError('full'))).toEqual({
    kind: 'error',
    message: 'The disk is full.',
    hint: 'Free some space on it, then try again.',
    exitCode: 1,
  });
  for (const fault of [new TypeError('x is undefined'), 'x is undefined']) {
    expect(refusalOf(fault)).toBeNull();
    expect(toErrorLine(fault)).toEqual({
      kind: 'error',
      message: 'x is undefined',
      hint: 'See the log of the server for details.',
      exitCode: 1,
    });
  }
});

test('what the store cannot do now is no fault: what it is, and who knows why', () => {
  expect(refusalOf(new StoreAwayError('econnrefused'))).toMatchObject({
    message: 'The database of this service cannot be reached. Try again later.',
    hint: '`postrider doctor` says why.',
    exitCode: 1,
  });
  expect(refusalOf(new SearchUnreadyError())).toMatchObject({
    message:
      'The search index is still being made; lists answer meanwhile, searches for rare words do not. Try again later.',
    hint: '',
    exitCode: 1,
  });
});
