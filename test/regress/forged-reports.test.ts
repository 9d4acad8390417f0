/**
 * Forged reports (docs/reliability.md R25, R72): whoever knows Message-IDs,
 * recipient ids and addresses, but no HMAC of ours, changes nothing, and the brake stays off.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Brake } from '../../src/flow/accounts/brake.ts';
import { feedbackIdOf } from '../../src/flow/feedback-id.ts';
import { Reports } from '../../src/flow/reports/reports.ts';
import { recipientOfReturnPath } from '../../src/flow/return-paths.ts';
import { InboundMessage } from '../../src/mail/reports/inbound-message.ts';
import { encodeReturnPath } from '../../src/mail/reports/return-path.ts';
import type { Message, Recipient } from '../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../flow/fixture.ts';
import { seeded, type Random } from '../mail/random.ts';

const REPORTS = 10_000;
const MESSAGES = 250;
const SEED = Number(process.env['SEED'] ?? 14_003);

interface Sent {
  message: Message;
  recipient: Recipient;
}

let fixture: Fixture;
const sent: Sent[] = [];

beforeAll(async () => {
  fixture = await openFixture();
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  for (let n = 0; n < MESSAGES; n += 1) {
    const accepted = await fixture.accept(by, draft({ to: [mailbox(`r${n}@receiver.example`)] }));
    const { message, recipients } = await fixture.stored(accepted);
    const [recipient] = recipients;
    if (recipient === undefined) throw new Error('no recipient');
    sent.push({ message, recipient });
  }
}, 30_000);
afterAll(() => fixture.close());

function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => random.int(16).toString(16)).join('');
}

/** Local parts that look like a return path of `victim` and are none. */
function forgedPath(random: Random, { message, recipient }: Sent): string {
  const mac = (purpose: string) => (text: string) => fixture.ctx.secrets.mac(purpose, text);
  const real = encodeReturnPath(recipient.id, mac('return-path'));
  const id = recipient.id.replaceAll('-', '');
  return random.pick([
    () => `b-${id}-${hex(random, 16)}`,
    () => real.replace(/.$/, (digit) => ((Number.parseInt(digit, 16) + 1) % 16).toString(16)),
    () => real.slice(0, -1),
    () => `${real}0`,
    // The tag of another recipient, and the tag that this id has in a Feedback-ID.
    () =>
      `b-${id}-${encodeReturnPath(random.pick(sent.slice(1)).message.id, mac('return-path')).slice(-16)}`,
    () => encodeReturnPath(recipient.id, mac('feedback-id')),
    () => encodeReturnPath(message.id, mac('feedback-id')),
  ])();
}

/** Feedback-IDs that name the message of `victim` without its HMAC. */
function forgedFeedbackId(random: Random, { message, recipient }: Sent): string {
  const real = feedbackIdOf(fixture.ctx, message);
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  return random.pick([
    () => real.replace(/-[0-9a-f]{16}:/, `-${hex(random, 16)}:`),
    () => `x${real}`,
    () => real.split(':').toReversed().join(':'),
    () => `${message.id}:${message.accountId}::mail.appliance.example`,
    () => `${encodeReturnPath(message.id, mac)}:${message.accountId}::mail.appliance.example`,
    () => encodeReturnPath(recipient.id, mac),
  ])();
}

/** One report with everything that an attacker can know of `victim`, as ARF, as JMRP writes it, or as DSN. */
function forge(random: Random, victim: Sent): string {
  const { message, recipient } = victim;
  const path = `${forgedPath(random, victim)}@send.acme.example`;
  const original = [
    `Return-Path: <${path}>`,
    `Message-ID: ${message.messageId}`,
    `Feedback-ID: ${forgedFeedbackId(random, victim)}`,
    `To: ${recipient.address}`,
    'DKIM-Signature: v=1; a=rsa-sha256; d=acme.example; s=pr00000000; h=from; bh=AA==; b=AA==',
  ].join('\r\n');
  const kind = random.pick(['arf', 'jmrp', 'dsn', 'plain'] as const);
  const type = kind === 'arf' ? 'message/feedback-report' : 'message/delivery-status';
  const facts =
    kind === 'arf'
      ? `Feedback-Type: ${random.pick(['abuse', 'fraud', 'virus', 'other'])}\r\nOriginal-Mail-From: <${path}>\r\nOriginal-Rcpt-To: ${recipient.address}\r\n`
      : `Reporting-MTA: dns; mx.receiver.example\r\nOriginal-Envelope-Id: ${path}\r\n\r\nOriginal-Recipient: rfc822; ${recipient.address}\r\nFinal-Recipient: rfc822; ${recipient.address}\r\nAction: ${random.pick(['failed', 'delivered'])}\r\nStatus: 5.1.1\r\n`;
  if (kind === 'plain') {
    return `From: MAILER-DAEMON@receiver.example\r\nX-Failed-Recipients: ${recipient.address}\r\nSubject: failure\r\n\r\nThis is the qmail-send program\r\n<${recipient.address}>:\r\n550 5.1.1 no such user\r\n--- Below this line is a copy of the message.\r\n${original}\r\n`;
  }
  const shown =
    kind === 'jmrp' ? `X-HmXmrOriginalRecipient: ${recipient.address}\r\n${original}` : original;
  return [
    `From: postmaster@receiver.example\r\nReferences: ${message.messageId}`,
    'Content-Type: multipart/report; boundary="b"\r\n',
    ...(kind === 'jmrp' ? [] : [`--b\r\nContent-Type: ${type}\r\n\r\n${facts}`]),
    `--b\r\nContent-Type: message/rfc822\r\n\r\n${shown}\r\n\r\nx\r\n--b--\r\n`,
  ].join('\r\n');
}

test(`${REPORTS} forged ARF and DSN (seed ${SEED}): 0 suppressions, 0 pauses, 0 events; honest ones count`, async () => {
  const random = seeded(SEED);
  const { ctx } = fixture;
  const reports = new Reports(ctx, fixture.sink);
  for (let n = 0; n < REPORTS; n += 1) {
    const victim = random.pick(sent);
    const path = `${forgedPath(random, victim)}@send.acme.example`;
    // The listener takes mail for abuse@, and for return paths that name somebody.
    expect(recipientOfReturnPath(ctx, path)).toBeNull();
    const ends = await reports.take(new InboundMessage(Buffer.from(forge(random, victim))), [null]);
    expect([SEED, n, ends]).toEqual([SEED, n, ['ignored']]);
  }
  await new Brake(ctx).run();
  const [account] = await ctx.store.accounts();
  expect(account?.status).toBe('active');
  const page = { limit: 10, after: null, before: null };
  expect((await ctx.store.suppressions(account?.id ?? '', null, page)).rows).toEqual([]);
  for (const { message, recipient } of sent) {
    expect((await ctx.store.recipientById(recipient.id))?.status).toBe('queued');
    expect(await ctx.store.events(message.id)).toHaveLength(1);
  }
  // The same reports with our HMAC: five complaints of 250 emails pause the account.
  for (const { message, recipient } of sent.slice(0, 5)) {
    const text = `Content-Type: multipart/report; boundary="b"\r\n\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nFeedback-ID: ${feedbackIdOf(ctx, message)}\r\n\r\nx\r\n--b--\r\n`;
    const ends = await reports.take(new InboundMessage(Buffer.from(text)), [null]);
    expect([recipient.id, ends]).toEqual([recipient.id, ['complained']]);
  }
  await new Brake(ctx).run();
  expect((await ctx.store.accounts())[0]?.status).toBe('paused');
}, 60_000);
