/**
 * How long the appliance answers nobody: asks GET /ready again and again from a process of its own.
 *
 * Run as a program it prints, when its standard input ends, the longest time in milliseconds that one request took.
 * `longestGap` runs it beside some work. Two things are subtracted, because they are the machine's and no finding: the
 * time for which the kernel let the appliance or this program wait for a processor (proc_pid_schedstat(5)), and what a
 * page of fresh memory costs beyond `PAGE_US`. On some virtual machines that is thirty times as much, and a body of
 * 14 MB takes tens of thousands of pages.
 */
import { readFileSync } from 'node:fs';

/** The longest answer of GET /ready while `work` is under way, and what `work` came to. */
export async function longestGap<T>(
  { url, pid }: { url: string; pid: number },
  work: () => Promise<T>,
): Promise<[number, T]> {
  const child = Bun.spawn([process.execPath, import.meta.path, `${url}/ready`, String(pid)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  // The first line says that it has begun.
  await reader.read();
  try {
    const result = await work();
    await child.stdin.end();
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value);
    }
    return [Number(text.trim()), result];
  } finally {
    child.kill();
    await child.exited;
  }
}

/** What a page costs where memory is not slow, in microseconds: its fault, and zeros for its 4 KiB. */
const PAGE_US = 1;
const PAGE_BYTES = 4096;

/** Milliseconds for which a process's main thread could run and had no processor. */
function waited(pid: string): number {
  const [, nanoseconds = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

/** Pages that a process's main thread was given so far: `minflt` of proc_pid_stat(5). */
function pagesOf(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[8]);
}

/** What a page of fresh memory costs now beyond `PAGE_US`, in milliseconds; 0 on most machines. */
function excessOfPage(): number {
  const own = String(process.pid);
  const [pages, start] = [pagesOf(own), performance.now()];
  const fresh = new Uint8Array(16 * 1024 * 1024);
  for (let at = 0; at < fresh.length; at += PAGE_BYTES) fresh[at] = 1;
  const took = performance.now() - start;
  return Math.max(0, took / (pagesOf(own) - pages) - PAGE_US / 1000);
}

async function ask(url: string, pid: string): Promise<void> {
  const own = String(process.pid);
  const excess = Math.min(excessOfPage(), excessOfPage(), excessOfPage());
  const machine = (): number =>
    waited(pid) + waited('self') + (pagesOf(pid) + pagesOf(own)) * excess;
  let longest = 0;
  const work = { isOver: false };
  const ended = new Response(Bun.stdin.stream()).text().then(() => (work.isOver = true));
  await fetch(url);
  process.stdout.write('ready\n');
  while (!work.isOver) {
    const start = performance.now() - machine();
    const response = await fetch(url);
    await response.text();
    longest = Math.max(longest, performance.now() - machine() - start);
    await Bun.sleep(2);
  }
  await ended;
  process.stdout.write(`${Math.round(longest)}\n`);
}

if (import.meta.main) await ask(process.argv[2] ?? '', process.argv[3] ?? '');
