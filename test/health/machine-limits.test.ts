/**
 * What the host check says of the limit of open files, by the limit of a process, and of a large disk; and which questions
 * a database leaves out.
 */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { examineMachine } from '../../src/health/machine.ts';
import { silentResolver } from '../flow/fixture.ts';

const MACHINE = join(import.meta.dir, '../../src/health/machine.ts');
const dataDir = mkdtempSync(join(tmpdir(), 'machine-limits-'));
afterAll(() => rmSync(dataDir, { recursive: true }));

/** The finding in a process that can open so many files. */
async function findingAt(limit: number): Promise<unknown> {
  const program = `
    const { examineMachine } = await import(${JSON.stringify(MACHINE)});
    const http = { tlsCert: '' };
    const config = { startup: { dataDir: ${JSON.stringify(dataDir)}, store: { url: 'x' } }, live: { http, smtp: http } };
    const found = await examineMachine({ config, clock: { now: Date.now } });
    console.log(JSON.stringify(found.find(({ check }) => check === 'descriptors')));`;
  const command = `ulimit -n ${limit} && exec "$0" -e "$1"`;
  const child = Bun.spawn(['sh', '-c', command, process.execPath, program], { stdout: 'pipe' });
  return JSON.parse(await new Response(child.stdout).text());
}

test.each([
  [8_191, 'warning'],
  [8_192, 'ok'],
] as const)('a process that can open %d files: %s', async (limit, level) => {
  expect(await findingAt(limit)).toEqual({
    check: 'descriptors',
    level,
    summary: `The process can open ${limit} files at once.`,
    advice:
      level === 'ok'
        ? null
        : 'Run Postrider as a systemd unit with LimitNOFILE=65536, or raise ulimit -n.',
  });
});

test('a limit that cannot be read, or is none, is left open, with how to see it', async () => {
  const config = parseConfig(`hostname = "mail.shop.example"\ndata_dir = "${dataDir}"`, 'f');
  const ctx = { config, clock: systemClock, resolver: silentResolver() };
  const read = spyOn(files, 'readFile');
  const seen = async (): Promise<unknown> =>
    (await examineMachine(ctx)).find(({ check }) => check === 'descriptors');
  const unchecked = {
    check: 'descriptors',
    level: 'unchecked',
    summary: 'The limit of open files could not be read.',
    advice: 'Run ulimit -n to see the limit; 65536 is a good value.',
  };
  read.mockRejectedValue(new Error('no /proc'));
  expect(await seen()).toEqual(unchecked);
  read.mockResolvedValue(
    'Max open files            unlimited            unlimited            files\n',
  );
  expect(await seen()).toEqual(unchecked);
  // The soft limit is what stops the process, and no other line of the table counts.
  const table = 'Max processes             1                    2                    processes\n';
  read.mockResolvedValue(
    `${table}Max open files            9000                 70000                files\n`,
  );
  expect(await seen()).toMatchObject({
    level: 'ok',
    summary: 'The process can open 9000 files at once.',
  });
  expect(read.mock.calls.map((call) => call as unknown)).toEqual(
    Array.from({ length: 3 }, () => ['/proc/self/limits', 'utf8']),
  );
  read.mockRestore();
});

test('of a server on a database its own check asks for the secret key', async () => {
  const checks = async (store: string): Promise<string[]> => {
    const text = `hostname = "mail.shop.example"\ndata_dir = "${dataDir}"\n${store}`;
    const config = parseConfig(text, 'doctor.toml');
    const found = await examineMachine({ config, clock: systemClock, resolver: silentResolver() });
    return found.map(({ check }) => check);
  };
  expect(await checks('')).toEqual(['disk', 'data_rights', 'secret_key', 'descriptors']);
  const url = '[store]\nurl = "postgres://user@db.example/postrider"\n';
  expect(await checks(url)).toEqual(['disk', 'data_rights', 'descriptors']);
});

test('of a large disk a twentieth should be free for the server, whatever root may write', async () => {
  const statfs = spyOn(files, 'statfs');
  const config = parseConfig(`hostname = "mail.shop.example"\ndata_dir = "${dataDir}"`, 'f');
  const ctx = { config, clock: systemClock, resolver: silentResolver() };
  /** A disk of 100 GiB. */
  const seen = async (bavail: number): Promise<unknown> => {
    const blocks = 26_214_400;
    statfs.mockResolvedValue({ bavail, bfree: bavail + 1_000_000, blocks, bsize: 4096 } as never);
    const found = (await examineMachine(ctx)).find(({ check }) => check === 'disk');
    return [found?.level, found?.summary];
  };
  const free = (words: string): string => `${words} are free on the disk of ${dataDir}.`;
  expect(await seen(1_310_720)).toEqual(['ok', free('5120 MiB (5 %)')]);
  expect(await seen(1_310_719)).toEqual(['warning', free('5119 MiB (4 %)')]);
  expect(await seen(65_535)).toEqual(['error', free('255 MiB (0 %)')]);
  statfs.mockRestore();
});
