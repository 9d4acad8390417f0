/**
 * Delivery, signed, end to end: as fast as 20 connections are answered, and at steady rates; and the memory it takes.
 *
 * Peers take the same load at the rates that they reach. `closedRuns` is measured once, whichever cases need it.
 */
import { statSync } from 'node:fs';

import { testAuthority } from '../test/rig/certificates.ts';
import { BARE, startBare } from './bench-bare.ts';
import { deliverOnce, deliveryFigures, recordOpenssl } from './bench-case.ts';
import type { Bench, Case, ClosedLoads, Delivered } from './bench-case.ts';
import type { Contender } from './bench-contender.ts';
import type { Load } from './bench-load.ts';
import { PEERS } from './bench-peers.ts';
import { startPostrider } from './bench-postrider.ts';
import { OURS, spread } from './bench-table.ts';
import { pssMb } from './bench-usage.ts';

const CLOSED = 'deliver, closed loop of 20';
const RATES = [100, 300, 1_000];
/** A contender is measured at a rate that is at most this share of its maximum: at more, a queue grows. */
const BEARABLE = 0.85;

interface Starter {
  subject: string;
  start: () => Promise<Contender>;
}

/** Postrider, and the peers that this machine has; those that it lacks are noted under `name`. */
async function starters(bench: Bench, name: string): Promise<Starter[]> {
  const { names, receiverPort, binary } = bench.options;
  const all: Starter[] = [
    { subject: OURS, start: () => startPostrider(names, receiverPort, binary) },
  ];
  // Asked once: what cannot be installed fails slowly.
  bench.missing ??= Promise.all(PEERS.map((peer) => peer.missing()));
  const missing = await bench.missing;
  for (const [index, peer] of PEERS.entries()) {
    const why = missing[index] ?? null;
    if (why !== null) bench.note(name, peer.name, why);
    else all.push({ subject: peer.name, start: () => peer.start(receiverPort) });
  }
  return all;
}

/**
 * The closed loads of all contenders, for the case `name`: what has no figures is noted under it. A peer that fails is
 * left out; a failure of ours is thrown.
 */
async function closedRuns(bench: Bench, name: string): Promise<Delivered[]> {
  const { delivered, failures } = await (bench.closed ??= measureClosed(bench, name));
  await starters(bench, name);
  for (const { subject, error } of failures) bench.fail(name, subject, error);
  return delivered;
}

async function measureClosed(bench: Bench, name: string): Promise<ClosedLoads> {
  const { messages, warming, restSeconds } = bench.options.sizes;
  const all: ClosedLoads = { delivered: [], failures: [] };
  await bench.eachRun(CLOSED, async (run) => {
    for (const { subject, start } of await starters(bench, name)) {
      try {
        const load = { count: messages, warming };
        const one = await deliverOnce(bench.options, start, load, { restSeconds });
        all.delivered.push({ subject, run, ...one });
        bench.say(`${subject}: ${one.result.deliveredPerSecond.toFixed(0)} delivered a second`);
      } catch (error) {
        if (subject === OURS) throw error;
        bench.say(`${subject}: ${String(error)}`);
        all.failures.push({ subject, error });
      }
    }
  });
  return all;
}

/** The median of what a contender delivers a second; 0 when it was not measured. */
function maximumOf(all: readonly Delivered[], subject: string): number {
  const rates = all
    .filter((one) => one.subject === subject)
    .map((one) => one.result.deliveredPerSecond);
  return rates.length === 0 ? 0 : spread(rates).median;
}

export const deliver: Case = {
  names: ['deliver'],
  async measure(bench) {
    const closed = await closedRuns(bench, CLOSED);
    for (const { subject, run, result } of closed) {
      bench.record(CLOSED, run, subject, deliveryFigures(result));
      if (subject !== OURS) continue;
      recordOpenssl(bench, CLOSED, run, result);
      const main = result.threads[0]?.[1] ?? NaN;
      bench.record(CLOSED, run, OURS, { 'main thread s for 1,000': main });
    }
    const { openSeconds, firstSeconds, warming } = bench.options.sizes;
    for (const rate of RATES) {
      const load = { rate, warming, count: Math.round(rate * openSeconds) };
      await atRate(bench, closed, `deliver, ${rate.toLocaleString('en-US')} a second`, load);
    }
    const half = Math.max(1, Math.round(maximumOf(closed, OURS) / 2));
    const later = { rate: half, warming, count: Math.round(half * openSeconds) };
    await atRate(bench, closed, 'deliver, half of maximum', later);
    const first = { rate: half, warming: 0, count: Math.round(half * firstSeconds) };
    await atRate(bench, closed, 'deliver, half of maximum, first minute', first);
  },
};

async function atRate(
  bench: Bench,
  closed: readonly Delivered[],
  name: string,
  load: Required<Load> & { rate: number },
): Promise<void> {
  const { rate } = load;
  await bench.eachRun(`${name} (${rate} a second)`, async (run) => {
    for (const { subject, start } of await starters(bench, name)) {
      const maximum = maximumOf(closed, subject);
      if (subject !== OURS && maximum * BEARABLE < rate) {
        bench.note(name, subject, `delivers ${maximum.toFixed(0)} a second at most`);
        continue;
      }
      try {
        const { result } = await deliverOnce(bench.options, start, load);
        bench.record(name, run, subject, deliveryFigures(result));
        if (subject !== OURS) continue;
        const asked = { 'accepted a second': rate, 'delivered a second': rate };
        bench.record(name, run, 'the rate that was sent', asked);
      } catch (error) {
        bench.fail(name, subject, error);
      }
    }
  });
}

export const memory: Case = {
  names: ['memory'],
  async measure(bench) {
    const name = 'memory';
    for (const { subject, run, result, restMb, afterMb } of await closedRuns(bench, name)) {
      bench.record(name, run, subject, {
        'PSS at full load, MB': result.peakPssMb,
        'PSS at rest after the start, MB': restMb,
        'PSS at rest after the load, MB': afterMb,
      });
    }
    const size = 'size of the executable, MB';
    await bench.eachRun(name, async (run) => {
      const megabytes = (path: string): number => statSync(path).size / 1e6;
      bench.record(name, run, OURS, { [size]: megabytes(bench.options.binary) });
      bench.record(name, run, 'Bun alone', { [size]: megabytes(process.execPath) });
      const bare = await startBare();
      await Bun.sleep(bench.options.sizes.restSeconds * 1000);
      bench.record(name, run, BARE, { 'PSS at rest after the start, MB': pssMb(bare.pids) });
      await bare.stop();
    });
  },
};

export const starttls: Case = {
  names: ['starttls'],
  async measure(bench) {
    const name = 'starttls, closed loop of 20';
    const { keyFile, certFile } = testAuthority().issue(['mx.bench.test']);
    const { messages, warming } = bench.options.sizes;
    const { names, receiverPort, binary } = bench.options;
    const start = (): Promise<Contender> => startPostrider(names, receiverPort, binary);
    await bench.eachRun(name, async (run) => {
      for (const [subject, tlsFiles] of [
        [OURS, [keyFile, certFile]],
        ['the same in the clear', []],
      ] as const) {
        const load = { count: messages, warming };
        const { result } = await deliverOnce(bench.options, start, load, { tlsFiles });
        bench.record(name, run, subject, deliveryFigures(result));
        if (subject === OURS) recordOpenssl(bench, name, run, result);
      }
    });
  },
};
