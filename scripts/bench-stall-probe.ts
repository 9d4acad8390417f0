/**
 * Asks GET /health every few milliseconds from a process of its own, and says for each phase how long answers took.
 *
 * `bench-stall-probe.ts URL PID`: each line on standard input begins a phase of that name; when a phase is over, one JSON
 * line about it goes to standard output. Beside the longest answer stands the longest without the time for which the
 * kernel let the server's main thread or this program wait for a processor (proc_pid_schedstat(5)).
 */
import { readFileSync } from 'node:fs';

const PAUSE_MS = 5;

export interface PhaseTimes {
  phase: string;
  answers: number;
  p50Ms: number;
  p95Ms: number;
  longestMs: number;
  /** The same without waiting for a processor. */
  longestOwnMs: number;
}

interface Phase {
  name: string;
  taken: number[];
  longestOwnMs: number;
}

/** Milliseconds for which a process's main thread could run and had no processor. */
function waited(pid: string): number {
  const [, nanoseconds = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

function timesOf({ name, taken, longestOwnMs }: Phase): PhaseTimes {
  taken.sort((a, b) => a - b);
  const at = (share: number): number => taken[Math.floor(share * (taken.length - 1))] ?? 0;
  return {
    phase: name,
    answers: taken.length,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    longestMs: at(1),
    longestOwnMs,
  };
}

function tell(phase: Phase | undefined): void {
  if (phase !== undefined) process.stdout.write(`${JSON.stringify(timesOf(phase))}\n`);
}

async function probe(url: string, pid: string): Promise<void> {
  const phases: Phase[] = [];
  const input = { isOver: false };
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of Bun.stdin.stream()) {
      for (const name of decoder.decode(chunk).trim().split('\n')) {
        phases.push({ name, taken: [], longestOwnMs: 0 });
      }
    }
    input.isOver = true;
  })();
  while (!input.isOver) {
    const phase = phases.at(-1);
    const waitedBefore = waited(pid) + waited('self');
    const began = performance.now();
    await (await fetch(`${url}/health`)).arrayBuffer();
    const taken = performance.now() - began;
    const own = taken - (waited(pid) + waited('self') - waitedBefore);
    // An answer belongs to the phase in which it was asked for.
    phase?.taken.push(taken);
    if (phase !== undefined) phase.longestOwnMs = Math.max(phase.longestOwnMs, own);
    while (phases.length > 1) tell(phases.shift());
    await Bun.sleep(PAUSE_MS);
  }
  phases.forEach(tell);
}

if (import.meta.main) await probe(process.argv[2] ?? '', process.argv[3] ?? '');
