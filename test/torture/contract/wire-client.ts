/**
 * HTTP/1.1 as the fuzzer writes it: any method, any header, any bytes, over connections that are kept.
 *
 * Promises that nothing is added to a request but `Host` and, unless the request brings its own, `Content-Length`. A
 * connection that ends before its answer is an error, and so is an answer without a length.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Map<string, string>;
  body: Buffer;
  ms: number;
}

export interface WireRequest {
  method: string;
  /** Path with query, as it stands in the request line. */
  target: string;
  headers: [name: string, value: string][];
  body: Buffer | null;
}

const TIMEOUT_MS = 30_000;

export class WireClient {
  readonly #url: URL;
  readonly #idle: Socket[] = [];

  constructor(url: string) {
    this.#url = new URL(url);
  }

  async send(request: WireRequest): Promise<Answer> {
    const socket = this.#idle.pop() ?? (await this.#connect());
    const began = performance.now();
    const { answer, mayStay } = await exchange(socket, this.#head(request), request);
    if (mayStay) this.#idle.push(socket);
    else socket.destroy();
    return { ...answer, ms: performance.now() - began };
  }

  close(): void {
    for (const socket of this.#idle) socket.destroy();
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port) });
      socket.setNoDelay(true);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        // An idle connection that the server closes is not used again.
        socket.on('error', () => this.#forget(socket));
        socket.on('close', () => this.#forget(socket));
        resolve(socket);
      });
    });
  }

  #forget(socket: Socket): void {
    const at = this.#idle.indexOf(socket);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  #head({ method, target, headers, body }: WireRequest): Buffer {
    const given = new Set(headers.map(([name]) => name.toLowerCase()));
    const isLong = given.has('content-length') || given.has('transfer-encoding');
    const lines = [
      `${method} ${target} HTTP/1.1`,
      `Host: ${this.#url.host}`,
      ...headers.map(([name, value]) => `${name}: ${value}`),
      ...(body === null || isLong ? [] : [`Content-Length: ${body.length}`]),
    ];
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  }
}

function exchange(
  socket: Socket,
  head: Buffer,
  { method, body }: WireRequest,
): Promise<{ answer: Omit<Answer, 'ms'>; mayStay: boolean }> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const limit = setTimeout(() => fail(`no answer within ${TIMEOUT_MS} ms`), TIMEOUT_MS);
    const done = (): void => {
      clearTimeout(limit);
      socket.off('data', onData);
      socket.off('close', onClose);
    };
    const fail = (why: string): void => {
      done();
      socket.destroy();
      reject(new Error(`${why}; received: ${received.toString('latin1').slice(0, 300)}`));
    };
    const onClose = (): void => fail('the connection ended before its answer');
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = read(received, method);
      if (answer === null) return;
      done();
      resolve({ answer, mayStay: answer.headers.get('connection') !== 'close' });
    };
    socket.on('data', onData);
    socket.once('close', onClose);
    socket.write(body === null ? head : Buffer.concat([head, body]));
  });
}

/** The answer, once it is whole. */
function read(bytes: Buffer, method: string): Omit<Answer, 'ms'> | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const status = Number(first.split(' ')[1]);
  const body = bytes.subarray(end + 4);
  if (method !== 'HEAD' && headers.get('transfer-encoding') === 'chunked') {
    const whole = joinChunks(body);
    return whole === null ? null : { status, headers, body: whole };
  }
  const length = method === 'HEAD' ? 0 : Number(headers.get('content-length') ?? '0');
  if (body.length < length) return null;
  return { status, headers, body: body.subarray(0, length) };
}

/** The body that came in chunks (RFC 9112 section 7.1); null before its last one. */
function joinChunks(bytes: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf('\r\n', at);
    if (end === -1) return null;
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (bytes.length < end + 2 + length + 2) return null;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
