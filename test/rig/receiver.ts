/**
 * An SMTP receiver for tests: takes mail like a recipient's server, records what it took, and behaves as scripted.
 *
 * Promises that `messages` holds only what was answered 250 after the final dot, with the exact bytes (dots
 * unstuffed), the envelope and the TLS session. Listens on one free loopback port. Does not imitate broken servers:
 * raw misbehaviour is `hostile-receiver.ts`.
 *
 *   const receiver = await startReceiver({ hostname: 'mx.example.com' });
 *   receiver.script.rcpt = () => '450 4.2.2 try later';
 *   const message = await receiver.messages.first((m) => m.to.includes('a@example.com'));
 */
import type { Socket } from 'node:net';

import { SMTPServer } from 'smtp-server';
import type { SMTPServerSession } from 'smtp-server';

import { Arrivals } from './arrivals.ts';
import { testAuthority } from './certificates.ts';
import type { Certificate } from './certificates.ts';

export interface ReceivedMessage {
  from: string;
  to: string[];
  bytes: Buffer;
  /** Null: it came in the clear. */
  tls: { protocol: string; cipher: string; servername: string } | null;
  /** What the sender said in EHLO. */
  helo: string;
  remoteAddress: string;
  /** Number of the connection, from 1: two messages with one number came over one session. */
  connection: number;
}

/** A whole reply line, null to accept, `drop` to close the connection, `stall` never to answer. */
export type Reply = `${number} ${string}` | 'drop' | 'stall' | null;

export interface Script {
  connect(remoteAddress: string): Reply;
  mail(from: string): Reply;
  rcpt(to: string): Reply;
  /** After the final dot, with what was received. */
  dot(message: ReceivedMessage): Reply;
}

export interface ReceiverOptions {
  hostname?: string;
  host?: string;
  port?: number;
  /** Default: a certificate of the rig's CA for `hostname`. Null: STARTTLS is not offered. */
  certificate?: Certificate | null;
}

export interface Receiver {
  host: string;
  port: number;
  script: Script;
  messages: Arrivals<ReceivedMessage>;
  /** Connections taken so far. */
  connections(): number;
  /** Sessions open now; with `helo` those of this sender. */
  openSessions(helo?: string): number;
  stop(): Promise<void>;
}

const ACCEPT_ALL: Script = {
  connect: () => null,
  mail: () => null,
  rcpt: () => null,
  dot: () => null,
};

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const hostname = options.hostname ?? 'mx.rig.test';
  const certificate =
    options.certificate === undefined ? testAuthority().issue([hostname]) : options.certificate;
  const script: Script = { ...ACCEPT_ALL };
  const messages = new Arrivals<ReceivedMessage>('messages received');
  const numbers = new Map<string, number>();

  const server = new SMTPServer({
    name: hostname,
    disabledCommands: certificate === null ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...(certificate === null ? {} : { key: certificate.key, cert: certificate.cert }),
    disableReverseLookup: true,
    logger: false,
    // The library waits this long for open sessions at the end; tests do not.
    closeTimeout: 50,
    onConnect(session, callback) {
      numbers.set(session.id, numbers.size + 1);
      play(script.connect(session.remoteAddress), server, session, callback);
    },
    onMailFrom(address, session, callback) {
      play(script.mail(address.address), server, session, callback);
    },
    onRcptTo(address, session, callback) {
      play(script.rcpt(address.address), server, session, callback);
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      // A sender that leaves in the middle gives 'error' and no 'end': nothing was received then.
      stream.on('error', () => undefined);
      stream.on('end', () => {
        const message = received(session, Buffer.concat(chunks), numbers.get(session.id) ?? 0);
        const reply = script.dot(message);
        if (reply === null) messages.push(message);
        play(reply, server, session, callback);
      });
    },
  });
  // Resets by peers and failed handshakes come here; a receiver survives them.
  server.on('error', () => undefined);
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  return {
    host,
    port,
    script,
    messages,
    connections: () => numbers.size,
    openSessions: (helo) =>
      Array.from(server.connections).filter(
        ({ session }) => helo === undefined || session.hostNameAppearsAs === helo,
      ).length,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

function received(session: SMTPServerSession, bytes: Buffer, connection: number): ReceivedMessage {
  const from = session.envelope.mailFrom;
  const tls = session.tlsOptions === false ? null : session.tlsOptions;
  return {
    from: from === false ? '' : from.address,
    to: session.envelope.rcptTo.map((recipient) => recipient.address),
    bytes,
    tls:
      tls === null
        ? null
        : { protocol: tls.version ?? '', cipher: tls.name, servername: session.servername || '' },
    helo: session.hostNameAppearsAs || '',
    remoteAddress: session.remoteAddress,
    connection,
  };
}

/** Carries out one scripted reply. */
function play(
  reply: Reply,
  server: SMTPServer,
  session: SMTPServerSession,
  callback: (error?: Error | null) => void,
): void {
  if (reply === null) return callback();
  if (reply === 'stall') return;
  if (reply === 'drop') {
    for (const connection of server.connections) {
      const socket = (connection as unknown as { _socket: Socket })._socket;
      if (connection.session.id === session.id) socket.destroy();
    }
    return;
  }
  const error = new Error(reply.slice(4));
  callback(Object.assign(error, { responseCode: Number(reply.slice(0, 3)) }));
}
