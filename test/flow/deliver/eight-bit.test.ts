/**
 * Mail submitted with bytes above 127 in its body, to receivers that do not offer 8BITMIME (RFC 6152).
 */
import { afterEach, expect, test } from 'bun:test';
import PostalMime from 'postal-mime';

import { verifyOwn } from '../../../src/mail/dkim/proof.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { startQueueWithMx } from '../queue/queue-rig.ts';
import type { QueueRig } from '../queue/queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const HEAD =
  'From: hello@sender.example\r\nTo: bob@example.com\r\nSubject: 8 bit\r\nMIME-Version: 1.0\r\n';
const PLAIN = 'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n';

interface Delivered {
  rig: QueueRig;
  mx: ScriptedSmtp;
  status: string | undefined;
  reason: string | null | undefined;
}

async function deliver(keywords: string[], rest: string): Promise<Delivered> {
  const { rig, mx, stop } = await startQueueWithMx(keywords);
  ended.push(stop);
  const made = await rig.accept(['bob@example.com'], {}, (one) => {
    one.body.raw = Buffer.from(HEAD + rest, 'utf8');
  });
  rig.queue.offerAccepted([made]);
  const [settled] = await rig.attempted(made.message.id, 1);
  return { rig, mx, status: settled?.recipient.status, reason: settled?.recipient.lastReason };
}

test('with 8BITMIME it goes as it came', async () => {
  const { mx, status } = await deliver(['8BITMIME'], `${PLAIN}\r\nGrüße\r\n`);
  expect(status).toBe('delivered');
  expect(mx.lines.some((line) => line.endsWith(' BODY=8BITMIME'))).toBe(true);
  expect(Buffer.from(mx.bodies[0] ?? '', 'latin1').toString('utf8')).toContain('\r\n\r\nGrüße');
});

test('without, it goes encoded and signed anew', async () => {
  const { rig, mx, status } = await deliver([], `${PLAIN}\r\nGrüße\r\n`);
  expect(status).toBe('delivered');
  expect(mx.lines.join()).not.toContain('BODY=');
  const [body = ''] = mx.bodies;
  // oxlint-disable-next-line no-control-regex
  expect(body).toMatch(/^[\u0000-\u007f]*$/);
  expect((await PostalMime.parse(body)).text?.trim()).toBe('Grüße');
  const published = (): Promise<string[]> =>
    Promise.resolve([`v=DKIM1; k=rsa; p=${rig.dkimPublicKey}`]);
  expect(await verifyOwn(Buffer.from(`${body}\r\n`, 'latin1'), published)).toMatchObject({
    isProven: true,
  });
});

test('what may not be changed fails with the reason', async () => {
  const attached = 'Content-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\nGrüße\r\n';
  const { mx, status, reason } = await deliver([], attached);
  expect(status).toBe('failed');
  expect(reason).toContain('does not offer 8BITMIME');
  expect(mx.bodies).toEqual([]);
});
