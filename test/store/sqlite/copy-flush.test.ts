/** While a backup is written, what is there of it goes to the disk again and again, until its end and not after it. */
import { afterEach, expect, spyOn, test } from 'bun:test';
// oxlint-disable-next-line import/no-namespace -- one function of it is replaced
import * as promises from 'node:fs/promises';
import { constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { flushWhileWritten } from '../../../src/store/sqlite/copy-flush.ts';
import { Arrivals } from '../../rig/arrivals.ts';

const calls = new Arrivals<string>('calls');
let opening = spyOn(promises, 'open');

/** `datasync` is what each file that is opened does. */
function answerWith(datasync: () => Promise<void>): void {
  opening = spyOn(promises, 'open').mockImplementation((async (path: string) => {
    calls.push(`open ${path}`);
    return {
      datasync: async () => {
        calls.push('datasync');
        await datasync();
      },
      close: async () => {
        calls.push('close');
      },
    };
  }) as never);
}

afterEach(() => {
  opening.mockRestore();
  calls.clear();
});

const FLUSH = ['open /a.part', 'datasync', 'close'];

test('the file of that name is opened, flushed and closed, again and again', async () => {
  answerWith(async () => undefined);
  const end = flushWhileWritten('/a.part', 1);
  await calls.atLeast(9);
  await end();
  expect(calls.items.slice(0, 9)).toEqual([...FLUSH, ...FLUSH, ...FLUSH]);
});

test('the end waits for the flush under way, and none comes after it', async () => {
  const waiting: (() => void)[] = [];
  answerWith(() => new Promise((resolve) => waiting.push(resolve)));
  const end = flushWhileWritten('/a.part', 1);
  await calls.atLeast(2);
  const ended = new Arrivals<string>('ends');
  const ending = end().then(() => ended.push('end'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended.items).toEqual([]);
  for (const go of waiting) go();
  await ending;
  expect(calls.items).toEqual(FLUSH);
});

test('the end does not wait for the next flush', async () => {
  answerWith(async () => undefined);
  const end = flushWhileWritten('/a.part', 600_000);
  await calls.atLeast(3);
  await end();
  expect(calls.items).toEqual(FLUSH);
});

test('a file that is not there yet, or a disk that takes nothing, is tried again', async () => {
  answerWith(() => Promise.reject(new Error('EIO')));
  opening.mockImplementationOnce(() => {
    calls.push('none');
    return Promise.reject(new Error('ENOENT'));
  });
  const end = flushWhileWritten('/a.part', 1);
  await calls.atLeast(7);
  await end();
  expect(calls.items.slice(0, 7)).toEqual(['none', ...FLUSH, ...FLUSH]);
});

test('a pipe of that name keeps nobody, and a link is not followed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-flush-'));
  const pipe = join(folder, 'one.backup.part');
  Bun.spawnSync(['mkfifo', pipe]);
  opening = spyOn(promises, 'open');
  const end = flushWhileWritten(pipe, 1);
  await end();
  expect(opening.mock.calls).toEqual([
    [pipe, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW],
  ]);
  rmSync(folder, { recursive: true });
});
