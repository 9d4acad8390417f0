/**
 * Whose turn it is: destinations go round within their lane, lanes go round among each other.
 *
 * Promises that a lane without room is not looked at again until it has some, and that a destination is
 * only tried when it is known where its mail goes (looked up anew once a minute, a bounded number at
 * once). Never claims anything itself.
 */
import type { Provider } from '../base/config.ts';
import type { RecipientRef } from '../store/store.ts';
import type { Context } from './context.ts';
import type { SiteResult, Sites } from './deliver-site.ts';
import { outcomeWithoutSession } from './outcome-kinds.ts';
import type { Destination, Waiting } from './queue-waiting.ts';
import { OTHERS } from './shaping-providers.ts';
import { Lane } from './shaping.ts';
import type { Hold } from './shaping.ts';

/** How long hosts once found are used; the resolver below keeps to the records' own times. */
const PLACE_MS = 60_000;
/** The same for a domain without a place to go. */
const NO_PLACE_MS = 5_000;
/** Look-ups at once. */
const FINDING_MAX = 100;
/** Lanes without work kept for their next message. */
const LANES_MAX = 10_000;

/** The lane of domains that have no place to go: their outcome is known already. */
const NOWHERE = { key: 'nowhere', limits: OTHERS };

export interface TurnsOptions {
  ctx: Context;
  sites: Sites;
  waiting: Waiting;
  /** Called when somebody may have become next. */
  wake: () => void;
  /** Asks for more of a line that gets short. */
  fill: (destination: Destination) => void;
}

interface Track {
  lane: Lane;
  rotation: Destination[];
}

export interface Turn {
  ref: RecipientRef;
  lane: Lane;
  found: SiteResult;
  /** The place has not answered lately. */
  isStranger: boolean;
}

export class Turns {
  readonly #options: TurnsOptions;
  readonly #tracks = new Map<string, Track>();
  /** Tracks that may have something to give, in the order of their turns. */
  readonly #hungry = new Set<Track>();
  /** Those whose places have not answered lately; no track is in both. */
  readonly #hungryStrangers = new Set<Track>();
  #isStrangersTurn = false;
  readonly #toFind: Destination[] = [];
  #finding = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Something stands in the destination's line. */
  ready(destination: Destination): void {
    if (destination.isInLane || destination.isFinding || destination.line.length === 0) return;
    const { place } = destination;
    if (place === null || place.until <= this.#options.ctx.clock.now()) {
      destination.isFinding = true;
      this.#toFind.push(destination);
      this.#findNext();
      return;
    }
    const track = this.#trackOf(place.lane);
    destination.isInLane = true;
    track.rotation.push(destination);
    this.#want(track);
    this.#options.wake();
  }

  /** The next recipient that may be claimed now; null when there is none, or none but of strangers. */
  next(now: number, mayBeStranger: boolean): Turn | null {
    const strangers = mayBeStranger ? this.#hungryStrangers : null;
    // In turns, so that neither crowds out the other.
    const order = this.#isStrangersTurn ? [strangers, this.#hungry] : [this.#hungry, strangers];
    for (const tracks of order) {
      const turn = tracks === null ? null : this.#nextIn(tracks, now);
      if (turn === null) continue;
      this.#isStrangersTurn = tracks === this.#hungry;
      return turn;
    }
    return null;
  }

  /** The lane's place may have answered: what waits for it is no stranger's any more. */
  noteAnswer(lane: Lane): void {
    const track = this.#tracks.get(lane.key);
    if (track === undefined || isStranger(lane)) return;
    if (this.#hungryStrangers.delete(track)) this.#hungry.add(track);
  }

  #nextIn(tracks: Set<Track>, now: number): Turn | null {
    for (const track of tracks) {
      // To the end of the round, or out of it.
      tracks.delete(track);
      if (!track.lane.hasRoom()) {
        track.lane.onRoom(() => {
          this.#want(track);
          this.#options.wake();
        });
        continue;
      }
      const turn = this.#nextOf(track, now);
      if (turn === null) continue;
      this.#want(track);
      return turn;
    }
    return null;
  }

  #want(track: Track): void {
    const isStrange = isStranger(track.lane);
    (isStrange ? this.#hungry : this.#hungryStrangers).delete(track);
    (isStrange ? this.#hungryStrangers : this.#hungry).add(track);
  }

  #nextOf(track: Track, now: number): Turn | null {
    for (;;) {
      const destination = track.rotation.shift();
      if (destination === undefined) return null;
      destination.isInLane = false;
      const { place } = destination;
      if (place === null || place.until <= now) {
        this.ready(destination);
        continue;
      }
      const ref = this.#options.waiting.take(destination);
      if (destination.isLow) this.#options.fill(destination);
      if (destination.line.length > 0) {
        destination.isInLane = true;
        track.rotation.push(destination);
      } else {
        this.#options.waiting.forget(destination);
      }
      if (ref !== null) return turnOf(track.lane, ref, place.found);
    }
  }

  #findNext(): void {
    while (this.#finding < FINDING_MAX) {
      const destination = this.#toFind.shift();
      if (destination === undefined) return;
      this.#finding += 1;
      void this.#find(destination);
    }
  }

  async #find(destination: Destination): Promise<void> {
    const { sites, ctx } = this.#options;
    let found: SiteResult;
    try {
      found = await sites.find(destination.domain);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      found = { kind: 'none', outcome: outcomeWithoutSession('unreached', 'dns', cause) };
    }
    const { key, limits } = found.kind === 'site' ? found.site : NOWHERE;
    destination.place = {
      lane: this.#laneFor(key, limits),
      found,
      until: ctx.clock.now() + (found.kind === 'site' ? PLACE_MS : NO_PLACE_MS),
    };
    destination.isFinding = false;
    this.#finding -= 1;
    this.ready(destination);
    this.#findNext();
  }

  /** Goes on at once with what rests: the operator asked for another try. */
  liftHolds(): void {
    for (const { lane } of this.#tracks.values()) lane.liftHold();
  }

  /** The places that are given less now, and why. */
  holds(): (Hold & { place: string })[] {
    return [...this.#tracks.values()].flatMap(({ lane }) => {
      const hold = lane.holdNow();
      return hold === null ? [] : [{ place: lane.name, ...hold }];
    });
  }

  #laneFor(key: string, limits: Provider): Lane {
    const known = this.#tracks.get(key);
    if (known !== undefined) return known.lane;
    if (this.#tracks.size >= LANES_MAX) this.#forgetIdle();
    const lane = new Lane(key, limits, this.#options.ctx.clock);
    this.#tracks.set(key, { lane, rotation: [] });
    return lane;
  }

  /** The track of a lane, anew when it was forgotten meanwhile. */
  #trackOf(lane: Lane): Track {
    let track = this.#tracks.get(lane.key);
    if (track === undefined) {
      track = { lane, rotation: [] };
      this.#tracks.set(lane.key, track);
    }
    return track;
  }

  #forgetIdle(): void {
    for (const [key, track] of this.#tracks) {
      if (track.lane.isIdle && track.rotation.length === 0) this.#tracks.delete(key);
    }
  }
}

/** What has no place to go holds no session: it is nobody's stranger. */
function isStranger(lane: Lane): boolean {
  return !lane.hasAnswered && lane.key !== NOWHERE.key;
}

function turnOf(lane: Lane, ref: RecipientRef, found: SiteResult): Turn {
  return { ref, lane, found, isStranger: isStranger(lane) };
}
