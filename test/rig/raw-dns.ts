/**
 * A DNS server that sends whatever packets a test makes of a query, over UDP and TCP on one port.
 *
 * Promises to add nothing. For honest answers there is `names.ts`.
 */
import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import type { Listen } from '../../src/base/config.ts';
import { encodeAnswer, parseQuery } from './dns-wire.ts';
import type { Answer, Query } from './dns-wire.ts';

export interface Asked {
  query: Query;
  packet: Buffer;
  via: 'udp' | 'tcp';
  /** UDP only: the asker's port, for answers from elsewhere. */
  port: number;
}

export interface RawDns {
  listen: Listen;
  asked: Asked[];
  stop(): Promise<void>;
}

/** Every packet that `respond` gives is sent back, in order. */
export async function startRawDns(
  respond: (asked: Asked) => Buffer[],
  host = '127.0.0.1',
): Promise<RawDns> {
  const asked: Asked[] = [];
  const take = (packet: Buffer, via: 'udp' | 'tcp', port: number): Buffer[] => {
    const query = parseQuery(packet);
    if (query === null) return [];
    const one = { query, packet, via, port };
    asked.push(one);
    return respond(one);
  };
  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      for (const answer of take(chunk.subarray(2), 'tcp', 0)) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        socket.write(Buffer.concat([length, answer]));
      }
    });
  });
  let udp: UdpSocket | null = null;
  let port = 0;
  while (udp === null) {
    // A port that is free for TCP may be taken for UDP, by a lookup of another test for example.
    port = await listenTcp(tcp, host);
    udp = await bindUdp(port, host);
    if (udp === null) await new Promise((resolve) => tcp.close(resolve));
  }
  const socket = udp;
  socket.on('message', (packet, peer) => {
    for (const answer of take(packet, 'udp', peer.port)) {
      socket.send(answer, peer.port, peer.address);
    }
  });
  return {
    listen: { host, port },
    asked,
    async stop() {
      tcp.close();
      await new Promise<void>((resolve) => {
        socket.close(() => resolve());
      });
    },
  };
}

function listenTcp(server: Server, host: string): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, host, () => {
      const address = server.address();
      resolve(address === null || typeof address === 'string' ? 0 : address.port);
    });
  });
}

/** Null: the port is taken. */
function bindUdp(port: number, host: string): Promise<UdpSocket | null> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => {
      socket.close();
      resolve(null);
    });
    socket.bind(port, host, () => resolve(socket));
  });
}

const EMPTY: Answer = {
  rcode: 'noerror',
  records: [],
  authority: [],
  isAuthenticated: false,
  isTruncated: false,
};

/** An A record for what was asked. */
export function aRecord(query: Query, address: string): Buffer {
  const record = { name: query.name, type: 'A' as const, value: address, ttlSeconds: 60 };
  return encodeAnswer(query, { ...EMPTY, records: [record] });
}

/** An answer made of these parts. */
export function answerWith(query: Query, parts: Partial<Answer>): Buffer {
  return encodeAnswer(query, { ...EMPTY, ...parts });
}
