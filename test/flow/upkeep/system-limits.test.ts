/**
 * What the upkeep makes of the system's answers that a test machine does not give: a full table of open files, and blocks
 * of a disk that are kept for root.
 */
import { afterAll, beforeAll, expect, mock, test } from 'bun:test';
// oxlint-disable-next-line import/no-namespace -- all but one function stays as it is
import * as fs from 'node:fs';
// oxlint-disable-next-line import/no-namespace -- all but one function stays as it is
import * as promises from 'node:fs/promises';
import { DescriptorWatch } from '../../../src/flow/upkeep/descriptors.ts';
import { DiskWatch } from '../../../src/flow/upkeep/disk.ts';
import { openFixture } from '../fixture.ts';

const [realFs, realPromises] = [{ ...fs }, { ...promises }];
const state: { openFails: string | null; isKept: boolean; limits: string | null } = {
  openFails: null,
  isKept: false,
  limits: null,
};

beforeAll(async () => {
  await mock.module('node:fs', () => ({
    ...realFs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      if (args[0] !== '/dev/null' || state.openFails === null) return realFs.openSync(...args);
      throw Object.assign(new Error('no more'), { code: state.openFails });
    },
    readFileSync: (...args: Parameters<typeof fs.readFileSync>) =>
      args[0] === '/proc/self/limits' && state.limits !== null
        ? state.limits
        : realFs.readFileSync(...args),
  }));
  await mock.module('node:fs/promises', () => ({
    ...realPromises,
    statfs: async (path: string) => {
      const found = await realPromises.statfs(path);
      return state.isKept
        ? Object.assign(found, { bsize: 4096, blocks: 1_000, bfree: 900, bavail: 3 })
        : found;
    },
  }));
});
afterAll(async () => {
  await mock.module('node:fs', () => realFs);
  await mock.module('node:fs/promises', () => realPromises);
});

test.each(['EMFILE', 'ENFILE'])(
  '%s: no descriptor is free, and the listeners rest',
  async (code) => {
    let rests = 0;
    const listener = { rest: () => void rests++, listenAgain: () => Promise.resolve() };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const watch = new DescriptorWatch(log, [listener], 65_536);
    await watch.run();
    expect(rests).toBe(0);
    state.openFails = code;
    await watch.run().finally(() => (state.openFails = null));
    expect(rests).toBe(1);
  },
);

/** Whether the listeners rest where `limits` is what the system says, and `lowest` the lowest free descriptor. */
async function rests(limits: string, lowest: number | null): Promise<boolean> {
  state.limits = limits;
  let count = 0;
  const listener = { rest: () => void count++, listenAgain: () => Promise.resolve() };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  await new DescriptorWatch(log, [listener], undefined, () => lowest).run();
  state.limits = null;
  return count > 0;
}

test('the limit is the soft one that the system tells this process', async () => {
  const limits =
    'Limit                     Soft Limit           Hard Limit           Units     \n' +
    'Max processes             50                   60                   processes \n' +
    'Max open files            1000                 4096                 files     \n';
  // Of its thousand an eighth is kept free.
  expect([await rests(limits, 874), await rests(limits, 876)]).toEqual([false, true]);
});

test('where the system tells no limit, they rest only when it gives no descriptor', async () => {
  const limits = 'Max open files            unlimited            unlimited            files     \n';
  expect([await rests(limits, 1_000_000), await rests(limits, null)]).toEqual([false, true]);
});

test('another failure is none of theirs', async () => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  state.openFails = 'EACCES';
  const run = new DescriptorWatch(log, [], 65_536).run().finally(() => (state.openFails = null));
  const failure = await run.catch((error: unknown) => String(error));
  expect(failure).toBe('Error: no more');
});

test('what is kept for root is not free', async () => {
  const fixture = await openFixture();
  state.isKept = true;
  await new DiskWatch(fixture.ctx).run().finally(() => (state.isKept = false));
  expect(fixture.ctx.disk.last).toMatchObject({ freeBytes: 3 * 4096, totalBytes: 4_096_000 });
  await fixture.close();
});
