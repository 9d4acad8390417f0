/**
 * One question to resolvers over the network: UDP, then TCP where the answer did not fit.
 *
 * Promises an end within the sum of its patience for each server, a random id and a source port of its
 * own for each try, and belief only in what comes from the address asked (the socket is connected) and
 * matches (RFC 5452). Never throws. A server that is dead, slow or failing costs a step to the next.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { Listen } from '../base/config.ts';
import { encodeQuestion, matchAnswer, readVerdict } from './dns-message.ts';
import type { Question, Verdict } from './dns-message.ts';

/** What one server said, and which. */
export interface Asked {
  verdict: Verdict;
  server: Listen;
}

type Try = Verdict | { kind: 'truncated' };

/** How long to wait, in milliseconds. */
export interface Patience {
  /** For each server in each round. */
  rounds: readonly number[];
  /** The same where there is one server alone: its first answer may have been lost, or be slow to find. */
  loneRounds: readonly number[];
  tcp: number;
}

/** A dead first server of two costs 1.5 s; all dead about 10 s. */
export const PATIENCE: Patience = {
  rounds: [1500, 3500],
  loneRounds: [1500, 3500, 5000],
  tcp: 5000,
};

/** So many packets that do not match are no accident: TCP can not be forged blindly (RFC 5452 section 9.3). */
const MAX_MISMATCHES = 32;
const ID_RANGE = 65_536;

/**
 * Asks `servers` in turn until one gives a usable answer. SERVFAIL and REFUSED count as an answer of that
 * server alone: the next is asked, and the last failure is returned. `signal` ends it as `failed`.
 */
export async function askServers(
  servers: readonly Listen[],
  question: Question,
  patience: Patience,
  signal: AbortSignal,
): Promise<Asked> {
  let last: Asked = {
    verdict: { kind: 'failed', reason: 'no resolver' },
    server: { host: '', port: 0 },
  };
  const broken = new Set<Listen>();
  for (const udpMs of servers.length === 1 ? patience.loneRounds : patience.rounds) {
    for (const server of servers) {
      if (broken.has(server)) continue;
      if (signal.aborted) return { verdict: { kind: 'failed', reason: 'stopped' }, server };
      const verdict = await askServer(server, question, udpMs, patience.tcp, signal);
      if (verdict.kind !== 'failed') return { verdict, server };
      last = { verdict, server };
      // Silence may be a lost packet; anything else would be said again.
      if (verdict.reason !== 'timeout') broken.add(server);
    }
  }
  const { verdict, server } = last;
  if (verdict.kind !== 'failed') return last;
  const reason = `${verdict.reason} (${question.type} ${question.name} at ${server.host})`;
  return { verdict: { kind: 'failed', reason }, server };
}

async function askServer(
  server: Listen,
  question: Question,
  udpMs: number,
  tcpMs: number,
  signal: AbortSignal,
): Promise<Verdict> {
  let result = await askUdp(server, question, true, udpMs, signal);
  if (result.kind === 'failed' && (result.reason === 'FORMERR' || result.reason === 'NOTIMP')) {
    // RFC 6891 section 7: a server without EDNS.
    result = await askUdp(server, question, false, udpMs, signal);
  }
  if (result.kind !== 'truncated') return result;
  return askTcp(server, question, tcpMs, signal);
}

function askUdp(
  server: Listen,
  question: Question,
  hasEdns: boolean,
  patienceMs: number,
  signal: AbortSignal,
): Promise<Try> {
  return new Promise((resolve) => {
    const id = randomInt(ID_RANGE);
    const socket = createSocket(server.host.includes(':') ? 'udp6' : 'udp4');
    let mismatches = 0;
    let isOver = false;
    const end = (result: Try): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.close();
      resolve(result);
    };
    const stop = (): void => end({ kind: 'failed', reason: 'stopped' });
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'timeout' }), patienceMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', (error) => end({ kind: 'failed', reason: errorCode(error) }));
    socket.on('message', (bytes) => {
      if (isOver) return;
      const packet = matchAnswer(bytes, id, question);
      if (packet === null) {
        mismatches += 1;
        if (mismatches >= MAX_MISMATCHES) end({ kind: 'truncated' });
      } else if (packet.flag_tc) {
        end({ kind: 'truncated' });
      } else {
        end(readVerdict(packet, question, bytes.length));
      }
    });
    // Connected: the kernel drops what comes from elsewhere, and reports a closed port at once.
    socket.connect(server.port, server.host, () => {
      if (!isOver) socket.send(encodeQuestion(id, question, hasEdns));
    });
  });
}

function askTcp(
  server: Listen,
  question: Question,
  tcpMs: number,
  signal: AbortSignal,
): Promise<Verdict> {
  return new Promise((resolve) => {
    const id = randomInt(ID_RANGE);
    const socket = connect({ host: server.host, port: server.port });
    let received = Buffer.alloc(0);
    let isOver = false;
    const end = (verdict: Verdict): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.destroy();
      resolve(verdict);
    };
    const stop = (): void => end({ kind: 'failed', reason: 'stopped' });
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'timeout' }), tcpMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', (error) => end({ kind: 'failed', reason: `TCP ${errorCode(error)}` }));
    socket.on('close', () => end({ kind: 'failed', reason: 'TCP connection closed' }));
    socket.on('connect', () => {
      // RFC 7766 section 8: two octets of length first, in one write.
      const query = encodeQuestion(id, question, true);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const bytes = received.subarray(2, 2 + received.readUInt16BE(0));
      const packet = matchAnswer(bytes, id, question);
      end(
        packet === null
          ? { kind: 'failed', reason: 'malformed answer' }
          : readVerdict(packet, question, bytes.length),
      );
    });
  });
}

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
