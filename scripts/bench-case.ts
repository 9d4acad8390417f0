/**
 * What every case of `scripts/bench` gets: sizes, the executable, names, and where figures go.
 *
 * A case records one value for each figure, subject and run; the table and the JSON lines are made of these. What cannot
 * be measured is noted with its reason, and a failure makes the whole end with 1, but never stops the cases after it.
 */
import type { Names } from '../test/rig/names.ts';
import type { Contender } from './bench-contender.ts';
import { startReceiver, measure } from './bench-load.ts';
import type { Load, Result } from './bench-load.ts';
import { caseRecord } from './bench-table.ts';
import type { Note, Sample } from './bench-table.ts';
import { pssMb } from './bench-usage.ts';

/** How many messages, suppressions and log rows are stored, each, and how many of the messages wait. */
export interface Filling {
  stored: number;
  queued: number;
}

/** How much each case does. */
export interface Sizes {
  /** Messages of a closed load that count, and those before them. */
  messages: number;
  warming: number;
  /** How long an open load lasts, in seconds, and one that begins with the server. */
  openSeconds: number;
  firstSeconds: number;
  /** Requests that count of a case that sends or reads without delivery. */
  requests: number;
  /** How long SQLite commits, in seconds. */
  commitSeconds: number;
  /** How long memory rests before it counts as memory at rest, in seconds. */
  restSeconds: number;
  /** Searches of each kind, one after the other. */
  searches: number;
  /** Rows of each kind for searches in the store itself. */
  storeRows: number;
  fillings: readonly Filling[];
  /** Webhook calls that count. */
  calls: number;
}

export const FULL: Sizes = {
  messages: 20_000,
  warming: 4_000,
  openSeconds: 30,
  firstSeconds: 60,
  requests: 40_000,
  commitSeconds: 5,
  restSeconds: 30,
  searches: 200,
  storeRows: 1_000_000,
  fillings: [
    { stored: 0, queued: 0 },
    { stored: 1_000_000, queued: 0 },
    { stored: 1_000_000, queued: 100_000 },
    { stored: 10_000_000, queued: 0 },
    { stored: 10_000_000, queued: 1_000_000 },
  ],
  calls: 20_000,
};

/** Proves that everything runs and prints; its figures mean nothing. */
export const QUICK: Sizes = {
  messages: 200,
  warming: 60,
  openSeconds: 1,
  firstSeconds: 1,
  requests: 200,
  commitSeconds: 0.2,
  restSeconds: 1,
  searches: 5,
  storeRows: 1_000,
  fillings: [
    { stored: 0, queued: 0 },
    { stored: 3_000, queued: 0 },
    { stored: 3_000, queued: 500 },
  ],
  calls: 200,
};

export interface BenchOptions {
  runs: number;
  sizes: Sizes;
  /** The executable to measure. */
  binary: string;
  names: Names;
  /** The port of the receivers. */
  receiverPort: number;
}

/** A closed load of one contender, with its memory before it and some time after it. */
export interface Delivered {
  subject: string;
  run: number;
  result: Result;
  /** PSS in MB, after the start and after the load, each after `restSeconds` without work. */
  restMb: number;
  afterMb: number;
}

export interface ClosedLoads {
  delivered: Delivered[];
  failures: { subject: string; error: unknown }[];
}

/** One case, or several that share what is dear to make. */
export interface Case {
  names: readonly string[];
  /** `wanted`: those of its names that are asked for. Every line of the table begins with one of them. */
  measure(bench: Bench, wanted: ReadonlySet<string>): Promise<void>;
}

export class Bench {
  readonly samples: Sample[] = [];
  readonly notes: Note[] = [];
  readonly options: BenchOptions;
  /** What several cases need of the closed loads; measured once. */
  closed: Promise<ClosedLoads> | null = null;
  /** Why each peer cannot run here; null: it can. */
  missing: Promise<(string | null)[]> | null = null;
  hasFailed = false;
  /** Called after each run: a whole takes hours, and may be stopped. */
  afterRun: () => void = () => {};

