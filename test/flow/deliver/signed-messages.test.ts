/** Large messages that the queue loads: only so many bytes are in memory, and small ones never wait for them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { SignedMessages } from '../../../src/flow/deliver/signed-messages.ts';
import { startQueueRig, type QueueRig } from '../queue/queue-rig.ts';

const MESSAGES = 16;
const MIB = 1024 * 1024;
const IN_USE_MIB = 96;

let rig: QueueRig;
let release = (): void => undefined;
/** What the test has asked for: it reads the store, also after the test has run out of time. */
let asked: Promise<unknown> = Promise.resolve();
beforeAll(async () => {
  rig = await startQueueRig();
});
afterAll(async () => {
  release();
  await asked;
  await rig.stop();
}, 120_000);

test('160 MB of large messages wanted at once: 96 MiB are in memory, a small one passes, all get through', async () => {
  const text = `${'x'.repeat(76)}\r\n`.repeat((10 * MIB) / 78);
  const ids: string[] = [];
  for (let n = 0; n < MESSAGES; n += 1) {
    ids.push((await rig.accept([`a${n}@example.net`], { text })).message.id);
  }
  const small = (await rig.accept(['small@example.net'], { text: 'x' })).message.id;
  const messages = new SignedMessages(rig.ctx);
  const inMemory = new Set<string>();
  const seen = { most: 0, done: 0 };
  const all = ids.map(async (id) => {
    const { outgoing } = await messages.acquire(id);
    inMemory.add(id);
    seen.most = Math.max(seen.most, (inMemory.size * outgoing.bytes.length) / MIB);
    await released;
    inMemory.delete(id);
    messages.release(id);
    seen.done += 1;
  });
  asked = Promise.allSettled(all);
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await messages.acquire(small);
  expect(seen.done).toBe(0);
  release();
  await Promise.all(all);
  expect(seen.done).toBe(MESSAGES);
  expect(seen.most).toBeLessThanOrEqual(IN_USE_MIB);
  expect(seen.most).toBeGreaterThan(0);
}, 120_000);
