/**
 * How a process that runs an appliance ends: by a signal, after what is under way, or by a fault.
 *
 * Promises an end within 30 s of the signal, so that a restart is never kept waiting, and that a fault which nothing
 * caught is logged and ends the process with 1: restart is the recovery path.
 */
import type { Appliance } from '../appliance/appliance.ts';
import type { Log } from '../base/log.ts';

/** A stopping server must end within this. */
const DRAIN_LIMIT_MS = 30_000;

/** Resolves with the first of these signals. */
export function endingSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.on(signal, () => resolve(signal));
  });
}

/** Stops what runs; the exit code. Ends the process with 1 when that takes too long. */
export async function drain(appliance: Appliance, log: Log): Promise<number> {
  const force = setTimeout(() => {
    log.error('drain_cut_off', {
      hint: 'Something took too long to end. The next start repeats what was under way.',
    });
    process.exit(1);
  }, DRAIN_LIMIT_MS);
  await appliance.stop();
  clearTimeout(force);
  return 0;
}

/** From now on a fault that nothing catches ends the process with 1, and the log says why. */
export function dieOfFaults(log: Log): void {
  const die = (error: unknown): void => {
    log.error('fault', {
      error,
      hint: 'This is a fault of the appliance. Please report it with this line.',
    });
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}
