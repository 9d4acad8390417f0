/** Control groups (cgroups(7)) for measured processes, in either version of the interface. They need root. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Microseconds over which a share of a core counts. Short, so that a process is slowed evenly. */
const PERIOD_US = 20_000;

type Settings = Record<string, string>;

/** Lets a process use `share` of one core, with all its threads; returns what removes the group. */
export function limitCpu(pid: number, name: string, share: number): () => void {
  const quota = String(Math.round(share * PERIOD_US));
  return confine(pid, name, 'cpu', {
    first: { 'cpu.cfs_period_us': String(PERIOD_US), 'cpu.cfs_quota_us': quota },
    second: { 'cpu.max': `${quota} ${PERIOD_US}` },
  });
}

/** Lets a process and what the system keeps of its files have so much memory; returns what removes the group. */
export function limitMemory(pid: number, name: string, megabytes: number): () => void {
  const bytes = String(megabytes * 1024 * 1024);
  return confine(pid, name, 'memory', {
    first: { 'memory.limit_in_bytes': bytes },
    second: { 'memory.max': bytes },
  });
}

function confine(
  pid: number,
  name: string,
  controller: string,
  { first, second }: { first: Settings; second: Settings },
): () => void {
  const isSecond = existsSync(join(ROOT, 'cgroup.controllers'));
  const group = join(isSecond ? ROOT : join(ROOT, controller), name);
  mkdirSync(group, { recursive: true });
  const settings = { ...(isSecond ? second : first), 'cgroup.procs': String(pid) };
  for (const [key, value] of Object.entries(settings)) writeFileSync(join(group, key), value);
  return () => rmdirSync(group);
}
