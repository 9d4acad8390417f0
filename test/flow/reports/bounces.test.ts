/** Which entry of a report is about our recipient, when an alias has led the mail to others. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { settleBounce } from '../../../src/flow/reports/bounces.ts';
import { MESSAGE_STATUSES, type MessageStatus } from '../../../src/base/status.ts';
import { parseDsn } from '../../../src/mail/reports/dsn.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

type Entry = [address: string, action: string, status: string];

/** The status that a report with these entries gives to mail for ann@receiver.example; null: none. */
const endFor = (...entries: Entry[]) => endOf('sent', ...entries);

/** The same for mail of this status. */
async function endOf(before: MessageStatus, ...entries: Entry[]) {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const to = [mailbox('ann@receiver.example')];
  const { message, recipients } = await fixture.stored(await fixture.accept(by, draft({ to })));
  const [recipient] = recipients;
  const groups = entries.map(
    ([address, action, status]) =>
      `Final-Recipient: rfc822; ${address}\r\nAction: ${action}\r\nStatus: ${status}\r\n\r\n`,
  );
  const text = `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${groups.join('')}`;
  const report = parseDsn(new InboundMessage(Buffer.from(text)));
  if (recipient === undefined || report === null) throw new Error('no recipient or no report');
  const end = settleBounce(fixture.ctx, message, { ...recipient, status: before }, report);
  return end?.status ?? null;
}

test('one that names it decides, wherever it stands', async () => {
  expect(
    await endFor(
      ['other@receiver.example', 'failed', '5.1.1'],
      ['Ann@Receiver.example', 'delivered', '2.0.0'],
    ),
  ).toBe('delivered');
});

test('of several that do not, a failure does', async () => {
  expect(
    await endFor(
      ['one@elsewhere.example', 'delivered', '2.0.0'],
      ['two@elsewhere.example', 'failed', '5.1.1'],
    ),
  ).toBe('bounced');
});

test('without a failure the first one does', async () => {
  expect(
    await endFor(
      ['one@elsewhere.example', 'delivered', '2.0.0'],
      ['two@elsewhere.example', 'delayed', '4.0.0'],
    ),
  ).toBe('delivered');
  expect(await endFor(['one@elsewhere.example', 'delayed', '4.0.0'])).toBeNull();
});

test('a failure ends what is open or counts as delivered, and undoes no end', async () => {
  const ended: MessageStatus[] = [];
  for (const before of MESSAGE_STATUSES) {
    const after = await endOf(before, ['ann@receiver.example', 'failed', '5.1.1']);
    expect([before, after === null || after === 'bounced']).toEqual([before, true]);
    if (after !== null) ended.push(before);
  }
  expect(ended.toSorted()).toEqual(['delivered', 'delivery_delayed', 'queued', 'sent']);
});

test('a success ends what was sent, and nothing else', async () => {
  const ended: MessageStatus[] = [];
  for (const before of MESSAGE_STATUSES) {
    const after = await endOf(before, ['ann@receiver.example', 'delivered', '2.0.0']);
    if (after !== null) ended.push(before);
    expect(await endOf(before, ['ann@receiver.example', 'delayed', '4.4.1'])).toBeNull();
    expect(await endOf(before, ['ann@receiver.example', 'relayed', '2.0.0'])).toBeNull();
  }
  expect(ended).toEqual(['sent']);
});
