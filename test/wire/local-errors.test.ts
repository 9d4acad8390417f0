/** Errors of this machine, told from those of the other: its own never count against a destination. */
import { expect, test } from 'bun:test';

import { isLocalError, isOutOfDescriptors, isShortage } from '../../src/wire/local-errors.ts';

const errorOf = (code?: string): NodeJS.ErrnoException =>
  Object.assign(new Error('x'), code === undefined ? {} : { code });

test.each([
  // No descriptor, memory or source port left: try again, here, later.
  ['EMFILE', true, true],
  ['ENFILE', true, true],
  ['ENOBUFS', true, true],
  ['ENOMEM', true, true],
  ['EADDRNOTAVAIL', true, true],
  // An address or a rule of this machine.
  ['EADDRINUSE', false, true],
  ['EACCES', false, true],
  ['EPERM', false, true],
  ['EAFNOSUPPORT', false, true],
  ['EINVAL', false, true],
  ['ERR_INVALID_IP_ADDRESS', false, true],
  // The other machine, or the way to it.
  ['ECONNREFUSED', false, false],
  ['ECONNRESET', false, false],
  ['ETIMEDOUT', false, false],
  ['EHOSTUNREACH', false, false],
  ['ENETUNREACH', false, false],
  ['EPIPE', false, false],
  [undefined, false, false],
])('%s: a shortage %p, local %p', (code, shortage, local) => {
  expect([isShortage(errorOf(code)), isLocalError(errorOf(code))]).toEqual([shortage, local]);
});

test('this process has descriptors left', () => expect(isOutOfDescriptors()).toBe(false));
