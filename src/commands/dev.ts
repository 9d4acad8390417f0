/**
 * `dev`: an emulator for a developer's machine, ready at once: the whole API, SMTP and an inbox, without a config.
 *
 * Builds the config in memory and starts the appliance as `serve` does, in capture mode and with an emulator
 * (appliance/emulator). Promises that it listens on loopback only, that nothing leaves the machine but webhooks and
 * questions to an rspamd that was named, and that the temporary folder is gone at the end, unless the process is killed.
 * Refuses to stand in for the service: under systemd, and on a data directory that another command made. Fails with
 * `OperatorError` when a port is in use.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { serviceUrl, WrongValue } from '../base/config-formats.ts';
import { parseConfig } from '../base/config-file.ts';
import { OperatorError } from '../base/errors.ts';
import { LineGatherer, createLog } from '../base/log.ts';
import type { Log } from '../base/log.ts';
import type { Call, Command } from './command.ts';
import { choosePort } from './dev-port.ts';
import { fields } from './layout.ts';
import { UsageError, flag, option } from './parameter.ts';
import { dieOfFaults, drain, endingSignal } from './running.ts';

const HOST = '127.0.0.1';
const HTTP_PORT = 8025;
const SMTP_PORT = 1025;
/** Clients of old that check keys want this beginning; any other text does as well. */
const EXAMPLE_KEY = 're_dev';
/** Marks a data directory as an emulator's, so that no appliance's mail is ever opened without a password. */
const MARKER = 'postrider-dev';
const FIRST_LINE =
  'Postrider emulator for this machine alone: it delivers no mail and is no service.';

const PORT = option('port', 'N', `Port of API and inbox (default: ${HTTP_PORT}, or the next free)`);
const MAIL_PORT = option(
  'smtp-port',
  'N',
  `Port of SMTP (default: ${SMTP_PORT}, or the next free)`,
);
const KEY = option('key', 'KEY', 'The only API key that is accepted (default: any)');
const DATA = option('data', 'DIR', 'Keep the data in DIR (default: a temporary folder)', {
  completion: 'file',
});
const RSPAMD = option(
  'rspamd-url',
  'URL',
  'Address of an rspamd, which the inbox asks for spam scores (default: none)',
);
const LOG = flag('log', 'Write the whole log to standard error, not only warnings and errors');

export const dev: Command = {
  summary: 'Run an emulator for a developer: any key, every mail in an inbox',
  details:
    'Needs no config file. Takes any API key and any sender, shows every email in an inbox without a password, and calls webhooks on this machine over plain http too. POST /emails takes cc, bcc and attachments, as with [api] single_send = "full". Listens on 127.0.0.1 only. Ctrl-C ends it and removes its data.',
  parameters: [PORT, MAIL_PORT, KEY, DATA, RSPAMD, LOG],
  run: runDev,
};

async function runDev(call: Call): Promise<number> {
  const [port, smtpPort, key] = [portOf(call, PORT), portOf(call, MAIL_PORT), call.get(KEY)];
  if (key !== null && /\s/.test(key)) throw new UsageError('--key must not contain white space.');
  const rspamdUrl = rspamdOf(call);
  refuseAsService();
  if (!call.isJson) call.output.print(FIRST_LINE);
  const http = await choosePort(HOST, port, HTTP_PORT, '--port');
  const smtp = await choosePort(HOST, smtpPort, SMTP_PORT, '--smtp-port');
  const kept = call.get(DATA);
  const dataDir = kept === null ? temporaryFolder() : keptFolder(resolve(kept));
  const lines = new LineGatherer((text) => call.output.note(text));
  process.on('exit', () => lines.flush());
  const log = logOf(lines, call.get(LOG));
  dieOfFaults(log);
  const ending = endingSignal(['SIGINT', 'SIGTERM', 'SIGHUP']);
  const ports = { http: http.port, smtp: smtp.port };
  const { startAppliance } = await import('../appliance/appliance.ts');
  const appliance = await startAppliance(configOf(dataDir, ports, rspamdUrl), {
    clock: systemClock,
    log,
    emulate: { key },
  });
  const [mail = ''] = appliance.addresses.submission;
  const at: Ready = {
    url: appliance.addresses.http,
    smtp: mail,
    key,
    dataDir,
    isKept: kept !== null,
  };
  announce(call, at, [http.note, smtp.note]);
  await ending;
  return await drain(appliance, log);
}

/** A number from 0 (any free port) to 65535; null when it was not given. Throws `UsageError`. */
function portOf(call: Call, parameter: typeof PORT): number | null {
  const text = call.get(parameter);
  if (text === null) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--${parameter.name} must be a number from 0 to 65535, not "${text}".`);
}

/** Empty when it was not given. Throws `UsageError`. */
function rspamdOf(call: Call): string {
  const given = call.get(RSPAMD);
  if (given === null) return '';
  try {
    return serviceUrl.read(given);
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error;
    throw new UsageError(`--${RSPAMD.name} ${error.message}.`);
  }
}

function refuseAsService(): void {
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  throw new OperatorError(
    'postrider dev is an emulator for a developer, not a service.',
    'Let the unit run `postrider serve`.',
  );
}

/** Removed when the process ends, whatever ends it but SIGKILL. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-dev-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Throws `OperatorError` for a directory with anything in it that no emulator made. */
function keptFolder(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const marker = join(folder, MARKER);
  if (existsSync(marker)) return folder;
  if (readdirSync(folder).length > 0) {
    throw new OperatorError(
      `${folder} is not empty, and not an emulator's.`,
      'Choose another directory with --data. The data of an appliance opens with `postrider serve`.',
    );
  }
  writeFileSync(marker, 'The data of `postrider dev`. Not for `postrider serve`.\n');
  return folder;
}

function configOf(
  dataDir: string,
  ports: { http: number; smtp: number },
  rspamdUrl: string,
): Config {
  const toml = `hostname = "postrider.localhost"
data_dir = ${JSON.stringify(dataDir)}
[http]
listen = "${HOST}:${ports.http}"
[smtp]
submission = ["${HOST}:${ports.smtp}"]
[delivery]
mode = "capture"
[inbox]
rspamd_url = ${JSON.stringify(rspamdUrl)}
[api]
single_send = "full"
key_prefix = "re"
`;
  return parseConfig(toml, 'postrider dev');
}

function logOf(lines: LineGatherer, isWhole: boolean): Log {
  const log = createLog(
    (line) => lines.add(line),
    () => systemClock.now(),
  );
  return isWhole ? log : { ...log, info: () => undefined };
}

interface Ready {
  url: string;
  smtp: string;
  key: string | null;
  dataDir: string;
  isKept: boolean;
}

function announce(call: Call, { url, smtp, key, dataDir, isKept }: Ready, notes: string[]): void {
  const inbox = `${url}/dashboard/inbox`;
  const shown = fields([
    ['API', url],
    ['inbox', inbox],
    ['API key', key ?? `any, such as ${EXAMPLE_KEY}`],
    ['SMTP', `${smtp}, without TLS and login`],
    ['data', isKept ? dataDir : `${dataDir}, until this ends`],
  ]);
  const parts = [
    ...notes.filter((note) => note !== ''),
    `\n${shown}\n`,
    'Lines that point a client here:\n',
    `  export RESEND_BASE_URL=${url}`,
    `  export RESEND_API_KEY=${key ?? EXAMPLE_KEY}\n`,
    'Ctrl-C ends it.',
  ];
  const value = { ready: true, http: url, inbox, key, smtp, data_dir: dataDir };
  call.print(value, parts.join('\n'));
}
