/**
 * How long the appliance answers nobody: asks GET /ready again and again from a process of its own.
 *
 * Run as a program it prints, when its standard input ends, the longest time in milliseconds that one request took.
 * `longestGap` runs it beside some work. The time for which the kernel let the appliance or this program wait for a
 * processor (proc_pid_schedstat(5)) is subtracted: a busy machine makes everything slow, and is no finding.
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

/** Milliseconds for which a process's main thread could run and had no processor. */
function waited(pid: string): number {
  const [, nanoseconds = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

async function ask(url: string, pid: string): Promise<void> {
  const waits = (): number => waited(pid) + waited('self');
  let longest = 0;
  const work = { isOver: false };
  const ended = new Response(Bun.stdin.stream()).text().then(() => (work.isOver = true));
  await fetch(url);
  process.stdout.write('ready\n');
  while (!work.isOver) {
    const start = performance.now() - waits();
    const response = await fetch(url);
    await response.text();
    longest = Math.max(longest, performance.now() - waits() - start);
    await Bun.sleep(2);
  }
  await ended;
  process.stdout.write(`${Math.round(longest)}\n`);
}

if (import.meta.main) await ask(process.argv[2] ?? '', process.argv[3] ?? '');
