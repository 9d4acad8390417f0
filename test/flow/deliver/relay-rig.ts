/**
 * A smarthost for tests: STARTTLS with a certificate of the rig's CA, mail only after AUTH.
 *
 * Promises that `messages` lists what was accepted with 250, with the user who sent it.
 */
import { SMTPServer } from 'smtp-server';

import { Arrivals } from '../../rig/arrivals.ts';
import { testAuthority } from '../../rig/certificates.ts';

export interface RelayedMessage {
  user: string;
  isSecure: boolean;
  to: string[];
  bytes: Buffer;
}

export interface Relay {
  port: number;
  messages: Arrivals<RelayedMessage>;
  stop(): Promise<void>;
}

export async function startRelay(login: { username: string; password: string }): Promise<Relay> {
  const { key, cert } = testAuthority().issue(['relay.example']);
  const messages = new Arrivals<RelayedMessage>('messages relayed');
  const server = new SMTPServer({
    name: 'relay.example',
    key,
    cert,
    disableReverseLookup: true,
    closeTimeout: 50,
    onAuth({ username, password }, _session, callback) {
      const isRight = username === login.username && password === login.password;
      callback(isRight ? null : new Error('wrong login'), isRight ? { user: username } : undefined);
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', () => undefined);
      stream.on('end', () => {
        messages.push({
          user: String(session.user),
          isSecure: session.secure,
          to: session.envelope.rcptTo.map(({ address }) => address),
          bytes: Buffer.concat(chunks),
        });
        callback();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    messages,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
