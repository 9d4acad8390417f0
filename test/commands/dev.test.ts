/** `dev`: what it prints, the config that it makes, the folder that it keeps or removes, and what it refuses. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

import * as appliances from '../../src/appliance/appliance.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import * as configFile from '../../src/base/config-file.ts';
import * as devPort from '../../src/commands/dev-port.ts';
import { Foreground } from './foreground.ts';

const ANY_PORTS = ['--port', '0', '--smtp-port', '0'];

let folder: string;
let dev: Foreground | null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dev-test-'));
  dev = null;
});
afterEach(() => {
  jest.restoreAllMocks();
  dev?.close();
  delete process.env['NOTIFY_SOCKET'];
  rmSync(folder, { recursive: true });
});

async function start(...words: string[]): Promise<Foreground> {
  dev = new Foreground(['dev', ...ANY_PORTS, ...words], words.includes('--json') ? '{' : 'Ctrl-C');
  await dev.ready;
  return dev;
}

async function end(one: Foreground, signal: string): Promise<void> {
  one.emit(signal);
  expect(await one.ended).toBe(0);
  one.emit('exit');
}

const shown = (text: string): string =>
  text.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, 'PORT').replaceAll(/\/\S*postrider-dev-\w+/g, 'TEMP');

const FIRST = 'Postrider emulator for this machine alone: it delivers no mail and is no service.';

test('it says where everything is and how a client is pointed to it, and its folder goes with it', async () => {
  const parse = spyOn(configFile, 'parseConfig');
  const one = await start();
  expect(shown(one.out)).toBe(
    `${FIRST}

API      http://127.0.0.1:PORT
inbox    http://127.0.0.1:PORT/dashboard/inbox
API key  any, such as re_dev
SMTP     127.0.0.1:PORT, without TLS and login
data     TEMP, until this ends

Lines that point a client here:

  export RESEND_BASE_URL=http://127.0.0.1:PORT
  export RESEND_API_KEY=re_dev

Ctrl-C ends it.
`,
  );
  const [toml, name] = parse.mock.calls[0] ?? ['', ''];
  const dataDir = /data_dir = "(.*)"/.exec(toml)?.[1] ?? '';
  expect([dirname(dataDir), existsSync(join(dataDir, 'mail.db'))]).toEqual([tmpdir(), true]);
  expect([shown(toml), name]).toEqual([
    `hostname = "postrider.localhost"
data_dir = "TEMP"
[http]
listen = "127.0.0.1:PORT"
[smtp]
submission = ["127.0.0.1:PORT"]
[delivery]
mode = "capture"
[inbox]
rspamd_url = ""
[api]
single_send = "full"
key_prefix = "re"
`,
    'postrider dev',
  ]);
  await end(one, 'SIGINT');
  expect(existsSync(dataDir)).toBe(false);
  // Only what asks for attention is written of the log.
  expect(one.log()).toEqual([]);
});

test('as JSON it is one value; a key, a directory that stays and an rspamd are taken', async () => {
  const parse = spyOn(configFile, 'parseConfig');
  const data = join(folder, 'a', 'data');
  const words = ['--json', '--key', 'mine', '--data', data, '--rspamd-url', 'http://127.0.0.1:9/'];
  const one = await start(...words);
  expect(JSON.parse(shown(one.out))).toEqual({
    ready: true,
    http: 'http://127.0.0.1:PORT',
    inbox: 'http://127.0.0.1:PORT/dashboard/inbox',
    key: 'mine',
    smtp: '127.0.0.1:PORT',
    data_dir: data,
  });
  expect(parse.mock.calls[0]?.[0]).toContain('rspamd_url = "http://127.0.0.1:9"\n');
  await end(one, 'SIGHUP');
  expect(readFileSync(join(data, 'postrider-dev'), 'utf8')).toBe(
    'The data of `postrider dev`. Not for `postrider serve`.\n',
  );
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(readdirSync(data)).toContain('mail.db');
  one.close();

  const near = relative(process.cwd(), data);
  const again = await start('--key', 'mine', '--data', near, '--log');
  expect(again.out).toContain('\nAPI key  mine\n');
  expect(again.out).toContain(`\ndata     ${data}\n`);
  expect(again.out).toContain('\n  export RESEND_API_KEY=mine\n');
  await end(again, 'SIGTERM');
  expect(again.log().map(({ event }) => event)).toEqual(['ready', 'stopping', 'stopped']);
}, 60_000);

test('what is said of the ports stands before the addresses', async () => {
  const choose = spyOn(devPort, 'choosePort');
  choose.mockResolvedValueOnce({ port: 0, note: 'Another for HTTP.' });
  choose.mockResolvedValueOnce({ port: 0, note: 'Another for SMTP.' });
  dev = new Foreground(['dev'], 'Ctrl-C');
  await dev.ready;
  expect(dev.out).toStartWith(`${FIRST}\nAnother for HTTP.\nAnother for SMTP.\n\nAPI  `);
  expect(choose.mock.calls).toEqual([
    ['127.0.0.1', null, 8025, '--port'],
    ['127.0.0.1', null, 1025, '--smtp-port'],
  ]);
  await end(dev, 'SIGTERM');
});

test('warnings are shown without --log, faults end it, and the last port is a port', async () => {
  const chosen = spyOn(devPort, 'choosePort');
  chosen.mockResolvedValueOnce({ port: 8_111, note: '' });
  chosen.mockResolvedValueOnce({ port: 1_111, note: '' });
  const begin = spyOn(appliances, 'startAppliance').mockImplementation((_, { log }) => {
    log.info('ready');
    log.warn('clock_off');
    log.error('fault', { hint: 'Report it.' });
    return Promise.reject(new OperatorError('It cannot start.', ''));
  });
  const words = ['dev', '--port', '65535', '--smtp-port', '0', '--key', 'mine'];
  dev = new Foreground(words, 'Ctrl-C');
  void dev.ready.catch(() => undefined);
  expect(await dev.ended).toBe(1);
  const { uncaughtException, unhandledRejection } = dev.listening();
  expect([uncaughtException, unhandledRejection]).toEqual([1, 1]);
  dev.emit('exit');
  expect(dev.log().map(({ event }) => event)).toEqual(['clock_off', 'fault']);
  expect(chosen.mock.calls.map(([, port]) => port)).toEqual([65_535, 0]);
  const given = { clock: systemClock, log: expect.anything(), emulate: { key: 'mine' } };
  expect(begin.mock.calls).toEqual([[expect.anything(), given]] as never);
  const { http, smtp } = begin.mock.calls[0]?.[0].startup ?? {};
  expect([http?.listen, smtp?.submission]).toEqual([
    { host: '127.0.0.1', port: 8_111 },
    [{ host: '127.0.0.1', port: 1_111 }],
  ]);
});

test('a port that was asked for and is in use is told', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve());
  });
  const { port } = other.address() as AddressInfo;
  dev = new Foreground(['dev', '--port', '0', '--smtp-port', String(port)], 'Ctrl-C');
  void dev.ready.catch(() => undefined);
  expect([await dev.ended, dev.out, dev.err]).toEqual([
    1,
    `${FIRST}\n`,
    `Port ${port} is in use by another program.\nIf it is another emulator, use that one or stop it. Or choose a port: postrider dev --smtp-port 1125.\n`,
  ]);
  other.close();
});

const NOT_EMPTY = "is not empty, and not an emulator's.";

test('a directory with files of others is left alone, and systemd is refused', async () => {
  const run = async (...words: string[]): Promise<unknown[]> => {
    dev = new Foreground(['dev', ...ANY_PORTS, ...words], 'Ctrl-C');
    void dev.ready.catch(() => undefined);
    return [await dev.ended, dev.out, dev.err.replaceAll(folder, 'DIR'), dev.listening()];
  };
  mkdirSync(join(folder, 'full'));
  writeFileSync(join(folder, 'full', 'mail.db'), '');
  expect(await run('--data', join(folder, 'full'))).toEqual([
    1,
    `${FIRST}\n`,
    `DIR/full ${NOT_EMPTY}\nChoose another directory with --data. The data of an appliance opens with \`postrider serve\`.\n`,
    {},
  ]);
  process.env['NOTIFY_SOCKET'] = '';
  expect(await run()).toEqual([
    1,
    '',
    'postrider dev is an emulator for a developer, not a service.\nLet the unit run `postrider serve`.\n',
    {},
  ]);
});

test.each([
  [['--key', 'a b'], '--key must not contain white space.'],
  [['--key', 'a\tb'], '--key must not contain white space.'],
  [['--key', 'a\n'], '--key must not contain white space.'],
  [['--port', '1e4'], '--port must be a number from 0 to 65535, not "1e4".'],
  [['--smtp-port', '0x19'], '--smtp-port must be a number from 0 to 65535, not "0x19".'],
  [['--port', '-1'], '--port must be a number from 0 to 65535, not "-1".'],
  [['--port', '65536'], '--port must be a number from 0 to 65535, not "65536".'],
  [['--port', '100000'], '--port must be a number from 0 to 65535, not "100000".'],
  [['--rspamd-url', 'ftp://a'], '--rspamd-url must be a URL such as "http://127.0.0.1:11333".'],
])('%j is wrong usage', async (words, message) => {
  dev = new Foreground(['dev', ...words], 'Ctrl-C');
  void dev.ready.catch(() => undefined);
  expect(await dev.ended).toBe(64);
  expect([dev.out, dev.err.split('\n')[0]]).toEqual(['', message]);
});
