/**
 * The compiled binary on PostgreSQL: what is sent over the API is delivered and told to a webhook, a restart finds it, and
 * nothing of it is in the data directory.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import { happened, listen, readEmail, sendTo } from '../rig/journey.ts';
import { PostgresServer } from '../rig/postgres.ts';
import { startWorld } from '../rig/world.ts';
import type { ReceivedMessage } from '../rig/receiver.ts';
import type { World } from '../rig/world.ts';

describe('the appliance on PostgreSQL', () => {
  let server: PostgresServer;
  let world: World;

  beforeAll(async () => {
    server = await PostgresServer.start();
    const url = await server.freshDatabase();
    world = await startWorld({ store: url });
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await server.stop();
  });

  test('an accepted email is delivered, its events stand, its webhook arrives', async () => {
    await listen(world);
    const id = await sendTo(world, 'ann@example.net');
    const [message] = await world.receiver.messages.atLeast(1);
    expect(message?.bytes.toString()).toContain('DKIM-Signature');
    await happened(world, id, 'email.delivered');
    const email = await readEmail(world, id);
    expect(email.status).toBe('delivered');
    expect(readdirSync(world.appliance.made.data_dir)).not.toContain('mail.db');
  });

  test('while the database is away a send is refused with 503; then all goes on by itself', async () => {
    await server.pause();
    const refused = await world.appliance.api('POST', '/emails', {
      from: 'hello@example.org',
      to: 'dan@example.net',
      subject: 'Now',
      text: 'x',
    });
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { code: 'platform_halted' },
    ]);
    await server.resume();
    const id = await sendTo(world, 'eve@example.net');
    await happened(world, id, 'email.delivered');
  }, 30_000);

  test('a kill in the middle loses nothing that was accepted', async () => {
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, at) => sendTo(world, `k${at}@example.net`)),
    );
    await world.appliance.signal('SIGKILL');
    await world.appliance.start();
    // What was under way at the kill, a message or a call, is free when the dead process's session has ended: after 30 s.
    for (const [at, id] of ids.entries()) {
      const isIts = ({ to }: ReceivedMessage): boolean => to.includes(`k${at}@example.net`);
      await world.receiver.messages.first(isIts, 40_000);
      await happened(world, id, 'email.delivered', 40_000);
    }
  }, 90_000);

  test('a restart finds what stands there', async () => {
    const id = await sendTo(world, 'bob@example.net');
    await happened(world, id, 'email.delivered');
    expect(await world.appliance.signal('SIGTERM')).toBe(0);
    await world.appliance.start();
    expect((await readEmail(world, id)).status).toBe('delivered');
    const next = await sendTo(world, 'cy@example.net');
    await happened(world, next, 'email.delivered');
  });
});
