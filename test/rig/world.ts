/**
 * Everything around one appliance: DNS, a receiver with STARTTLS, a webhook receiver, and the binary configured to use
 * them, with one verified sending domain.
 *
 * Promises that nothing but loopback is touched. Mail to `example.net` (and `*.example.net`) goes to the receiver, the
 * webhook receiver is reached under its name and the rig's CA.
 */
import { testAuthority } from './certificates.ts';
import { BinaryAppliance } from './binary.ts';
import { startHook } from './hook.ts';
import type { Hook } from './hook.ts';
import { startNames } from './names.ts';
import type { Names } from './names.ts';
import { startReceiver } from './receiver.ts';
import type { Receiver } from './receiver.ts';

/** What `POST /domains` told us to publish. */
export interface PublishedRecord {
  type: 'TXT' | 'CNAME';
  name: string;
  value: string;
}

export interface World {
  names: Names;
  receiver: Receiver;
  hook: Hook;
  appliance: BinaryAppliance;
  /** The verified domain: `example.org`. */
  domain: string;
  records: PublishedRecord[];
  /** Starts another node on the same database. `store`: another way to it; `listen`: of its API. */
  join(name: string, store?: string, listen?: string): Promise<BinaryAppliance>;
  stop(): Promise<void>;
}

const DOMAIN = 'example.org';
/** What the first node is called, and so the service. */
const SERVICE = 'mail.rig.test';
const RECEIVER_NAME = 'mx.example.net';

export interface WorldOptions {
  /** More TOML, behind the tables that this writes. */
  config?: string;
  /** More TOML inside `[delivery]`. */
  delivery?: string;
  /** Of the receivers, instead of the rig's own. */
  port?: number;
  folder?: string;
  /** URL of the PostgreSQL database; default: files. */
  store?: string;
  /** More TOML inside `[store]`. */
  storeSettings?: string;
  /** Host and port of the first node's API; default: a port that is free at each start. */
  listen?: string;
  /** Of the appliance's processes. */
  env?: Record<string, string>;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const names = await startNames();
  const receiver = await startReceiver({ hostname: RECEIVER_NAME });
  const hook = await startHook();
  names.set('example.net', 'MX', [`10 ${RECEIVER_NAME}`]);
  names.set('*.example.net', 'MX', [`10 ${RECEIVER_NAME}`]);
  names.set(RECEIVER_NAME, 'A', [receiver.host]);
  names.set(new URL(hook.url).hostname, 'A', [hook.host]);
  const config = `[delivery]
port = ${options.port ?? receiver.port}
allow_networks = ["127.0.0.0/8"]
${options.delivery ?? ''}
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
[webhooks]
allow_networks = ["127.0.0.0/8"]
${options.config ?? ''}`;
  const appliance = await BinaryAppliance.start({
    ...(options.folder === undefined ? {} : { folder: options.folder }),
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.storeSettings === undefined ? {} : { storeSettings: options.storeSettings }),
    ...(options.listen === undefined ? {} : { listen: options.listen }),
    config,
  });
  const joined: BinaryAppliance[] = [];
  const world: World = {
    names,
    receiver,
    hook,
    appliance,
    domain: DOMAIN,
    records: [],
    async join(name, store = options.store, listen) {
      const node = await BinaryAppliance.start({
        hostname: `${name}.rig.test`,
        joins: appliance,
        config: `${config}\n[cluster]\nname = "${SERVICE}"\n[node]\nname = "${name}"\n`,
        ...(options.env === undefined ? {} : { env: options.env }),
        ...(store === undefined ? {} : { store }),
        ...(listen === undefined ? {} : { listen }),
      });
      joined.push(node);
      return node;
    },
    async stop() {
      await Promise.all(joined.map((node) => node.stop()));
      await appliance.stop();
      await Promise.all([names.stop(), receiver.stop(), hook.stop()]);
    },
  };
  try {
    world.records = await addVerifiedDomain(world);
  } catch (error) {
    await world.stop();
    throw error;
  }
  return world;
}

/** Adds the domain over the API, publishes exactly what the answer says, and verifies it. */
async function addVerifiedDomain({ appliance, names }: World): Promise<PublishedRecord[]> {
  const added = await appliance.api('POST', '/domains', { name: DOMAIN });
  const { id, records } = (await added.json()) as { id: string; records: PublishedRecord[] };
  for (const { type, name, value } of records) names.set(name, type, [value]);
  const checked = await appliance.api('POST', `/domains/${id}/verify`);
  const body = (await checked.json()) as { status: string };
  if (body.status !== 'verified') throw new Error(`not verified: ${JSON.stringify(body)}`);
  return records;
}
