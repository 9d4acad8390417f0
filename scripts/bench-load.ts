/**
 * What the delivery benchmarks share: the receivers' names, a counting receiver, the load, and what it cost.
 *
 * Two loads: a closed one, in which each of 20 connections sends its next message when the last one is answered, and an
 * open one at a given rate, whose waits count from the moment a message was due.
 */
import { join } from 'node:path';
import { $ } from 'bun';
import { startNames } from '../test/rig/names.ts';
import type { Names } from '../test/rig/names.ts';
import { freePorts } from '../test/rig/ports.ts';
import { DOMAINS, recipientOf } from './bench-contender.ts';
import type { Connection, Contender } from './bench-contender.ts';
import type { Receipt } from './bench-receiver.ts';
import { spread } from './bench-table.ts';
import { cpuSeconds, opensslRate, pssMb, threadSeconds } from './bench-usage.ts';

export const CONNECTIONS = 20;
/** Messages before those that count: processes are there, keys read, hosts found, and what is compiled at run time is. */
export const WARMING = 4_000;
/** CPU seconds per 1,000 messages below which a thread is not worth a word. */
const THREAD_SHOWN = 0.005;
const PATIENCE_MS = 300_000;
/** Every contender keeps a connection without a request longer than this. */
const UNUSED_MAX_MS = 4_000;
/** How often an open load looks what is due. */
const TICK_MS = 1;

export interface Result {
  contender: string;
  acceptedPerSecond: number;
  deliveredPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuSecondsPer1000: number;
  peakPssMb: number;
  opensslPerSecond: number;
  /** CPU seconds per 1,000 messages of each thread, for a contender of one process. */
  threads: [name: string, secondsPer1000: number][];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1, '0.0.0.0');
  return port;
}

