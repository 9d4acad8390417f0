/** A message that comes fast: one large chunk in each tick of the event loop, and no wait for small ones. */
import { afterEach, expect, spyOn, test } from 'bun:test';
import { setImmediate as nextTick } from 'node:timers/promises';

import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { KeptBytes } from '../../src/base/kept-bytes.ts';
import { ByteBudget } from '../../src/flow/byte-budget.ts';
import { pauseAfterLarge } from '../../src/smtp/chunk-pauses.ts';
import { readMessage } from '../../src/smtp/read-message.ts';
import { openSmtpFixture, type SmtpFixture } from './fixture.ts';
import { RawClient } from './raw-client.ts';

const KIB = 1024;
let fixture: SmtpFixture | null = null;
afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

/** A parser within DATA, and what it has read. */
function inData() {
  const parser = new SMTPStream();
  pauseAfterLarge(parser);
  const share = new ByteBudget().open('');
  const message = readMessage(parser.startDataMode(), 14 * KIB * KIB, share);
  return { parser, message };
}

test.each([
  [64 * KIB - 1, 'at once'],
  [64 * KIB, 'in the next tick'],
])('a chunk of %i bytes is done %s', async (bytes, when) => {
  const { parser, message } = inData();
  let isDone = false;
  parser._write(Buffer.alloc(bytes, 'x'), 'buffer', (error) => {
    expect(error).toBeFalsy();
    isDone = true;
  });
  expect(isDone).toBe(when === 'at once');
  await nextTick();
  expect(isDone).toBe(true);
  parser.end('\r\n.\r\n');
  expect((await message).totalBytes).toBe(bytes + 2);
});

test('what is wrong with a chunk is told all the same', async () => {
  const parser = new SMTPStream();
  pauseAfterLarge(parser);
  parser.oncommand = (_, next) => next?.();
  const failed = Promise.withResolvers<unknown>();
  parser._write(Buffer.alloc(128 * KIB, 'x'), 'buffer', failed.resolve);
  expect(String(await failed.promise)).toContain('too long');
});

test.each(['STARTTLS', 'TLS from the start'])(
  'with %s a socket is read again in the next tick only, whatever has arrived',
  async (kind) => {
    const open = await openSmtpFixture();
    fixture = open;
    const isFirst = kind === 'STARTTLS';
    const client = isFirst
      ? await RawClient.open(open.submission)
      : await RawClient.openTls(open.submissions);
    await client.hello(isFirst);
    await client.login(open.token);
    for (const line of ['MAIL FROM:<a@acme.example>', 'RCPT TO:<b@example.net>', 'DATA']) {
      await client.command(line);
    }
    let [most, inTick, all] = [0, 0, 0];
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const { push } = KeptBytes.prototype;
    const pushed = spyOn(KeptBytes.prototype, 'push').mockImplementation(function (
      this: KeptBytes,
      chunk: Buffer,
    ) {
      push.call(this, chunk);
      if (chunk.length < 64 * KIB) return;
      if (inTick === 0) setImmediate(() => (inTick = 0));
      inTick += 1;
      all += 1;
      most = Math.max(most, inTick);
    });
    const line = `${'x'.repeat(70)}\r\n`;
    client.write(`From: a@acme.example\r\n\r\n${line.repeat(12_000_000 / line.length)}.\r\n`);
    expect(await client.reply()).toStartWith('250 2.0.0 OK queued as ');
    pushed.mockRestore();
    expect(all).toBeGreaterThan(5);
    expect(most).toBe(1);
    client.close();
  },
);
