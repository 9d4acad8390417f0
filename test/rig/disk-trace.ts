/**
 * What a running program writes to the files of a folder, recorded by strace, and the disks that a power loss may
 * leave of it.
 *
 * The model is that of a disk with a volatile cache: what was written before a finished fsync of the same file began is
 * there; of every later write, any sectors may be there, in any order. Names are as durable as the writes (a journalling
 * file system; SQLite syncs the folder itself).
 */
import { once } from 'node:events';
import { closeSync, createReadStream, ftruncateSync, openSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

/** The smallest unit that a disk writes whole. */
const SECTOR = 512;

export interface Change {
  kind: 'write' | 'sync' | 'truncate';
  /** Name within the folder. */
  file: string;
  /** Position in the file; the new length of a truncation. */
  offset: number;
  data: Buffer;
  /** Seconds since the epoch when the call had ended. */
  endedAt: number;
  /** Line of its beginning in the trace: a sync covers the writes that had ended by then. */
  beganLine: number;
  endedLine: number;
}

export interface Tracer {
  /** Stops recording; gives the changes in the order in which they ended. */
  stop(): Promise<Change[]>;
}

interface Random {
  int(max: number): number;
}

/** Takes hold of the process `pid`; resolves when every later write will be seen. `log`: where strace writes. */
export async function traceDisk(pid: number, folder: string, log: string): Promise<Tracer> {
  const calls = '-etrace=pwrite64,pwritev,pwritev2,fsync,fdatasync,ftruncate';
  const args = ['-f', '-y', '-ttt', '-xx', '-s70000', calls, `-o${log}`, `-p${pid}`];
  const child = Bun.spawn(['strace', ...args], { stderr: 'pipe' });
  const reader = child.stderr.getReader();
  for (let text = ''; !text.includes('attached');) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`strace ended: ${text}`);
    text += Buffer.from(value).toString();
  }
  reader.releaseLock();
  return {
    async stop() {
      child.kill('SIGINT');
      await child.exited;
      return await readTrace(log, folder);
    },
  };
}

const CALL =
  /^(\d+) +([\d.]+) (pwrite64|pwritev2?|fsync|fdatasync|ftruncate)\(\d+<([^>]*)>(?:, )?(.*)$/;
const RESUMED = /^(\d+) +([\d.]+) <\.\.\. (\w+) resumed>/;

async function readTrace(log: string, folder: string): Promise<Change[]> {
  const changes: Change[] = [];
  const open = new Map<string, Change>();
  let line = 0;
  const lines = createInterface({ input: createReadStream(log) });
  lines.on('line', (text) => {
    line += 1;
    const resumed = RESUMED.exec(text);
    if (resumed !== null) {
      const change = open.get(resumed[1] ?? '');
      if (change === undefined) return;
      open.delete(resumed[1] ?? '');
      changes.push({ ...change, endedAt: Number(resumed[2]), endedLine: line });
      return;
    }
    const [, thread = '', at, call = '', path = '', rest = ''] = CALL.exec(text) ?? [];
    const file = bytesOf(path).toString();
    if (at === undefined || !file.startsWith(`${folder}/`)) return;
    const change = changeOf(call, basename(file), rest, Number(at), line);
    if (rest.endsWith('<unfinished ...>')) open.set(thread, change);
    else changes.push(change);
  });
  await once(lines, 'close');
  return changes;
}

function changeOf(call: string, file: string, rest: string, at: number, line: number): Change {
  const common = { file, endedAt: at, beganLine: line, endedLine: line };
  if (call === 'fsync' || call === 'fdatasync') {
    return { kind: 'sync', offset: 0, data: Buffer.alloc(0), ...common };
  }
  if (call === 'ftruncate') {
    return { kind: 'truncate', offset: Number.parseInt(rest), data: Buffer.alloc(0), ...common };
  }
  const [, text = '', length, offset] = /^"([^"]*)", (\d+), (\d+)/.exec(rest) ?? [];
  const data = bytesOf(text);
  if (call !== 'pwrite64' || data.length !== Number(length)) {
    throw new Error(`a write of ${file} that the trace does not hold whole: ${call}`);
  }
  return { kind: 'write', offset: Number(offset), data, ...common };
}

/** strace's `\x2f\x74` as bytes. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}

/** Splits what had begun by the moment `at` into what is surely on the disk and what may be. */
export function atPowerLoss(
  changes: readonly Change[],
  at: number,
  hasSyncs: boolean,
): { durable: Change[]; volatile: Change[] } {
  const ended = changes.filter(({ endedAt }) => endedAt <= at);
  const syncedLine = new Map<string, number>();
  for (const { kind, file, beganLine } of ended) {
    if (kind !== 'sync' || !hasSyncs) continue;
    syncedLine.set(file, Math.max(syncedLine.get(file) ?? 0, beganLine));
  }
  const isDurable = ({ file, endedLine }: Change): boolean =>
    endedLine <= (syncedLine.get(file) ?? 0);
  const made = changes.filter(({ kind, endedAt, beganLine }) => {
    const isUnderWay = beganLine <= (ended.at(-1)?.endedLine ?? 0);
    return kind !== 'sync' && (endedAt <= at || isUnderWay);
  });
  return {
    durable: made.filter((change) => change.endedAt <= at && isDurable(change)),
    volatile: made.filter((change) => change.endedAt > at || !isDurable(change)),
  };
}

/** Writes changes into the files of `folder`, each whole, in order. */
export function apply(folder: string, changes: readonly Change[]): void {
  const files = new Map<string, number>();
  for (const { kind, file, offset, data } of changes) {
    const handle = files.get(file) ?? openSync(join(folder, file), 'r+');
    files.set(file, handle);
    if (kind === 'truncate') ftruncateSync(handle, offset);
    else writeSync(handle, data, 0, data.length, offset);
  }
  for (const handle of files.values()) closeSync(handle);
}

/** Of each change nothing, all, or any of its sectors, in any order. */
export function tear(changes: readonly Change[], random: Random): Change[] {
  const torn = changes.flatMap((change) => {
    const fate = random.int(3);
    if (fate === 0) return [];
    if (fate === 1 || change.kind === 'truncate') return [change];
    return sectorsOf(change).filter(() => random.int(2) === 1);
  });
  for (let last = torn.length - 1; last > 0; last -= 1) {
    const other = random.int(last + 1);
    [torn[last], torn[other]] = [torn[other] as Change, torn[last] as Change];
  }
  return torn;
}

function sectorsOf(change: Change): Change[] {
  const sectors: Change[] = [];
  let begin = 0;
  while (begin < change.data.length) {
    const end = Math.min(change.data.length, begin + SECTOR - ((change.offset + begin) % SECTOR));
    sectors.push({
      ...change,
      offset: change.offset + begin,
      data: change.data.subarray(begin, end),
    });
    begin = end;
  }
  return sectors;
}
