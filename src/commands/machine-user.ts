/**
 * Who runs a command, for the audit log.
 *
 * Promises the user that the machine knows by the process's own id, never what `USER` claims: the runtime takes its
 * word, and says `unknown` without it (docs/runtime-hazards.md H37). Behind sudo it is the user who called sudo.
 */
import { readFileSync } from 'node:fs';

const MAX_LENGTH = 100;

/** The user's name, at most 100 characters; `uid 1234` where the machine has no name for it. */
export function machineUser(): string {
  const uid = process.getuid?.() ?? 0;
  const caller = uid === 0 ? process.env['SUDO_USER'] : undefined;
  return (caller ?? nameOf(uid) ?? nameElsewhere() ?? `uid ${uid}`).slice(0, MAX_LENGTH);
}

/** By the machine's own list of users, passwd(5). */
function nameOf(uid: number): string | null {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    const fields = lines.map((line) => line.split(':'));
    return fields.find(([, , id]) => id === String(uid))?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Users may come from a directory service as well: the C library knows. */
function nameElsewhere(): string | null {
  try {
    const { stdout, exitCode } = Bun.spawnSync(['id', '-un'], { stderr: 'ignore' });
    const name = stdout.toString().trim();
    return exitCode === 0 && name !== '' ? name : null;
  } catch {
    return null;
  }
}
