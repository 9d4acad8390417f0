/**
 * Shows several nodes on this machine: a throw-away PostgreSQL, three nodes on it, mail to all three in rotation, one node
 * killed in the middle, and a count of what arrived.
 *
 * A send that a dead node does not answer is asked again at the next node under the same Idempotency-Key, as a client
 * behind a load balancer would. `--once` ends with exit 0 when everything that was answered with an id arrived, and the
 * killed node has come back; else with 1. Promises that nothing leaves the machine, and that everything it made is
 * removed at the end. Needs PostgreSQL 15 or newer (Debian package `postgresql`), and takes about a minute.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { testAuthority } from '../test/rig/certificates.ts';
import { startNames } from '../test/rig/names.ts';
import type { Names } from '../test/rig/names.ts';
import { PostgresServer } from '../test/rig/postgres.ts';
import { startReceiver } from '../test/rig/receiver.ts';
import type { Receiver } from '../test/rig/receiver.ts';
import { scriptOptions } from './options.ts';
import { command, ensureBuilt, say, serve } from './try-node.ts';
import type { Made, Server } from './try-node.ts';

const SERVICE = 'mail.try.test';
const MX = 'mx.somewhere.example';
const EMAILS = 300;
/** The second node dies when so many have been answered. */
const KILL_AFTER = 150;
/** The mail of a node that died is taken over within a minute. */
const ARRIVE_MS = 120_000;

const { once: isOnce } = scriptOptions({
  options: {
    once: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: true },
  },
}).values;
const folder = mkdtempSync(join(tmpdir(), 'postrider-cluster-'));

interface Node extends Server {
  name: string;
  configFile: string;
  isDown: boolean;
}

interface Lab {
  names: Names;
  receiver: Receiver;
}

/** The config of a node, with everything that keeps it on this machine. */
function writeConfig(name: string, dataDir: string, url: string, { names, receiver }: Lab): string {
  const file = join(folder, name, 'postrider.toml');
  writeFileSync(
    file,
    `hostname = "${name}.try.test"
data_dir = "${dataDir}"
[cluster]
name = "${SERVICE}"
[store]
url = "${url}"
[http]
listen = "127.0.0.1:0"
[delivery]
port = ${receiver.port}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[tls]
extra_ca_file = "${testAuthority().certFile}"
`,
  );
  return file;
}

/** Makes a node: the first one with an account and a key of its own, the others with a copy of its secret key. */
async function makeNode(
  name: string,
  url: string,
  secretKey: string | null,
  lab: Lab,
): Promise<{ configFile: string; made: Made }> {
  mkdirSync(join(folder, name));
  const config = join(folder, name, 'postrider.toml');
  const dataDir = join(folder, name, 'data');
  const made = (await command(
    config,
    'init',
    '--hostname',
    `${name}.try.test`,
    '--data-dir',
    dataDir,
    '--store',
    url,
    ...(secretKey === null ? [] : ['--secret-key', secretKey]),
  )) as unknown as Made;
  return { configFile: writeConfig(name, dataDir, url, lab), made };
}

async function startNode(name: string, configFile: string): Promise<Node> {
  const server = await serve(configFile, join(folder, name, 'serve.log'));
  return { ...server, name, configFile, isDown: false };
}

/** Sends one email to the first node from `at` on that answers; gives its address. */
async function send(nodes: readonly Node[], at: number, key: string): Promise<string> {
  const to = `you${at}@somewhere.example`;
  const request = {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `try-${at}`,
    },
    body: JSON.stringify({
      from: 'Postrider <hello@try.example>',
      to,
      subject: `Number ${at}`,
      text: 'It works.',
    }),
  };
  let failures = 0;
  for (let turn = at; failures < 2 * nodes.length; turn += 1) {
    const node = nodes[turn % nodes.length];
    const answer =
      node === undefined || node.isDown
        ? null
        : await fetch(`${node.http}/emails`, request).catch(() => null);
    if (answer?.ok === true) return to;
    if (answer?.status === 429) {
      // A quick machine sends more than an account may in a second.
      await Bun.sleep(Number(answer.headers.get('retry-after')) * 1_000);
    } else if (answer !== null && answer.status < 500) throw new Error(await answer.text());
    else failures += 1;
  }
  throw new Error(`no node took the email to ${to}`);
}

