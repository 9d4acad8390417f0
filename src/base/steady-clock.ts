/**
 * Steady time that goes on over restarts, so that what is stored with it stays due when it was due.
 *
 * Promises that within a process the wall clock changes nothing about it, and that time in which the machine slept
 * counts. After a restart it goes on from a mark that an earlier process has left: in the same boot by what really
 * passed since, by the machine's own count; in another boot by the wall clock, but never back behind the mark, since
 * nobody can know more. Writes nothing: whoever owns it keeps its marks.
 */
import type { Clock, MachineClock } from './clock.ts';

/** A moment in all the times that a machine knows, in milliseconds. */
export interface TimeMark {
  steady: number;
  wall: number;
  uptime: number;
  bootId: string | null;
}

/** How often it is asked whether the machine slept. */
const SLEEP_CHECK_MS = 1_000;
/** `uptime` is exact to the second only: what differs by less than this is the same. */
const UNSHARP_MS = 1_500;

export class SteadyClock implements Clock {
  readonly #machine: MachineClock;
  /** What is added to the machine's steady time. */
  #shiftMs: number;
  /** The machine's uptime less its steady time: grows while it sleeps. */
  #uptimeAheadMs: number;
  #checkedAt: number;

  /** `mark`: the newest one that was kept; null: this is the first start. */
  constructor(machine: MachineClock, mark: TimeMark | null) {
    this.#machine = machine;
    this.#checkedAt = machine.steady();
    this.#uptimeAheadMs = machine.uptime() - this.#checkedAt;
    this.#shiftMs = steadySince(machine, mark) - this.#checkedAt;
  }

  now(): number {
    return this.#machine.now();
  }

  steady(): number {
    const machineMs = this.#machine.steady();
    if (machineMs - this.#checkedAt >= SLEEP_CHECK_MS) this.#countSleep(machineMs);
    return Math.round(machineMs + this.#shiftMs);
  }

  after(waitMs: number, fire: () => void): () => void {
    const atMs = this.steady() + waitMs;
    let cancel = (): void => undefined;
    const arm = (leftMs: number): void => {
      // A wall clock that is set forth ends the machine's wait early.
      cancel = this.#machine.after(leftMs, () => {
        const left = atMs - this.steady();
        if (left <= 0) fire();
        else arm(left);
      });
    };
    arm(waitMs);
    return () => cancel();
  }

  /** This moment, to be kept for the next start. */
  mark(): TimeMark {
    const machine = this.#machine;
    return {
      steady: this.steady(),
      wall: machine.now(),
      uptime: machine.uptime(),
      bootId: machine.bootId(),
    };
  }

  #countSleep(machineMs: number): void {
    this.#checkedAt = machineMs;
    const aheadMs = this.#machine.uptime() - machineMs;
    const sleptMs = aheadMs - this.#uptimeAheadMs;
    if (sleptMs < UNSHARP_MS) return;
    this.#uptimeAheadMs = aheadMs;
    this.#shiftMs += sleptMs;
  }
}

function steadySince(machine: MachineClock, mark: TimeMark | null): number {
  if (mark === null) return machine.now();
  const byWall = machine.now() + (mark.steady - mark.wall);
  const sinceMs = machine.uptime() - mark.uptime;
  const isSameBoot = mark.bootId !== null && mark.bootId === machine.bootId();
  if (!isSameBoot || sinceMs < -UNSHARP_MS) return Math.max(mark.steady, byWall);
  const byUptime = mark.steady + Math.max(0, sinceMs);
  // Where both agree the wall clock is the sharper one.
  return Math.abs(byWall - byUptime) < UNSHARP_MS ? Math.max(mark.steady, byWall) : byUptime;
}

/** The mark that `text` holds; null for anything else. */
export function parseMark(text: string | null): TimeMark | null {
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  return isMark(value) ? value : null;
}

function isMark(value: unknown): value is TimeMark {
  if (typeof value !== 'object' || value === null) return false;
  if (!('steady' in value && 'wall' in value && 'uptime' in value && 'bootId' in value))
    return false;
  const { steady, wall, uptime, bootId } = value;
  const areTimes = [steady, wall, uptime].every((one) => Number.isFinite(one));
  return areTimes && (bootId === null || typeof bootId === 'string');
}
