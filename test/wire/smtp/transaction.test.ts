/** What is left of a session after a transaction: open for the next one, or closed for good. */
import { afterEach, expect, test } from 'bun:test';

import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import { startScriptedSmtp, type ScriptedSmtp } from '../../rig/scripted-smtp.ts';

let server: ScriptedSmtp;
afterEach(() => server.stop());

/** Whether the session may carry another message after one to which `command` was answered with `reply`. */
async function usableAfter(command: string, reply: string): Promise<boolean> {
  server = await startScriptedSmtp({
    reply: (line) => (line.toUpperCase().startsWith(command) ? reply : undefined),
  });
  const opened = await openSession({
    address: '127.0.0.1',
    port: server.port,
    localAddress: null,
    heloName: 'client.test',
    serverName: 'mx.test',
    tls: { mode: 'none', verify: false },
    auth: null,
    deadlines: PRODUCTION_DEADLINES,
  });
  if (opened.kind !== 'ready') throw new Error(`not ready: ${JSON.stringify(opened)}`);
  const { session } = opened;
  const result = await session.send({
    from: '',
    to: 'to@scripted.test',
    message: new OutgoingMessage(Buffer.from('Subject: x\r\n\r\nx\r\n'), null),
    needsSmtpUtf8: false,
    dsn: false,
  });
  expect(result.kind).toBe(reply.startsWith('2') ? 'accepted' : 'refused');
  const { isUsable } = session;
  session.destroy();
  return isUsable;
}

// RFC 5321 section 3.8: whoever says 421 closes.
test.each([
  ['.', '250 taken', true],
  ['.', '451 later', true],
  ['.', '421 closing', false],
  ['RCPT', '550 nobody', true],
  ['RCPT', '421 closing', false],
  ['MAIL', '451 later', true],
  ['MAIL', '421 closing', false],
])('after %s is answered %s: usable %p', async (command, reply, isUsable) => {
  expect(await usableAfter(command, reply)).toBe(isUsable);
});
