/**
 * The counting receiver of the delivery benchmark: takes mail on every loopback address, as fast as it can.
 *
 * A process of its own, so that its time is not the contender's. Promises to count what it answered 250
 * and, apart, what came without a DKIM signature. Speaks just enough SMTP (RFC 5321, PIPELINING) and
 * keeps nothing. Told its port by argument, and the files of a key and a certificate when it shall take mail over TLS
 * alone (RFC 3207); reports by IPC.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { TLSSocket, createSecureContext } from 'node:tls';

export interface Receipt {
  count: number;
  unsigned: number;
  /** Epoch milliseconds of the last one. */
  lastAt: number;
}

interface State {
  pending: Buffer;
  isInData: boolean;
  /** STARTTLS is offered, and asked for before anything else. */
  needsTls: boolean;
}

const END = Buffer.from('\r\n.\r\n');
const SIGNATURE = Buffer.from('DKIM-Signature:');
const NOTHING = Buffer.alloc(0);
const EXTENSIONS = '250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE\r\n';
const READY = '220 go on\r\n';

const receipt: Receipt = { count: 0, unsigned: 0, lastAt: 0 };

function take(state: State, chunk: Buffer): string {
  let bytes = state.pending.length > 0 ? Buffer.concat([state.pending, chunk]) : chunk;
  let answer = '';
  for (;;) {
    if (state.isInData) {
      const end = bytes.indexOf(END);
      if (end < 0) break;
      receipt.count += 1;
      if (bytes.subarray(0, end).indexOf(SIGNATURE) < 0) receipt.unsigned += 1;
      receipt.lastAt = Date.now();
      state.isInData = false;
      bytes = bytes.subarray(end + END.length);
      answer += '250 2.0.0 taken\r\n';
    } else {
      const end = bytes.indexOf('\r\n');
      if (end < 0) break;
      const verb = bytes.toString('latin1', 0, Math.min(4, end)).toUpperCase();
      bytes = bytes.subarray(end + 2);
      if (verb === 'EHLO') {
        answer += `250-bench\r\n${state.needsTls ? '250-STARTTLS\r\n' : ''}${EXTENSIONS}`;
      } else if (verb === 'STAR') {
        answer += READY;
        break;
      } else if (state.needsTls) answer += '530 5.7.0 use STARTTLS\r\n';
      else if (verb === 'DATA') {
        answer += '354 go on\r\n';
        state.isInData = true;
      } else if (verb === 'QUIT') answer += '221 bye\r\n';
      else answer += '250 ok\r\n';
    }
  }
  state.pending = bytes.length > 0 ? Buffer.from(bytes) : NOTHING;
  return answer;
}

const newState = (needsTls: boolean): State => ({ pending: NOTHING, isInData: false, needsTls });

function listenPlain(port: number): void {
  Bun.listen<State>({
    hostname: '0.0.0.0',
    port,
    socket: {
      open(socket) {
        socket.data = newState(false);
        socket.write('220 bench ESMTP\r\n');
      },
      data(socket, chunk) {
        const answer = take(socket.data, chunk);
        if (answer !== '') socket.write(answer);
        if (answer.endsWith('221 bye\r\n')) socket.end();
      },
      error() {},
    },
  });
}

/** Bun's own sockets cannot be upgraded on the server's side. */
function listenTls(port: number, [keyFile = '', certFile = '']: readonly string[]): void {
  const secureContext = createSecureContext({
    key: readFileSync(keyFile),
    cert: readFileSync(certFile),
  });
  const serve = (socket: Socket, state: State): void => {
    socket.on('data', (chunk: Buffer) => {
      const answer = take(state, chunk);
      if (answer === READY) {
        socket.removeAllListeners('data');
        socket.write(answer);
        serve(new TLSSocket(socket, { isServer: true, secureContext }), newState(false));
      } else if (answer !== '') socket.write(answer);
      if (answer.endsWith('221 bye\r\n')) socket.end();
    });
    socket.on('error', () => socket.destroy());
  };
  createServer((socket) => {
    serve(socket, newState(true));
    socket.write('220 bench ESMTP\r\n');
  }).listen(port, '0.0.0.0');
}

const [, , port = '', ...files] = process.argv;
if (files.length > 0) listenTls(Number(port), files);
else listenPlain(Number(port));

let reported = -1;
setInterval(() => {
  if (receipt.count === reported) return;
  reported = receipt.count;
  process.send?.(receipt);
}, 20);
process.send?.(receipt);
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0));
