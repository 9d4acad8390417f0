/** What whoever asks a store is told when it cannot, as what kind of refusal, and which failures mean that the disk is full. */
import { expect, test } from 'bun:test';

import { isDiskFull } from '../../src/store/full-disk.ts';
import { SessionEndedError } from '../../src/store/nodes.ts';
import {
  SearchUnreadyError,
  StoreAwayError,
  StoreFullError,
  StoreRefusalError,
  StoreUnconfirmedError,
  StoreUnwritableError,
} from '../../src/store/store.ts';

test('each refusal has its name, a sentence for whoever asked, and a code where it keeps from writing', () => {
  const seen = [
    StoreFullError,
    StoreAwayError,
    StoreUnconfirmedError,
    SessionEndedError,
    SearchUnreadyError,
  ].map((Refusal) => {
    const error: StoreRefusalError & { code?: string } = new Refusal('why');
    expect(error).toBeInstanceOf(StoreRefusalError);
    return [error.name, error.said, error.code, error instanceof StoreUnwritableError];
  });
  expect(seen).toEqual([
    ['StoreFullError', 'This service is out of disk space.', 'ENOSPC', true],
    ['StoreAwayError', 'The database of this service cannot be reached.', 'EAGAIN', true],
    [
      'StoreUnconfirmedError',
      'The database of this service has no second copy at the moment.',
      'EAGAIN',
      true,
    ],
    ['SessionEndedError', 'This server is being replaced.', 'ESTALE', true],
    [
      'SearchUnreadyError',
      'The search index is still being made; lists answer meanwhile, searches for rare words do not.',
      undefined,
      false,
    ],
  ]);
});

test('a disk is full where a file system, a quota, or SQLite on top of them says so, and for nothing else', () => {
  const codes = [
    'ENOSPC',
    'EDQUOT',
    'SQLITE_FULL',
    'SQLITE_IOERR_SHMSIZE',
    'SQLITE_IOERR_WRITE',
    'SQLITE_BUSY',
    'EROFS',
    'EIO',
  ].filter((code) => isDiskFull(Object.assign(new Error('failed'), { code })));
  expect(codes).toEqual(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']);
  expect([null, undefined, 'ENOSPC', new Error('ENOSPC')].map(isDiskFull)).toEqual(
    Array(4).fill(false),
  );
});
