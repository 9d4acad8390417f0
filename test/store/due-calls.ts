/** A whole look at the calls that are due, part by part. */
import type { Store } from '../../src/store/store.ts';
import type { CallLook, CallRef } from '../../src/store/webhooks.ts';

type DueStore = Pick<Store, 'callsDue'>;

/** What a test asks of a look where it does not say. */
export function callLook(now: number, change: Partial<CallLook> = {}): CallLook {
  return { now, until: now, most: 1_000, limit: 1_000, after: null, without: [], ...change };
}

async function wholeLook(store: DueStore, look: CallLook) {
  const calls: CallRef[] = [];
  const times: number[] = [];
  let after: string | null = null;
  do {
    const found = await store.callsDue({ ...look, after });
    calls.push(...found.calls);
    if (found.nextAt !== null) times.push(found.nextAt);
    after = found.last;
  } while (after !== null);
  return { calls, nextAt: times.length === 0 ? null : Math.min(...times) };
}

/** Every call that is due until `until`, soonest first. */
export async function everyCallDue(
  store: DueStore,
  now: number,
  until = now,
  without: string[] = [],
): Promise<CallRef[]> {
  const { calls } = await wholeLook(store, callLook(now, { until, without }));
  return calls.toSorted((a, b) => a.dueAt - b.dueAt);
}

/** The soonest due time of a call later than `after`. */
export async function nextCallDue(store: DueStore, after: number): Promise<number | null> {
  return (await wholeLook(store, callLook(after))).nextAt;
}
