/**
 * Nodes on one PostgreSQL under steady load while a snapshot is kept open: how long do claims take?
 *
 * `scripts/soak --nodes 2 --snapshot [--minutes 10] [--rate 200]`. A snapshot that stays, by a `pg_dump` or by a
 * forgotten transaction, keeps every dead row of the queue from being cleaned up. A first part of a fifth of the minutes
 * runs without one, as a control; then a REPEATABLE READ transaction stays open for all the minutes. A tenth of the mail
 * is deferred once, so that claims find rows too. Prints a line a minute. Ends with 1 when the 99th percentile of the
 * claims (`postrider_claim_seconds` of all nodes) under the snapshot is above 20 ms, or when mail is missing. Needs
 * dist/postrider and PostgreSQL.
 */
import type { SQL } from 'bun';

import { percentile, sinceThen } from './histogram.ts';
import type { Buckets } from './histogram.ts';
import { scriptOptions } from './options.ts';
import { field, startNodes } from './soak-nodes.ts';

const TICK_MS = 50;
const DRAIN_MS = 150_000;
const LINE_MS = 60_000;
const WARM_UP_MS = 30_000;
const P99_MS_MAX = 20;
const CLAIMS = 'postrider_claim_seconds';

const { values } = scriptOptions({
  options: {
    nodes: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
    snapshot: { type: 'boolean', default: true },
  },
});
const [snapshotMs, rate] = [Number(values.minutes) * 60_000, Number(values.rate)];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const { server, database, world, nodes, authorization, from } = await startNodes(
  Number(values.nodes),
  ['shared_preload_libraries=pg_stat_statements'],
);
const admin = server.admin(database);
await admin.unsafe('CREATE EXTENSION pg_stat_statements');
const answered = new Set<string>();
const arrived = new Set<string>();
const deferred = new Set<string>();
const counts = { sent: 0, refused: 0, again: 0 };

world.receiver.script.dot = (message) => {
  const subject = field(message, 'Subject');
  if (subject.endsWith('0') && !deferred.has(subject)) {
    deferred.add(subject);
    return '451 4.7.1 Come back later';
  }
  arrived.add(subject);
  return null;
};

async function send(index: number): Promise<void> {
  const node = nodes[index % nodes.length];
  const subject = `soak ${index}`;
  const mail = { from, to: `r${index}@d${index % 50}.example.net`, subject, text: 'Hello.' };
  const headers = { authorization, 'idempotency-key': subject };
  for (;;) {
    // A connection that the server closes as it is used again gives no answer: the send is asked again.
    const sent = await node?.appliance.api('POST', '/emails', mail, headers).catch(() => null);
    if (sent === null || sent === undefined) {
      counts.again += 1;
      continue;
    }
    await sent.arrayBuffer();
    if (sent.ok) answered.add(subject);
    else counts.refused += 1;
    return;
  }
}

/** Claims so far, of all nodes and both steps. */
async function claims(): Promise<Buckets[]> {
  const texts = await Promise.all(
    nodes.map(async ({ appliance }) => (await fetch(`${appliance.url}/metrics`)).text()),
  );
  return texts.map((text) => new Map(bucketsOf(text)));
}

function* bucketsOf(text: string): Generator<[string, number]> {
  const line = new RegExp(`^${CLAIMS}_bucket\\{le="([^"]+)",step="(\\w+)"\\} (\\d+)$`, 'gm');
  for (const [, le = '', step = '', count] of text.matchAll(line)) {
    yield [`${step} ${le}`, Number(count)];
  }
}

/** Rows of the queue that are dead and cannot be cleaned up, or were not yet. */
async function deadRows(): Promise<number> {
  const rows = (await admin.unsafe(
    "SELECT n_dead_tup::int4 AS dead FROM pg_stat_user_tables WHERE relname = 'queue'",
  )) as { dead: number }[];
  return rows[0]?.dead ?? 0;
}

interface Figures {
  claims: number;
  p50Ms: number;
  p99Ms: number;
  /** Statements that look for due mail, as the server has measured them: without what a busy machine adds. */
  looks: { count: number; meanMs: number; maxMs: number; pages: number };
}

