/** `queue fail` of mail whose attempt is under way: it says so, ends with 1, and leaves the mail alone. */
import { expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { startWorld } from '../rig/world.ts';

test('a recipient in an attempt is left alone, and the command fails', async () => {
  // A receiver that accepts the connection and says nothing. On every address: the world's receiver has one of its own.
  const silent = createServer();
  const connected = new Promise<void>((resolve) => {
    silent.once('connection', () => resolve());
  });
  await new Promise<void>((resolve) => {
    silent.listen(0, '0.0.0.0', () => resolve());
  });
  const { port } = silent.address() as AddressInfo;
  const world = await startWorld({ port });
  const { appliance } = world;
  const sent = await appliance.api('POST', '/emails', {
    from: `news@${world.domain}`,
    to: 'a@example.net',
    subject: 'Hello',
    text: 'Hello.',
  });
  const { id } = (await sent.json()) as { id: string };
  await connected;
  const run = await appliance.run(['queue', 'fail', id]);
  expect(run.stdout).toContain('an attempt is under way: 1');
  expect(run.code).toBe(1);
  const again = await appliance.run(['queue', 'fail', id, '--json']);
  expect([again.code, again.json()]).toEqual([1, { failed: 0, under_way: 1 }]);
  expect((await appliance.run(['queue', 'show', id])).stdout).not.toContain('given up');
  await world.stop();
  silent.close();
}, 30_000);
