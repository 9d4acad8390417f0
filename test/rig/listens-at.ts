/**
 * Whether this process listens at a port of IPv4.
 *
 * Promises an answer that no other program changes: a port that was given up a moment ago may be given to another one,
 * and then a connection to it opens although this process refuses them.
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

/** This process's sockets, each once: the runtime copies the descriptors of standard output when it pleases. */
export function sockets(): string[] {
  const kinds = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return 'closed meanwhile';
    }
  });
  return [...new Set(kinds.filter((kind) => kind.startsWith('socket:')))];
}