/** `tlsFiles`: those of a key and its certificate, for mail over STARTTLS alone; empty: in the clear. */
export async function startReceiver(port: number, tlsFiles: readonly string[] = []) {
  let receipt: Receipt = { count: 0, unsigned: 0, lastAt: 0 };
  let waiter: { count: number; done: () => void } | null = null;
  let ready: () => void = () => {};
  const isReady = new Promise<void>((resolve) => (ready = resolve));
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'bench-receiver.ts'), String(port), ...tlsFiles],
    {
      ipc(message) {
        receipt = message as Receipt;
        ready();
        if (waiter !== null && receipt.count >= waiter.count) waiter.done();
      },
    },
  );
  await isReady;
  // In life it is another machine: it must not stop whom it measures whenever something comes for it.
  await $`chrt --batch --pid 0 ${child.pid}`.quiet();
  return {
    receipt: () => receipt,
    async until(count: number): Promise<void> {
      if (receipt.count >= count) return;
      const timer = setTimeout(() => waiter?.done(), PATIENCE_MS);
      await new Promise<void>((done) => (waiter = { count, done }));
      clearTimeout(timer);
    },
    stop: () => child.kill(),
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Sends `count` messages over the connections; returns what each took in ms, ascending. */
export async function submitAll(contender: Contender, count: number): Promise<number[]> {
  const waits: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    const connection = await contender.connect();
    for (let index = next++; index < count; index = next++) {
      const begin = performance.now();
      await connection.submit(recipientOf(index));
      waits.push(performance.now() - begin);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return waits.sort((a, b) => a - b);
}

export interface Load {
  /** Messages that count. */
  count: number;
  /** Messages a second of an open load; null or left out: a closed one. */
  rate?: number | null;
  /** Messages before those that count; left out: 4,000. */
  warming?: number;
}

/** Warms `contender` up and measures. `receiver` must be a new one. Throws when a message is missing or unsigned. */
export async function measure(
  contender: Contender,
  receiver: Receiver,
  { count, rate = null, warming = WARMING }: Load,
): Promise<Result> {
  await submitAll(contender, warming);
  await receiver.until(warming);
  await Bun.sleep(1_000);
  const opensslBefore = await opensslRate();
  const { count: before, unsigned } = receiver.receipt();
  const cpuBefore = cpuSeconds(contender.pids);
  const threadsBefore = threadsOf(contender);
  let peakPssMb = 0;
  const sampler = setInterval(() => {
    peakPssMb = Math.max(peakPssMb, pssMb(contender.pids));
  }, 2_000);
  const begin = Date.now();
  const waits = await (rate === null
    ? submitAll(contender, count)
    : submitAt(contender, count, rate));
  const accepted = Date.now() - begin;
  await receiver.until(before + count);
  clearInterval(sampler);
  peakPssMb = Math.max(peakPssMb, pssMb(contender.pids));
  // What is written after the last receipt counts too.
  await Bun.sleep(1_500);
  const cpu = cpuSeconds(contender.pids) - cpuBefore;
  const threads = [...threadsOf(contender)].map(([name, seconds]): [string, number] => [
    name,
    ((seconds - (threadsBefore.get(name) ?? 0)) / count) * 1000,
  ]);
  const opensslAfter = await opensslRate();
  const receipt = receiver.receipt();
  if (receipt.count !== before + count || receipt.unsigned !== unsigned) {
    throw new Error(
      `${contender.name}: ${receipt.count - before} of ${count} came, ${receipt.unsigned - unsigned} unsigned`,
    );
  }
  return {
    contender: contender.name,
    acceptedPerSecond: (count / accepted) * 1000,
    deliveredPerSecond: (count / (receipt.lastAt - begin)) * 1000,
    p50Ms: waitAt(waits, 0.5),
    p99Ms: waitAt(waits, 0.99),
    cpuSecondsPer1000: (cpu / count) * 1000,
    peakPssMb,
    opensslPerSecond: (opensslBefore + opensslAfter) / 2,
    threads,
  };
}

/** The wait within which `share` of all were answered; `waits` ascend. */
export function waitAt(waits: readonly number[], share: number): number {
  return waits[Math.floor(waits.length * share)] ?? NaN;
}

/**
 * Sends `count` messages, `rate` a second, whatever is still unanswered; returns what each took in ms, ascending. Stops
 * before when `isOver` says so, and at the first message that is refused, whose answer it throws.
 */
export async function submitAt(
  contender: Contender,
  count: number,
  rate: number,
  isOver: () => boolean = () => false,
): Promise<number[]> {
  const waits: number[] = [];
  const free: { connection: Connection; since: number }[] = [];
  const running: Promise<void>[] = [];
  const refusals: unknown[] = [];
  const begin = performance.now();
  const send = async (index: number): Promise<void> => {
    const last = free.pop();
    const isFresh = last !== undefined && performance.now() - last.since < UNUSED_MAX_MS;
    if (last !== undefined && !isFresh) last.connection.close();
    const connection = isFresh ? last.connection : await contender.connect();
    await connection.submit(recipientOf(index));
    waits.push(performance.now() - begin - (index / rate) * 1000);
    free.push({ connection, since: performance.now() });
  };
  for (let index = 0; index < count && refusals.length === 0 && !isOver();) {
    const due = Math.floor(((performance.now() - begin) / 1000) * rate);
    for (; index <= due && index < count; index += 1) {
      running.push(send(index).catch((error: unknown) => void refusals.push(error)));
    }
    await Bun.sleep(TICK_MS);
  }
  await Promise.all(running);
  if (refusals.length > 0) throw refusals[0];
  for (const { connection } of free) connection.close();
  return waits.sort((a, b) => a - b);
}

/** The names of the receivers' domains; `stop` them in the end. */
export async function startReceiverNames(): Promise<Names> {
  const names = await startNames();
  for (let index = 0; index < DOMAINS; index += 1) {
    names.set(`bench${index}.test`, 'MX', [`10 mx.bench${index}.test`], 3600);
    names.set(`mx.bench${index}.test`, 'A', [`127.0.1.${index}`], 3600);
  }
  return names;
}

/** Nothing for contenders of several processes. */
function threadsOf({ pids: [pid, ...others] }: Contender): Map<string, number> {
  return pid === undefined || others.length > 0 ? new Map() : threadSeconds(pid);
}

export function show(results: Result[]): void {
  for (const r of results) {
    const ratio = r.deliveredPerSecond / r.opensslPerSecond;
    process.stdout.write(
      `${r.contender.padEnd(18)} accepted ${r.acceptedPerSecond.toFixed(0)}/s  delivered ${r.deliveredPerSecond.toFixed(0)}/s` +
        `  = ${ratio.toFixed(2)} x openssl ${r.opensslPerSecond.toFixed(0)}/s  p50 ${r.p50Ms.toFixed(1)} ms  p99 ${r.p99Ms.toFixed(1)} ms` +
        `  CPU ${r.cpuSecondsPer1000.toFixed(2)} s/1000  PSS ${r.peakPssMb.toFixed(0)} MB\n`,
    );
    const threads = r.threads
      .filter(([, seconds]) => seconds >= THREAD_SHOWN)
      .map(([name, seconds]) => `${name} ${seconds.toFixed(3)}`);
    if (threads.length > 0) process.stdout.write(`${' '.repeat(19)}${threads.join('  ')}\n`);
  }
}

/** The median of each figure. Throws without a result. */
export function medians(results: readonly Result[]): Result {
  const first = results[0];
  if (first === undefined) throw new Error('no run');
  const median = (pick: (r: Result) => number): number => spread(results.map(pick)).median;
  return {
    contender: first.contender,
    acceptedPerSecond: median((r) => r.acceptedPerSecond),
    deliveredPerSecond: median((r) => r.deliveredPerSecond),
    p50Ms: median((r) => r.p50Ms),
    p99Ms: median((r) => r.p99Ms),
    cpuSecondsPer1000: median((r) => r.cpuSecondsPer1000),
    peakPssMb: median((r) => r.peakPssMb),
    opensslPerSecond: median((r) => r.opensslPerSecond),
    threads: first.threads.map(([name]) => [
      name,
      median((r) => r.threads.find((thread) => thread[0] === name)?.[1] ?? 0),
    ]),
  };
}
