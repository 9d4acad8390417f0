/** Errors of this machine, told from those of the other: its own never count against a destination. */
import { expect, spyOn, test } from 'bun:test';
import * as fs from 'node:fs';

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

test('a process with descriptors left takes one and gives it back', () => {
  const [opened, closed] = [spyOn(fs, 'openSync'), spyOn(fs, 'closeSync')];
  expect(isOutOfDescriptors()).toBe(false);
  const taken = opened.mock.results.map(({ value }): unknown => value);
  expect<unknown[][]>([opened.mock.calls, closed.mock.calls]).toEqual([
    [['/dev/null', 'r']],
    [taken],
  ]);
  for (const spy of [opened, closed]) spy.mockRestore();
});

test('while no descriptor is left, a refused connection is our own trouble, and nothing else changes', () => {
  const opened = spyOn(fs, 'openSync').mockImplementation(() => {
    throw errorOf('EMFILE');
  });
  const seen = ['ECONNREFUSED', 'ECONNRESET', undefined].map((code) => [
    isShortage(errorOf(code)),
    isLocalError(errorOf(code)),
  ]);
  expect([isOutOfDescriptors(), seen]).toEqual([
    true,
    [
      [true, true],
      [false, false],
      [false, false],
    ],
  ]);
  opened.mockRestore();
});
