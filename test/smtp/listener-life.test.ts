/** What a listener takes from the service around it: the clock of its certificate, what is told of mail, and what an end leaves. */
import { afterEach, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Reports } from '../../src/flow/reports/reports.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openFixture } from '../flow/fixture.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const DAY_MS = 86_400_000;
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (let next = cleanUps.pop(); next !== undefined; next = cleanUps.pop()) await next();
});

async function opened(options: Parameters<typeof openSmtpFixture>[0] = {}): Promise<SmtpFixture> {
  const fixture = await openSmtpFixture(options);
  cleanUps.push(() => fixture.close());
  return fixture;
}

async function greeted(to: { host: string; port: number }): Promise<RawClient> {
  const client = await RawClient.open(to);
  cleanUps.push(() => client.close());
  await client.hello();
  return client;
}

/** The replies to an envelope for `to` and to `message`, which ends as it is given. */
async function deliver(client: RawClient, to: string, message: string): Promise<string> {
  for (const step of ['MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) {
    expect(await client.command(step)).toMatch(/^[23]5[04] /);
  }
  client.write(message);
  return client.command('.');
}

test('a self-signed certificate begins a day before the time of the service, at a start and at a reload', async () => {
  const fixture = await openFixture({
    toml: '[smtp]\ninbound = "127.0.0.1:0"\nsubmission = ["127.0.0.1:0"]\n',
  });
  cleanUps.push(() => fixture.close());
  const { ctx, sink, clock } = fixture;
  const rates = { take: () => ({ isAllowed: true, retrySeconds: 0 }) };
  const file = join(ctx.config.startup.dataDir, 'smtp-self-signed.pem');
  const beginsAt = (): number =>
    Date.parse(new X509Certificate(readFileSync(file)).validFrom) + DAY_MS;
  const servers = [
    new InboundServer(ctx, new Reports(ctx, sink)),
    new SubmissionServer(ctx, { queue: sink, rates }),
  ];
  for (const server of servers) {
    cleanUps.push(() => server.stop());
    await server.start();
    expect(beginsAt()).toBe(clock.now());
    // One that is lost is made anew, and shown from then on.
    rmSync(file);
    clock.jump(3 * DAY_MS);
    expect(server.prepare(ctx.config)()).toBe(true);
    expect(beginsAt()).toBe(clock.now());
    expect(server.listeners).toHaveLength(1);
    await server.stop();
    expect(server.listeners).toEqual([]);
    rmSync(file);
    clock.jump(3 * DAY_MS);
  }
});

test('mail to a person is told in readable words, without the fields that it lacks, and with the bytes that are kept', async () => {
  const { inbound, logged } = await opened();
  const client = await greeted(inbound);
  const coded =
    'From: =?utf-8?q?J=C3=B6rg?= <j@x.example>\r\nSubject: =?utf-8?b?R3LDvMOfZQ==?=\r\n';
  expect(await deliver(client, 'postmaster', `${coded}\r\nhello\r\n`)).toBe('250 2.0.0 OK');
  expect(await deliver(client, 'postmaster', 'X-Own: x\r\n\r\nhello\r\n')).toBe('250 2.0.0 OK');
  const long = `${'x'.repeat(998)}\r\n`.repeat(1_100);
  expect(await deliver(client, 'postmaster', `X-Own: x\r\n\r\n${long}`)).toBe('250 2.0.0 OK');
  expect(logged.map(({ from, subject, bytes }) => [from, subject, bytes])).toEqual([
    ['Jörg <j@x.example>', 'Grüße', coded.length + 9],
    ['', '', 19],
    ['', '', 1_048_576],
  ]);
});

test('a complaint that finds no recipient is told with who brought it', async () => {
  const { inbound, logged } = await opened();
  const client = await greeted(inbound);
  const report = [
    'From: fbl@receiver.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    '',
    '--b--',
    '',
  ];
  expect(await deliver(client, 'postmaster', report.join('\r\n'))).toBe('250 2.0.0 OK');
  expect(logged).toMatchObject([
    { event: 'complaint_unmatched', peer: '127.0.0.1', feedback_type: 'abuse', feedback_id: null },
  ]);
});

test('hops are counted in the header alone, with a body or without, where they begin a line', async () => {
  const { inbound } = await opened();
  const client = await greeted(inbound);
  const hops = (count: number): string => 'Received: x\r\n'.repeat(count);
  expect(await deliver(client, 'postmaster', hops(30))).toBe('250 2.0.0 OK');
  expect(await deliver(client, 'postmaster', hops(31))).toStartWith('554 5.4.6 ');
  const quoted = 'X-Received: x\r\nSubject: received: x\r\n'.repeat(20);
  expect(await deliver(client, 'postmaster', quoted + hops(30))).toBe('250 2.0.0 OK');
  // The header ends with the first empty line, however many follow.
  const returned = `Subject: x\r\n\r\n${hops(40)}\r\nend\r\n\r\n`;
  expect(await deliver(client, 'postmaster', returned)).toBe('250 2.0.0 OK');
});

test('a session that has ended counts for its address no more', async () => {
  const { inbound } = await opened({ inbound: { connectionsPerAddress: 2 } });
  /** The first client that is let in: the server may hear of an end later than the client. */
  const letIn = async (): Promise<RawClient> => {
    for (;;) {
      const client = await RawClient.open(inbound);
      if ((await client.reply()).startsWith('220 ')) return client;
      await client.closed;
    }
  };
  for (let round = 0; round < 3; round += 1) {
    const clients = [await letIn(), await letIn()];
    const more = await RawClient.open(inbound);
    expect(await more.reply()).toStartWith('421 4.7.0 ');
    await more.closed;
    for (const client of clients) {
      expect(await client.command('QUIT')).toStartWith('221 ');
      await client.closed;
    }
  }
});
