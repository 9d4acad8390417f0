/** Whom a Feedback-ID names: every copy of a message has the same one, so it proves nothing where several got it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { feedbackIdOf } from '../../../src/flow/feedback-id.ts';
import { recipientOfReturnPath } from '../../../src/flow/return-paths.ts';
import { complainant, settleComplaint } from '../../../src/flow/reports/complaints.ts';
import type { ArfReport } from '../../../src/mail/reports/arf.ts';
import { encodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import type { Message, Recipient } from '../../../src/store/rows.ts';
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

test('a second recipient of the same message may complain, nobody twice', async () => {
  const { ctx } = fixture;
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const to = ['ann@receiver.example', 'bob@receiver.example'].map((address) => mailbox(address));
  const { message, recipients } = await fixture.stored(await fixture.accept(by, draft({ to })));
  const report = { feedbackType: 'abuse', userAgent: null } as ArfReport;
  const settled = recipients.map((recipient, at) =>
    settleComplaint(
      ctx,
      { ...message, status: 'complained' },
      at === 0 ? { ...recipient, status: 'complained' } : recipient,
      report,
    ),
  );
  expect(settled).toEqual([null, expect.objectContaining({ status: 'complained' })]);
});

test('the return path that the report came to counts first, then its own, then any in it, then the Feedback-ID', async () => {
  const { ctx } = fixture;
  const { recipients } = await complaintAbout(['ann@receiver.example']);
  const [ann] = recipients;
  const mac = (text: string): Buffer => ctx.secrets.mac('return-path', text);
  const id = (n: number): string => `01913c7e-0000-7000-8000-00000000000${n}`;
  const path = (n: number): string => `${encodeReturnPath(id(n), mac)}@send.acme.example`;
  const report: ArfReport = {
    feedbackType: 'abuse',
    isComplaint: true,
    recipients: [],
    reportedDomain: null,
    messageId: null,
    userAgent: null,
    returnPath: path(1),
    returnPaths: [path(2), path(3)],
    feedbackId: feedbackIdOf(ctx, {
      id: ann?.messageId ?? '',
      accountId: 'a',
      domainId: null,
    } as Message),
  };
  const named = (change: Partial<ArfReport>, envelope: string | null = null) =>
    complainant(ctx, { ...report, ...change }, envelope);
  expect([
    await named({}, 'envelope'),
    await named({}),
    await named({ returnPath: 'b-00@send.acme.example' }),
    await named({ returnPath: null, returnPaths: ['ann@receiver.example', path(3)] }),
    await named({ returnPath: null, returnPaths: [] }),
    await named({ returnPath: null, returnPaths: [], feedbackId: 'a:b:c:d' }),
    await named({ returnPath: null, returnPaths: [], feedbackId: null }),
  ]).toEqual(['envelope', id(1), id(2), id(3), ann?.id ?? '', null, null]);
  // The local part alone counts, as far as the last @.
  const [local = ''] = path(1).split('@');
  expect(
    [local, `${local}@a`, `"x@y"@b`, `${local}@a@b`].map((one) => recipientOfReturnPath(ctx, one)),
  ).toEqual([id(1), id(1), null, null]);
});
