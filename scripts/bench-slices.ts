/**
 * Executables against each other on a machine that is not quiet: all of them run at once and get their load in slices of a
 * second, so that each slice of one has the same neighbours as those beside it.
 *
 * `scripts/bench slices A B … [--pairs 4] [--slices 12] [--messages 700] [--rate 0]`: a pair starts every executable anew,
 * since two processes of one executable differ by several percent; in it each gets `slices` times `messages`, forth and back.
 * `--rate` sends so many a second instead of as fast as they are answered: give it `--messages` for two seconds. Take as
 * many pairs as executables, or twice as many: who is started first takes more. Prints for each pair, and as the median of
 * all, what every executable takes of a processor for a message (main thread, writer, signer, the rest) as a share of what
 * A took in the same slice. Rates and waits are not measured: use `compare` for them.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';

import type { Names } from '../test/rig/names.ts';
import {
  WARMING,
  freePort,
  startReceiver,
  startReceiverNames,
  submitAll,
  submitAt,
} from './bench-load.ts';
import type { Receiver } from './bench-load.ts';
import { startPostrider } from './bench-postrider.ts';
import type { Server } from './bench-postrider.ts';
import { spread } from './bench-table.ts';
import { refuse, scriptOptions } from './options.ts';

/** After a slice: what the last message leaves to do, request log apart, belongs to it. */
const REST_MS = 60;

/** By threads, in the order of their start. */
const GROUPS = ['all', 'main', 'writer', 'signer', 'rest'] as const;
type Usage = Record<(typeof GROUPS)[number], number>;
const THREADS: Record<string, keyof Usage> = { 'Worker 1': 'writer', 'Worker 3': 'signer' };

function each(of: (group: (typeof GROUPS)[number]) => number): Usage {
  const [all, main, writer, signer, rest] = GROUPS;
  return { all: of(all), main: of(main), writer: of(writer), signer: of(signer), rest: of(rest) };
}

/** Nanoseconds of a processor so far. */
function usageOf(pid: number): Usage {
  const usage = each(() => 0);
  let workers = 0;
  const ids = readdirSync(`/proc/${pid}/task`).map(Number);
  for (const id of ids.toSorted((a, b) => a - b)) {
    const folder = `/proc/${pid}/task/${id}`;
    // Threads of the runtime come and go.
    if (!existsSync(folder)) continue;
    const ns = Number(readFileSync(`${folder}/schedstat`, 'latin1').split(' ')[0]);
    const name = readFileSync(`${folder}/comm`, 'latin1').trim();
    if (name === 'Worker') workers += 1;
    usage[id === pid ? 'main' : (THREADS[`${name} ${workers}`] ?? 'rest')] += ns;
    usage.all += ns;
  }
  return usage;
}

/** Microseconds for a message. `rate`: messages a second; 0: as fast as they are answered. */
async function measureSlice(
  server: Server,
  receiver: Receiver,
  messages: number,
  rate: number,
): Promise<Usage> {
  const { count } = receiver.receipt();
  const before = usageOf(server.pid);
  if (rate > 0) await submitAt(server, messages, rate);
  else await submitAll(server, messages);
  await receiver.until(count + messages);
  await Bun.sleep(REST_MS);
  const after = usageOf(server.pid);
  for (const group of GROUPS) after[group] = (after[group] - before[group]) / messages / 1000;
  return after;
}

const median = (values: readonly number[]): number => spread([...values]).median;

interface Load {
  names: Names;
  port: number;
  receiver: Receiver;
  slices: number;
  messages: number;
  rate: number;
}

/** The slices of each executable, all started anew. */
async function runPair(programs: readonly string[], pair: number, load: Load): Promise<Usage[][]> {
  const { names, port, receiver, slices, messages, rate } = load;
  const runs = programs.map((program) => ({ program, measured: [] as Usage[] }));
  // Who is started first takes 2 to 3 % more, and who comes first in a round too: both go round.
  const order = [...runs.slice(pair % runs.length), ...runs.slice(0, pair % runs.length)];
  const started: { server: Server; measured: Usage[] }[] = [];
  for (const { program, measured } of order) {
    const server = await startPostrider(names, port, program);
    await measureSlice(server, receiver, WARMING, 0);
    started.push({ server, measured });
  }
  for (let slice = 0; slice < slices; slice += 1) {
    for (const { server, measured } of slice % 2 === 0 ? started : started.toReversed()) {
      measured.push(await measureSlice(server, receiver, messages, rate));
    }
  }
  for (const { server } of started) await server.stop();
  return runs.map(({ measured }) => measured);
}

async function main(): Promise<void> {
  const { values, positionals: programs } = scriptOptions({
    allowPositionals: true,
    options: {
      pairs: { type: 'string', default: '4' },
      slices: { type: 'string', default: '12' },
      messages: { type: 'string', default: '700' },
      rate: { type: 'string', default: '0' },
    },
  });
  if (programs.length < 2) refuse('Name two executables or more.');
  const names = await startReceiverNames();
  const port = await freePort();
  const receiver = await startReceiver(port);
  const [slices, messages] = [Number(values.slices), Number(values.messages)];
  const rate = Number(values.rate);
  const shares = programs.map((): Usage[] => []);
  for (let pair = 0; pair < Number(values.pairs); pair += 1) {
    const measured = await runPair(programs, pair, {
      names,
      port,
      receiver,
      slices,
      messages,
      rate,
    });
    for (const [at, own] of measured.entries()) {
      const share = shareOf(own, measured[0] ?? []);
      shares[at]?.push(share);
      say(programs[at], share, `${median(own.map(({ all }) => all)).toFixed(0)} µs a message`);
    }
  }
  receiver.stop();
  await names.stop();
  process.stdout.write('medians of the pairs\n');
  for (const [at, own] of shares.entries()) {
    const { min, max } = spread(own.map(({ all }) => all));
    const middle = each((group) => median(own.map((share) => share[group])));
    say(programs[at], middle, `all from ${min.toFixed(3)} to ${max.toFixed(3)}`);
  }
}

/** Slice by slice, as a share of the first executable's. */
function shareOf(measured: readonly Usage[], first: readonly Usage[]): Usage {
  return each((group) =>
    median(measured.map((usage, at) => usage[group] / (first[at]?.[group] ?? NaN))),
  );
}

function say(program: string | undefined, share: Usage, more: string): void {
  const cells = GROUPS.map((group) => `${group} ${share[group].toFixed(3)}`);
  process.stdout.write(`${basename(program ?? '').padEnd(16)} ${cells.join('  ')}  ${more}\n`);
}

await main();
process.exit(0);