  constructor(options: BenchOptions) {
    this.options = options;
  }

  /** Progress; standard output is for the table. */
  say(text: string): void {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
  }

  /** Records figures of one subject in one run; `figures`: name with unit, and value. */
  record(name: string, run: number, subject: string, figures: Record<string, number>): void {
    for (const [figure, value] of Object.entries(figures)) {
      this.samples.push({ case: name, figure, subject, run, value });
    }
  }

  /** Says once why a subject has no figures. */
  note(name: string, subject: string, why: string): void {
    const isKnown = this.notes.some((note) => note.case === name && note.subject === subject);
    if (isKnown) return;
    this.notes.push({ case: name, subject, why });
    this.say(`${name}: ${subject}: ${why}`);
  }

  /** The same for what ought to have worked. */
  fail(name: string, subject: string, error: unknown): void {
    this.hasFailed = true;
    const [why = ''] = String(error).trim().split('\n');
    this.note(name, subject, `failed: ${why}`);
  }

  /** Runs `work` as often as asked for, and says so. */
  async eachRun(what: string, work: (run: number) => Promise<void>): Promise<void> {
    for (let run = 0; run < this.options.runs; run += 1) {
      this.say(`${what}: run ${run + 1} of ${this.options.runs}`);
      await work(run);
      this.afterRun();
    }
  }

  /** Puts the lines of the table into the order of the cases; those of one case stay in theirs. */
  sort(names: readonly string[]): void {
    const at = (entry: { case: string }): number =>
      names.indexOf(entry.case.slice(0, /[^a-z]|$/.exec(entry.case)?.index));
    this.samples.sort((a, b) => at(a) - at(b));
    this.notes.sort((a, b) => at(a) - at(b));
  }

  /** The lines of the table that have figures or notes, as values for JSON. */
  records(): Record<string, unknown>[] {
    const names = new Set([...this.samples, ...this.notes].map((entry) => entry.case));
    return [...names].map((name) => caseRecord(name, this.samples, this.notes));
  }
}

/**
 * Starts a receiver and a contender, measures one load, and stops both. `tlsFiles`: key and certificate of a receiver
 * that takes mail over STARTTLS alone. `restSeconds`: how long to wait before memory at rest is read; 0: it is not.
 */
export async function deliverOnce(
  { receiverPort }: BenchOptions,
  start: () => Promise<Contender>,
  load: Load,
  { tlsFiles = [], restSeconds = 0 }: { tlsFiles?: readonly string[]; restSeconds?: number } = {},
): Promise<Pick<Delivered, 'result' | 'restMb' | 'afterMb'>> {
  const receiver = await startReceiver(receiverPort, tlsFiles);
  try {
    const contender = await start();
    const rest = async (): Promise<number> => {
      if (restSeconds === 0) return NaN;
      await Bun.sleep(restSeconds * 1000);
      return pssMb(contender.pids);
    };
    try {
      const restMb = await rest();
      const result = await measure(contender, receiver, load);
      return { result, restMb, afterMb: await rest() };
    } finally {
      await contender.stop();
    }
  } finally {
    receiver.stop();
  }
}

/** The figures of a delivery that have references. */
export function deliveryFigures(result: Result): Record<string, number> {
  return {
    'accepted a second': result.acceptedPerSecond,
    'delivered a second': result.deliveredPerSecond,
    'p50 of acceptance, ms': result.p50Ms,
    'p99 of acceptance, ms': result.p99Ms,
    'CPU s for 1,000': result.cpuSecondsPer1000,
  };
}

/** Records `openssl speed` around a run of ours as the reference of rates. */
export function recordOpenssl(bench: Bench, name: string, run: number, result: Result): void {
  const rate = result.opensslPerSecond;
  bench.record(name, run, OPENSSL, { 'accepted a second': rate, 'delivered a second': rate });
}

export const OPENSSL = 'openssl RSA-2048 signatures a second, one core';
