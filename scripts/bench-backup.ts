/**
 * How long mail waits while a backup is written.
 *
 * `scripts/bench backup [A B …] [--rows 1000000] [--rate 50] [--rounds 3] [--memory MB]`: fills a data directory for each
 * executable (dist/postrider when none is named), starts it, and sends `rate` emails a second over the API, first for ten
 * seconds and then for as long as `postrider backup` takes. Prints until when an email was accepted, in milliseconds.
 * `--memory` lets the server have so much memory with what the system keeps of its files; it needs root.
 */
import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { fillDirectory } from '../test/rig/filled-directory.ts';
import { limitMemory } from './bench-group.ts';
import { freePort, startReceiver, startReceiverNames, submitAt, waitAt } from './bench-load.ts';
import { installPostrider } from './bench-postrider.ts';
import type { Installation, Server } from './bench-postrider.ts';
import { scriptOptions } from './options.ts';

const DAYS = 25;
const ALONE_S = 10;
/** Until the reading and writing of a start is over. */
const REST_MS = 5_000;

const { values, positionals } = scriptOptions({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '3' },
    memory: { type: 'string' },
  },
});
const programs = positionals.length > 0 ? positionals : ['dist/postrider'];
const rate = Number(values.rate);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Sends until `work` has ended; says how long that took and how long emails waited. */
async function beside(name: string, server: Server, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  let isOver = false;
  const [waits] = await Promise.all([
    submitAt(server, Infinity, rate, () => isOver),
    work().finally(() => (isOver = true)),
  ]);
  const seconds = (performance.now() - began) / 1000;
  const cells = [0.5, 0.95, 0.99, 1].map((share) => {
    const wait = share === 1 ? (waits.at(-1) ?? NaN) : waitAt(waits, share);
    return wait.toFixed(1).padStart(8);
  });
  say(
    `${name.padEnd(28)} ${seconds.toFixed(1).padStart(7)} s   p50 p95 p99 longest${cells.join('')} ms`,
  );
}

async function round(program: string, made: Installation): Promise<void> {
  const server = await made.serve();
  const { memory } = values;
  const group = `postrider-bench-${process.pid}`;
  const unlimit = memory === undefined ? null : limitMemory(server.pid, group, Number(memory));
  const file = join(dirname(made.dataDir), 'bench.backup');
  const name = basename(program);
  try {
    await Bun.sleep(REST_MS);
    await beside(`${name}, no backup`, server, () => Bun.sleep(ALONE_S * 1000));
    await beside(`${name}, backup`, server, () => made.command('backup', file));
  } finally {
    await server.stop();
    unlimit?.();
    rmSync(file, { force: true });
  }
}

async function filled(install: () => Promise<Installation>): Promise<Installation> {
  const made = await install();
  const { dataDir, accountId } = made;
  const rows = Number(values.rows);
  fillDirectory({ dataDir, accountId, now: Date.now(), days: DAYS, rows, queued: 0 });
  // What the system keeps of the filling would be written while emails wait.
  Bun.spawnSync(['sync', '-f', dataDir]);
  return made;
}

const names = await startReceiverNames();
const port = await freePort();
const receiver = await startReceiver(port);
const installed: [program: string, made: Installation][] = [];
try {
  for (const program of programs) {
    installed.push([program, await filled(() => installPostrider(names, port, program))]);
  }
  say(`filled with ${Number(values.rows).toLocaleString('en-US')} messages each`);
  for (let count = 0; count < Number(values.rounds); count += 1) {
    for (const [program, made] of installed) await round(program, made);
  }
} finally {
  for (const [, made] of installed) made.remove();
  receiver.stop();
  await names.stop();
}
