/** Ports for programs that cannot choose one themselves and say which: free a moment ago, on 127.0.0.1. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** All are bound before the first is released, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
  );
  return ports;
}
