/**
 * An HTTPS receiver for webhook calls, with a certificate of the rig's CA.
 *
 * Promises every request's exact body bytes and headers, in the order they came, and answers as scripted. Listens on
 * one free loopback port; the appliance needs `webhooks.allow_networks = ["127.0.0.0/8"]`, the CA in
 * `tls.extra_ca_file` and the host name in the rig's DNS to reach it.
 */
import { createServer } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

import { Arrivals } from './arrivals.ts';
import { testAuthority } from './certificates.ts';

export interface HookCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  receivedAt: number;
}

/** What to answer: a status with headers and body, `drop` to close without an answer, `stall` never to answer. */
export type HookAnswer =
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'drop'
  | 'stall';

export interface Hook {
  host: string;
  port: number;
  /** `https://<name>:<port>/hook`. */
  url: string;
  calls: Arrivals<HookCall>;
  /** Decides each answer; replace it at will. Default: 200. */
  script: { answer(call: HookCall): HookAnswer | Promise<HookAnswer> };
  stop(): Promise<void>;
}

export async function startHook(name = 'hook.rig.test', host = '127.0.0.1'): Promise<Hook> {
  const certificate = testAuthority().issue([name, 'localhost', host]);
  const calls = new Arrivals<HookCall>('webhook calls');
  const script: Hook['script'] = { answer: () => ({ status: 200 }) };
  const server = createServer(
    { key: certificate.key, cert: certificate.cert },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => {
        const call: HookCall = {
          method: request.method ?? '',
          path: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString('utf8'),
          receivedAt: Date.now(),
        };
        const decided = script.answer(call);
        calls.push(call);
        if (decided instanceof Promise)
          void decided.then((answer) => play(answer, request, response));
        else play(decided, request, response);
      });
    },
  );
  // A caller that leaves in the handshake ends up here.
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    host,
    port,
    url: `https://${name}:${port}/hook`,
    calls,
    script,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function play(answer: HookAnswer, request: IncomingMessage, response: ServerResponse): void {
  if (answer === 'stall') return;
  if (answer === 'drop') {
    request.socket.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body ?? '');
}
