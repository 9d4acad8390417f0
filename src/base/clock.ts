/**
 * The appliance's clock, and the one seam through which tests move time.
 *
 * Knows two times. The wall clock (`now`) is for people and other machines: it is shown, recorded and signed, and
 * somebody may set it. Steady time (`steady`) is for whatever is waited for or expires: it goes on with the time that
 * really passes, whatever is done to the wall clock. Timers run by it and look again at least every 30 s, because a
 * suspended machine delays them (CLOCK_MONOTONIC stops while it sleeps). Never keeps the process alive by itself.
 */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface Clock {
  /** Wall-clock time in epoch milliseconds. */
  now(): number;
  /**
   * Steady time in milliseconds: never steps. Comparable only with steady times; on a Context's clock also with those
   * that were stored before a restart, see `base/steady-clock`.
   */
  steady(): number;
  /** Calls `fire` once, when `waitMs` have passed. Returns a function that cancels it. */
  after(waitMs: number, fire: () => void): () => void;
}

/** What a machine knows of its time beside that. */
export interface MachineClock extends Clock {
  /** Time since the machine booted, in which it slept included: milliseconds, to the second. */
  uptime(): number;
  /** Names the boot; null where that cannot be known. */
  bootId(): string | null;
}

/** Longest sleep before time is read again, in milliseconds. */
const MAX_SLEEP_MS = 30_000;
/** A wall clock that differs less than this from steady time was not set: it only runs a little differently. */
const STEP_MS = 5_000;

/** The machine's own clock. Its steady time begins anew with each process. */
export const systemClock: MachineClock = {
  now: () => Date.now(),
  steady: () => Math.round(performance.timeOrigin + performance.now()),
  after(waitMs, fire) {
    const [atMs, sinceMs] = [Date.now() + waitMs, performance.now()];
    // A suspended machine stops the second of them, a clock that is set back the first.
    const leftMs = (): number =>
      Math.min(atMs - Date.now(), waitMs - (performance.now() - sinceMs));
    return whenOver(leftMs, fire);
  },
  uptime: () => uptime() * 1_000,
  bootId,
};

/** Fires once `leftMs` is 0 or less, looking at least every `MAX_SLEEP_MS`. Returns a function that cancels it. */
function whenOver(leftMs: () => number, fire: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (waitMs: number): void => {
    timer = setTimeout(
      () => {
        const left = leftMs();
        if (waitMs <= 0 || left <= 0) fire();
        else arm(left);
      },
      Math.min(Math.max(waitMs, 0), MAX_SLEEP_MS),
    );
    timer.unref();
  };
  arm(leftMs());
  return () => clearTimeout(timer);
}

/** What the wall clock shows at a steady time, as far as it is set now: for people. */
export function wallTime(clock: Pick<Clock, 'now' | 'steady'>, steadyMs: number): number {
  const aheadMs = Math.round(clock.now() - clock.steady());
  return Math.abs(aheadMs) < STEP_MS ? steadyMs : steadyMs + aheadMs;
}

/** The same for a time that there may not be. */
export function wallTimeOrNull(
  clock: Pick<Clock, 'now' | 'steady'>,
  steadyMs: number | null,
): number | null {
  return steadyMs === null ? null : wallTime(clock, steadyMs);
}

/** The kernel's id of this boot; inside of the unit, which hides the file, systemd gives it. */
function bootId(): string | null {
  const given = process.env['POSTRIDER_BOOT_ID'] ?? '';
  try {
    return idOf(readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')) ?? idOf(given);
  } catch {
    return idOf(given);
  }
}

function idOf(text: string): string | null {
  const id = text.trim().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(id) ? id : null;
}
