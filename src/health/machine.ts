/**
 * The host check's questions about the machine: free disk space, open-file limit, permissions of the data,
 * certificates.
 *
 * Reads files and limits only; changes nothing. Never throws.
 */
import { X509Certificate } from 'node:crypto';
import { readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

import { diskReserveBytes } from '../base/limits.ts';
import { DiskReserve } from '../store/disk-reserve.ts';
import type { KeyState } from '../store/key-file.ts';
import { inspectKey } from '../store/sqlite/key-inspection.ts';
import { type DoctorContext, type Finding, finding, ok } from './finding.ts';

const DAY_MS = 86_400_000;
/** ACME clients renew at a third of the lifetime; two weeks leave the operator time. */
const CERTIFICATE_WARNING_DAYS = 14;
/** Every open session costs one descriptor; `LimitNOFILE` of our unit is 65536. */
const DESCRIPTORS_MIN = 8192;

export async function examineMachine(ctx: DoctorContext): Promise<Finding[]> {
  const { config } = ctx;
  const findings = [
    await disk(config.startup.dataDir),
    await rights(config.startup.dataDir),
    ...(config.startup.store.url === '' ? [secretKey(config.startup.dataDir)] : []),
    await descriptors(),
  ];
  const files = new Set(
    [config.live.http.tlsCert, config.live.smtp.tlsCert].filter((file) => file !== ''),
  );
  for (const file of files) findings.push(await certificate(file, ctx.clock.now()));
  return findings;
}

async function disk(dataDir: string): Promise<Finding> {
  try {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    const keptBytes = new DiskReserve(dataDir).keptBytes();
    const freeBytes = bavail * bsize + keptBytes;
    const freeShare = freeBytes / (blocks * bsize);
    const kept = keptBytes === 0 ? '' : `, ${inMib(keptBytes)} of them kept back in disk.reserve`;
    const seen = `${inMib(freeBytes)} (${Math.floor(freeShare * 100)} %) are free on the disk of ${dataDir}${kept}.`;
    const reserveBytes = diskReserveBytes(blocks * bsize);
    if (freeBytes < reserveBytes) {
      const advice =
        'Free some disk space. New sends are refused with platform_halted until then, so that no accepted message is lost.';
      return finding('disk', 'error', seen, advice);
    }
    if (freeBytes < 4 * reserveBytes || freeShare < 0.05) {
      return finding(
        'disk',
        'warning',
        seen,
        'Free some disk space soon, or shorten [retention] bodies.',
      );
    }
    return ok('disk', seen);
  } catch (error) {
    const advice = 'Run postrider init, or correct data_dir in the config.';
    return finding('disk', 'error', `${dataDir} cannot be read: ${causeOf(error)}.`, advice);
  }
}

function inMib(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}

async function rights(dataDir: string): Promise<Finding> {
  const wanted: [string, number][] = [
    [dataDir, 0o700],
    [join(dataDir, 'secret.key'), 0o600],
  ];
  for (const [path, mode] of wanted) {
    const info = await stat(path).catch(() => null);
    if (info !== null && (info.mode & 0o077) !== 0) {
      const seen = `Other users of this machine can read ${path}.`;
      return finding('data_rights', 'error', seen, `Run chmod ${mode.toString(8)} ${path}.`);
    }
  }
  return ok('data_rights', `Only its owner can read ${dataDir}.`);
}

/** What `state` means for the operator. */
export function keyFinding(state: KeyState): Finding {
  if (state === 'unknown') return ok('secret_key', 'No secret is stored yet.');
  if (state === 'right') return ok('secret_key', 'The secret key opens what is stored.');
  return finding('secret_key', 'error', state.message, state.hint);
}

function secretKey(dataDir: string): Finding {
  try {
    return keyFinding(inspectKey(dataDir));
  } catch (error) {
    const advice = 'Run doctor as the user of the server, or as root.';
    return finding(
      'secret_key',
      'unchecked',
      `The database could not be read: ${causeOf(error)}.`,
      advice,
    );
  }
}

async function descriptors(): Promise<Finding> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
  if (Number.isNaN(soft)) {
    const advice = 'Run ulimit -n to see the limit; 65536 is a good value.';
    return finding(
      'descriptors',
      'unchecked',
      'The limit of open files could not be read.',
      advice,
    );
  }
  const seen = `The process can open ${soft} files at once.`;
  if (soft >= DESCRIPTORS_MIN) return ok('descriptors', seen);
  const advice = 'Run Postrider as a systemd unit with LimitNOFILE=65536, or raise ulimit -n.';
  return finding('descriptors', 'warning', seen, advice);
}

async function certificate(file: string, now: number): Promise<Finding> {
  const check = `certificate_${file}`;
  try {
    const parsed = new X509Certificate(await readFile(file));
    const days = Math.floor((Date.parse(parsed.validTo) - now) / DAY_MS);
    const seen = `The certificate ${file} is valid until ${new Date(parsed.validTo).toISOString().slice(0, 10)}.`;
    if (Date.parse(parsed.validFrom) > now) {
      return finding(
        check,
        'error',
        `The certificate ${file} is not valid yet.`,
        'Check the clock of this machine and the dates of the certificate.',
      );
    }
    if (days < 0)
      return finding(check, 'error', seen, 'Renew it, then run systemctl reload postrider.');
    if (days < CERTIFICATE_WARNING_DAYS) {
      return finding(check, 'warning', seen, 'Renew it, then run systemctl reload postrider.');
    }
    return ok(check, seen);
  } catch (error) {
    const advice = 'Use a PEM file with the whole chain that the service user can read.';
    return finding(
      check,
      'error',
      `The certificate ${file} cannot be used: ${causeOf(error)}.`,
      advice,
    );
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