/** Since the last `pg_stat_statements_reset`. */
async function looksOf(): Promise<Figures['looks']> {
  const [row] = (await admin.unsafe(
    'SELECT sum(calls)::int4 AS count, (sum(total_exec_time) / sum(calls))::float8 AS "meanMs",' +
      ' max(max_exec_time)::float8 AS "maxMs",' +
      ' (sum(shared_blks_hit + shared_blks_read) / sum(calls))::float8 AS pages' +
      " FROM pg_stat_statements WHERE query LIKE 'SELECT recipient_id AS id, account_id%FROM queue%'",
  )) as Figures['looks'][];
  return row ?? { count: 0, meanMs: 0, maxMs: 0, pages: 0 };
}

/** Sends for so long, and says how long the claims of that time took. */
async function load(name: string, ms: number): Promise<Figures> {
  const before = await claims();
  await admin.unsafe('SELECT pg_stat_statements_reset()');
  const began = performance.now();
  const sentBefore = counts.sent;
  const underWay = new Set<Promise<void>>();
  let nextLine = began + LINE_MS;
  for (let now = began; now < began + ms; now = performance.now()) {
    const due = sentBefore + ((now - began) / 1_000) * rate;
    while (counts.sent < due && underWay.size < 1_000) {
      const one: Promise<void> = send(counts.sent).finally(() => underWay.delete(one));
      counts.sent += 1;
      underWay.add(one);
    }
    if (now >= nextLine) {
      nextLine += LINE_MS;
      say(await lineOf(name, before, now - began));
    }
    world.receiver.messages.clear();
    await Bun.sleep(TICK_MS);
  }
  await Promise.all(underWay);
  say(await lineOf(name, before, performance.now() - began));
  return { ...figuresOf(sinceThen(await claims(), before)), looks: await looksOf() };
}

async function lineOf(name: string, before: Buckets[], ms: number): Promise<string> {
  const { claims: count, p50Ms, p99Ms } = figuresOf(sinceThen(await claims(), before));
  const dead = await deadRows();
  return (
    `${name} ${(ms / 60_000).toFixed(1)} min: ${counts.sent} sent, ${arrived.size} arrived, ${count} claims,` +
    ` p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${dead} dead rows`
  );
}

function figuresOf(all: ReadonlyMap<number, number>): Omit<Figures, 'looks'> {
  return {
    claims: all.get(Infinity) ?? 0,
    p50Ms: percentile(all, 0.5) * 1_000,
    p99Ms: percentile(all, 0.99) * 1_000,
  };
}

/** Does `body` while a transaction holds a snapshot of before. */
async function withSnapshot<T>(holder: SQL, body: () => Promise<T>): Promise<T> {
  return holder.begin('ISOLATION LEVEL REPEATABLE READ', async (transaction) => {
    await transaction.unsafe('SELECT count(*) FROM queue');
    const result = await body();
    await transaction.unsafe('SELECT count(*) FROM queue');
    return result;
  });
}

await load('warm-up', Math.min(WARM_UP_MS, snapshotMs / 5));
const control = await load('control', snapshotMs / 5);
const holder = server.admin(database);
const kept = await withSnapshot(holder, () => load('snapshot', snapshotMs));
await holder.close();
const missing = (): number =>
  Array.from(answered).filter((subject) => !arrived.has(subject)).length;
for (const until = performance.now() + DRAIN_MS; missing() > 0 && performance.now() < until;) {
  await Bun.sleep(500);
}
say(
  JSON.stringify({
    ...counts,
    deferred: deferred.size,
    missing: missing(),
    control,
    snapshot: kept,
  }),
);
const isGood = missing() === 0 && kept.claims > 0 && kept.p99Ms <= P99_MS_MAX;
say(isGood ? 'Claims stay fast.' : 'NOT as promised.');
await admin.close();
await world.stop();
await server.stop();
process.exit(isGood ? 0 : 1);
