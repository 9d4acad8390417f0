/**
 * The counting receiver of the delivery benchmark: takes mail on every loopback address, as fast as it can.
 *
 * A process of its own, so that its time is not the contender's. Promises to count what it answered 250
 * and, apart, what came without a DKIM signature. Speaks just enough SMTP (RFC 5321, PIPELINING) and
 * keeps nothing. Told its port by argument; reports by IPC.
 */
export interface Receipt {
  count: number;
  unsigned: number;
  /** Epoch milliseconds of the last one. */
  lastAt: number;
}

interface State {
  pending: Buffer;
  isInData: boolean;
}

const END = Buffer.from('\r\n.\r\n');
const SIGNATURE = Buffer.from('DKIM-Signature:');
const NOTHING = Buffer.alloc(0);

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
      if (verb === 'EHLO') answer += '250-bench\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE\r\n';
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

Bun.listen<State>({
  hostname: '0.0.0.0',
  port: Number(process.argv[2]),
  socket: {
    open(socket) {
      socket.data = { pending: NOTHING, isInData: false };
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

let reported = -1;
setInterval(() => {
  if (receipt.count === reported) return;
  reported = receipt.count;
  process.send?.(receipt);
}, 20);
process.send?.(receipt);
// The benchmark is gone, however it ended.
process.on('disconnect', () => process.exit(0));
