/**
 * No answer holds the event loop either (docs/reliability.md R84): name servers, mail servers and webhook endpoints that
 * say as much as they can. The inputs are made from the printed seed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer, type Server, type Socket } from 'node:net';
import { seeded } from '../mail/random.ts';
import type { Query } from '../rig/dns-wire.ts';
import { startWorld, type World } from '../rig/world.ts';
import { closeEndpoints, openEndpoint } from '../wire/https/tls-endpoint.ts';
import { manyExchanges, manyStrings, pointersToPointers } from './hostile-dns.ts';
import { gapBeside, LONGEST_MS } from './gap-beside.ts';

const SEED = Number(process.env['SEED'] ?? 14_002);
const RECIPIENTS = 50;
const CALLS = 20;
/** Where the hostile mail server is. */
const MAIL_HOST = '127.0.46.7';

let world: World;
let mail: Server;
/** What the mail server says to each command, and at once. */
let say: (command: string) => string = () => '250 ok\r\n';
const random = seeded(SEED);

beforeAll(async () => {
  world = await startWorld();
  world.names.set('mx.loud.test', 'A', [MAIL_HOST]);
  world.names.set('*.loud.test', 'MX', ['10 mx.loud.test']);
  world.names.set('hook.test', 'A', ['127.0.0.2']);
  mail = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => answer(socket, chunk.toString('latin1')));
    socket.write(say('banner'));
  });
  await new Promise<void>((resolve) => mail.listen(world.receiver.port, MAIL_HOST, resolve));
}, 60_000);
afterAll(async () => {
  mail.close();
  closeEndpoints();
  await world.stop();
});

function answer(socket: Socket, text: string): void {
  for (const line of text.split('\r\n')) {
    const [command = ''] = /^(?:EHLO|MAIL|RCPT|DATA|RSET|QUIT|\.$)/.exec(line) ?? [];
    if (command !== '') socket.write(say(command === 'EHLO' ? 'ehlo' : command.toLowerCase()));
  }
}

/** Sends to as many domains at once; resolves when each has been tried. */
async function sendToAll(domain: string): Promise<void> {
  const word = random.int(2 ** 31).toString(36);
  const to = Array.from({ length: RECIPIENTS }, (_, n) => `r@${word}${n}.${domain}`);
  const sent = await world.appliance.api('POST', '/emails', {
    from: 'a@example.org',
    to,
    subject: 's',
    text: 't',
  });
  expect(sent.status).toBe(200);
  const { id } = (await sent.json()) as { id: string };
  for (;;) {
    const email = await world.appliance.api('GET', `/emails/${id}`);
    // A key may read only so often.
    const { events = [] } = (await email.json()) as { events?: { type: string }[] };
    const ends = events.filter(({ type }) => /delayed|bounced|failed|delivered/.test(type));
    if (ends.length >= RECIPIENTS) return;
    await Bun.sleep(200);
  }
}

const PACKETS: [name: string, make: (query: Query) => Buffer][] = [
  ['4,000 MX records of long names', manyExchanges],
  ['64 KB of TXT strings', manyStrings],
  ['pointers to pointers', pointersToPointers],
];

