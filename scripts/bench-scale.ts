/**
 * Messages a second of one, two and four nodes on one PostgreSQL: how close to two and four times as many?
 *
 * `scripts/bench scale [--nodes 1,2,4] [--share 0.15] [--connections 100] [--messages 6000] [--runs 3]`. Each node may use `--share` of one
 * core (a control group of its own, so root is needed), because a test machine has fewer cores than nodes; PostgreSQL, the
 * receivers and the load use the rest, which must not run short: the table shows what the machine had left. The load is
 * closed, 100 connections to each node, 5 KB messages, RSA-2048. Prints a line a run, then the medians: delivered a second,
 * as a multiple of the first, and CPU seconds of the database and of the nodes for 1,000 messages. Needs dist/postrider
 * and PostgreSQL.
 */
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { BinaryAppliance } from '../test/rig/binary.ts';
import type { Names } from '../test/rig/names.ts';
import { PostgresServer } from '../test/rig/postgres.ts';
import { SENDER_DOMAIN, recipientOf } from './bench-contender.ts';
import { limitCpu } from './bench-group.ts';
import { connectHttp } from './bench-http.ts';
import { freePort, startReceiver, startReceiverNames } from './bench-load.ts';
import type { Receiver } from './bench-load.ts';
import { unitEnvironment } from './bench-postrider.ts';
import { spread } from './bench-table.ts';
import { cpuSeconds } from './bench-usage.ts';
import { scriptOptions } from './options.ts';
import { makeSender } from './soak-nodes.ts';

const WARMING_SHARE = 0.2;
const SERVICE = 'mail.bench.test';

interface Cluster {
  nodes: BinaryAppliance[];
  key: string;
  stop(): Promise<void>;
}

interface Run {
  delivered: number;
  databaseCpu: number;
  nodesCpu: number;
  /** Of all cores, 0 to 1: what was left idle. */
  idle: number;
}

function configOf(names: Names, receiverPort: number, name: string): string {
  return `requests_per_address = 100000
[delivery]
port = ${receiverPort}
allow_networks = ["127.0.0.0/8"]
[dns]
servers = ["${names.listen.host}:${names.listen.port}"]
[cluster]
name = "${SERVICE}"
[node]
name = "${name}"
[[plans]]
id = "bench"
rate_per_second = 100000
reads_per_minute = 10000000
`;
}

/** `count` nodes on a new database, with an account, its key and a verified domain. */
async function startCluster(
  server: PostgresServer,
  names: Names,
  receiverPort: number,
  count: number,
): Promise<Cluster> {
  const store = await server.freshDatabase();
  const nodes: BinaryAppliance[] = [];
  for (let at = 1; at <= count; at += 1) {
    const [first] = nodes;
    const node = await BinaryAppliance.start({
      hostname: at === 1 ? SERVICE : `node${at}.bench.test`,
      store,
      config: configOf(names, receiverPort, `node${at}`),
      env: unitEnvironment(),
      ...(first === undefined ? {} : { joins: first }),
    });
    nodes.push(node);
  }
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  return {
    nodes,
    key: await makeSender(first, names, 'bench', SENDER_DOMAIN),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  };
}

/** Sends `count` messages, each connection its next one when the last was answered; all connections to their own node. */
async function submit(cluster: Cluster, count: number, from: number): Promise<void> {
  let next = from;
  const worker = async (node: BinaryAppliance): Promise<void> => {
    const connection = await connectHttp(new URL(node.url), cluster.key);
    for (let index = next++; index < from + count; index = next++) {
      await connection.submit(recipientOf(index));
    }
    connection.close();
  };
  const workers = cluster.nodes.flatMap((node) =>
    Array.from({ length: Number(values.connections) }, () => worker(node)),
  );
  await Promise.all(workers);
}

