/**
 * Starting `crash-child.ts`, and reading what it prints line by line.
 *
 * Promises that `stop` ends only the process started here.
 */
import { join } from 'node:path';

export interface Child {
  pid: number;
  /** Every line so far. */
  lines: string[];
  errors(): Promise<string>;
  /** Resolves when a line fulfils `isWanted`, or the output has ended (false). */
  until(isWanted: (line: string) => boolean): Promise<boolean>;
  kill(): void;
  exited: Promise<number>;
}

export const CHILD = join(import.meta.dir, 'crash-child.ts');

/** Starts `command` (by default Bun on `crash-child.ts`) with these arguments. */
export function startChild(args: (string | number)[], command = [process.execPath, CHILD]): Child {
  const child = Bun.spawn([...command, ...args.map(String)], { stdout: 'pipe', stderr: 'pipe' });
  const lines: string[] = [];
  const errors = new Response(child.stderr).text();
  let isEnded = false;
  let wake = (): void => {};
  const reading = (async () => {
    let rest = '';
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      lines.push(...parts);
      wake();
    }
    isEnded = true;
    wake();
  })();
  return {
    pid: child.pid,
    lines,
    errors: () => errors,
    async until(isWanted) {
      for (let seen = 0; ;) {
        while (seen < lines.length) if (isWanted(lines[seen++] ?? '')) return true;
        if (isEnded) return false;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    kill: () => child.kill('SIGKILL'),
    exited: reading.then(() => child.exited),
  };
}

/** The ids that a child has printed. */
export function idsOf(child: Child): string[] {
  return child.lines.filter((line) => line.startsWith('id ')).map((line) => line.slice(3));
}
