/** `serve`: what stands on each stream from the start to the end, what systemd is told, and signals. */
import { afterEach, beforeEach, expect, jest, spyOn, test, type Mock } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as systemd from '../../src/base/systemd.ts';
import { VERSION } from '../../src/base/version.ts';
import { keepLines } from '../../src/commands/kept-log.ts';
import { Foreground } from './foreground.ts';

let folder: string;
let dataDir: string;
let config: string;
let server: Foreground | null;
/** What systemd was told. */
let told: string[];
const STARTING = 'EXTEND_TIMEOUT_USEC=120000000';
let notifiers: Mock<typeof systemd.createNotifier>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'serve-'));
  dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  config = join(folder, 'postrider.toml');
  writeFileSync(
    config,
    `hostname = "mail.rig.test"\ndata_dir = "${dataDir}"\n[http]\nlisten = "127.0.0.1:0"\n[delivery]\nmode = "capture"\n[smtp]\ninbound = "127.0.0.1:0"\nsubmission = ["127.0.0.1:0"]\nsubmissions = ["127.0.0.1:0", "[::1]:0"]\n`,
  );
  server = null;
  told = [];
  notifiers = spyOn(systemd, 'createNotifier').mockReturnValue({
    notify: (state) => told.push(state) > 0,
    watchdogMs: null,
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  server?.close();
  rmSync(folder, { recursive: true });
});

async function start(...words: string[]): Promise<Foreground> {
  server = new Foreground(['serve', '--config', config, ...words], 'ready');
  await server.ready;
  return server;
}

/** Ports are chosen by the system; what is shown has `PORT` for them. */
const shown = (text: string): string => text.replaceAll(/(?<=1\]?:)\d+/g, 'PORT');

test('the addresses stand on standard output, the log on standard error, from the start to the end', async () => {
  keepLines(dataDir, ['{"event":"of_a_command"}']);
  const one = await start();
  expect(shown(one.out)).toBe(
    `Postrider is ready.
API and dashboard  http://127.0.0.1:PORT
control socket     ${dataDir}/control.sock
captured mail      127.0.0.1:PORT
reports            127.0.0.1:PORT
submission         127.0.0.1:PORT
submission (TLS)   127.0.0.1:PORT
submission (TLS)   [::1]:PORT
`,
  );
  expect(existsSync(join(dataDir, 'commands.log'))).toBe(false);
  one.emit('SIGTERM');
  expect(await one.ended).toBe(0);
  one.emit('exit');
  const log = one.log();
  expect(log.map(({ event }) => event)).toEqual([
    'starting',
    'disk_reserve_made',
    'ready',
    'of_a_command',
    'signal',
    'stopping',
    'stopped',
  ]);
  const { bun, commit, version } = VERSION;
  const level = 'info';
  expect(log[0]).toEqual({
    level,
    event: 'starting',
    version,
    bun,
    commit,
    data_dir: dataDir,
    mode: 'capture',
  });
  expect(log[4]).toEqual({ level, event: 'signal', signal: 'SIGTERM' });
  expect(told).toEqual([STARTING, 'READY=1', 'STOPPING=1']);
  // The socket of systemd is in the environment, and its watchdog may be meant for another process.
  expect(notifiers.mock.calls).toEqual([[process.env, process.pid]]);
});

test('with --json the addresses are one value; SIGINT ends it too', async () => {
  const one = await start('--json');
  const value = JSON.parse(shown(one.out)) as unknown;
  expect(value).toEqual({
    ready: true,
    http: 'http://127.0.0.1:PORT',
    control: `${dataDir}/control.sock`,
    capture: '127.0.0.1:PORT',
    inbound: '127.0.0.1:PORT',
    submission: ['127.0.0.1:PORT'],
    submissions: ['127.0.0.1:PORT', '[::1]:PORT'],
  });
  one.emit('SIGINT');
  expect(await one.ended).toBe(0);
  expect(one.listening()).toEqual({
    exit: 1,
    uncaughtException: 1,
    unhandledRejection: 1,
    SIGINT: 1,
    SIGTERM: 1,
    SIGHUP: 1,
  });
});

test('SIGHUP reads the config again, and systemd hears of the end also when it was refused', async () => {
  const one = await start();
  const sound = readFileSync(config, 'utf8');
  writeFileSync(config, `${sound}[api]\nkey_prefix = "xy"\n`);
  one.emit('SIGHUP');
  writeFileSync(config, 'nothing');
  one.emit('SIGHUP');
  one.emit('SIGTERM');
  await one.ended;
  expect(told).toEqual([
    STARTING,
    'READY=1',
    'RELOADING=1',
    'READY=1',
    'RELOADING=1',
    'READY=1',
    'STOPPING=1',
  ]);
  one.emit('exit');
  const of = one.log().filter(({ event }) => String(event).startsWith('reload'));
  expect(of.map(({ event }) => event)).toEqual(['reloaded', 'reload_refused']);
});

test('a watchdog is told thrice in its time that the server lives', async () => {
  const notify = (state: string): boolean => told.push(state) > 0;
  spyOn(systemd, 'createNotifier').mockReturnValue({ notify, watchdogMs: 90_000 });
  const timers = spyOn(globalThis, 'setInterval');
  const one = await start();
  const mine = timers.mock.calls.findIndex(([, ms]) => ms === 30_000);
  const timer = timers.mock.results[mine]?.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(false);
  timers.mock.calls[mine]?.[0]();
  expect(told).toEqual([STARTING, 'READY=1', 'WATCHDOG=1']);
  clearInterval(timer);
  one.emit('SIGTERM');
  await one.ended;
});

test('systemd is asked for more time again and again until the server is ready', async () => {
  const timers = spyOn(globalThis, 'setInterval');
  const cleared = spyOn(globalThis, 'clearInterval');
  const one = await start();
  const mine = timers.mock.calls.findIndex(([, ms]) => ms === 40_000);
  const timer = timers.mock.results[mine]?.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(false);
  expect(cleared.mock.calls).toContainEqual([timer]);
  timers.mock.calls[mine]?.[0]();
  expect(told).toEqual([STARTING, 'READY=1', STARTING]);
  one.emit('SIGTERM');
  await one.ended;
});

test('without a data directory, or with a config that is wrong, it ends with 78 and makes nothing', async () => {
  rmSync(dataDir, { recursive: true });
  const run = async (): Promise<unknown[]> => {
    server = new Foreground(['serve', '--config', config], 'ready');
    void server.ready.catch(() => undefined);
    const code = await server.ended;
    return [code, server.out, server.err.split('\n')[0], server.listening()];
  };
  const none = `data_dir: the directory ${dataDir} does not exist.`;
  expect(await run()).toEqual([78, '', none, {}]);
  expect(existsSync(dataDir)).toBe(false);
  writeFileSync(config, 'hostname = 3\n');
  expect(await run()).toMatchObject([78, '', expect.stringContaining('hostname'), {}]);
  expect(told).toEqual([]);
});
