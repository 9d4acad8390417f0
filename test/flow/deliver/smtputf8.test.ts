/**
 * Mail that names a mailbox beyond ASCII (RFC 6531), to receivers that take such mail and to those that do not.
 */
import { afterEach, expect, test } from 'bun:test';

import { verifyOwn } from '../../../src/mail/dkim/proof.ts';
import type { ScriptedSmtp } from '../../rig/scripted-smtp.ts';
import { startQueueWithMx } from '../queue/queue-rig.ts';
import type { QueueRig } from '../queue/queue-rig.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

const TO = ['jörg@example.com', 'bob@example.com'];
/** Without it, nothing beyond ASCII is written in any case. */
const EIGHT_BIT = '8BITMIME';

async function start(keywords: string[]): Promise<{ rig: QueueRig; mx: ScriptedSmtp }> {
  const { rig, mx, stop } = await startQueueWithMx(keywords);
  ended.push(stop);
  return { rig, mx };
}

const headOf = (body: string): string => body.slice(0, body.indexOf('\r\n\r\n'));
const toOf = (body: string): string =>
  /^To: (.*(?:\r\n[ \t].*)*)/m.exec(headOf(body))?.[1]?.replace(/\r\n[ \t]/g, ' ') ?? '';

test('a receiver that offers SMTPUTF8 gets the addresses as they are', async () => {
  const { rig, mx } = await start([EIGHT_BIT, 'SMTPUTF8']);
  const message = await rig.send(TO);
  const settled = await rig.attempted(message.id, 2);
  expect(settled.map(({ recipient }) => recipient.status)).toEqual(['delivered', 'delivered']);
  for (const body of mx.bodies) {
    expect(toOf(Buffer.from(body, 'latin1').toString('utf8'))).toBe(TO.join(', '));
  }
});

test('one that does not: that recipient fails and says why, the others get the message in ASCII, signed', async () => {
  const { rig, mx } = await start([EIGHT_BIT]);
  const message = await rig.send(TO);
  const [joerg, bob] = await rig.attempted(message.id, 2);
  expect(joerg?.recipient.status).toBe('failed');
  expect(joerg?.recipient.lastReason).toContain('does not offer SMTPUTF8');
  expect(joerg?.events.map(({ type }) => type)).toContain('email.failed');
  expect(bob?.recipient.status).toBe('delivered');
  const [body = ''] = mx.bodies;
  expect(mx.bodies).toHaveLength(1);
  // RFC 6857 section 3.1.4: shown, in a group that cannot be replied to.
  expect(toOf(body)).toBe(
    `=?UTF-8?B?${Buffer.from('jörg@example.com').toString('base64')}?= :;, bob@example.com`,
  );
  expect(mx.lines.filter((line) => /^MAIL|^RCPT/.test(line)).join()).not.toContain('SMTPUTF8');
  // oxlint-disable-next-line no-control-regex
  expect(headOf(body)).toMatch(/^[\u0000-\u007f]*$/);
  const published = (): Promise<string[]> =>
    Promise.resolve([`v=DKIM1; k=rsa; p=${rig.dkimPublicKey}`]);
  expect(await verifyOwn(Buffer.from(`${body}\r\n`, 'latin1'), published)).toMatchObject({
    isProven: true,
  });
  expect((await rig.ctx.store.messageById(message.id))?.status).toBe('failed');
});

test('a non-ASCII sender has no other form: the mail fails, with the reason', async () => {
  const { rig, mx } = await start([EIGHT_BIT]);
  const made = await rig.accept(['bob@example.com'], {}, (one) => {
    one.message.from = 'jörg@sender.example';
  });
  rig.queue.offerAccepted([made]);
  const [bob] = await rig.attempted(made.message.id, 1);
  expect(bob?.recipient.status).toBe('failed');
  expect(bob?.recipient.lastReason).toContain('does not offer SMTPUTF8');
  expect(mx.bodies).toEqual([]);
});
