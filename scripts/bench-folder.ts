/**
 * One temporary folder for everything that a run of the benchmarks makes, and its end, however the run ends.
 *
 * Ten million rows take many gigabytes, and a Postfix goes on for ever: when a signal ends the run, no file and no process
 * of it stays.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { descendants } from './bench-usage.ts';

const ENDED_BY_SIGNAL = 130;

/** Makes the folder and sets TMPDIR to it; returns what removes it. Call it before anything else is made. */
export function useOneFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  // Postfix reads its own files below it under other users.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      for (const pid of [...descendants(process.pid), ...daemons(folder)]) kill(pid);
      remove();
      process.exit(ENDED_BY_SIGNAL);
    });
  }
  return remove;
}

/** Postfix is no child of ours: it notes its number itself. */
function daemons(folder: string): number[] {
  return [...new Bun.Glob('*/spool/pid/master.pid').scanSync(folder)].flatMap((path) => {
    const master = Number(readFileSync(join(folder, path), 'utf8').trim());
    return [...descendants(master), master];
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended meanwhile.
  }
}
