/** One message that came in for several of our recipients: read once, applied to each. */
import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { endOf } from '../../../src/flow/recipient-end.ts';
import { Reports } from '../../../src/flow/reports/reports.ts';
import type { MimePart } from '../../../src/mail/mime/tree.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { encodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

class Counted extends InboundMessage {
  decoded = 0;

  protected override decode(part: MimePart): Buffer {
    this.decoded += 1;
    return super.decode(part);
  }
}

function bounceOf(addresses: readonly string[]): Counted {
  const groups = addresses.map(
    (address) => `Final-Recipient: rfc822; ${address}\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n`,
  );
  return new Counted(
    Buffer.from(
      `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${groups.join('')}`,
    ),
  );
}

const ADDRESSES = ['ann', 'bob', 'cid'].map((name) => `${name}@receiver.example`);

async function sentToAll() {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const accepted = await fixture.accept(by, draft({ to: ADDRESSES.map((one) => mailbox(one)) }));
  return (await fixture.stored(accepted)).recipients;
}

test('a report for three recipients is decoded once and ends each of them', async () => {
  const recipients = await sentToAll();
  const message = bounceOf(ADDRESSES);
  const reports = new Reports(fixture.ctx, fixture.sink);
  const ends = await reports.take(
    message,
    recipients.map(({ id }) => id),
  );
  expect(ends).toEqual(['bounced', 'bounced', 'bounced']);
  expect(message.decoded).toBe(1);
  for (const { id } of recipients) {
    expect((await fixture.ctx.store.recipientById(id))?.status).toBe('bounced');
  }
});

test('a report that comes to one recipient twice ends it once, whoever it names', async () => {
  const [ann, bob] = await sentToAll();
  if (ann === undefined || bob === undefined) throw new Error('not sent');
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  const report = new InboundMessage(
    Buffer.from(
      `Return-Path: <${encodeReturnPath(bob.id, mac)}@send.acme.example>\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; ann@receiver.example\r\nAction: failed\r\nStatus: 5.1.1\r\n`,
    ),
  );
  const reports = new Reports(fixture.ctx, fixture.sink);
  expect(await reports.take(report, [ann.id, ann.id])).toEqual(['bounced', 'ignored']);
  const statusOf = async (id: string) => (await fixture.ctx.store.recipientById(id))?.status;
  expect([await statusOf(ann.id), await statusOf(bob.id)]).toEqual(['bounced', 'queued']);
});

test('of the return paths that a report shows, that of the message it gives back says whose it is', async () => {
  const [ann, bob] = await sentToAll();
  if (ann === undefined || bob === undefined) throw new Error('not sent');
  const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
  const pathOf = (id: string): string => `${encodeReturnPath(id, mac)}@send.acme.example`;
  const parts = [
    `Content-Type: text/plain\r\n\r\nIt came from ${pathOf(ann.id)}.`,
    'Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; forwarded@elsewhere.example\r\nAction: failed\r\nStatus: 5.1.1\r\n',
    `Content-Type: text/rfc822-headers\r\n\r\nReturn-Path: <${pathOf(bob.id)}>\r\nSubject: Hello\r\n`,
  ];
  const report = new InboundMessage(
    Buffer.from(
      `To: ${pathOf(ann.id)}\r\nContent-Type: multipart/report; boundary=b\r\n\r\n${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`,
    ),
  );
  const reports = new Reports(fixture.ctx, fixture.sink);
  expect(await reports.take(report, [null])).toEqual(['bounced']);
  const statusOf = async (id: string) => (await fixture.ctx.store.recipientById(id))?.status;
  expect([await statusOf(ann.id), await statusOf(bob.id)]).toEqual(['queued', 'bounced']);
});

describe('a report that is quicker than the commit of the attempt', () => {
  const success = (address: string): InboundMessage =>
    new InboundMessage(
      Buffer.from(
        `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; ${address}\r\nAction: delivered\r\nStatus: 2.0.0\r\n`,
      ),
    );

  /** The first recipient, in an attempt whose outcome is not on disk yet. */
  async function begun(): Promise<Recipient> {
    const [{ id } = { id: '' }] = await sentToAll();
    const { store, clock } = fixture.ctx;
    const now = clock.now();
    const soon = now + 15_000;
    await store.begin(
      [{ recipientId: id, owner: 'o', leaseUntil: soon, nextAttemptAt: soon }],
      now,
    );
    const recipient = await store.recipientById(id);
    if (recipient === null) throw new Error('not sent');
    return recipient;
  }

  test('waits for it', async () => {
    const recipient = await begun();
    const { store, clock } = fixture.ctx;
    const looked = Promise.withResolvers<void>();
    const recipientById = store.recipientById.bind(store);
    spyOn(store, 'recipientById').mockImplementation((id) => {
      looked.resolve();
      return recipientById(id);
    });
    const taken = new Reports(fixture.ctx, fixture.sink).take(success(recipient.address), [
      recipient.id,
    ]);
    await looked.promise;
    await store.finish(endOf(recipient, clock.now(), { dueAt: clock.steady(), status: 'sent' }));
    expect(await taken).toEqual(['delivered']);
  });

  test('does not wait for long, and then changes nothing', async () => {
    const recipient = await begun();
    const reports = new Reports(fixture.ctx, fixture.sink, 1);
    expect(await reports.take(success(recipient.address), [recipient.id])).toEqual(['ignored']);
    expect((await fixture.ctx.store.recipientById(recipient.id))?.status).toBe('queued');
  });
});

test('a message that is no report, and a report about nobody, change nothing', async () => {
  const reports = new Reports(fixture.ctx, fixture.sink);
  const letter = new Counted(Buffer.from('From: ann@receiver.example\r\n\r\nHello'));
  expect(await reports.take(letter, [null])).toEqual(['no_report']);
  expect(await reports.take(bounceOf(ADDRESSES), [null])).toEqual(['ignored']);
});

test('a complaint about nobody is logged', async () => {
  const reports = new Reports(fixture.ctx, fixture.sink);
  const complaint = new InboundMessage(
    Buffer.from('Content-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n'),
  );
  expect(await reports.take(complaint, [null])).toEqual(['ignored']);
  expect(fixture.logged).toContainEqual(expect.objectContaining({ event: 'complaint_unmatched' }));
});