/** Ticks of all cores so far: idle ones, and all. */
function machineTicks(): { idle: number; all: number } {
  const times = cpus().map((core) => core.times);
  const idle = times.reduce((sum, core) => sum + core.idle, 0);
  const all = times.reduce(
    (sum, core) => sum + core.idle + core.user + core.nice + core.sys + core.irq,
    0,
  );
  return { idle, all };
}

async function measureOne(
  cluster: Cluster,
  receiver: Receiver,
  databasePid: number,
  count: number,
): Promise<Run> {
  const warming = Math.round(count * WARMING_SHARE);
  await submit(cluster, warming, 0);
  await receiver.until(warming);
  const pids = cluster.nodes.map(({ pid }) => pid);
  const before = {
    database: cpuSeconds([databasePid]),
    nodes: cpuSeconds(pids),
    machine: machineTicks(),
  };
  const began = Date.now();
  await submit(cluster, count, warming);
  await receiver.until(warming + count);
  const { lastAt, count: came, unsigned } = receiver.receipt();
  const after = machineTicks();
  if (came !== warming + count || unsigned > 0) {
    throw new Error(`${came} of ${warming + count} came, ${unsigned} of them unsigned`);
  }
  return {
    delivered: (count / (lastAt - began)) * 1000,
    databaseCpu: ((cpuSeconds([databasePid]) - before.database) / count) * 1000,
    nodesCpu: ((cpuSeconds(pids) - before.nodes) / count) * 1000,
    idle: (after.idle - before.machine.idle) / (after.all - before.machine.all),
  };
}

const { values } = scriptOptions({
  options: {
    nodes: { type: 'string', default: '1,2,4' },
    share: { type: 'string', default: '0.15' },
    connections: { type: 'string', default: '100' },
    messages: { type: 'string', default: '6000' },
    runs: { type: 'string', default: '3' },
  },
});
const counts = values.nodes.split(',').map(Number);
const results = new Map<number, Run[]>(counts.map((count) => [count, []]));
const names = await startReceiverNames();
const server = await PostgresServer.start({ settings: ['fsync=on', 'shared_buffers=256MB'] });
const [databasePid = ''] = readFileSync(
  join(server.directory, 'data', 'postmaster.pid'),
  'utf8',
).split('\n');

for (let run = 1; run <= Number(values.runs); run += 1) {
  for (const count of counts) {
    const port = await freePort();
    const receiver = await startReceiver(port);
    const cluster = await startCluster(server, names, port, count);
    const groups = cluster.nodes.map(({ pid }, at) =>
      limitCpu(pid, `postrider-scale-${at}`, Number(values.share)),
    );
    try {
      const result = await measureOne(
        cluster,
        receiver,
        Number(databasePid),
        Number(values.messages) * count,
      );
      results.get(count)?.push(result);
      line(`run ${run}, ${count} nodes`, [result], 0);
    } finally {
      await cluster.stop();
      receiver.stop();
      for (const remove of groups) remove();
    }
  }
}
await names.stop();
await server.stop();

function line(name: string, runs: readonly Run[], first: number): void {
  const of = (pick: (run: Run) => number): number => spread(runs.map(pick)).median;
  const delivered = of((run) => run.delivered);
  const multiple = first > 0 ? `  = ${(delivered / first).toFixed(2)} x` : '';
  process.stdout.write(
    `${name.padEnd(16)} delivered ${delivered.toFixed(0)}/s${multiple}  CPU s/1000: database ${of((run) => run.databaseCpu).toFixed(3)}` +
      `  nodes ${of((run) => run.nodesCpu).toFixed(2)}  idle ${(of((run) => run.idle) * 100).toFixed(0)} %\n`,
  );
}

process.stdout.write(`medians, each node at most ${values.share} of a core\n`);
const firstRate = spread(
  (results.get(counts[0] ?? 1) ?? []).map(({ delivered }) => delivered),
).median;
for (const [count, runs] of results) line(`${count} nodes`, runs, firstRate);
process.exit(0);
