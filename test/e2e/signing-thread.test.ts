/** The compiled binary under load: its signing thread is found and started, and every message is signed. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const BATCHES = 3;
const BATCH = 100;

describeWith(['openssl', 'python3-dkim'], 'the signing thread', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world.stop());

  test(`signs ${BATCHES * BATCH} messages at once, and does not die`, async () => {
    const { appliance, receiver, records } = world;
    const batches = Array.from({ length: BATCHES }, (_, batch) =>
      Array.from({ length: BATCH }, (_email, index) => ({
        from: 'hello@example.org',
        to: `user${batch}-${index}@example.net`,
        subject: `Number ${index}`,
        text: 'Hello.',
      })),
    );
    const sent = await Promise.all(
      batches.map((emails) => appliance.api('POST', '/emails/batch', emails)),
    );
    expect(sent.map(({ status }) => status)).toEqual(batches.map(() => 200));
    const received = await receiver.messages.atLeast(BATCHES * BATCH, () => true, 60_000);
    for (const { bytes } of received) {
      expect(bytes.toString('latin1', 0, 16)).toBe('DKIM-Signature: ');
    }
    const last = received.at(-1);
    expect(await verifyWithDkimpy(last?.bytes ?? Buffer.alloc(0), records)).toBe(true);
    const died = appliance.log.items.filter(({ event }) => event === 'signing_thread_died');
    expect(died).toEqual([]);
  }, 90_000);
});
