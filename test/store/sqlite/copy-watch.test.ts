/** Whoever waits for a backup hears how far the copy is, then once that it is checked, and nothing after the end. */
import { expect, spyOn, test } from 'bun:test';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
// oxlint-disable-next-line import/no-namespace -- one function of it is replaced
import * as promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { draftOf, watchCopy } from '../../../src/store/sqlite/copy-watch.ts';
import type { CopyProgress } from '../../../src/store/sqlite/copy-watch.ts';
import { Arrivals } from '../../rig/arrivals.ts';

test('bytes while it grows, then that it is checked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-copy-'));
  const draft = draftOf(join(folder, 'backup'));
  expect(draft).toBe(join(folder, 'backup.part'));
  const told = new Arrivals<CopyProgress>('words of progress');
  const unwatch = watchCopy(
    draft,
    (progress) => {
      told.push(progress);
      // It grows between two looks, twice.
      if (told.items.length < 3) appendFileSync(draft, 'x'.repeat(100));
    },
    5,
  );
  // A file that is not there yet, or is empty, is no reason to say that it is whole.
  writeFileSync(draft, 'x'.repeat(50));
  await told.first((progress) => progress === 'checking');
  expect(told.items).toEqual([50, 150, 250, 'checking']);
  unwatch();
  rmSync(folder, { recursive: true });
});

test('a look that takes long is the only one, and what it saw is no size that stays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-copy-'));
  const draft = draftOf(join(folder, 'backup'));
  writeFileSync(draft, 'x'.repeat(50));
  const waiting: (() => void)[] = [];
  const slow = spyOn(promises, 'stat').mockImplementation((async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return { size: 50 };
  }) as never);
  const looks = spyOn(globalThis, 'setInterval');
  const told: CopyProgress[] = [];
  const unwatch = watchCopy(draft, (progress) => told.push(progress), 60_000);
  const [look] = looks.mock.calls[0] ?? [];
  looks.mockRestore();
  if (typeof look !== 'function') throw new Error('no look');
  for (let round = 0; round < 3; round += 1) look();
  expect(waiting).toHaveLength(1);
  for (const end of waiting.splice(0)) end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([50]);
  slow.mockRestore();
  unwatch();
  rmSync(folder, { recursive: true });
});

test('a copy that is being checked is said to be once, however long that takes', async () => {
  const sizes = [50, 50, 50, 60, 60];
  const seen = spyOn(promises, 'stat').mockImplementation((async () => ({
    size: sizes.shift(),
  })) as never);
  const looks = spyOn(globalThis, 'setInterval');
  const told: CopyProgress[] = [];
  const unwatch = watchCopy('/draft', (progress) => told.push(progress), 60_000);
  const [look] = looks.mock.calls[0] ?? [];
  looks.mockRestore();
  if (typeof look !== 'function') throw new Error('no look');
  while (sizes.length > 0) {
    look();
    await new Promise((resolve) => setImmediate(resolve));
  }
  seen.mockRestore();
  unwatch();
  expect(told).toEqual([50, 'checking']);
});
