/**
 * Every case of the benchmark in one table, each figure beside its reference of the same run.
 *
 * `scripts/bench [all] [--only accept,deliver] [--runs 3] [--quick] [--json FILE] [--binary dist/postrider]`. Progress goes
 * to standard error, the table and one JSON line a case to standard output. `--quick` proves with small sizes that it
 * works. A case that fails says why, the others go on, and the end is 1. Needs dist/postrider; Postfix needs root.
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { accept } from './bench-accept.ts';
import { Bench, FULL, QUICK } from './bench-case.ts';
import type { Case } from './bench-case.ts';
import { useOneFolder } from './bench-folder.ts';
import { freePort, startReceiverNames } from './bench-load.ts';
import { deliver, memory, starttls } from './bench-rates.ts';
import { stored } from './bench-stored.ts';
import { OURS, tableOf } from './bench-table.ts';
import { webhooks } from './bench-webhooks.ts';
import { refuse, scriptOptions } from './options.ts';

const CASES: readonly Case[] = [accept, deliver, starttls, stored, webhooks, memory];
const NAMES = CASES.flatMap(({ names }) => names);

function chosen(only: string): readonly string[] {
  if (only === '') return NAMES;
  const wanted = only.split(',');
  const unknown = wanted.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0) {
    refuse(`There is no case ${unknown.join(', ')}; there are ${NAMES.join(', ')}.`);
  }
  return wanted;
}

async function main(): Promise<void> {
  const { values } = scriptOptions({
    options: {
      only: { type: 'string', default: '' },
      runs: { type: 'string', default: '3' },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      binary: { type: 'string', default: join(import.meta.dir, '../dist/postrider') },
    },
  });
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1) refuse('--runs takes a whole number from 1.');
  const names = chosen(values.only);
  if (!(await Bun.file(values.binary).exists())) refuse(`There is no ${values.binary}: build it.`);
  const removeFolder = useOneFolder();
  const receiverNames = await startReceiverNames();
  const receiverPort = await freePort();
  const sizes = values.quick ? QUICK : FULL;
  const bench = new Bench({
    runs,
    sizes,
    binary: values.binary,
    names: receiverNames,
    receiverPort,
  });
  const about = { at: new Date().toISOString(), machine: machine(), runs, quick: values.quick };
  const lines = (): string[] => {
    bench.sort(NAMES);
    return bench.records().map((record) => `${JSON.stringify({ ...record, ...about })}\n`);
  };
  const save = (): void => {
    if (values.json !== undefined) writeFileSync(values.json, lines().join(''));
  };
  bench.afterRun = save;
  for (const one of CASES) {
    const wanted = new Set(one.names.filter((name) => names.includes(name)));
    if (wanted.size === 0) continue;
    try {
      await one.measure(bench, wanted);
    } catch (error) {
      bench.fail([...wanted].join(', '), OURS, error);
    }
  }
  save();
  await receiverNames.stop();
  removeFolder();
  const json = lines().join('');
  process.stdout.write(`${tableOf(bench.samples, bench.notes)}\n${json}`);
  process.exit(bench.hasFailed ? 1 : 0);
}

function machine(): string {
  const all = cpus();
  return `${all.length} × ${all[0]?.model.trim() ?? 'unknown processor'}, ${process.platform} ${process.arch}`;
}

await main();
