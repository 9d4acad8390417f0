/**
 * One account with very much mail for a destination, on the compiled binary: another account's mail there starts as soon
 * as without it. Another length: POSTRIDER_NEIGHBOUR_MESSAGES.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { bestOf } from '../rig/best-of.ts';
import { acceptAll, bulkKey, FAST_PLAN } from '../rig/bulk-account.ts';
import { sendTo } from '../rig/journey.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const MESSAGES = Number(process.env['POSTRIDER_NEIGHBOUR_MESSAGES'] ?? 5_000);
/** How much later than alone, by docs/reliability.md R53. */
const LATER_MS = 2_000;
const SAMPLES = 8;

describeWith(['openssl'], `${MESSAGES} messages of one account for one destination`, () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ config: FAST_PLAN });
  });
  afterAll(() => world.stop());

  /** Milliseconds from the request to the arrival, the longest of some. */
  async function longest(name: string): Promise<number> {
    const times: number[] = [];
    for (let number = 0; number < SAMPLES; number += 1) {
      const [to, at] = [`${name}${number}@example.net`, performance.now()];
      await sendTo(world, to);
      await world.receiver.messages.first((message) => message.to.includes(to), 60_000);
      times.push(performance.now() - at);
    }
    return Math.max(...times);
  }

  test('delay the mail of another by 2 s at most', async () => {
    const key = await bulkKey(world);
    const alone = await longest('alone');
    // A receiver that takes its time: the mail of the first account waits for as long as the test lasts.
    world.receiver.script.rcpt = (to) => (to.startsWith('r') ? slow() : null);
    await acceptAll(world, key, { count: MESSAGES, domain: 'example.net' });
    let tries = 0;
    const later = await bestOf(
      LATER_MS,
      async () => (await longest(`behind${(tries += 1)}-`)) - alone,
    );
    const arrived = world.receiver.messages.items.filter(({ to }) =>
      /^r\d/.test(to[0] ?? ''),
    ).length;
    process.stdout.write(
      `alone ${Math.round(alone)} ms, behind ${MESSAGES} of another ${Math.round(later)} ms more (${arrived} of them arrived)\n`,
    );
    expect(arrived).toBeLessThan(MESSAGES);
    expect(later).toBeLessThanOrEqual(LATER_MS);
    await world.appliance.signal('SIGKILL');
  }, 240_000);
});

/** Some milliseconds of the receiver's one thread. */
function slow(): null {
  const until = performance.now() + 5;
  while (performance.now() < until);
  return null;
}
