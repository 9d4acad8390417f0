/**
 * Ports for programs that cannot choose one themselves and say which: free a moment ago.
 *
 * Below those that the system gives to outgoing connections and to whoever listens at port 0: tests beside this one open
 * thousands of both, and one of them would take the port before its program does. A machine that keeps none apart has to
 * do without that.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server } from 'node:net';

/** Above what services of a machine usually listen at. */
const FIRST = 10_000;

/** The first port of those that the system chooses from (ip(7)). */
function firstOfSystem(): number {
  return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'latin1'), 10);
}

/** Fewer are not worth choosing from. */
const ENOUGH = 1000;

/** What this process has been given already: nobody may have bound it yet. */
const given = new Set<number>();

/** All are bound before the first is released, so that they differ. `host`: the address to bind. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const first = firstOfSystem();
  const below = first >= FIRST + ENOUGH ? first : 65_536;
  const bound: { server: Server; port: number }[] = [];
  while (bound.length < count) {
    const port = FIRST + Math.floor(Math.random() * (below - FIRST));
    const server = given.has(port) ? null : await bind(port, host);
    if (server !== null) bound.push({ server, port });
  }
  await Promise.all(
    bound.map(({ server }) => new Promise<void>((resolve) => server.close(() => resolve()))),
  );
  for (const { port } of bound) given.add(port);
  return bound.map(({ port }) => port);
}

/** Null when somebody has the port. */
function bind(port: number, host: string): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(port, host, () => resolve(server));
  });
}
