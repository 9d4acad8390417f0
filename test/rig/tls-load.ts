/**
 * Mail sent without a pause to all listeners under TLS, on every kind of connection, while something changes.
 *
 * Promises that every answer and reply is kept in its order, and that whatever is not answered fails the test: nothing
 * is tried again. Certificates are verified, so one that clients would refuse fails too.
 */
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import type { PeerCertificate } from 'node:tls';

import { createTransport } from 'nodemailer';

import { Arrivals } from './arrivals.ts';

/** Of each kind of HTTP connection: kept, and one for each request. */
export const LOAD_CLIENTS = 3;

export interface Listeners {
  httpPort: number;
  /** Implicit TLS. */
  smtpPort: number;
  /** With STARTTLS; absent: not tried. */
  startTlsPort?: number;
  /** Where reports come in, with STARTTLS; absent: not tried. */
  inboundPort?: number;
  /** A sandbox key. */
  token: string;
  /** PEM of the roots that clients trust. */
  ca: string[];
  /** The host that the certificates must be for. */
  name: string;
}

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

export interface Load {
  answers: Arrivals<Answer>;
  /** The last reply of each SMTP transaction. */
  replies: Arrivals<string>;
  /** Resolves when what is under way is answered; throws when anything was not. */
  stop(): Promise<void>;
}

/** The JSON of an email to this many simulated recipients. */
export function emailTo(count: number): string {
  return JSON.stringify({
    from: 'a@example.org',
    to: Array.from({ length: count }, (_, at) => `delivered+${at}@sandbox.test`),
    subject: 's',
    text: 't',
  });
}

/** A request on one of the agent's connections, `false`: on its own; rejects when it is not answered. */
export function ask(
  { httpPort, token, ca, name }: Listeners,
  options: { agent: Agent | false; method?: string; path?: string },
  write: (call: ReturnType<typeof request>) => void,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const target = { host: '127.0.0.1', port: httpPort, ca, servername: name, headers };
    const call = request({ method: 'POST', path: '/emails', ...target, ...options }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
      );
    });
    call.once('error', reject);
    write(call);
  });
}

export function send(listeners: Listeners, agent: Agent | false, recipients = 1): Promise<Answer> {
  const text = emailTo(recipients);
  return ask(listeners, { agent }, (call) => {
    call.setHeader('content-length', text.length);
    call.end(text);
  });
}

/** What a new handshake is shown at `port`. */
export function shownCertificate({ ca, name }: Listeners, port: number): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: name }, () => {
      resolve(socket.getPeerCertificate());
      socket.end();
    });
    socket.once('error', reject);
  });
}

/** Sends until it is told to stop. */
export function startLoad(listeners: Listeners): Load {
  const done = new AbortController();
  const answers = new Arrivals<Answer>('answers');
  const replies = new Arrivals<string>('replies');
  const agents = Array.from(
    { length: LOAD_CLIENTS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  );
  const overHttp = [...agents, ...agents.map(() => false as const)].map(async (agent) => {
    while (!done.signal.aborted) answers.push(await send(listeners, agent));
  });
  const pooled = { pool: true, maxConnections: 1, maxMessages: Infinity };
  const tls = { ca: listeners.ca, servername: listeners.name };
  const auth = { user: 'any', pass: listeners.token };
  const secure = { port: listeners.smtpPort, secure: true, auth };
  const startTls = { port: listeners.startTlsPort, requireTLS: true, auth };
  const inbound = { port: listeners.inboundPort, requireTLS: true };
  const transports = [
    ...[pooled, pooled, {}].map((options) => ({ ...secure, ...options })),
    ...(listeners.startTlsPort === undefined ? [] : [startTls, { ...startTls, ...pooled }]),
  ];
  const sendOver = async (options: object, mail: { from: string; to: string }): Promise<void> => {
    const transport = createTransport({ host: '127.0.0.1', tls, ...options });
    const whole = { ...mail, subject: 's', text: 't' };
    while (!done.signal.aborted) replies.push((await transport.sendMail(whole)).response);
    transport.close();
  };
  const report = { from: 'mx@example.net', to: 'abuse@mail.rig.test' };
  const overSmtp = [
    ...transports.map((one) =>
      sendOver(one, { from: 'a@example.org', to: 'delivered@sandbox.test' }),
    ),
    ...(listeners.inboundPort === undefined
      ? []
      : [inbound, { ...inbound, ...pooled }].map((one) => sendOver(one, report))),
  ];
  const load = Promise.all([...overHttp, ...overSmtp]);
  return {
    answers,
    replies,
    async stop() {
      done.abort();
      await load;
      for (const agent of agents) agent.destroy();
    },
  };
}
