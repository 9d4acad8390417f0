/**
 * One question to resolvers over the network: UDP, then TCP where the answer did not fit.
 *
 * Promises an end within the sum of its waiting times for each server, a random id and a fresh source port for each
 * try, and that only an answer from the address asked (the socket is connected) which matches the question counts
 * (RFC 5452). Never throws. After a server that is dead, slow or failing, the next one is asked.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { Listen } from '../../base/config.ts';
import { encodeQuestion, matchAnswer, readAnswer } from './message.ts';
import type { Question, RawAnswer } from './message.ts';
import type { Pace } from './pace.ts';

/** The answer of one server, and which server it was. */
export interface Asked {
  answer: RawAnswer;
  server: Listen;
}

type Try = RawAnswer | { kind: 'truncated' };

/** How long to wait, in milliseconds. */
export interface Patience {
  /** For each server in each round. */
  rounds: readonly number[];
  /** The same where there is only one server: its first answer may have been lost, or take long to find. */
  loneRounds: readonly number[];
  tcp: number;
}

/** When the first of two servers is dead, that costs 1.5 s; when all are dead, about 10 s. */
export const PATIENCE: Patience = {
  rounds: [1500, 3500],
  loneRounds: [1500, 3500, 5000],
  tcp: 5000,
};

/** This many packets that do not match are an attack: TCP cannot be forged blindly (RFC 5452 section 9.3). */
const MAX_MISMATCHES = 32;
const ID_RANGE = 65_536;

/**
 * Asks one of `servers` after the other until one gives a usable answer. SERVFAIL and REFUSED are the failure of one
 * server: the next is asked, and the last failure is returned. Aborting `signal` ends it as `failed`.
 */
export async function askServers(
  servers: readonly Listen[],
  question: Question,
  patience: Patience,
  signal: AbortSignal,
  pace: Pace,
): Promise<Asked> {
  let last: Asked = {
    answer: { kind: 'failed', reason: 'no resolver' },
    server: { host: '', port: 0 },
  };
  const broken = new Set<Listen>();
  for (const udpMs of servers.length === 1 ? patience.loneRounds : patience.rounds) {
    for (const server of servers) {
      if (broken.has(server)) continue;
      if (signal.aborted) return { answer: { kind: 'failed', reason: 'stopped' }, server };
      const answer = await askServer(server, question, udpMs, patience.tcp, signal, pace);
      if (answer.kind !== 'failed') return { answer, server };
      last = { answer, server };
      // Silence may be a lost packet; any other failure would come again.
      if (answer.reason !== 'timeout') broken.add(server);
    }
  }
  const { answer, server } = last;
  if (answer.kind !== 'failed') return last;
  const reason = `${answer.reason} (${question.type} ${question.name} at ${server.host})`;
  return { answer: { kind: 'failed', reason }, server };
}

async function askServer(
  server: Listen,
  question: Question,
  udpMs: number,
  tcpMs: number,
  signal: AbortSignal,
  pace: Pace,
): Promise<RawAnswer> {
  let result = await askUdp(server, question, true, udpMs, signal);
  if (result.kind === 'failed' && (result.reason === 'FORMERR' || result.reason === 'NOTIMP')) {
    // RFC 6891 section 7: a server without EDNS.
    result = await askUdp(server, question, false, udpMs, signal);
  }
  if (result.kind !== 'truncated') return result;
  return askTcp(server, question, tcpMs, signal, pace);
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
        end(readAnswer(packet, question, bytes.length));
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
  pace: Pace,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const id = randomInt(ID_RANGE);
    const socket = connect({ host: server.host, port: server.port });
    let received = Buffer.alloc(0);
    let isWhole = false;
    let isOver = false;
    const end = (answer: RawAnswer): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.destroy();
      resolve(answer);
    };
    const stop = (): void => end({ kind: 'failed', reason: 'stopped' });
    const timer = setTimeout(() => end({ kind: 'failed', reason: 'timeout' }), tcpMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', (error) => end({ kind: 'failed', reason: `TCP ${errorCode(error)}` }));
    socket.on('close', () => {
      if (!isWhole) end({ kind: 'failed', reason: 'TCP connection closed' });
    });
    socket.on('connect', () => {
      // RFC 7766 section 8: two octets of length first, in one write.
      const query = encodeQuestion(id, question, true);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on('data', (chunk: Buffer) => {
      if (isWhole) return;
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const bytes = received.subarray(2, 2 + received.readUInt16BE(0));
      isWhole = true;
      // An answer over TCP is large, and the recipients of one message may have as many of them.
      void pace.run(() => {
        const packet = isOver ? null : matchAnswer(bytes, id, question);
        end(
          packet === null
            ? { kind: 'failed', reason: 'malformed answer' }
            : readAnswer(packet, question, bytes.length),
        );
      });
    });
  });
}

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
