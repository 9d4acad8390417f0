/** Whom a Feedback-ID names: every copy of a message has the same one, so it proves nothing where several got it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { feedbackIdOf } from '../../../src/flow/feedback-id.ts';
import { complainant } from '../../../src/flow/reports/complaints.ts';
import type { ArfReport } from '../../../src/mail/reports/arf.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

/** A message to these, and whom a complaint with its Feedback-ID alone is about. */
async function complaintAbout(
  addresses: readonly string[],
  suppressed: readonly string[] = [],
): Promise<{ recipients: Recipient[]; named: string | null }> {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const now = fixture.clock.now();
  for (const email of suppressed) {
    await fixture.ctx.store.addSuppression({
      id: fixture.ctx.ids.next(now),
      accountId: by.account.id,
      email,
      reason: 'manual',
      source: null,
      note: null,
      createdAt: now,
    });
  }
  const to = addresses.map((address) => mailbox(address));
  const { message, recipients } = await fixture.stored(await fixture.accept(by, draft({ to })));
  const report: ArfReport = {
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: [],
    reportedDomain: null,
    messageId: null,
    userAgent: null,
    returnPath: null,
    returnPaths: [],
    feedbackId: feedbackIdOf(fixture.ctx, message),
  };
  return { recipients, named: await complainant(fixture.ctx, report, null) };
}

test('of a message to one, that one', async () => {
  const { recipients, named } = await complaintAbout(['ann@receiver.example']);
  expect(named).toBe(recipients[0]?.id ?? '');
});

test('of a message to several, nobody: any of them could complain in the name of another', async () => {
  const { named } = await complaintAbout(['ann@receiver.example', 'bob@receiver.example']);
  expect(named).toBeNull();
});

test('of a message that one of several got, because the others were suppressed, that one', async () => {
  const all = ['ann@receiver.example', 'bob@receiver.example'];
  const { recipients, named } = await complaintAbout(all, ['ann@receiver.example']);
  expect(recipients.find(({ id }) => id === named)?.address).toBe('bob@receiver.example');
});
