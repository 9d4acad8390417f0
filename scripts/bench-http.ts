/** HTTP/1.1 by hand on one kept connection: the generator must cost little. */
import { HTML, SENDER_DOMAIN, TEXT } from './bench-contender.ts';
import type { Connection } from './bench-contender.ts';

export interface HttpConnection {
  /** Sends `POST path` with a body of ASCII, or `GET path` without one; returns the body of a 2xx, and rejects on others. */
  ask(path: string, body?: string): Promise<string>;
  close(): void;
}

/** `key`: the bearer of every request. One request at a time. */
export async function openHttp(url: URL, key: string): Promise<HttpConnection> {
  let answered: ((text: string) => void) | null = null;
  let pending = '';
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data(_socket, chunk) {
        pending += chunk.toString('latin1');
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const answer = pending;
        pending = '';
        answered?.(answer);
      },
      close() {
        answered?.('closed');
      },
    },
  });
  const head = `HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${key}\r\n`;
  return {
    async ask(path, body) {
      const answer = new Promise<string>((resolve) => (answered = resolve));
      const rest =
        body === undefined
          ? '\r\n'
          : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      socket.write(`${body === undefined ? 'GET' : 'POST'} ${path} ${head}${rest}`);
      const text = await answer;
      if (!/^HTTP\/1\.1 2\d\d/.test(text)) throw new Error(refusalOf(text));
      return text.slice(text.indexOf('\r\n\r\n') + 4);
    },
    close: () => socket.end(),
  };
}

/** The status line and the body, without the header between them. */
function refusalOf(answer: string): string {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return `${head.split('\r\n')[0]} ${body.slice(0, 400)}`;
}

/** A connection that sends the benchmarks' message. */
export async function connectHttp(url: URL, key: string): Promise<Connection> {
  const http = await openHttp(url, key);
  const from = `Shop <shop@${SENDER_DOMAIN}>`;
  const rest = JSON.stringify({ from, subject: 'Sent', html: HTML, text: TEXT }).slice(1);
  return {
    async submit(recipient) {
      // All of it is ASCII, and written but once.
      await http.ask('/emails', `{"to":"${recipient}",${rest}`);
    },
    close: () => http.close(),
  };
}
