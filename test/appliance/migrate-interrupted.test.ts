/** Moving everything is interrupted: what a server then says of the target, and that the next run begins anew. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import type { TransferProgress } from '../../src/store/transfer-run.ts';
import { DatabaseProxy } from '../rig/database-proxy.ts';
import type { Loss } from '../rig/database-proxy.ts';
import { testServer } from '../rig/postgres.ts';
import { openTestStore } from '../store/test-store.ts';
import {
  filledDirectory,
  hashes,
  newDir,
  openDatabase,
  refusal,
  removeDirs,
  run,
  toDatabase,
  toDirectory,
} from './migrate-rig.ts';

afterAll(removeDirs);

describe('a connection that is lost at the final COMMIT', () => {
  /** Runs into a database through a proxy, which loses the connection once all tables are compared. */
  async function losing(
    loss: Loss,
    body: (dir: string, url: string, done: Promise<string>) => unknown,
  ) {
    const { dir } = await filledDirectory();
    const server = await testServer();
    const url = await server.freshDatabase();
    const proxy = new DatabaseProxy(server.socket);
    const through = url.replace(
      encodeURIComponent(server.directory),
      encodeURIComponent(proxy.directory),
    );
    let isPlanned = false;
    const report = (progress: TransferProgress | object): void => {
      if (isPlanned || !('step' in progress) || progress.step !== 'compare') return;
      isPlanned = true;
      proxy.lose(loss);
    };
    try {
      await body(dir, url, refusal(run(dir, '', toDatabase(through), report)));
      expect(proxy.losses).toBe(1);
    } finally {
      proxy.stop();
    }
  }

  test(
    'after it was committed: it is looked up, and all is there',
    () =>
      losing('after', async (dir, url, done) => {
        expect(await done).toBe('it was not refused');
        await (await openDatabase(url)).close();
        expect(await refusal(run(dir, '', toDatabase(url)))).toMatch(/holds rows already/);
      }),
    60_000,
  );

  test(
    'before: it says that nothing is there, and the next run begins anew',
    () =>
      losing('before', async (dir, url, done) => {
        expect(await done).toMatch(/lost at the very end: nothing of the migration is in it/);
        expect(await refusal(openDatabase(url))).toMatch(/^78 /);
        await run(dir, '', toDatabase(url));
        await (await openDatabase(url)).close();
      }),
    60_000,
  );
});

describe('an interrupted run', () => {
  /** Ends at the first word about the table. */
  const endingAt = (step: string, table: string) => (progress: TransferProgress | object) => {
    if ('table' in progress && progress.step === step && progress.table === table) {
      throw new Error('the power goes');
    }
  };

  test.each([
    ['copy', 'attachments'],
    ['compare', 'events'],
  ])(
    'into a database, at %s %s: a server refuses it, and it can begin again',
    async (step, table) => {
      const { dir } = await filledDirectory();
      const url = await (await testServer()).freshDatabase();
      expect(await refusal(run(dir, '', toDatabase(url), endingAt(step, table)))).toMatch(/power/);
      expect(await refusal(openDatabase(url))).toMatch(/^78 /);
      expect(await refusal(run(dir, url, toDirectory(newDir())))).toMatch(/interrupted/);
      await run(dir, '', toDatabase(url));
      await (await openDatabase(url)).close();
    },
    60_000,
  );

  test.each([
    ['copy', 'attachments'],
    ['compare', 'events'],
  ])(
    'into files, at %s %s: a server refuses them, and it can begin again',
    async (step, table) => {
      const { dir } = await filledDirectory();
      const url = await (await testServer()).freshDatabase();
      const there = await run(dir, '', toDatabase(url));
      const back = newDir();
      expect(await refusal(run(dir, url, toDirectory(back), endingAt(step, table)))).toMatch(
        /power/,
      );
      expect(await refusal(openTestStore(back))).toMatch(/^78 /);
      expect(hashes(await run(dir, url, toDirectory(back)))).toEqual(hashes(there));
      expect(readdirSync(back).filter((name) => name.includes('migrating'))).toEqual([]);
      await (await openTestStore(back)).close();
    },
    60_000,
  );
});
