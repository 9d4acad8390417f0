/** The numbers of two compiled binaries on one database: what is each node's adds up to all, what is shared is equal. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { bestOf, tookMs } from '../rig/best-of.ts';
import type { BinaryAppliance } from '../rig/binary.ts';
import { happened, listen } from '../rig/journey.ts';
import { freePorts } from '../rig/ports.ts';
import { PostgresServer } from '../rig/postgres.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

/** Nobody listens there: mail to it waits. */
const AWAY = 'away.test';

let server: PostgresServer;
let world: World;
let nodes: readonly [BinaryAppliance, BinaryAppliance];

beforeAll(async () => {
  server = await PostgresServer.start();
  const [port] = await freePorts(1);
  world = await startWorld({
    store: await server.freshDatabase(),
    config: `[[delivery.routes]]\ndomains = ["${AWAY}"]\nhost = "127.0.0.1"\nport = ${port}\n`,
  });
  nodes = [world.appliance, await world.join('b')];
  await listen(world);
}, 60_000);
afterAll(async () => {
  await world.stop();
  await server.stop();
});

async function send(node: BinaryAppliance, to: string): Promise<string> {
  const email = { from: 'hello@example.org', to, subject: 'Counted', text: 'x' };
  const sent = await node.api('POST', '/emails', email);
  expect(sent.status).toBe(200);
  return ((await sent.json()) as { id: string }).id;
}

/** Lines of `/metrics` without comments: the number by name and labels. */
async function numbers(node: BinaryAppliance): Promise<Map<string, number>> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Of the metric `name`, all series of a node together; only those with `label`. */
function sumOf(all: ReadonlyMap<string, number>, name: string, label = ''): number {
  const own = [...all].filter(([key]) => key.startsWith(name) && key.includes(label));
  return own.reduce((sum, [, value]) => sum + value, 0);
}

test('counters add up to all that was sent, and numbers of the service are the same on both', async () => {
  const [a, b] = nodes;
  const ids: { id: string; event: string }[] = [];
  for (const [node, arriving, waiting] of [
    [a, 5, 1],
    [b, 7, 2],
  ] as const) {
    for (let at = 0; at < arriving; at += 1) {
      ids.push({ id: await send(node, `r${at}@example.net`), event: 'email.delivered' });
    }
    for (let at = 0; at < waiting; at += 1) {
      ids.push({ id: await send(node, `w${at}@${AWAY}`), event: 'email.delivery_delayed' });
    }
  }
  for (const { id, event } of ids) await happened(world, id, event);

  let seen: Map<string, number>[];
  do {
    seen = await Promise.all(nodes.map(numbers));
  } while (seen.some((one) => one.get('postrider_webhook_backlog') !== 0));

  const accepted = seen.map((one) => sumOf(one, 'postrider_messages_accepted_total'));
  expect(accepted).toEqual([6, 9]);
  const delivered = seen.map((one) =>
    sumOf(one, 'postrider_attempts_total', 'outcome="delivered"'),
  );
  expect(delivered.reduce((sum, one) => sum + one)).toBe(12);
  const shared = /^postrider_(?:queue_recipients|webhook_backlog|halted|nodes)/;
  const [ofA, ofB] = seen.map((one) => [...one].filter(([key]) => shared.test(key)));
  expect(ofA).toEqual(ofB ?? []);
  expect(ofA).toEqual([
    ['postrider_queue_recipients{destination="other"}', 3],
    ['postrider_webhook_backlog', 0],
    ['postrider_halted', 0],
    ['postrider_nodes{state="live"}', 2],
    ['postrider_nodes{state="silent"}', 0],
    ['postrider_nodes{state="draining"}', 0],
  ]);
  const names = seen.map((one) => [...one.keys()].filter((key) => key.includes('_node_info')));
  expect(names[1]?.[0]).toStartWith(
    'postrider_node_info{node="b",service="mail.rig.test",version=',
  );
  expect(names.map((one) => one.length)).toEqual([1, 1]);
}, 60_000);

test('each beats to the others what it has taken, and a clock that agrees', async () => {
  const [a] = nodes;
  type Listed = { name: string; taken: number | null; clock_ahead_ms: number | null };
  let listed: Listed[];
  do {
    listed = (await a.json(['node', 'list'])) as unknown as Listed[];
  } while (listed.some(({ taken }) => taken === null));
  expect(listed).toHaveLength(2);
  for (const { clock_ahead_ms: ms } of listed) expect(Math.abs(ms ?? 0)).toBeLessThan(1_000);
});

test('while the database is away a node says so, shows its own numbers, and none that only the database knows', async () => {
  const [a] = nodes;
  await server.pause();
  let seen: Map<string, number>;
  do seen = await numbers(a);
  while (seen.get('postrider_database_away') !== 1);
  // Prometheus gives up after 10 s.
  expect(await bestOf(7_999, () => tookMs(() => numbers(a)))).toBeLessThan(8_000);
  expect(sumOf(seen, 'postrider_messages_accepted_total')).toBe(6);
  expect(
    [...seen.keys()].filter((key) => /^postrider_(?:queue|webhook_backlog|nodes)/.test(key)),
  ).toEqual([]);
  await server.resume();
  do seen = await numbers(a);
  while (seen.get('postrider_database_away') !== 0);
  expect(seen.get('postrider_queue_recipients{destination="other"}')).toBe(3);
}, 60_000);
