/**
 * Which recipient is attempted next: round robin over the accounts and destinations of a lane, and over the lanes.
 *
 * Promises that a lane without capacity is not looked at again until it has some, nor one whose accounts have all they
 * may until one of them has less; that unproven sites and those that
 * have answered alternate, so that neither crowds out the other; and that a destination is attempted only when its site
 * is known (looked up again once a minute by `site-lookups.ts`). Never claims anything itself.
 */
import type { Provider } from '../../base/config.ts';
import type { RecipientRef } from '../../store/journey.ts';
import type { Context } from '../context.ts';
import type { SiteResult, Sites } from '../deliver/site.ts';
import { Lane } from '../pacing/lane.ts';
import type { Throttle } from '../pacing/lane.ts';
import { OTHERS } from '../pacing/provider-limits.ts';
import { sendingNodes } from '../node-session.ts';
import { Rotation } from './rotation.ts';
import { SiteLookups } from './site-lookups.ts';
import type { Destination, Waiting } from './waiting.ts';

/** How long a site is used once found; the resolver below observes the records' own TTLs. */
const SITE_MS = 60_000;
/** The same for a domain without a site. */
const NO_SITE_MS = 5_000;
/** Lanes without work that are kept for their next message. */
const LANES_MAX = 10_000;

/** The lane of domains without a site: their outcome is known already, and no session is opened. */
const NOWHERE = { key: 'nowhere', limits: OTHERS, isShared: false };

export interface SchedulerOptions {
  ctx: Pick<Context, 'clock' | 'node'>;
  sites: Pick<Sites, 'find'>;
  waiting: Waiting;
  /** Called when there may be a next recipient. */
  wake: () => void;
  /** Asks for more of a line that gets short. */
  fill: (destination: Destination) => void;
}

/** A lane and what waits for it, in the order in which it is served. */
interface Track {
  lane: Lane;
  rotation: Rotation;
}

/** Whether an account may have one more attempt, to an unproven site or to another. */
export type MayTake = (accountId: string, isUnproven: boolean) => boolean;

