/**
 * Reads and searches over HTTP, with much stored: one message by its id, a page of the list, and `q` of several kinds.
 *
 * Reads come over 20 connections at once, and one after the other; searches one after the other alone, since what counts
 * is how long one takes.
 */
import { startBare } from './bench-bare.ts';
import type { Bare } from './bench-bare.ts';
import type { Bench } from './bench-case.ts';
import { someMessageIds } from './bench-filled.ts';
import { openHttp } from './bench-http.ts';
import { CONNECTIONS, waitAt } from './bench-load.ts';
import type { Installation, Server } from './bench-postrider.ts';
import { OURS } from './bench-table.ts';

const PAGE = 100;
const IDS = 1_000;

type PathAt = (index: number) => string;

/** What is searched for; the vocabulary is that of the rows that fill the directory. */
const SEARCHES: Record<string, (index: number, stored: number) => string> = {
  'a word of every message': () => 'order',
  'an order number': (index, stored) => `order ${1 + ((index * 7_919) % stored)} `,
  'one recipient': (index, stored) => `user${1 + ((index * 7_919) % stored)}@`,
  'no message': (index) => `absent${index}`,
  'common words that never meet': () => 'order parcel way order parcel',
  'one character': (index) => 'aeiou'[index % 5] ?? 'a',
  'two characters': () => 'or',
};

/** GETs `paths` over `connections` at once; returns the waits in ms, ascending, and how many a second were answered. */
async function get(
  url: string,
  key: string,
  pathAt: PathAt,
  count: number,
  connections: number,
): Promise<{ waits: number[]; perSecond: number }> {
  const waits: number[] = [];
  let next = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    const http = await openHttp(new URL(url), key);
    for (let index = next++; index < count; index = next++) {
      const asked = performance.now();
      await http.ask(pathAt(index));
      waits.push(performance.now() - asked);
    }
    http.close();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const perSecond = (count / (performance.now() - began)) * 1000;
  return { waits: waits.sort((a, b) => a - b), perSecond };
}

/** Measures reads of a running server as the case `name`, beside bare Elysia, which answers without a store. */
export async function measureReads(
  bench: Bench,
  name: string,
  run: number,
  { key, dataDir }: Installation,
  server: Server,
): Promise<void> {
  const ids = someMessageIds(dataDir, IDS);
  const idAt = (index: number): string => ids[index % ids.length] ?? '';
  const kinds: Record<string, PathAt> = {
    'GET /emails/{id}': (index) => `/emails/${idAt(index)}`,
    [`GET /emails, ${PAGE} of them`]: (index) => `/emails?limit=${PAGE}&after=${idAt(index)}`,
  };
  const { requests, warming } = bench.options.sizes;
  const bare = await startBare();
  try {
    for (const [what, pathAt] of Object.entries(kinds)) {
      for (const { subject, url } of [
        { subject: OURS, url: server.url },
        { subject: bare.name, url: bare.url },
      ]) {
        await get(url, key, pathAt, warming, CONNECTIONS);
        const { waits, perSecond } = await get(url, key, pathAt, requests / 4, CONNECTIONS);
        const alone = await get(url, key, pathAt, requests / 20, 1);
        bench.record(name, run, subject, {
          [`${what}: answers a second`]: perSecond,
          [`${what}: p50, ms`]: waitAt(waits, 0.5),
          [`${what}: p99, ms`]: waitAt(waits, 0.99),
          [`${what}, one after the other: p50, ms`]: waitAt(alone.waits, 0.5),
          [`${what}, one after the other: p99, ms`]: waitAt(alone.waits, 0.99),
        });
      }
    }
  } finally {
    await bare.stop();
  }
}

/** Measures searches of a running server as the case `name`. `stored`: how many messages it has. */
export async function measureSearches(
  bench: Bench,
  name: string,
  run: number,
  { key }: Installation,
  server: Server,
  stored: number,
): Promise<void> {
  const bare: Bare = await startBare();
  try {
    for (const [what, textAt] of Object.entries(SEARCHES)) {
      const pathAt: PathAt = (index) =>
        `/emails?limit=50&q=${encodeURIComponent(textAt(index, stored))}`;
      for (const { subject, url } of [
        { subject: OURS, url: server.url },
        { subject: bare.name, url: bare.url },
      ]) {
        const { waits } = await get(url, key, pathAt, bench.options.sizes.searches, 1);
        bench.record(name, run, subject, { [`q is ${what}: p99, ms`]: waitAt(waits, 0.99) });
      }
    }
  } finally {
    await bare.stop();
  }
}
