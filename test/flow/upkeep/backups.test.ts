/** Backups behind a page: one at a time, named by their time, and what the last one came to. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../../src/base/errors.ts';
import { Backups } from '../../../src/flow/upkeep/backups.ts';
import type { BackupReport } from '../../../src/store/operator.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

function backups(backUpTo: (file: string) => Promise<BackupReport>) {
  return new Backups({ ...fixture.ctx, store: { ...fixture.ctx.store, backUpTo } });
}

test('one is written at a time, into a folder for the owner alone, and then the next may begin', async () => {
  const files: string[] = [];
  const done = Promise.withResolvers<void>();
  const made = backups(async (file) => {
    files.push(file);
    await done.promise;
    return { file, bytes: 7, rows: {} };
  });
  expect(made.last).toBeNull();
  // The folder is read by people: names and times are those of the wall clock.
  fixture.clock.jump(3_600_000);
  const startedAt = fixture.clock.now();
  const { ended } = made.start();
  expect(made.last).toEqual({ kind: 'running', startedAt });
  const second = refusal(Promise.resolve().then(() => made.start().ended));
  expect((await second).code).toBe('conflict');
  fixture.clock.pass(5_000);
  done.resolve();
  await ended;
  const file = join(fixture.dir, 'backups', 'postrider-20260115T130000Z.backup');
  expect(made.last).toEqual({
    kind: 'done',
    endedAt: startedAt + 5_000,
    report: { file, bytes: 7, rows: {} },
  });
  expect(existsSync(join(fixture.dir, 'backups'))).toBe(true);
  expect(statSync(join(fixture.dir, 'backups')).mode & 0o077).toBe(0);
  await made.start().ended;
  expect(files).toEqual([file, join(fixture.dir, 'backups', 'postrider-20260115T130005Z.backup')]);
});

test('a failure is told where an operator can act on it, else logged, and another may begin', async () => {
  const faults: Error[] = [
    new OperatorError('The disk is full.', 'Free some.'),
    new Error('secret'),
  ];
  fixture.clock.jump(-3_600_000);
  const startedAt = fixture.clock.now();
  const made = backups(async () => {
    fixture.clock.pass(3_000);
    throw faults.shift() ?? new Error('no more');
  });
  await made.start().ended;
  const [endedAt, problem] = [startedAt + 3_000, 'The disk is full. Free some.'];
  expect(made.last).toEqual({ kind: 'failed', endedAt, problem });
  expect(fixture.logged.map((line) => line['event'])).not.toContain('backup_failed');
  await made.start().ended;
  expect(made.last).toMatchObject({ kind: 'failed', problem: 'The server log says why.' });
  expect(fixture.logged.at(-1)?.['event']).toBe('backup_failed');
});
