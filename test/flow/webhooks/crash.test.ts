/**
 * kill -9 in the middle of dispatching: after the restart every event has been delivered, under its own id and
 * with its own bytes, and only calls that were in flight at the kill came twice.
 */
import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { testAuthority } from '../../rig/certificates.ts';
import { TestClock } from '../../rig/clock.ts';
import { startHook } from '../../rig/hook.ts';
import { startWebhookRig } from './webhook-rig.ts';

const EVENTS = 200;
/** Claimed calls of one endpoint at most (webhooks-lanes): what a crash may repeat. */
const MOST_IN_FLIGHT = 16;

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

test.each([1, 37, 120])(
  'killed at the %dth call: nothing is lost, ids and bytes stay',
  async (killAt) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'postrider-crash-'));
    ends.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const hook = await startHook();
    ends.push(() => hook.stop());

    const before = await startWebhookRig({ dataDir, isStarted: false });
    await before.endpoint(hook.url);
    const { events } = await before.commit(EVENTS);
    await before.stop();

    // From the killAt-th call on nothing is answered: the dispatcher has calls in flight when it dies.
    hook.script.answer = () => (hook.calls.items.length + 1 >= killAt ? 'stall' : { status: 200 });
    const script = join(import.meta.dir, 'crash-child.ts');
    const child = Bun.spawn([process.execPath, script, dataDir, testAuthority().certFile], {
      stdout: 'ignore',
      stderr: 'inherit',
    });
    ends.push(() => child.kill('SIGKILL'));
    await hook.calls.atLeast(killAt, () => true, 20_000);
    child.kill('SIGKILL');
    await child.exited;

    // A new process on the same directory, after the lease and the first wait have run out.
    hook.script.answer = () => ({ status: 200 });
    const clock = new TestClock(Date.now() + 300_000);
    const after = await startWebhookRig({ dataDir, clock });
    ends.push(() => after.stop());
    const seenBefore = hook.calls.items.length;
    const bodies = new Map(events.map((event) => [event.id, event.webhookBody]));
    const countOf = (): Map<string, number> => {
      const counts = new Map<string, number>();
      for (const { headers, body } of hook.calls.items) {
        const id = String(headers['webhook-id']);
        expect(body).toBe(bodies.get(id) ?? 'unknown id');
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      return counts;
    };
    // Every event has come once; the unanswered ones of before come again.
    const unanswered = hook.calls.items.slice(killAt - 1, seenBefore);
    const isOver = (counts: Map<string, number>): boolean =>
      counts.size === EVENTS &&
      unanswered.every(({ headers }) => (counts.get(String(headers['webhook-id'])) ?? 0) >= 2);
    let counts = countOf();
    while (!isOver(counts)) {
      await hook.calls.atLeast(hook.calls.items.length + 1);
      counts = countOf();
    }
    await after.dispatcher.stop();
    counts = countOf();
    const repeated = [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
    expect(repeated).toBeLessThanOrEqual(MOST_IN_FLIGHT);
  },
  40_000,
);
