/**
 * What is due, in memory, by endpoint: each has a queue of its own, so that a slow endpoint delays only itself.
 *
 * Promises that a queue never has more calls claimed than its window, that endpoints are served round robin, and that
 * memory is bounded: only references are kept, and for those that find no free slot it is noted that the store has more.
 * Reads and writes nothing; cannot fail.
 */
import type { CallRef } from '../../store/webhooks.ts';

/** Posts at once to one endpoint. */
export const CONCURRENCY = 4;
/**
 * Calls claimed ahead of their post while an endpoint acknowledges, so that commits do not set its pace.
 * Below the 20 failures that disable an endpoint: when the twentieth is counted, all that was claimed ahead while
 * the endpoint acknowledged has ended, and no more than `CONCURRENCY` calls are in flight.
 */
const MAX_WINDOW = 16;
/** References one queue may keep, and all queues together (about 300 bytes each). */
const MAX_ENDPOINT_REFS = 500;
const MAX_REFS = 100_000;
/** Test calls under way or waiting, of one endpoint and of all: whoever asks for more is told to wait. */
const MAX_ENDPOINT_TESTS = 4;
const MAX_TESTS = 64;
/** A queue shorter than this is filled again when the store has more. */
const LOW_REFS = 100;
/**
 * References of one endpoint that a look reads: what its queue may know already, and then more than it takes. Fewer are
 * all that the store has, and with so many the queue is full and has noted that there is more.
 */
export const MOST_OF_ONE = MAX_ENDPOINT_REFS + LOW_REFS + MAX_WINDOW;

export interface EndpointQueue {
  readonly endpointId: string;
  readonly ready: CallRef[];
  /** Begun, and not yet ended in the store. */
  claimed: number;
  /** Most that may be claimed: grows while the endpoint acknowledges, falls back when it does not. */
  window: number;
  posting: number;
  /** Test calls among what is posted or waits to be. */
  tests: number;
  /** Claimed calls that wait to be posted, first come, first served. */
  readonly posters: (() => void)[];
  /** The store has due calls of this endpoint that are not here. */
  hasMore: boolean;
}

export class EndpointQueues {
  readonly #queues = new Map<string, EndpointQueue>();
  /** Calls in `ready` or claimed: the store may name them again, they are not taken twice. */
  readonly #known = new Set<string>();
  #readyCount = 0;
  #tests = 0;

  /** Takes a call that is due now, if it is new and there is a free slot for it. */
  add(ref: CallRef): boolean {
    if (this.#known.has(ref.id)) return false;
    const queue = this.of(ref.endpointId);
    if (queue.ready.length >= MAX_ENDPOINT_REFS || this.isFull) {
      queue.hasMore = true;
      return false;
    }
    this.#known.add(ref.id);
    this.#readyCount += 1;
    queue.ready.push(ref);
    return true;
  }

  /** Claims what the windows allow, at most `limit`, one from each queue, then again one from each. */
  claim(limit: number): CallRef[] {
    const claimed: CallRef[] = [];
    // More than `limit` are not looked for: with as many, each has one claimed and nothing is left for a second round.
    let queues = this.#queues.values().filter(mayClaim).take(limit).toArray();
    while (queues.length > 0 && claimed.length < limit) {
      for (const queue of queues.slice(0, limit - claimed.length)) {
        const ref = queue.ready.shift();
        if (ref === undefined) continue;
        queue.claimed += 1;
        this.#readyCount -= 1;
        claimed.push(ref);
        // Served last, it is last when the next claim begins.
        this.#queues.delete(queue.endpointId);
        this.#queues.set(queue.endpointId, queue);
      }
      queues = queues.filter(mayClaim);
    }
    return claimed;
  }

  /** A claimed call has ended, or could not be begun. */
  release(ref: { id: string; endpointId: string }): void {
    const queue = this.of(ref.endpointId);
    queue.claimed -= 1;
    this.#known.delete(ref.id);
    this.#forgetIdle(queue);
  }

  /** The queue in which a test call may wait to be posted; null when there are too many. `endTest` must follow. */
  beginTest(endpointId: string): EndpointQueue | null {
    const queue = this.of(endpointId);
    if (queue.tests >= MAX_ENDPOINT_TESTS || this.#tests >= MAX_TESTS) {
      this.#forgetIdle(queue);
      return null;
    }
    queue.tests += 1;
    this.#tests += 1;
    return queue;
  }

  endTest(queue: EndpointQueue): void {
    queue.tests -= 1;
    this.#tests -= 1;
    this.#forgetIdle(queue);
  }

  #forgetIdle(queue: EndpointQueue): void {
    const { claimed, ready, tests, hasMore, endpointId } = queue;
    if (claimed === 0 && ready.length === 0 && tests === 0 && !hasMore) {
      this.#queues.delete(endpointId);
    }
  }

  /** The queue of an endpoint, made when there is none. */
  of(endpointId: string): EndpointQueue {
    let queue = this.#queues.get(endpointId);
    if (queue === undefined) {
      const window = CONCURRENCY;
      queue = {
        endpointId,
        ready: [],
        claimed: 0,
        window,
        posting: 0,
        tests: 0,
        posters: [],
        hasMore: false,
      };
      this.#queues.set(endpointId, queue);
    }
    return queue;
  }

  /** Drops what waits for an endpoint that was disabled; the store keeps it. */
  drop(endpointId: string): void {
    const queue = this.of(endpointId);
    for (const ref of queue.ready) this.#known.delete(ref.id);
    this.#readyCount -= queue.ready.length;
    queue.ready.length = 0;
    queue.hasMore = false;
  }

  /** Whether no more references can be taken, whatever their endpoint. */
  get isFull(): boolean {
    return this.#readyCount >= MAX_REFS;
  }

  /** Whether a queue has run low while the store has more for it. */
  needsRefill(): boolean {
    if (this.#readyCount > MAX_REFS / 2) return false;
    for (const queue of this.#queues.values()) if (queue.hasMore && isLow(queue)) return true;
    return false;
  }

  /** A look at the store begins, for all queues that are short; returns the endpoints it leaves out. */
  beginLook(): string[] {
    const leftOut: string[] = [];
    for (const queue of this.#queues.values()) {
      queue.hasMore = !isLow(queue);
      if (queue.hasMore) leftOut.push(queue.endpointId);
    }
    return leftOut;
  }
}

/** Notes how the endpoint answered, for the size of the queue's window. */
export function noteResult(queue: EndpointQueue, isGood: boolean): void {
  queue.window = isGood ? Math.min(queue.window * 2, MAX_WINDOW) : CONCURRENCY;
}

/** Resolves when a post to the endpoint may begin; `endPost` must follow. */
export async function startPost(queue: EndpointQueue): Promise<void> {
  if (queue.posting < CONCURRENCY) {
    queue.posting += 1;
    return;
  }
  // `endPost` hands its slot over, with `posting` unchanged.
  await new Promise<void>((resolve) => queue.posters.push(resolve));
}

export function endPost(queue: EndpointQueue): void {
  const next = queue.posters.shift();
  if (next === undefined) queue.posting -= 1;
  else next();
}

function mayClaim(queue: EndpointQueue): boolean {
  return queue.ready.length > 0 && queue.claimed < queue.window;
}

function isLow(queue: EndpointQueue): boolean {
  return queue.ready.length < LOW_REFS;
}
