/**
 * Two binaries against each other, interleaved: what differs between them, and not between two hours of the machine.
 *
 * `scripts/bench compare A B [--runs 5] [--messages 10000] [--rate 0] [--starttls no|yes|b]`: A and B are executables.
 * Each run starts both, one after the other, on a data directory of its own; `--rate` sends so many a second instead of as
 * fast as they are answered; with `--starttls` the receivers take mail over TLS alone, those of both or of B. Prints a table with the median, minimum and maximum of each figure and B's median as a share of A's, then a
 * JSON line for each executable; `openssl` is the machine's own rate of RSA-2048 signatures around the runs.
 */
import { basename } from 'node:path';

import { testAuthority } from '../test/rig/certificates.ts';
import { freePort, measure, medians, startReceiver, startReceiverNames } from './bench-load.ts';
import type { Result } from './bench-load.ts';
import { startPostrider } from './bench-postrider.ts';
import { spread } from './bench-table.ts';
import type { Spread } from './bench-table.ts';
import { refuse, scriptOptions } from './options.ts';

const FIGURES = [
  ['accepted a second', (r: Result) => r.acceptedPerSecond, 0],
  ['delivered a second', (r: Result) => r.deliveredPerSecond, 0],
  ['share of openssl', (r: Result) => r.deliveredPerSecond / r.opensslPerSecond, 2],
  ['openssl a second', (r: Result) => r.opensslPerSecond, 0],
  ['accept p50 ms', (r: Result) => r.p50Ms, 1],
  ['accept p99 ms', (r: Result) => r.p99Ms, 1],
  ['CPU s for 1,000', (r: Result) => r.cpuSecondsPer1000, 3],
  ['main thread s for 1,000', (r: Result) => r.threads[0]?.[1] ?? 0, 3],
  ['peak PSS MB', (r: Result) => r.peakPssMb, 0],
] as const;

/** Whether A's and B's receivers take mail over TLS alone. */
const TLS_OF: Record<string, readonly [boolean, boolean]> = {
  no: [false, false],
  yes: [true, true],
  b: [false, true],
};

async function main(): Promise<void> {
  const { values, positionals } = scriptOptions({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '5' },
      messages: { type: 'string', default: '10000' },
      rate: { type: 'string', default: '0' },
      starttls: { type: 'string', default: 'no' },
    },
  });
  const [first, second] = positionals;
  const isEncrypted = TLS_OF[values.starttls];
  if (first === undefined || second === undefined || isEncrypted === undefined) {
    refuse('Name two executables, A and B; --starttls is no, yes or b.');
  }
  const rate = Number(values.rate) > 0 ? Number(values.rate) : null;
  const names = await startReceiverNames();
  const port = await freePort();
  const { keyFile, certFile } = testAuthority().issue(['mx.bench.test']);
  const tlsFiles = [keyFile, certFile];
  const results: [Result[], Result[]] = [[], []];
  const runs = Number(values.runs);
  for (let run = 0; run < runs; run += 1) {
    for (const [index, program] of [first, second].entries()) {
      process.stderr.write(`run ${run + 1} of ${runs}: ${program}\n`);
      const receiver = await startReceiver(port, isEncrypted[index] === true ? tlsFiles : []);
      try {
        const contender = await startPostrider(names, port, program);
        try {
          const result = await measure(contender, receiver, {
            count: Number(values.messages),
            rate,
          });
          results[index]?.push(result);
        } finally {
          await contender.stop();
        }
      } finally {
        receiver.stop();
      }
    }
  }
  await names.stop();
  table(basename(first), basename(second), results);
  for (const [index, program] of [first, second].entries()) {
    const middle = medians(results[index] ?? []);
    const line = {
      case: rate === null ? 'deliver' : `deliver at ${rate}/s`,
      binary: program,
      ...middle,
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}

function table(first: string, second: string, [a, b]: [Result[], Result[]]): void {
  const row = (...cells: string[]): string =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(24) : cell.padStart(30))).join('');
  process.stdout.write(`${row('', `A ${first}`, `B ${second}`, 'B / A')}\n`);
  for (const [name, pick, digits] of FIGURES) {
    const [left, right] = [spread(a.map(pick)), spread(b.map(pick))];
    const say = ({ median, min, max }: Spread): string =>
      `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
    const ratio = (right.median / left.median).toFixed(3);
    process.stdout.write(`${row(name, say(left), say(right), ratio)}\n`);
  }
}

await main();
process.exit(0);
