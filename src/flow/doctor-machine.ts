/**
 * The host check's questions about the machine: room on the disk, file limit, rights on the data, certificates.
 */
import { X509Certificate } from 'node:crypto';
import { readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

import { diskReserveBytes } from '../base/limits.ts';
import { type DoctorContext, type Finding, finding, ok } from './doctor-finding.ts';

const DAY_MS = 86_400_000;
/** ACME clients renew at a third of the lifetime; two weeks leave time for a person. */
const CERTIFICATE_WARNING_DAYS = 14;
/** Every open session costs one descriptor; `LimitNOFILE` of our unit is 65536. */
const DESCRIPTORS_MIN = 8192;

export async function examineMachine(ctx: DoctorContext): Promise<Finding[]> {
  const { config } = ctx;
  const findings = [await disk(config.dataDir), await rights(config.dataDir), await descriptors()];
  const files = new Set([config.http.tlsCert, config.smtp.tlsCert].filter((file) => file !== ''));
  for (const file of files) findings.push(await certificate(file, ctx.clock.now()));
  return findings;
}

async function disk(dataDir: string): Promise<Finding> {
  try {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    const freeBytes = bavail * bsize;
    const freeShare = bavail / blocks;
    const seen = `${Math.floor(freeBytes / 2 ** 20)} MiB (${Math.floor(freeShare * 100)} %) are free under ${dataDir}.`;
    const reserveBytes = diskReserveBytes(blocks * bsize);
    if (freeBytes < reserveBytes) {
      const advice =
        'Make room: below this mark new sends are refused with platform_halted, so that nothing accepted is lost.';
      return finding('disk', 'error', seen, advice);
    }
    if (freeBytes < 4 * reserveBytes || freeShare < 0.05) {
      return finding('disk', 'warning', seen, 'Make room soon, or shorten [retention] bodies.');
    }
    return ok('disk', seen);
  } catch (error) {
    const advice = 'Run postrider init, or correct data_dir in the config.';
    return finding('disk', 'error', `${dataDir} can not be read: ${causeOf(error)}.`, advice);
  }
}

async function rights(dataDir: string): Promise<Finding> {
  const wanted: [string, number][] = [
    [dataDir, 0o700],
    [join(dataDir, 'secret.key'), 0o600],
  ];
  for (const [path, mode] of wanted) {
    const info = await stat(path).catch(() => null);
    if (info !== null && (info.mode & 0o077) !== 0) {
      const seen = `${path} may be read by other users of this machine.`;
      return finding('data_rights', 'error', seen, `chmod ${mode.toString(8)} ${path}`);
    }
  }
  return ok('data_rights', `Only its owner may read ${dataDir}.`);
}

async function descriptors(): Promise<Finding> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
  if (Number.isNaN(soft)) {
    const advice = 'Look with ulimit -n; 65536 is a good value.';
    return finding('descriptors', 'unchecked', 'The limit of open files is unknown.', advice);
  }
  const seen = `At most ${soft} open files.`;
  if (soft >= DESCRIPTORS_MIN) return ok('descriptors', seen);
  const advice = 'Start it as a systemd unit with LimitNOFILE=65536, or raise ulimit -n.';
  return finding('descriptors', 'warning', seen, advice);
}

async function certificate(file: string, now: number): Promise<Finding> {
  const check = `certificate_${file}`;
  try {
    const parsed = new X509Certificate(await readFile(file));
    const days = Math.floor((Date.parse(parsed.validTo) - now) / DAY_MS);
    const seen = `${file} ends on ${new Date(parsed.validTo).toISOString().slice(0, 10)}.`;
    if (Date.parse(parsed.validFrom) > now) {
      return finding(
        check,
        'error',
        `${file} is not valid yet.`,
        'Check the clock and the certificate.',
      );
    }
    if (days < 0)
      return finding(check, 'error', seen, 'Renew it, then systemctl reload postrider.');
    if (days < CERTIFICATE_WARNING_DAYS) {
      return finding(check, 'warning', seen, 'Renew it, then systemctl reload postrider.');
    }
    return ok(check, seen);
  } catch (error) {
    const advice = 'Give a PEM file with the whole chain that the service user may read.';
    return finding(check, 'error', `${file} can not be used: ${causeOf(error)}.`, advice);
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
