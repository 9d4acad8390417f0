/**
 * No input holds the event loop (docs/reliability.md R84): while the worst inputs that are known come in over every
 * listener of the binary, GET /ready answers within 250 ms. The inputs are made from the printed seed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { TRIES } from '../rig/best-of.ts';
import { BODIES, REPORTS, SEED, SUBMITTED } from './event-loop-inputs.ts';
import { gapBeside, LONGEST_MS } from './gap-beside.ts';
import { openTarget, type Target } from './open-target.ts';

let target: Target;

beforeAll(async () => {
  target = await openTarget();
}, 60_000);
afterAll(() => target.world.stop());

const measured = (work: () => Promise<unknown>): Promise<number> =>
  gapBeside(target.world.appliance, SEED, work);

/** Accepted mail is signed, delivered, and read back: each email that `accepted` names. */
async function followed(accepted: string): Promise<void> {
  const { receiver, appliance } = target.world;
  const ids = accepted.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  await receiver.messages.atLeast(ids.length, undefined, 60_000);
  receiver.messages.clear();
  for (const id of ids) {
    for (const path of [`/emails/${id}`, `/emails/${id}/attachments`]) {
      // Read to its end: until then the response has its bytes of the memory budget.
      const response = await appliance.api('GET', path);
      const text = await response.text();
      expect([response.status, response.ok || text]).toEqual([200, true]);
    }
  }
}

test('the measure sees an appliance that answers nobody for two seconds', async () => {
  const { pid } = target.world.appliance;
  const gap = await measured(async () => {
    process.kill(pid, 'SIGSTOP');
    await Bun.sleep(2_000);
    process.kill(pid, 'SIGCONT');
  });
  expect(gap).toBeGreaterThan(LONGEST_MS);
});

test.each(BODIES)(
  'HTTP: %s',
  async (_, make) => {
    const body = Buffer.from(make());
    const gap = await measured(async () => {
      const { status, text } = await target.post(body);
      if (status === 200) await followed(text);
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  240_000,
);

test.each(REPORTS)(
  'port 25: %s',
  async (_, make) => {
    const message = make();
    const gap = await measured(() => target.report(message));
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  240_000,
);

test.each(SUBMITTED)(
  'submission: %s',
  async (_, make) => {
    // A new one each time that it is measured: the same once more, with its key, would only be answered. Made before,
    // since that takes a processor too.
    const messages = Array.from({ length: TRIES }, make);
    const gap = await measured(async () => {
      const reply = await target.submit(messages.pop() ?? make());
      if (reply.startsWith('250')) await followed(reply);
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  240_000,
);
