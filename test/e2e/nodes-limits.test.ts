/** What a smarthost takes from two compiled binaries on one database: its limits hold for both together. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import type { BinaryAppliance } from '../rig/binary.ts';
import { testServer } from '../rig/postgres.ts';
import { startReceiver } from '../rig/receiver.ts';
import type { Receiver } from '../rig/receiver.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const HOST = 'smart.quota.test';
const PER_MINUTE = 240;
const CONNECTIONS = 4;
/** At once after a quiet time. */
const BURST = PER_MINUTE / 12;
const EACH = 40;
/** Two nodes that do not share would have this many through after 2.5 seconds. */
const LOOKED_AT = 60;

let world: World;
let smarthost: Receiver;
let nodes: readonly [BinaryAppliance, BinaryAppliance];

beforeAll(async () => {
  const server = await testServer();
  smarthost = await startReceiver({ hostname: HOST });
  world = await startWorld({
    store: await server.freshDatabase(),
    delivery: 'mode = "smarthost"',
    config: `[delivery.smarthost]
host = "${HOST}"
port = ${smarthost.port}
tls = "none"
[[delivery.providers]]
name = "Quota"
mx = ["${HOST}"]
connections = ${CONNECTIONS}
messages_per_minute = ${PER_MINUTE}
`,
  });
  world.names.set(HOST, 'A', [smarthost.host]);
  nodes = [world.appliance, await world.join('b')];
}, 60_000);
afterAll(async () => {
  await world.stop();
  await smarthost.stop();
});

/** Resolves when each has beaten since now, and so knows of the other. */
async function haveHeard(): Promise<void> {
  const began = performance.now();
  for (;;) {
    const listed = (await world.appliance.json(['node', 'list'])) as unknown as {
      heard_ms_ago: number;
    }[];
    const ms = performance.now() - began;
    if (listed.length === 2 && listed.every((one) => one.heard_ms_ago < ms - 500)) return;
  }
}

async function send(node: BinaryAppliance, to: string): Promise<void> {
  const email = { from: 'hello@example.org', to, subject: 'Metered', text: 'x' };
  const sent = await node.api('POST', '/emails', email);
  expect(sent.status).toBe(200);
}

test('two nodes send a smarthost what its limits allow one, and no more', async () => {
  await haveHeard();
  const arrived: { at: number; helo: string }[] = [];
  let most = 0;
  smarthost.script.dot = ({ helo }) => {
    arrived.push({ at: performance.now(), helo });
    most = Math.max(most, smarthost.openSessions());
    return null;
  };
  // Tokens are spent when a message is taken from the queue, which is before it arrives.
  const began = performance.now();
  await Promise.all(
    nodes.flatMap((node, which) =>
      Array.from({ length: EACH }, (_, at) => send(node, `r${which}-${at}@anyone.test`)),
    ),
  );
  await smarthost.messages.atLeast(LOOKED_AT, () => true, 50_000);
  const seconds = ((arrived[LOOKED_AT - 1]?.at ?? 0) - began) / 1_000;
  const allowed = BURST + (seconds * PER_MINUTE) / 60;
  // Each node may be one message ahead of its part.
  expect(LOOKED_AT).toBeLessThanOrEqual(allowed + nodes.length);
  expect(most).toBeLessThanOrEqual(CONNECTIONS);
  expect(new Set(arrived.map(({ helo }) => helo)).size).toBe(2);
}, 60_000);
