/** What a tick of the event loop that takes long is logged with while mail comes over SMTP. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const MESSAGE = 'From: a@acme.example\r\nTo: ann@receiver.example\r\nSubject: Hi\r\n\r\nHello.\r\n';

let fixture: SmtpFixture;

beforeAll(async () => {
  fixture = await openSmtpFixture();
});
afterAll(() => fixture.close());

/** What was under way, from the first byte of the content to the reply. */
async function namesWhile(client: RawClient, to: string): Promise<[string, string]> {
  await client.command('MAIL FROM:<a@x.example>');
  await client.command(`RCPT TO:<${to}>`);
  await client.command('DATA');
  client.write(MESSAGE);
  const arriving = fixture.ctx.doing.take();
  expect(await client.command('.')).toStartWith('250');
  client.close();
  return [arriving, fixture.ctx.doing.take()];
}

test('a submitted message has its name once it is there, and none when it is accepted', async () => {
  const client = await RawClient.open(fixture.submission);
  await client.hello(true);
  await client.login(fixture.token);
  expect(await namesWhile(client, 'ann@receiver.example')).toEqual(['', 'submitted message']);
  expect(fixture.ctx.doing.isAny).toBe(false);
});

test('so has a message to port 25', async () => {
  const client = await RawClient.open(fixture.inbound);
  await client.hello();
  const to = 'postmaster@mail.appliance.example';
  expect(await namesWhile(client, to)).toEqual(['', 'inbound message']);
  expect(fixture.ctx.doing.isAny).toBe(false);
});
