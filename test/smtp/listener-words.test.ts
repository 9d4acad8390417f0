/** What operators and clients read of the listeners: addresses in use, the stop, mail to a person, and faults with a code. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { OperatorError } from '../../src/base/errors.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { Reports } from '../../src/flow/reports/reports.ts';
import type { Listen } from '../../src/base/config.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

let fixture: SmtpFixture;
const clients: RawClient[] = [];

beforeEach(async () => {
  fixture = await openSmtpFixture();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await fixture.close();
});

async function greeted(to: Listen): Promise<RawClient> {
  const client = await RawClient.open(to);
  clients.push(client);
  await client.hello();
  return client;
}

test('an address in use is refused by the key that names it', async () => {
  const { ctx, sink, submission } = fixture;
  const open = (smtp: Partial<typeof ctx.config.startup.smtp>) => ({
    ...ctx,
    config: {
      ...ctx.config,
      startup: { ...ctx.config.startup, smtp: { ...ctx.config.startup.smtp, ...smtp } },
    },
  });
  const parts = {
    queue: sink,
    rates: { take: () => ({ isAllowed: true, retrySeconds: 0 }) },
  };
  const nothing = { submission: [], submissions: [] };
  const starts = {
    'smtp.submission': () =>
      new SubmissionServer(open({ ...nothing, submission: [submission] }), parts).start(),
    'smtp.submissions': () =>
      new SubmissionServer(open({ ...nothing, submissions: [submission] }), parts).start(),
    'smtp.inbound': () =>
      new InboundServer(open({ inbound: submission }), new Reports(ctx, sink)).start(),
  };
  for (const [key, start] of Object.entries(starts)) {
    const error: unknown = await start().catch((reason: unknown) => reason);
    if (!(error instanceof OperatorError)) throw new Error(`${key} was opened`);
    expect(error.message).toBe(
      `${key}: 127.0.0.1 port ${submission.port} is in use by another program`,
    );
  }
});

test('a client that has nothing in progress is told of the stop', async () => {
  const idle = await greeted(fixture.submission);
  const stopped = fixture.server.stop();
  expect(await idle.reply()).toBe('421 4.3.2 The service is shutting down. Try again soon.');
  await idle.closed;
  await stopped;
});

test('mail to a person is logged with 300 characters of sender and subject, and its bytes', async () => {
  const client = await greeted(fixture.inbound);
  const message = `From: ${'f'.repeat(400)}@x.example\r\nSubject: ${'s'.repeat(400)}\r\n\r\nhello\r\n`;
  for (const step of ['MAIL FROM:<>', 'RCPT TO:<Abuse@Mail.appliance.example>', 'DATA']) {
    await client.command(step);
  }
  client.write(message);
  expect(await client.command('.')).toBe('250 2.0.0 OK');
  expect(fixture.logged).toMatchObject([
    {
      level: 'warn',
      event: 'operator_mail_received',
      peer: '127.0.0.1',
      from: 'f'.repeat(300),
      subject: 's'.repeat(300),
    },
  ]);
});

test('a fault with a code of its own is logged too', async () => {
  const client = await greeted(fixture.inbound);
  fixture.ctx.budget.isFree = () => {
    throw Object.assign(new Error('disk'), { code: 'EIO' });
  };
  expect(await client.command('MAIL FROM:<>')).toStartWith('451 4.3.0 ');
  expect(fixture.logged).toMatchObject([{ event: 'smtp_command_failed', level: 'error' }]);
});

test('a command line may have exactly so many characters', async () => {
  const say = async (length: number): Promise<string> => {
    const client = await greeted(fixture.inbound);
    return (await client.command('NOOP '.padEnd(length, 'x'))).slice(0, 3);
  };
  expect([
    await say(4_094),
    await say(4_095),
    await say(4_096),
    await say(4_097),
    await say(4_098),
  ]).toEqual(['250', '250', '250', '421', '421']);
});
