/**
 * An installation with very many rows, made for the cases that grow: filled by SQL, then served once until it rests.
 *
 * Resting means that the search index holds every row and that the server uses almost no processor any more, so that no
 * work of an upgrade or of the first start is measured. Rows are spread over fewer days than content is kept, so that
 * retention has nothing to do.
 */
import { Database } from 'bun:sqlite';
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SEARCH_SOURCES } from '../src/store/sqlite/search-sources.ts';
import { fillDirectory } from '../test/rig/filled-directory.ts';
import type { Bench, Filling } from './bench-case.ts';
import { installPostrider } from './bench-postrider.ts';
import type { Installation } from './bench-postrider.ts';
import { cpuSeconds } from './bench-usage.ts';

/** A prime, so that neighbours in a list of samples are far from each other in the file. */
const STEP = 799_817;
const DAYS = 25;
const DAY_MS = 86_400_000;
/** For one row of each kind: 2.8 KB with the search index were measured, and the largest statement's WAL. */
const BYTES_PER_ROW = 3_600;
/** Longer than the server waits before it tidies its search index. */
const REST_MS = 8_000;
/** The share of one processor below which a server rests. */
const RESTING = 0.05;

/** `1,000,000 stored, 100,000 queued`. */
export function fillingText({ stored, queued }: Filling): string {
  const waiting = queued === 0 ? '' : `, ${queued.toLocaleString('en-US')} queued`;
  return `${stored.toLocaleString('en-US')} stored${waiting}`;
}

/** In words why this disk cannot hold so many more rows of each kind; null: it can. */
export function lacksSpace(rows: number): string | null {
  const { bavail, bsize } = statfsSync(tmpdir());
  const gigabytes = (rows * BYTES_PER_ROW) / 1e9;
  if (bavail * bsize > gigabytes * 1e9) return null;
  return `not measured: it needs ${gigabytes.toFixed(0)} GB free in ${tmpdir()}`;
}

/** Makes and fills one. The caller removes it. */
export async function installFilled(bench: Bench, filling: Filling): Promise<Installation> {
  const { names, receiverPort, binary } = bench.options;
  const made = await installPostrider(names, receiverPort, binary);
  if (filling.stored === 0) return made;
  try {
    bench.say(`filling: ${fillingText(filling)}`);
    const { stored: rows, queued } = filling;
    await fill(bench, made, { rows, queued, days: DAYS });
    return made;
  } catch (error) {
    made.remove();
    throw error;
  }
}

/**
 * Adds messages that wait to an installation that has been filled and measured: they are the newest of all, as where a
 * destination has just stopped taking mail.
 */
export async function addQueued(bench: Bench, made: Installation, queued: number): Promise<void> {
  bench.say(`filling: ${queued.toLocaleString('en-US')} more, queued`);
  const { seq: after, at } = lastMessage(made.dataDir);
  await fill(bench, made, { rows: queued, queued, after, days: (Date.now() - at) / DAY_MS });
}

async function fill(
  bench: Bench,
  made: Installation,
  rows: { rows: number; queued: number; after?: number; days: number },
): Promise<void> {
  const { dataDir, accountId } = made;
  fillDirectory({ dataDir, accountId, now: Date.now(), ...rows });
  bench.say('filled; now the search index is built');
  const server = await made.serve();
  await resting(server.pids, dataDir);
  await server.stop();
}

/** The newest message's number, and when it was made, in epoch milliseconds. */
function lastMessage(dataDir: string): { seq: number; at: number } {
  const mail = new Database(join(dataDir, 'mail.db'), { readonly: true });
  try {
    const select = 'SELECT seq, created_at AS at FROM messages ORDER BY seq DESC LIMIT 1';
    const last = mail.query<{ seq: number; at: number }, []>(select).get();
    if (last === null) throw new Error(`${dataDir} has no messages`);
    return last;
  } finally {
    mail.close();
  }
}

async function resting(pids: readonly number[], dataDir: string): Promise<void> {
  for (;;) {
    const before = cpuSeconds(pids);
    if (before === 0) throw new Error('the server ended while it built its index');
    await Bun.sleep(REST_MS);
    const share = (cpuSeconds(pids) - before) / (REST_MS / 1000);
    if (share < RESTING && isIndexed(dataDir)) return;
  }
}

/** Whether the search index holds every row. */
function isIndexed(dataDir: string): boolean {
  const open = (name: string): Database => new Database(join(dataDir, name), { readonly: true });
  const [search, mail, log] = [open('search.db'), open('mail.db'), open('log.db')];
  try {
    return SEARCH_SOURCES.every(({ source, file, selectLast }) => {
      const last = { mail, log }[file].query<{ seq: number | null }, []>(selectLast).get()?.seq;
      const at = search
        .query<{ seq: number }, [string]>('SELECT seq FROM progress WHERE source = ?')
        .get(source)?.seq;
      return (at ?? 0) >= (last ?? 0);
    });
  } finally {
    for (const db of [search, mail, log]) db.close();
  }
}

/** The ids of about `count` messages, spread over all of them, in an order that is always the same. */
export function someMessageIds(dataDir: string, count: number): string[] {
  const mail = new Database(join(dataDir, 'mail.db'), { readonly: true });
  try {
    const last = mail.query<{ seq: number }, []>('SELECT max(seq) AS seq FROM messages').get();
    const at = mail.query<{ id: string }, [number]>('SELECT id FROM messages WHERE seq = ?');
    const rows = last?.seq ?? 0;
    return Array.from({ length: count }, (_, index) => 1 + ((index * STEP) % rows)).flatMap(
      (seq) => at.get(seq)?.id ?? [],
    );
  } finally {
    mail.close();
  }
}
