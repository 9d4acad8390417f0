/** A world whose appliance listens for reports and submissions too, and ways to send it one input of any kind. */
import { testAuthority } from '../rig/certificates.ts';
import { startWorld, type World } from '../rig/world.ts';
import { RawClient } from '../smtp/raw-client.ts';

interface Address {
  host: string;
  port: number;
}

export interface Target {
  world: World;
  /** The status, and the text of the response. */
  post(body: Buffer): Promise<{ status: number; text: string }>;
  /** A report; the reply to its end. */
  report(message: string): Promise<string>;
  /** A message by a client that logs in, with the first account's key unless told; the reply to its end. */
  submit(message: string, by?: { key: string; from: string }): Promise<string>;
}

/** `env`: of the appliance; `plans`: tables at the beginning of its config. */
export async function openTarget(env: Record<string, string> = {}, plans = ''): Promise<Target> {
  const { certFile, keyFile } = testAuthority().issue(['mail.rig.test', '127.0.0.1']);
  const world = await startWorld({
    env,
    config: `${plans}[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
  });
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  const inbound = addressOf(ready['inbound']);
  const submission = addressOf(ready['submission']);
  const { url, made } = world.appliance;
  return {
    world,
    async post(body) {
      const path = body[0] === 0x5b ? '/emails/batch' : '/emails';
      const headers = {
        authorization: `Bearer ${made.key}`,
        'content-type': 'application/json',
      };
      const response = await fetch(url + path, { method: 'POST', headers, body });
      return { status: response.status, text: await response.text() };
    },
    async report(message) {
      const client = await RawClient.open(inbound);
      await client.hello();
      const to = ['abuse@mail.rig.test', 'postmaster@mail.rig.test'];
      const reply = await deliver(client, '', to, message);
      client.close();
      return reply;
    },
    async submit(message, { key, from } = { key: made.key, from: 'a@example.org' }) {
      const client = await RawClient.open(submission);
      await client.hello(true);
      await client.login(key);
      const reply = await deliver(client, from, ['b@example.net'], message);
      client.close();
      return reply;
    },
  };
}

function addressOf(value: unknown): Address {
  const [host = '', port] = String(Array.isArray(value) ? value[0] : value).split(':');
  return { host, port: Number(port) };
}

async function deliver(
  client: RawClient,
  from: string,
  to: string[],
  message: string,
): Promise<string> {
  await client.command(`MAIL FROM:<${from}>`);
  for (const address of to) await client.command(`RCPT TO:<${address}>`);
  await client.command('DATA');
  client.write(message);
  return client.command('\r\n.');
}
