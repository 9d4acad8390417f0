/**
 * Whether the disk has enough free space to take mail, kept in memory for every send to ask.
 *
 * Promises that what is accepted between two measurements never uses up the reserve, in which outcomes are recorded:
 * bytes that are being written, or were since the last measurement, count against it. Reads no disk itself: `DiskWatch`
 * measures and says so. Until the first measurement there counts as being enough.
 */
import { ApiError } from '../base/errors.ts';
import { diskReserveBytes } from '../base/limits.ts';

/** Seconds after which a client may try again. */
const RETRY_SECONDS = 30;
/** Content is written to the log of the database and then to the database. */
const COPIES = 2;
/** What a recipient takes beside the content: rows, indexes, request log, search. */
const RECIPIENT_BYTES = 8 * 1024;

/** All in bytes. */
export interface DiskMeasurement {
  /** As the file system says. */
  freeBytes: number;
  /** What `store/disk-reserve` holds back: a part of `reserveBytes`, so that giving it up changes nothing here. */
  keptBytes: number;
  totalBytes: number;
}

export class DiskSpace {
  /** Sends are refused. */
  isLow = false;
  /** Free bytes above the reserve at the last measurement. */
  #usable = Infinity;
  #last: (DiskMeasurement & { reserveBytes: number }) | null = null;
  /** Written since then. */
  #written = 0;
  /** Being written. */
  #underWay = 0;

  /** Takes over a measurement. */
  measured(measurement: DiskMeasurement): void {
    const { freeBytes, keptBytes, totalBytes } = measurement;
    const reserveBytes = diskReserveBytes(totalBytes);
    this.#last = { ...measurement, reserveBytes };
    this.#usable = freeBytes + keptBytes - reserveBytes;
    this.#written = 0;
    this.isLow = this.#usable < 0;
  }

  /** The last measurement, for people, with the free space (kept back or not) below which sends are refused. */
  get last(): (DiskMeasurement & { reserveBytes: number }) | null {
    return this.#last;
  }

  /** Throws `platform_halted` (503, with `Retry-After`) while there is too little free space. */
  refuseWhileLow(): void {
    if (this.isLow) throw refusal();
  }

  /**
   * Does `write`, which writes `contentBytes` for so many recipients. Rejects with `platform_halted`, with nothing
   * written, where that could reach the reserve.
   */
  async spend<T>(
    { contentBytes, recipients }: { contentBytes: number; recipients: number },
    write: () => Promise<T>,
  ): Promise<T> {
    const bytes = COPIES * contentBytes + RECIPIENT_BYTES * recipients;
    if (bytes > 0 && this.#written + this.#underWay + bytes > this.#usable) throw refusal();
    this.#underWay += bytes;
    try {
      return await write();
    } finally {
      this.#underWay -= bytes;
      this.#written += bytes;
    }
  }
}

function refusal(): ApiError {
  return new ApiError(
    'platform_halted',
    'The disk of this service is nearly full; sends are refused until there is free space.',
    { headers: { 'Retry-After': String(RETRY_SECONDS) } },
  );
}