test.each(PACKETS)(
  'name servers: %s, for 50 recipients and a domain',
  async (_, make) => {
    world.names.script('*.evil.test', make);
    const gap = await gapBeside(world.appliance, SEED, async () => {
      const name = `d${random.int(2 ** 31).toString(36)}.evil.test`;
      world.names.script(`*.${name}`, make);
      world.names.script(`*._domainkey.${name}`, make);
      const made = await world.appliance.api('POST', '/domains', { name });
      const { id } = (await made.json()) as { id: string };
      const looked = world.appliance.api('POST', `/domains/${id}/verify`);
      await sendToAll('evil.test');
      await looked;
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  300_000,
);

const ok: Record<string, string> = {
  banner: '220 mx.loud.test ready\r\n',
  ehlo: '250-mx.loud.test\r\n250 8BITMIME\r\n',
  data: '354 go on\r\n',
};
const polite = (command: string): string => ok[command] ?? '250 ok\r\n';
const saysAt =
  (stage: string, text: string) =>
  (command: string): string =>
    command === stage ? text : polite(command);

const REPLIES: [name: string, say: (command: string) => string][] = [
  ['a greeting of 1 MB in one line', saysAt('banner', `220 ${'x'.repeat(1_000_000)}\r\n`)],
  ['a reply to EHLO of 100,000 lines', saysAt('ehlo', '250-X-A b\r\n'.repeat(100_000))],
  ['junk', saysAt('ehlo', '\0\xff\r\n\n'.repeat(200_000))],
  ...['mail', 'rcpt', '.'].map((stage): [string, (command: string) => string] => [
    `a refusal of 60 KB at ${stage}`,
    saysAt(stage, refusalOf(30, 1_990)),
  ]),
  ['a refusal of 99 lines of links and addresses', saysAt('rcpt', refusalOf(98, 600))],
];

/** Made of words that begin many patterns. */
function refusalOf(lines: number, bytes: number): string {
  const words = ['http://x.', 'a@', 'spam ', '5.7.1 ', '(', 'blocked using ', 'See '];
  const line = (): string => {
    const word = random.pick(words);
    return word.repeat(Math.ceil(bytes / word.length)).slice(0, bytes);
  };
  const all = Array.from({ length: lines }, () => `550-5.7.1 ${line()}\r\n`);
  return `${all.join('')}550 5.7.1 no\r\n`;
}

test.each(REPLIES)(
  'mail servers: %s, from 50 domains',
  async (_, speech) => {
    const gap = await gapBeside(world.appliance, SEED, async () => {
      say = speech;
      await sendToAll('loud.test');
    });
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  300_000,
);

const RESPONSES: [name: string, response: string][] = [
  ['a head of 1 MB', `HTTP/1.1 200 OK\r\n${`X-A: ${'a'.repeat(500)}\r\n`.repeat(2_000)}\r\n`],
  ['a head of 200,000 fields', `HTTP/1.1 200 OK\r\n${'A:\r\n'.repeat(200_000)}\r\n`],
  ['a field of 4 MB', `HTTP/1.1 500 ${'no '.repeat(1_300_000)}\r\nContent-Length: 0\r\n\r\n`],
  [
    'a body of 20 MB',
    `HTTP/1.1 500 no\r\nContent-Length: 20000000\r\n\r\n${'<a '.repeat(6_666_666)}`,
  ],
  [
    'a body in chunks of one byte',
    `HTTP/1.1 500 no\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1_000_000)}`,
  ],
  ['junk', '\0\xff\r\n\r\n'.repeat(500_000)],
];

test.each(RESPONSES)(
  'webhook endpoints: %s, 20 times at once',
  async (_, response) => {
    const { port, connections } = await openEndpoint((socket) => void socket.write(response));
    const made = await world.appliance.api('POST', '/webhooks', {
      endpoint: `https://hook.test:${port}/`,
      events: ['email.sent'],
    });
    const { id } = (await made.json()) as { id: string };
    const gap = await gapBeside(world.appliance, SEED, async () => {
      const before = connections();
      await Promise.all(
        Array.from({ length: CALLS }, () =>
          world.appliance.api('POST', `/webhooks/${id}/test`, { type: 'email.sent' }),
        ),
      );
      for (let sent = 0; sent < CALLS; sent += 1) {
        await world.appliance.api('POST', '/emails', {
          from: 'a@example.org',
          to: 'b@example.net',
          subject: 's',
          text: 't',
        });
      }
      while (connections() < before + 4) await Bun.sleep(50);
      await Bun.sleep(500);
    });
    await world.appliance.api('DELETE', `/webhooks/${id}`);
    expect(gap).toBeLessThanOrEqual(LONGEST_MS);
  },
  300_000,
);
