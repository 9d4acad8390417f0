/** The final dot leaves only where `mayHandOver` says so at that moment; before it nothing of a message counts. */
import { afterEach, expect, test } from 'bun:test';

import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { openSession } from '../../../src/wire/smtp/client.ts';
import type { SmtpSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { SendResult } from '../../../src/wire/smtp/transaction.ts';
import { startScriptedSmtp } from '../../rig/scripted-smtp.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function start(): Promise<{ server: ScriptedSmtp; session: SmtpSession }> {
  const server = await startScriptedSmtp();
  ended.push(() => server.stop());
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
  if (opened.kind !== 'ready') throw new Error('not ready');
  ended.push(() => opened.session.destroy());
  return { server, session: opened.session };
}

/** Sends a message of `bytes` and more. */
function send(
  session: SmtpSession,
  bytes: number,
  mayHandOver: () => boolean,
): Promise<SendResult> {
  const text = `Subject: test\r\n\r\n${'0123456789012345678901234567890123456789\r\n'.repeat(bytes / 42 + 1)}`;
  return session.send({
    from: 'a@client.test',
    to: 'b@scripted.test',
    message: new OutgoingMessage(Buffer.from(text), null),
    needsSmtpUtf8: false,
    dsn: false,
    mayHandOver,
  });
}

const SIZES = [10, 4_000, 4_200, 65_536, 300_000];

for (const bytes of SIZES) {
  test(`a message of ${bytes} bytes is not taken where it may not be handed over`, async () => {
    const { server, session } = await start();
    expect(await send(session, bytes, () => false)).toMatchObject({
      kind: 'broken',
      stage: 'body',
      mayBeDuplicate: false,
    });
    expect([session.isUsable, server.bodies]).toEqual([false, []]);
  });

  test(`a message of ${bytes} bytes is taken whole where it may`, async () => {
    const { server, session } = await start();
    expect(await send(session, bytes, () => true)).toMatchObject({ kind: 'accepted' });
    expect(server.bodies.map((body) => body.length >= bytes)).toEqual([true]);
  });
}

test('it is asked once, when the receiver waits for the message', async () => {
  const { server, session } = await start();
  const asked: string[][] = [];
  await send(session, 300_000, () => {
    asked.push([...server.lines]);
    return true;
  });
  expect(asked.map((lines) => lines.at(-1))).toEqual(['DATA']);
});

test('a fault in the answer is thrown, and the receiver gets nothing', async () => {
  const { server, session } = await start();
  const failing = (): never => {
    throw new Error('no store');
  };
  expect(await send(session, 4_200, failing).catch(String)).toBe('Error: no store');
  expect([session.isUsable, server.bodies]).toEqual([false, []]);
});
