/**
 * Keeps the appliance's steady time over restarts: reads the mark of the process before, and leaves marks for the next.
 *
 * Promises that what was stored with a due time stays due when it was due, whatever is done to the wall clock while the
 * appliance runs or rests; see `base/steady-clock` for what cannot be known. A mark that is not written costs accuracy
 * only after the machine has booted anew. Where several machines share the store, all begin with the store's own time:
 * none writes marks, and one whose wall clock is wrong neither mails early nor takes over what others have leased.
 */
import type { MachineClock } from '../base/clock.ts';
import type { Job } from '../base/periodic.ts';
import { parseMark, SteadyClock } from '../base/steady-clock.ts';
import type { SettingStore } from '../store/settings.ts';
import type { TimeStore } from '../store/time.ts';

const SETTING = 'clock';
/** In another boot, what was due may come this much late at most where the wall clock was set back in between. */
const EVERY_MS = 60_000;

/** The clock that a Context is given. */
export async function readClock(
  machine: MachineClock,
  store: SettingStore & TimeStore,
): Promise<SteadyClock> {
  const mark = parseMark(await store.setting(SETTING));
  const askedAt = machine.steady();
  const time = await store.storeTime();
  if (time === null) return new SteadyClock(machine, mark);
  const wall = machine.now();
  const waitedMs = (machine.steady() - askedAt) / 2;
  // A mark from a store that one machine had: how far its steady time was ahead of the wall clock stays.
  const steady = Math.round(time + waitedMs) + (mark === null ? 0 : mark.steady - mark.wall);
  const now = { steady, wall, uptime: machine.uptime(), bootId: machine.bootId() };
  return new SteadyClock(machine, now);
}

export class ClockMarks implements Job {
  readonly firstMs = 0;
  readonly failure = {
    event: 'clock_mark_failed',
    hint: 'It is tried again in a minute; look at the disk of data_dir.',
  };
  readonly #clock: SteadyClock;
  readonly #store: SettingStore;

  constructor(clock: SteadyClock, store: SettingStore) {
    this.#clock = clock;
    this.#store = store;
  }

  everyMs(): number {
    return EVERY_MS;
  }

  async run(): Promise<void> {
    await this.#store.setSetting(SETTING, JSON.stringify(this.#clock.mark()));
  }
}
