/**
 * The endpoints' queues under random use: windows and concurrency kept, no call claimed twice or lost, memory bounded,
 * endpoints served evenly. A failing test prints its seed; POSTRIDER_SEED repeats it.
 */
import { expect, test } from 'bun:test';

import {
  CONCURRENCY,
  EndpointQueues,
  MOST_OF_ONE,
  endPost,
  noteResult,
  startPost,
} from '../../../src/flow/webhooks/endpoint-queues.ts';
import type { CallRef } from '../../../src/store/webhooks.ts';
import { seeded } from '../../mail/random.ts';

const SEED = Number(process.env['POSTRIDER_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 15;
const STEPS = 300;
const MAX_WINDOW = 16;
const MAX_ENDPOINT_REFS = 500;

/** Due calls of a store, without those that are claimed: what a look may find. */
class Calls {
  readonly open = new Map<string, CallRef>();
  readonly claimed = new Set<string>();
  #last = 0;

  make(endpointId: string): CallRef {
    const id = `c${String((this.#last += 1)).padStart(6, '0')}`;
    const ref = { id, endpointId, dueAt: this.#last };
    this.open.set(id, ref);
    return ref;
  }

  due(most: number, leftOut: readonly string[]): CallRef[] {
    const counts = new Map<string, number>();
    return [...this.open.values()].filter(({ id, endpointId }) => {
      if (this.claimed.has(id) || leftOut.includes(endpointId)) return false;
      const count = (counts.get(endpointId) ?? 0) + 1;
      counts.set(endpointId, count);
      return count <= most;
    });
  }
}

/** As the dispatcher looks. */
function look(queues: EndpointQueues, calls: Calls): void {
  const leftOut = queues.beginLook();
  for (const ref of calls.due(MOST_OF_ONE, leftOut)) queues.add(ref);
}

test(`windows are kept, no call is claimed twice or lost (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED);
  for (let round = 0; round < ROUNDS; round += 1) {
    const queues = new EndpointQueues();
    const calls = new Calls();
    const endpoints = Array.from({ length: 1 + random.int(12) }, (_, number) => `e${number}`);
    const inFlight = new Map<string, CallRef>();
    const claim = (limit: number): void => {
      const refs = queues.claim(limit);
      expect(refs.length).toBeLessThanOrEqual(limit);
      for (const ref of refs) {
        expect(inFlight.has(ref.id)).toBe(false);
        inFlight.set(ref.id, ref);
        calls.claimed.add(ref.id);
      }
      for (const id of endpoints) {
        const queue = queues.of(id);
        const count = [...inFlight.values()].filter((ref) => ref.endpointId === id).length;
        expect(queue.claimed).toBe(count);
        expect(queue.claimed).toBeLessThanOrEqual(MAX_WINDOW);
        expect(queue.ready.length).toBeLessThanOrEqual(MAX_ENDPOINT_REFS);
      }
    };
    const end = (ref: CallRef, isDone: boolean): void => {
      inFlight.delete(ref.id);
      calls.claimed.delete(ref.id);
      if (isDone) calls.open.delete(ref.id);
      noteResult(queues.of(ref.endpointId), isDone);
      queues.release(ref);
    };
    for (let step = 0; step < STEPS; step += 1) {
      const what = random.int(12);
      const endpoint = random.pick(endpoints);
      if (what < 4) {
        const count = random.chance(0.05) ? 1_700 : random.int(20);
        for (let more = 0; more < count; more += 1) {
          const ref = calls.make(endpoint);
          // A commit of another process is not offered.
          if (random.chance(0.8)) queues.add(ref);
        }
      } else if (what < 7) {
        claim(random.int(60));
      } else if (what < 10) {
        for (const ref of inFlight.values()) if (random.chance(0.6)) end(ref, random.chance(0.7));
      } else if (what === 10) {
        look(queues, calls);
      } else if (random.chance(0.2)) {
        queues.drop(endpoint);
      }
    }
    // From one look on, the queues say themselves when the store has more for them.
    for (const ref of inFlight.values()) end(ref, true);
    look(queues, calls);
    for (let turn = 0; turn < 3_000 && calls.open.size > 0; turn += 1) {
      for (const ref of inFlight.values()) end(ref, true);
      if (queues.needsRefill()) look(queues, calls);
      claim(1_000);
    }
    expect(calls.open.size).toBe(0);
  }
}, 30_000);

test(`a claim serves endpoints evenly, and the next begins with who was served least lately (POSTRIDER_SEED=${SEED})`, () => {
  const random = seeded(SEED + 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const queues = new EndpointQueues();
    const endpoints = 2 + random.int(20);
    for (let number = 0; number < endpoints; number += 1) {
      for (let more = 0; more < 100; more += 1) {
        queues.add({ id: `c${number}.${more}`, endpointId: `e${number}`, dueAt: 0 });
      }
    }
    const served = new Map<string, number>();
    for (let claims = 0; claims < 40; claims += 1) {
      // Less than the windows allow: the limit decides who is served.
      for (const ref of queues.claim(1 + random.int(endpoints * 2))) {
        served.set(ref.endpointId, (served.get(ref.endpointId) ?? 0) + 1);
        queues.release(ref);
      }
      const counts = Array.from(
        { length: endpoints },
        (_, number) => served.get(`e${number}`) ?? 0,
      );
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  }
});

test(`posts to one endpoint: never more than ${CONCURRENCY} at once, first come, first served (POSTRIDER_SEED=${SEED})`, async () => {
  const random = seeded(SEED + 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    const queue = new EndpointQueues().of('e');
    let [asked, posting] = [0, 0];
    const begun: number[] = [];
    for (let step = 0; step < STEPS || posting > 0; step += 1) {
      if (step < STEPS && random.chance(0.5)) {
        const caller = asked;
        asked += 1;
        void startPost(queue).then(() => {
          posting += 1;
          begun.push(caller);
        });
      } else if (posting > 0) {
        posting -= 1;
        endPost(queue);
      }
      for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
      expect(posting).toBeLessThanOrEqual(CONCURRENCY);
    }
    expect(begun).toEqual(Array.from({ length: asked }, (_, caller) => caller));
  }
});
