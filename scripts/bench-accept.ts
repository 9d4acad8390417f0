/**
 * Acceptance alone: `POST /emails` with a live key, on disk before the answer, while no message can leave.
 *
 * The receivers take connections and never greet, so every message is checked, committed and queued, and nothing is
 * signed or delivered meanwhile. Beside it bare Elysia, which checks the same body and stores nothing, and SQLite's own
 * commits of rows of the same size, opened as the product opens its file, on the same disk.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openForWriting } from '../src/store/sqlite/database.ts';
import { BARE, startBare } from './bench-bare.ts';
import type { Bench, Case } from './bench-case.ts';
import { HTML, TEXT } from './bench-contender.ts';
import type { Contender } from './bench-contender.ts';
import { CONNECTIONS, submitAll, waitAt } from './bench-load.ts';
import { startPostrider } from './bench-postrider.ts';
import { OURS } from './bench-table.ts';
import { cpuSeconds } from './bench-usage.ts';

const NAME = 'accept';
const RATE = 'accepted a second';

export const accept: Case = {
  names: [NAME],
  async measure(bench) {
    const { names, receiverPort, binary, sizes } = bench.options;
    await bench.eachRun(NAME, async (run) => {
      const mute = listenMute(receiverPort);
      try {
        const server = await startPostrider(names, receiverPort, binary);
        // The receivers hang up first: a server that stops waits for its sessions.
        await requests(bench, run, OURS, server, () => mute.stop(true));
      } finally {
        mute.stop(true);
      }
      await requests(bench, run, BARE, await startBare());
      for (const rows of [1, CONNECTIONS]) {
        const subject = `SQLite, ${rows === 1 ? 'one row' : `${rows} rows`} a commit`;
        bench.record(NAME, run, subject, { [RATE]: rowsPerSecond(rows, sizes.commitSeconds) });
      }
    });
  },
};

/** Receivers whose greeting never comes. */
function listenMute(port: number): { stop(closeActive: boolean): void } {
  return Bun.listen({ hostname: '0.0.0.0', port, socket: { data() {} } });
}

/** Measures `contender` and stops it, after `beforeStop`. */
async function requests(
  bench: Bench,
  run: number,
  subject: string,
  contender: Contender,
  beforeStop: () => void = () => {},
): Promise<void> {
  const { warming, requests: count } = bench.options.sizes;
  try {
    await submitAll(contender, warming);
    const cpuBefore = cpuSeconds(contender.pids);
    const began = performance.now();
    const waits = await submitAll(contender, count);
    const seconds = (performance.now() - began) / 1000;
    // What is written behind the answers counts too.
    await Bun.sleep(500);
    bench.record(NAME, run, subject, {
      [RATE]: count / seconds,
      'p50 of acceptance, ms': waitAt(waits, 0.5),
      'p99 of acceptance, ms': waitAt(waits, 0.99),
      'CPU s for 1,000': ((cpuSeconds(contender.pids) - cpuBefore) / count) * 1000,
    });
  } finally {
    beforeStop();
    await contender.stop();
  }
}

/** Rows of 5 KB a second, `rows` in each commit, each commit on disk. */
function rowsPerSecond(rows: number, seconds: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-bench-'));
  const db = openForWriting(join(folder, 'rows.db'), 'full');
  try {
    db.run('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)');
    const insert = db.prepare('INSERT INTO rows (text) VALUES (?)');
    const text = HTML + TEXT;
    const commit = db.transaction(() => {
      for (let row = 0; row < rows; row += 1) insert.run(text);
    });
    const began = performance.now();
    let commits = 0;
    for (; performance.now() - began < seconds * 1000; commits += 1) commit.immediate();
    return (commits * rows) / ((performance.now() - began) / 1000);
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}
