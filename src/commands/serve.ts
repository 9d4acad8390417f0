/**
 * `serve`: runs the appliance until a signal ends it.
 *
 * Promises one JSON line an event on standard error, and on standard output nothing but the addresses, once it is ready.
 * SIGTERM and SIGINT drain and end with 0, within 30 s; SIGHUP takes over what can change live. A fault that nobody
 * caught ends the process with 1: restart is the recovery path.
 */
import { startAppliance } from '../appliance.ts';
import type { Appliance } from '../appliance.ts';
import { systemClock } from '../base/clock.ts';
import { LineGatherer, createLog } from '../base/log.ts';
import { createNotifier } from '../base/systemd.ts';
import type { Log } from '../base/log.ts';
import { VERSION } from '../base/version.ts';
import type { Call, Command } from './command.ts';
import { fields } from './layout.ts';
import { requireDataDir } from './owner.ts';

/** operator.md: SIGTERM drains and ends; nothing may keep it longer than this. */
const DRAIN_LIMIT_MS = 30_000;

export const serve: Command = {
  synopsis: '',
  does: 'Runs the appliance; SIGTERM drains and ends it, SIGHUP reloads.',
  run: runServe,
};

async function runServe(call: Call): Promise<number> {
  const config = call.config();
  requireDataDir(config);
  const lines = new LineGatherer((text) => call.output.note(text));
  process.on('exit', () => lines.flush());
  const log = createLog(
    (line) => lines.add(line),
    () => systemClock.now(),
  );
  dieOfFaults(log);
  const ending = endingSignal();
  log.info('starting', { ...VERSION, data_dir: config.dataDir, mode: config.delivery.mode });
  const appliance = await startAppliance(config, {
    clock: systemClock,
    log,
    load: () => call.config(),
  });
  const { http, control, capture } = appliance.addresses;
  const rows: [string, string][] = [
    ['API and dashboard', http],
    ['control socket', control],
  ];
  if (capture !== null) rows.push(['captured mail', capture]);
  const { inbound, submission, submissions } = appliance.addresses;
  if (inbound !== null) rows.push(['reports', inbound]);
  for (const at of submission) rows.push(['submission', at]);
  for (const at of submissions) rows.push(['submission (TLS)', at]);
  call.print({ ready: true, ...appliance.addresses }, `Postrider is ready.\n${fields(rows)}`);
  const notifier = createNotifier(process.env, process.pid);
  process.on('SIGHUP', () => {
    notifier.notify('RELOADING=1');
    try {
      appliance.reload();
    } catch {
      // The log has it: who sends a signal reads nothing else.
    }
    notifier.notify('READY=1');
  });
  notifier.notify('READY=1');
  if (notifier.watchdogMs !== null) {
    // A third of what systemd waits: a timer that fires shows that the main thread turns.
    setInterval(() => notifier.notify('WATCHDOG=1'), notifier.watchdogMs / 3).unref();
  }
  log.info('signal', { signal: await ending });
  notifier.notify('STOPPING=1');
  return await drain(appliance, log);
}

function endingSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
}

async function drain(appliance: Appliance, log: Log): Promise<number> {
  const force = setTimeout(() => {
    log.error('drain cut off', { hint: 'Something took too long; what it did is done again.' });
    process.exit(1);
  }, DRAIN_LIMIT_MS);
  await appliance.stop();
  clearTimeout(force);
  return 0;
}

function dieOfFaults(log: Log): void {
  const die = (error: unknown): void => {
    log.error('fault', {
      error,
      hint: 'A fault of the appliance; please report it with this line.',
    });
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}
