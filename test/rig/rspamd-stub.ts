/**
 * A server on loopback that answers as rspamd does, or as a test wants: what a real one (`rspamd.ts`) never says.
 *
 * Promises to keep every request whole. `ANSWER` is the answer of rspamd 3.4 to a message, shortened.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const ANSWER = {
  is_skipped: false,
  score: 12.7,
  required_score: 15,
  action: 'add header',
  symbols: {
    FROM_HAS_DN: {
      name: 'FROM_HAS_DN',
      score: 0,
      metric_score: 0,
      description: 'From header has a display name',
    },
    HTTP_TO_HTTPS: {
      name: 'HTTP_TO_HTTPS',
      score: 0.5,
      metric_score: 0.5,
      description: 'Anchor text contains different scheme to target URL',
      options: ['paypal.com.evil.example'],
    },
    R_DKIM_ALLOW: { name: 'R_DKIM_ALLOW', score: -0.2, metric_score: -0.2 },
    FORGED_MUA_THEBAT_MSGID_UNKNOWN: {
      name: 'FORGED_MUA_THEBAT_MSGID_UNKNOWN',
      score: 3,
      metric_score: 3,
      description: 'Message pretends to be send from The Bat! but has forged Message-ID',
    },
    BROKEN_HEADERS: {
      name: 'BROKEN_HEADERS',
      score: 8,
      metric_score: 10,
      description: 'Headers structure is likely broken',
    },
  },
  messages: {},
  'message-id': 'undef',
  time_real: 0.132813,
};

export interface StubRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface RspamdStub {
  url: string;
  requests: StubRequest[];
  /** Changes what is answered; default: `ANSWER`. */
  answerWith(answer: (response: ServerResponse) => void): void;
  stop(): Promise<void>;
}

/** Answers 200 with this text. */
export function saying(text: string): (response: ServerResponse) => void {
  return (response) => void response.end(text);
}

export async function startRspamdStub(): Promise<RspamdStub> {
  const requests: StubRequest[] = [];
  let answer = saying(JSON.stringify(ANSWER));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      requests.push({ path: url, headers, body: Buffer.concat(chunks) });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerWith: (next) => void (answer = next),
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
