/**
 * What this process has open, as the kernel says: descriptors, sockets, and the ports of IPv4 at which it listens.
 *
 * Promises answers that no other program changes: a port that was given up a moment ago may be given to another one, and
 * then a connection to it opens although this process refuses them.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** TCP_LISTEN, as /proc/net/tcp writes it (proc(5)). */
const LISTENING = '0A';

export function listensAt(port: number): boolean {
  const ours = new Set(sockets());
  const [, ...rows] = readFileSync('/proc/self/net/tcp', 'latin1').trim().split('\n');
  return rows.some((row) => {
    const columns = row.trim().split(/\s+/);
    const local = Number.parseInt(columns[1]?.split(':')[1] ?? '', 16);
    return local === port && columns[3] === LISTENING && ours.has(`socket:[${columns[9]}]`);
  });
}

/** What is open, each once: the runtime copies the descriptors of standard output when it pleases. */
export function descriptors(): string[] {
  const targets = readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      // Closed meanwhile, as the one is that lists them.
      return [];
    }
  });
  return [...new Set(targets)];
}

export const sockets = (): string[] =>
  descriptors().filter((target) => target.startsWith('socket:'));
