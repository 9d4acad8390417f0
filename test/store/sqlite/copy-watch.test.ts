/** Whoever waits for a backup hears how far the copy is, then once that it is checked, and nothing after the end. */
import { expect, test } from 'bun:test';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
