/**
 * What the processes of a contender cost: CPU time of all of them, and their memory at the peak.
 *
 * Reads /proc. Children that have ended count through the parent that waited for them.
 */
import { readFileSync, readdirSync } from 'node:fs';

/** Ticks a second of /proc/<pid>/stat (USER_HZ on every Linux). */
const TICKS = 100;

interface Stat {
  pid: number;
  parent: number;
  ticks: number;
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in brackets and may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const number = (field: number): number => Number(fields[field - 3]);
    return { pid, parent: number(4), ticks: number(14) + number(15) + number(16) + number(17) };
  } catch {
    return null;
  }
}

/** `roots` and everything below them. */
function tree(roots: readonly number[]): Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== null);
  const found = new Set(roots);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

/** Every process below `root` that runs now, without itself. */
export function descendants(root: number): number[] {
  return tree([root])
    .map(({ pid }) => pid)
    .filter((pid) => pid !== root);
}

/** CPU seconds so far, user and system, of `roots` and all below them. */
export function cpuSeconds(roots: readonly number[]): number {
  return tree(roots).reduce((sum, { ticks }) => sum + ticks, 0) / TICKS;
}

/**
 * CPU seconds so far of each thread of `pid` that ever did something, by name and number: where the time of
 * one process goes. Threads of one name are numbered in the order they were started.
 */
export function threadSeconds(pid: number): Map<string, number> {
  const seconds = new Map<string, number>();
  const seen = new Map<string, number>();
  const ids = readdirSync(`/proc/${pid}/task`).map(Number);
  for (const id of ids.toSorted((a, b) => a - b)) {
    const text = readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1');
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'));
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    seconds.set(`${name} ${number}`, (Number(fields[11]) + Number(fields[12])) / TICKS);
  }
  return seconds;
}

/** Proportional set size now, in MB. */
export function pssMb(roots: readonly number[]): number {
  let kb = 0;
  for (const { pid } of tree(roots)) {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
      kb += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
    } catch {
      // Ended meanwhile.
    }
  }
  return kb / 1024;
}

/** RSA-2048 signatures a second of one core, by OpenSSL: how fast the machine is right now. */
export async function opensslRate(): Promise<number> {
  const child = Bun.spawn(['openssl', 'speed', '-seconds', '2', 'rsa2048'], { stderr: 'ignore' });
  const text = await new Response(child.stdout).text();
  const rate = /rsa\s+2048 bits\s+\S+\s+\S+\s+([\d.]+)/.exec(text)?.[1];
  if (rate === undefined) throw new Error('openssl speed gave no figure');
  return Number(rate);
}
