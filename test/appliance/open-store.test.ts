/** Which store is opened and with what, and that the data directory is this process's alone for as long as it is open. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closeContext, openContext } from '../../src/appliance/context.ts';
import * as opening from '../../src/appliance/open-store.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import type { Config } from '../../src/base/config.ts';
import { createLog } from '../../src/base/log.ts';
import * as dataKey from '../../src/flow/data-key.ts';
import { lockDirectory } from '../../src/store/directory-lock.ts';
import * as postgres from '../../src/store/postgres/store.ts';
import { TestClock } from '../rig/clock.ts';

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-store-'));
  dataDir = join(folder, 'a', 'data');
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const lines: string[] = [];
const log = createLog(
  (line) => lines.push(line),
  () => 0,
);
const onCommit = (): void => undefined;
const parts = { now: 7, log, onCommit };

function configOf(store: string): Config {
  return parseConfig(
    `hostname = "mail.rig.test"\ndata_dir = "${dataDir}"\n[store]\n${store}`,
    'rig',
  );
}

/** Whether another process could have the directory. */
function isFree(): boolean {
  try {
    lockDirectory(dataDir).release();
    return true;
  } catch {
    return false;
  }
}

const URL = 'url = "postgres://me@db/mail"\n';

test('a database is opened as the config says, with the directory made and locked until it closes', async () => {
  const closed: boolean[] = [];
  const nodes = { is: 'nodes' };
  const store = { nodes, close: () => Promise.resolve(closed.push(isFree())), other: 'verb' };
  const open = spyOn(postgres, 'openPostgres').mockResolvedValue(store as never);
  const opened = await opening.openStore(configOf(URL).startup, parts);
  expect(opened.nodes).toBe(nodes as never);
  expect(opened.store).toMatchObject({ other: 'verb', nodes });
  expect([isFree(), statSync(dataDir).mode & 0o777]).toEqual([false, 0o700]);
  await opened.store.close();
  expect([closed, isFree()]).toEqual([[false], true]);

  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'x');
  const standby = `${URL}password_file = "${passwordFile}"\nrequire_standby = true\n`;
  const decodeText = () => Promise.resolve('');
  const given = { ...parts, decodeText };
  await (await opening.openStore(configOf(standby).startup, given)).store.close();
  const onSchemaStep = expect.any(Function) as () => void;
  const always = { url: 'postgres://me@db/mail', now: 7, onCommit, onSchemaStep };
  expect(open.mock.calls).toEqual([
    [{ ...always, passwordFile: '' }],
    [{ ...always, passwordFile, requireStandby: { log }, decodeText }],
  ]);
  const step = { database: 'PostgreSQL', step: 2, of: 3, name: 'two' };
  lines.length = 0;
  open.mock.calls[0]?.[0].onSchemaStep?.(step);
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    { level: 'info', event: 'schema_step', ...step },
  ]);
});

test('a database that cannot be opened leaves the directory free', async () => {
  spyOn(postgres, 'openPostgres').mockRejectedValue(new Error('away'));
  const { startup } = configOf(URL);
  expect(await opening.openStore(startup, parts).catch(String)).toBe('Error: away');
  expect([existsSync(dataDir), isFree()]).toEqual([true, true]);
});

test('files are this process’s alone, and have no nodes', async () => {
  const { store, nodes } = await opening.openStore(configOf('').startup, parts);
  expect([nodes, isFree()]).toEqual([null, false]);
  await store.close();
  expect(isFree()).toBe(true);
});

test('commits are counted in seconds, with the writes that share one', async () => {
  const open = spyOn(opening, 'openStore');
  const ctx = await openContext(configOf(''), { clock: new TestClock(), log });
  const [startup, given] = open.mock.calls[0] ?? [];
  expect([startup?.dataDir, given?.now, given?.log]).toEqual([dataDir, ctx.clock.now(), log]);
  const sums = async (): Promise<string[]> =>
    (await ctx.metrics.render())
      .split('\n')
      .filter((line) => /commit_\w+_(?:sum|count) /.test(line));
  const before = await sums();
  given?.onCommit(250, 3);
  const numbers = (lines: string[]): number[] => lines.map((line) => Number(line.split(' ')[1]));
  const more = numbers(await sums()).map((value, at) => value - (numbers(before)[at] ?? 0));
  expect(more.map((value) => Math.round(value * 1e6) / 1e6)).toEqual([0.25, 1, 3, 1]);
  expect([ctx.node, ctx.nodes, ctx.emulation]).toEqual([null, null, null]);
  await closeContext(ctx);
});

test('where the key cannot be used the store is closed again', async () => {
  spyOn(dataKey, 'unlock').mockRejectedValue(new Error('no key'));
  const work = openContext(configOf(''), { clock: new TestClock(), log });
  expect(await work.catch(String)).toBe('Error: no key');
  expect(isFree()).toBe(true);
});
