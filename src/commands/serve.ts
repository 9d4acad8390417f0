/**
 * `serve`: runs the appliance until a signal ends it.
 *
 * Promises one JSON line for each event on standard error, and on standard output nothing but the addresses, once it is
 * ready. SIGTERM and SIGINT drain and end with 0, within 30 s; SIGHUP takes over what can change live. A fault that
 * nothing caught ends the process with 1: restart is the recovery path.
 */
import type { Addresses } from '../appliance/appliance.ts';
import { systemClock } from '../base/clock.ts';
import { LineGatherer, createLog } from '../base/log.ts';
import { createNotifier } from '../base/systemd.ts';
import type { Notifier } from '../base/systemd.ts';
import { VERSION } from '../base/version.ts';
import type { Call, Command } from './command.ts';
import { fields } from './layout.ts';
import { passOnLines } from './kept-log.ts';
import { requireDataDir } from './owner.ts';
import { dieOfFaults, drain, endingSignal } from './running.ts';

/** Until the start has to ask for more time. As much as the unit has in `TimeoutStartSec`. */
const START_MS = 120_000;

export const serve: Command = {
  summary: 'Run the appliance until SIGTERM',
  details:
    'Writes its log to standard error, one JSON line for each event. SIGTERM ends it after what is under way, within 30 seconds; SIGHUP reloads config and certificates.',
  run: runServe,
};

async function runServe(call: Call): Promise<number> {
  const config = call.config();
  requireDataDir(config.startup.dataDir);
  const lines = new LineGatherer((text) => call.output.note(text));
  process.on('exit', () => lines.flush());
  const log = createLog(
    (line) => lines.add(line),
    () => systemClock.now(),
  );
  dieOfFaults(log);
  const ending = endingSignal(['SIGTERM', 'SIGINT']);
  log.info('starting', {
    ...VERSION,
    data_dir: config.startup.dataDir,
    mode: config.startup.delivery.mode,
  });
  const notifier = createNotifier(process.env, process.pid);
  const starting = extendStart(notifier);
  const { startAppliance } = await import('../appliance/appliance.ts');
  const appliance = await startAppliance(config, {
    clock: systemClock,
    log,
    load: () => call.config(),
  });
  clearInterval(starting);
  lines.flush();
  passOnLines(config.startup.dataDir, (text) => call.output.note(text));
  announce(call, appliance.addresses);
  process.on('SIGHUP', () => {
    notifier.notify('RELOADING=1');
    try {
      appliance.reload();
    } catch {
      // The log has it, which is all that the sender of a signal can read.
    }
    notifier.notify('READY=1');
  });
  notifier.notify('READY=1');
  if (notifier.watchdogMs !== null) {
    // A third of what systemd waits: a timer that fires shows that the main thread is alive.
    setInterval(() => notifier.notify('WATCHDOG=1'), notifier.watchdogMs / 3).unref();
  }
  log.info('signal', { signal: await ending });
  notifier.notify('STOPPING=1');
  return await drain(appliance, log);
}

/**
 * Asks systemd for more time again and again: the first start of a new release may have to change very many rows. A main
 * thread that stands still asks for nothing.
 */
function extendStart(notifier: Notifier): ReturnType<typeof setInterval> {
  const extend = (): void => void notifier.notify(`EXTEND_TIMEOUT_USEC=${START_MS * 1_000}`);
  extend();
  return setInterval(extend, START_MS / 3).unref();
}

/** Where the appliance can be reached, on standard output. */
function announce(call: Call, addresses: Addresses): void {
  const { http, control, capture, inbound, submission, submissions } = addresses;
  const rows: [string, string][] = [
    ['API and dashboard', http],
    ['control socket', control],
  ];
  if (capture !== null) rows.push(['captured mail', capture]);
  if (inbound !== null) rows.push(['reports', inbound]);
  for (const at of submission) rows.push(['submission', at]);
  for (const at of submissions) rows.push(['submission (TLS)', at]);
  call.print({ ready: true, ...addresses }, `Postrider is ready.\n${fields(rows)}`);
}