/** A few senders at once, a node killed in the middle; gives the addresses that were answered for. */
async function sendAll(nodes: readonly Node[], key: string): Promise<string[]> {
  const answered: string[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < EMAILS) {
      const at = next;
      next += 1;
      answered.push(await send(nodes, at, key));
      const victim = nodes[1];
      if (answered.length === KILL_AFTER && victim !== undefined) {
        say(`Killing ${victim.name} (kill -9) after ${KILL_AFTER} answers`);
        victim.isDown = true;
        victim.child.kill('SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: 10 }, sender));
  return answered;
}

/** How often each address got a message. */
function arrivals({ receiver }: Lab): Map<string, number> {
  const counts = new Map<string, number>();
  for (const address of receiver.messages.items.flatMap(({ to }) => to)) {
    counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  return counts;
}

/** Waits until all have arrived, and says every five seconds how many have. Throws when some never do. */
async function waitForAll(answered: readonly string[], lab: Lab): Promise<void> {
  const missing = (): number => {
    const counts = arrivals(lab);
    return answered.filter((address) => !counts.has(address)).length;
  };
  const ticker = setInterval(
    () => say(`  ${answered.length - missing()} of ${answered.length} have arrived`),
    5_000,
  );
  try {
    await lab.receiver.messages.first(() => missing() === 0, ARRIVE_MS);
  } catch {
    throw new Error(`${missing()} of ${answered.length} emails did not arrive`);
  } finally {
    clearInterval(ticker);
  }
}

async function run(url: string, lab: Lab): Promise<void> {
  const first = await makeNode('node1', url, null, lab);
  const secretKey = join(folder, 'node1', 'data', 'secret.key');
  const second = await makeNode('node2', url, secretKey, lab);
  const third = await makeNode('node3', url, secretKey, lab);
  const files = [first, second, third].map(({ configFile }) => configFile);
  const nodes: Node[] = [];
  try {
    for (const [at, file] of files.entries()) nodes.push(await startNode(`node${at + 1}`, file));
    for (const { name, http } of nodes) say(`${name}  ${http}`);
    await addDomain(first.configFile, lab.names);
    const answered = await sendAll(nodes, first.made.key);
    say(`${answered.length} emails were answered with an id`);
    await waitForAll(answered, lab);
    const twice = Array.from(arrivals(lab).values()).filter((count) => count > 1).length;
    say(`All ${answered.length} have arrived, ${twice} of them twice`);
    nodes[1] = await startNode('node2', second.configFile);
    say('node2 is back');
    say(`\nDashboard  ${nodes[0]?.http ?? ''}/dashboard  password ${first.made.admin_password}`);
    if (!isOnce) await untilStopped();
  } finally {
    for (const { child } of nodes) child.kill('SIGTERM');
    await Promise.all(nodes.map(({ child }) => child.exited));
  }
}

async function addDomain(configFile: string, names: Names): Promise<void> {
  const { records } = (await command(
    configFile,
    'domain',
    'add',
    'try.example',
    '--account',
    'default',
  )) as { records: { type: 'TXT' | 'CNAME'; name: string; value: string }[] };
  for (const { type, name, value } of records) names.set(name, type, [value]);
  const { status } = await command(configFile, 'domain', 'verify', 'try.example');
  say(`Domain try.example: ${String(status)}`);
}

async function untilStopped(): Promise<void> {
  say('\nCtrl-C ends it and removes everything.');
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}

async function main(): Promise<void> {
  await ensureBuilt();
  const server = await PostgresServer.start({ settings: ['fsync=on'] });
  const names = await startNames();
  const receiver = await startReceiver({ hostname: MX });
  names.set('somewhere.example', 'MX', [`10 ${MX}`]);
  names.set(MX, 'A', [receiver.host]);
  try {
    await run(await server.freshDatabase(), { names, receiver });
  } finally {
    await Promise.all([names.stop(), receiver.stop(), server.stop()]);
  }
}

let exitCode = 0;
try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  exitCode = 1;
}
rmSync(folder, { recursive: true, force: true });
process.exit(exitCode);
