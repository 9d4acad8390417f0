/**
 * Two compiled binaries on one database take mail: submission on either with one key, and on port 25 the reports about
 * what the other has sent (docs/reliability.md R127).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createTransport } from 'nodemailer';

import type { BinaryAppliance } from '../rig/binary.ts';
import { testAuthority } from '../rig/certificates.ts';
import { happened, listen } from '../rig/journey.ts';
import { testServer } from '../rig/postgres.ts';
import type { ReceivedMessage } from '../rig/receiver.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

let world: World;
let nodes: readonly [BinaryAppliance, BinaryAppliance];

beforeAll(async () => {
  const { certFile, keyFile } = testAuthority().issue(['mail.rig.test', '127.0.0.1']);
  world = await startWorld({
    store: await (await testServer()).freshDatabase(),
    config: `[smtp]
submission = ["127.0.0.1:0"]
inbound = "127.0.0.1:0"
tls_cert = "${certFile}"
tls_key = "${keyFile}"
`,
  });
  nodes = [world.appliance, await world.join('b')];
  await listen(world);
}, 60_000);
afterAll(() => world.stop());

/** The port of a node's listener, as its log says it. */
async function portOf(node: BinaryAppliance, listener: 'inbound' | 'submission'): Promise<number> {
  const ready = await node.log.first(({ event }) => event === 'ready');
  return Number(/:(\d+)$/.exec(String([ready[listener]].flat()[0]))?.[1]);
}

interface Shown {
  status: string;
  subject: string;
  events: { id: string; type: string }[];
}

async function shownBy(node: BinaryAppliance, id: string): Promise<Shown> {
  const answer = await node.api('GET', `/emails/${id}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Shown;
}

async function suppressionsOf(node: BinaryAppliance): Promise<{ email: string; reason: string }[]> {
  const { data } = (await (await node.api('GET', '/suppressions')).json()) as {
    data: { email: string; reason: string }[];
  };
  return data;
}

/** Calls of the hook about the email, by type. */
function callsOf(id: string, type: string): unknown[] {
  const all = world.hook.calls.items.map(
    ({ body }) => JSON.parse(body) as { type: string; data: { email_id: string } },
  );
  return all.filter((event) => event.type === type && event.data.email_id === id);
}

test('what is submitted on either node with one key is sent, and both show the same', async () => {
  for (const [at, node] of nodes.entries()) {
    const transport = createTransport({
      host: '127.0.0.1',
      port: await portOf(node, 'submission'),
      requireTLS: true,
      tls: { ca: testAuthority().cert, servername: 'mail.rig.test' },
      auth: { user: 'any', pass: world.appliance.made.key },
    });
    const subject = `Submitted ${at}`;
    const { response } = await transport.sendMail({
      from: 'hello@example.org',
      to: `sub${at}@example.net`,
      subject,
      text: 'Hello.',
    });
    transport.close();
    const id = /as ([0-9a-f-]{36})/.exec(response)?.[1] ?? response;
    await happened(world, id, 'email.delivered');
    const [ofA, ofB] = [await shownBy(nodes[0], id), await shownBy(nodes[1], id)];
    expect(ofA).toEqual(ofB);
    expect(ofA).toMatchObject({ subject, status: 'delivered' });
  }
  const copies = world.receiver.messages.items.filter(({ to }) => to[0]?.startsWith('sub'));
  expect(copies).toHaveLength(2);
}, 30_000);

/** Sends through a node, and gives the id with what the receiver got. */
async function sendThrough(
  node: BinaryAppliance,
  to: string,
): Promise<{ id: string; received: ReceivedMessage }> {
  const email = { from: 'hello@example.org', to, subject: 'Reported', text: 'Hello.' };
  const sent = await node.api('POST', '/emails', email);
  const { id } = (await sent.json()) as { id: string };
  const received = await world.receiver.messages.first((one) => one.to.includes(to));
  await happened(world, id, 'email.delivered');
  return { id, received };
}

/** Brings a report to port 25 of a node, as a foreign server would. */
async function report(node: BinaryAppliance, to: string, text: string): Promise<void> {
  const port = await portOf(node, 'inbound');
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  await transport.sendMail({ envelope: { from: '', to: [to] }, raw: text });
  transport.close();
}

/** RFC 3464 section 2. */
function bounceOf(address: string): string {
  return `From: MAILER-DAEMON@mx.example.net
Subject: Undelivered Mail Returned to Sender
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

It could not be delivered.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net

Final-Recipient: rfc822; ${address}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 No such user
--b--
`.replaceAll('\n', '\r\n');
}

/** RFC 5965 section 2. */
function complaintOf(received: ReceivedMessage): string {
  return `From: feedback@example.net
Subject: FW: Reported
Content-Type: multipart/report; report-type=feedback-report; boundary="b"

--b
Content-Type: text/plain

It was marked as spam.
--b
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: rig/1
Version: 1

--b
Content-Type: message/rfc822

`
    .replaceAll('\n', '\r\n')
    .concat(received.bytes.toString('latin1'), '\r\n--b--\r\n');
}

for (const [what, type, status, reason] of [
  ['a bounce', 'email.bounced', 'bounced', 'hard_bounce'],
  ['a complaint', 'email.complained', 'complained', 'complaint'],
] as const) {
  test(`${what} that comes to both nodes at once about mail of one counts once, and both show it`, async () => {
    const [a, b] = nodes;
    const to = `${status}@example.net`;
    const { id, received } = await sendThrough(a, to);
    const text = type === 'email.bounced' ? bounceOf(to) : complaintOf(received);
    const address = type === 'email.bounced' ? received.from : 'abuse@mail.rig.test';
    // To the other node first in line, and to both: a sender repeats what it got no answer for.
    await Promise.all([b, a, b, a].map((node) => report(node, address, text)));
    await report(b, address, text);
    await happened(world, id, type);
    const [ofA, ofB] = [await shownBy(a, id), await shownBy(b, id)];
    expect(ofA).toEqual(ofB);
    expect(ofB.status).toBe(status);
    expect(ofB.events.filter((event) => event.type === type)).toHaveLength(1);
    for (const node of nodes) {
      const own = (await suppressionsOf(node)).filter(({ email }) => email === to);
      expect(own.map((one) => one.reason)).toEqual([reason]);
    }
    expect(callsOf(id, type)).toHaveLength(1);
    // Neither sends there any more.
    for (const node of nodes) {
      const email = { from: 'hello@example.org', to, subject: 'Again', text: 'Hello.' };
      const again = (await (await node.api('POST', '/emails', email)).json()) as { id: string };
      expect((await shownBy(node, again.id)).status).toBe('suppressed');
    }
  }, 30_000);
}
