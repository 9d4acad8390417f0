/**
 * What is due, in memory: one lane for each endpoint, so that a slow one holds up only itself.
 *
 * Promises that a lane never has more calls claimed than its window, that lanes take turns, and that
 * memory is bounded: only references are held, and what finds no room is remembered as "the store has
 * more". Does no input or output.
 */
import type { CallRef } from '../store/store.ts';

/** Posts at once to one endpoint. */
export const LANE_CONCURRENCY = 4;
/**
 * Calls claimed ahead of their post while an endpoint acknowledges, so that commits do not set its pace.
 * Below the 20 failures that disable an endpoint: when the twentieth is counted, what was claimed ahead
 * in good times has been spent, and no more than the concurrency is left in flight.
 */
const LANE_MAX_WINDOW = 16;
/** References one lane may hold, and all lanes together (about 300 bytes each). */
const LANE_MAX_REFS = 500;
const MAX_REFS = 100_000;
/** Below this a lane that has more in the store is filled again. */
const LANE_LOW_REFS = 100;

export interface Lane {
  readonly endpointId: string;
  readonly ready: CallRef[];
  /** Begun, and not yet ended in the store. */
  claimed: number;
  /** Most that may be claimed: grows while the endpoint acknowledges, falls back when it does not. */
  window: number;
  posting: number;
  /** Claimed calls that wait for their turn to be posted. */
  readonly turns: (() => void)[];
  /** The store holds due calls of this endpoint that are not here. */
  hasMore: boolean;
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  /** Calls in `ready` or claimed: the store may name them again, they are not taken twice. */
  readonly #known = new Set<string>();
  #readyCount = 0;

  /** Takes a call that is due now, if it is new and there is room. */
  add(ref: CallRef): boolean {
    if (this.#known.has(ref.id)) return false;
    const lane = this.lane(ref.endpointId);
    if (lane.ready.length >= LANE_MAX_REFS || this.isFull) {
      lane.hasMore = true;
      return false;
    }
    this.#known.add(ref.id);
    this.#readyCount += 1;
    lane.ready.push(ref);
    return true;
  }

  /** Claims what the windows allow, at most `limit`, one from each lane in turns. */
  claim(limit: number): CallRef[] {
    const claimed: CallRef[] = [];
    let lanes = [...this.#lanes.values()].filter(mayClaim);
    while (lanes.length > 0 && claimed.length < limit) {
      for (const lane of lanes.slice(0, limit - claimed.length)) {
        const ref = lane.ready.shift();
        if (ref === undefined) continue;
        lane.claimed += 1;
        this.#readyCount -= 1;
        claimed.push(ref);
        // Served last, it stands last when the next claim begins.
        this.#lanes.delete(lane.endpointId);
        this.#lanes.set(lane.endpointId, lane);
      }
      lanes = lanes.filter(mayClaim);
    }
    return claimed;
  }

  /** A claimed call has ended, or could not be begun. */
  release(ref: { id: string; endpointId: string }): void {
    const lane = this.lane(ref.endpointId);
    lane.claimed -= 1;
    this.#known.delete(ref.id);
    if (lane.claimed === 0 && lane.ready.length === 0 && !lane.hasMore) {
      this.#lanes.delete(ref.endpointId);
    }
  }

  /** The lane of an endpoint, made when there is none. */
  lane(endpointId: string): Lane {
    let lane = this.#lanes.get(endpointId);
    if (lane === undefined) {
      const window = LANE_CONCURRENCY;
      lane = { endpointId, ready: [], claimed: 0, window, posting: 0, turns: [], hasMore: false };
      this.#lanes.set(endpointId, lane);
    }
    return lane;
  }

  /** Drops what waits for an endpoint that was disabled; the store keeps it. */
  drop(endpointId: string): void {
    const lane = this.lane(endpointId);
    for (const ref of lane.ready) this.#known.delete(ref.id);
    this.#readyCount -= lane.ready.length;
    lane.ready.length = 0;
    lane.hasMore = false;
  }

  /** No room for more references of anybody. */
  get isFull(): boolean {
    return this.#readyCount >= MAX_REFS;
  }

  /** Whether a lane has run low while the store holds more for it. */
  isHungry(): boolean {
    if (this.#readyCount > MAX_REFS / 2) return false;
    for (const lane of this.#lanes.values()) if (lane.hasMore && isLow(lane)) return true;
    return false;
  }

  /** A look at the store begins for all lanes that are low; returns the endpoints it leaves out. */
  beginLook(): string[] {
    const leftOut: string[] = [];
    for (const lane of this.#lanes.values()) {
      lane.hasMore = !isLow(lane);
      if (lane.hasMore) leftOut.push(lane.endpointId);
    }
    return leftOut;
  }

  /** Calls of low lanes that are here already: a look may find them again. */
  countKnownOfLowLanes(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) {
      if (isLow(lane)) count += lane.ready.length + lane.claimed;
    }
    return count;
  }
}

/** Notes how the endpoint answered, for the size of the lane's window. */
export function judge(lane: Lane, isGood: boolean): void {
  lane.window = isGood ? Math.min(lane.window * 2, LANE_MAX_WINDOW) : LANE_CONCURRENCY;
}

/** Resolves when a post to the endpoint may begin; `endTurn` must follow. */
export async function takeTurn(lane: Lane): Promise<void> {
  if (lane.posting < LANE_CONCURRENCY) {
    lane.posting += 1;
    return;
  }
  // The turn is handed over by `endTurn`, with `posting` unchanged.
  await new Promise<void>((resolve) => lane.turns.push(resolve));
}

export function endTurn(lane: Lane): void {
  const next = lane.turns.shift();
  if (next === undefined) lane.posting -= 1;
  else next();
}

function mayClaim(lane: Lane): boolean {
  return lane.ready.length > 0 && lane.claimed < lane.window;
}

function isLow(lane: Lane): boolean {
  return lane.ready.length < LANE_LOW_REFS;
}
