/**
 * No input holds the event loop (docs/reliability.md R84): while the worst inputs that are known come in over every
 * listener of the binary, GET /ready answers within 250 ms. The inputs are made from the printed seed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { testAuthority } from '../rig/certificates.ts';
import { startWorld, type World } from '../rig/world.ts';
import { RawClient } from '../smtp/raw-client.ts';
import { BODIES, REPORTS, SEED, SUBMITTED } from './event-loop-inputs.ts';
import { gapBeside, LONGEST_MS } from './gap-beside.ts';

let world: World;
let inbound: { host: string; port: number };
let submission: { host: string; port: number };

beforeAll(async () => {
  const { certFile, keyFile } = testAuthority().issue(['mail.rig.test', '127.0.0.1']);
  world = await startWorld({
    config: `[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
  });
  const ready = await world.appliance.log.first(({ event }) => event === 'ready');
  const addressOf = (value: unknown) => {
    const [host = '', port] = String(Array.isArray(value) ? value[0] : value).split(':');
    return { host, port: Number(port) };
  };
  inbound = addressOf(ready['inbound']);
  submission = addressOf(ready['submission']);
}, 60_000);
afterAll(() => world.stop());

const measured = (work: () => Promise<unknown>): Promise<number> =>
  gapBeside(world.appliance, SEED, work);

/** Accepted mail is signed, delivered, and read back: each email that `response` names. */
async function followed(response: string): Promise<void> {
  const ids = response.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  await world.receiver.messages.atLeast(ids.length, undefined, 60_000);
  world.receiver.messages.clear();
  for (const id of ids) {
    for (const path of [`/emails/${id}`, `/emails/${id}/attachments`]) {
      expect((await world.appliance.api('GET', path)).status).toBe(200);
    }
  }
}

test('the measure sees an appliance that answers nobody for 400 ms', async () => {
  const gap = await measured(async () => {
    process.kill(world.appliance.pid, 'SIGSTOP');
    await Bun.sleep(400);
    process.kill(world.appliance.pid, 'SIGCONT');
  });
  expect(gap).toBeGreaterThan(LONGEST_MS);
});

test.each(BODIES)(
  'HTTP: %s',
  async (_, make) => {
    const body = Buffer.from(make());
    const gap = await measured(async () => {
      const path = body[0] === 0x5b ? '/emails/batch' : '/emails';
      const response = await fetch(world.appliance.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${world.appliance.made.key}`,
          'content-type': 'application/json',
        },
        body,
      });
      const text = await response.text();
      if (response.status === 200) await followed(text);
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  120_000,
);

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

test.each(REPORTS)(
  'port 25: %s',
  async (_, make) => {
    const message = make();
    const gap = await measured(async () => {
      const client = await RawClient.open(inbound);
      await client.hello();
      await deliver(client, '', ['abuse@mail.rig.test', 'postmaster@mail.rig.test'], message);
      client.close();
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  120_000,
);

test.each(SUBMITTED)(
  'submission: %s',
  async (_, make) => {
    const message = make();
    const gap = await measured(async () => {
      const client = await RawClient.open(submission);
      await client.hello();
      await client.command('STARTTLS');
      await client.upgrade();
      await client.command('EHLO client.example');
      await client.login(world.appliance.made.key);
      const reply = await deliver(client, 'a@example.org', ['b@example.net'], message);
      client.close();
      if (reply.startsWith('250')) await followed(reply);
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  120_000,
);