/** The recipient to attempt next, already taken from its line. */
export interface Picked {
  ref: RecipientRef;
  lane: Lane;
  found: SiteResult;
  /** The site has not answered lately. */
  isUnproven: boolean;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #tracks = new Map<string, Track>();
  /** Tracks of sites that have answered and may have a recipient to give, in the order they will be asked. */
  readonly #readyProven = new Set<Track>();
  /** Those of unproven sites; no track is in both. */
  readonly #readyUnproven = new Set<Track>();
  /** Tracks with capacity whose accounts have all they may: by such an account, which may be served later. */
  readonly #parked = new Map<string, Set<Track>>();
  #isUnprovenNext = false;
  readonly #lookups: SiteLookups;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { sites } = options;
    this.#lookups = new SiteLookups({ sites, found: (...found) => this.#noteSite(...found) });
  }

  /** There is a recipient in the destination's line. */
  ready(destination: Destination): void {
    if (destination.isInLane || destination.isFinding || destination.line.length === 0) return;
    const { lookup } = destination;
    if (lookup === null || lookup.until <= this.#options.ctx.clock.steady()) {
      destination.isFinding = true;
      this.#lookups.add(destination);
      return;
    }
    const track = this.#trackOf(lookup.lane);
    destination.isInLane = true;
    track.rotation.push(destination);
    this.#offer(track);
    this.#options.wake();
  }

  /**
   * The next recipient that may be claimed now; null when there is none, or only ones that `mayBeUnproven` or `mayTake`
   * (whether an account may have one more attempt) excludes.
   */
  next(now: number, mayBeUnproven: boolean, mayTake: MayTake): Picked | null {
    const unproven = mayBeUnproven ? this.#readyUnproven : null;
    // Alternating, so that neither crowds out the other.
    const order = this.#isUnprovenNext
      ? [unproven, this.#readyProven]
      : [this.#readyProven, unproven];
    for (const tracks of order) {
      const pick = tracks === null ? null : this.#nextIn(tracks, now, mayTake);
      if (pick === null) continue;
      this.#isUnprovenNext = tracks === this.#readyProven;
      return pick;
    }
    return null;
  }

  /** The lane's site may have answered: what waits for it is not for an unproven site any more. */
  noteAnswer(lane: Lane): void {
    const track = this.#tracks.get(lane.key);
    if (track === undefined || isUnproven(lane)) return;
    if (this.#readyUnproven.delete(track)) this.#readyProven.add(track);
  }

  /** An attempt of this account has ended, or takes long: it may have one more, and so may others. */
  noteFreed(accountId: string): void {
    if (this.#parked.size === 0) return;
    this.#unpark(accountId);
    // Round robin: what one account gives back lets the others have more too.
    for (const [other] of this.#parked) {
      this.#unpark(other);
      break;
    }
  }

  #park(track: Track): void {
    for (const accountId of track.rotation.accounts()) {
      const known = this.#parked.get(accountId);
      if (known === undefined) this.#parked.set(accountId, new Set([track]));
      else known.add(track);
    }
  }

  /** One track of the account is looked at again; the account's others wait for the next. */
  #unpark(accountId: string): void {
    const tracks = this.#parked.get(accountId);
    if (tracks === undefined) return;
    const [first] = tracks;
    this.#parked.delete(accountId);
    if (first === undefined) return;
    tracks.delete(first);
    if (tracks.size > 0) this.#parked.set(accountId, tracks);
    if (!first.rotation.isEmpty) this.#offer(first);
  }

  #nextIn(tracks: Set<Track>, now: number, mayTake: MayTake): Picked | null {
    for (const track of tracks) {
      // Either it is appended again below, last in the order, or it leaves until it is ready again.
      tracks.delete(track);
      if (!track.lane.hasCapacity()) {
        track.lane.onCapacity(() => {
          this.#offer(track);
          this.#options.wake();
        });
        continue;
      }
      const pick = this.#nextOf(track, now, mayTake);
      if (pick === null) continue;
      this.#offer(track);
      return pick;
    }
    return null;
  }

  #offer(track: Track): void {
    const isNew = isUnproven(track.lane);
    (isNew ? this.#readyProven : this.#readyUnproven).delete(track);
    (isNew ? this.#readyUnproven : this.#readyProven).add(track);
  }

  #nextOf(track: Track, now: number, mayTake: MayTake): Picked | null {
    const isNew = isUnproven(track.lane);
    for (;;) {
      const destination = track.rotation.shift((accountId) => mayTake(accountId, isNew));
      if (destination === null) {
        this.#park(track);
        return null;
      }
      destination.isInLane = false;
      const { lookup } = destination;
      if (lookup === null || lookup.until <= now) {
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
      if (ref !== null) return pickOf(track.lane, ref, lookup.found);
    }
  }

  #noteSite(destination: Destination, found: SiteResult): void {
    const { key, limits, isShared } = found.kind === 'site' ? found.site : NOWHERE;
    destination.lookup = {
      lane: this.#laneFor(key, limits, isShared),
      found,
      until: this.#options.ctx.clock.steady() + (found.kind === 'site' ? SITE_MS : NO_SITE_MS),
    };
    destination.isFinding = false;
    this.ready(destination);
  }

  /** Ends every pause at once: the operator asked for another try. */
  liftThrottles(): void {
    for (const { lane } of this.#tracks.values()) lane.liftThrottle();
  }

  /** Nodes have come or gone: lanes that they share have another part. */
  nodesChanged(): void {
    for (const { lane } of this.#tracks.values()) lane.sharersChanged();
    this.#options.wake();
  }

  /** The sites that asked us to slow down, by the names people know, and why nothing is dialled there now. */
  throttles(): (Throttle & { site: string })[] {
    return [...this.#tracks.values()].flatMap(({ lane }) => {
      const throttle = lane.throttleNow();
      return throttle === null ? [] : [{ site: lane.name, ...throttle }];
    });
  }

  #laneFor(key: string, limits: Provider, isShared: boolean): Lane {
    const known = this.#tracks.get(key);
    if (known !== undefined) return known.lane;
    if (this.#tracks.size >= LANES_MAX) this.#forgetIdle();
    const { ctx } = this.#options;
    const lane = new Lane(key, limits, ctx.clock, isShared ? () => sendingNodes(ctx) : undefined);
    this.#tracks.set(key, { lane, rotation: new Rotation() });
    return lane;
  }

  /** The track of a lane; made again when it was forgotten in the meantime. */
  #trackOf(lane: Lane): Track {
    let track = this.#tracks.get(lane.key);
    if (track === undefined) {
      track = { lane, rotation: new Rotation() };
      this.#tracks.set(lane.key, track);
    }
    return track;
  }

  #forgetIdle(): void {
    for (const [key, track] of this.#tracks) {
      if (track.lane.isIdle && track.rotation.isEmpty) this.#tracks.delete(key);
    }
  }
}

/** Mail without a site opens no session, so it does not count against unproven sites. */
function isUnproven(lane: Lane): boolean {
  return !lane.hasAnswered && lane.key !== NOWHERE.key;
}

function pickOf(lane: Lane, ref: RecipientRef, found: SiteResult): Picked {
  return { ref, lane, found, isUnproven: isUnproven(lane) };
}
