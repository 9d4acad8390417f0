/**
 * A port of 127.0.0.1 on which every connection, or every datagram, is refused.
 *
 * Promises that it stays so until `stop`: the port belongs to a connection of this process, so that no other program is
 * given it, as happens to a port that was free a moment ago.
 */
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface ClosedPort {
  port: number;
  stop(): void;
}

export async function openClosedPort(): Promise<ClosedPort> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const accepted = new Promise<Socket>((resolve) => {
    server.once('connection', resolve);
  });
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const far = await accepted;
  server.close();
  // The far end's peer is the near end's own port, on which nobody listens.
  const port = far.remotePort;
  if (port === undefined) throw new Error('the connection ended');
  return {
    port,
    stop() {
      near.destroy();
      far.destroy();
    },
  };
}

/** The same of UDP: its socket takes datagrams of one peer alone (connect(2)), and nobody is that peer. */
export async function openClosedUdpPort(): Promise<ClosedPort> {
  const kept = createSocket('udp4');
  await new Promise<void>((resolve) => void kept.bind(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => kept.connect(9, '127.0.0.200', resolve));
  return { port: kept.address().port, stop: () => kept.close() };
}
