/** The nodes that `scripts/soak --nodes` puts under load: a PostgreSQL of their own, an account without limits, a domain. */
import type { BinaryAppliance } from '../test/rig/binary.ts';
import type { Names } from '../test/rig/names.ts';
import { PostgresServer } from '../test/rig/postgres.ts';
import type { ReceivedMessage } from '../test/rig/receiver.ts';
import { startWorld } from '../test/rig/world.ts';
import type { PublishedRecord, World } from '../test/rig/world.ts';

const DOMAIN = 'soak.test';
const PLAN = '[[plans]]\nid = "soak"\nrate_per_second = 100000\nreads_per_minute = 1000000';

export interface SoakNode {
  name: string;
  /** What it says in EHLO. */
  helo: string;
  appliance: BinaryAppliance;
  isUp: boolean;
}

export interface SoakNodes {
  server: PostgresServer;
  /** Name of the database. */
  database: string;
  world: World;
  nodes: SoakNode[];
  /** Of the account, for every node. */
  authorization: string;
  /** Sends from the domain of the account. */
  from: string;
}

/** Starts so many; `settings`: further ones of the database's server. */
export async function startNodes(count: number, settings: string[] = []): Promise<SoakNodes> {
  const server = await PostgresServer.start({ settings: ['fsync=on', ...settings] });
  const url = await server.freshDatabase();
  const world = await startWorld({ store: url, config: PLAN });
  const first = world.appliance;
  const nodes = [{ name: 'node1', helo: 'mail.rig.test', appliance: first, isUp: true }];
  for (let at = 2; at <= count; at += 1) {
    const name = `node${at}`;
    nodes.push({ name, helo: `${name}.rig.test`, appliance: await world.join(name), isUp: true });
  }
  const key = await makeSender(first, world.names, 'soak', DOMAIN);
  const authorization = `Bearer ${key}`;
  const database = new URL(url).pathname.slice(1);
  return { server, database, world, nodes, authorization, from: `shop@${DOMAIN}` };
}

/** Makes an account on the plan of the same name, with a verified domain; returns a key of it with every right. */
export async function makeSender(
  node: BinaryAppliance,
  names: Pick<Names, 'set'>,
  account: string,
  domain: string,
): Promise<string> {
  await node.json(['account', 'create', account, '--plan', account]);
  const rights = ['--permission', 'full_access', '--name', account];
  const made = await node.json(['key', 'create', '--account', account, ...rights]);
  const added = await node.json(['domain', 'add', domain, '--account', account]);
  for (const { type, name, value } of added['records'] as PublishedRecord[]) {
    names.set(name, type, [value]);
  }
  await node.json(['domain', 'verify', domain]);
  return String(made['token']);
}

/** A field of the message's header, unfolded or not; empty where it has none. */
export function field(message: ReceivedMessage, name: string): string {
  const head = message.bytes.toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
  return new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
}
