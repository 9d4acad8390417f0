/** What acceptance tells others, what it asks of the disk, and which item of a batch a refusal names. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { validationFailed } from '../../../src/base/errors.ts';
import { acceptEmails } from '../../../src/flow/accept/accept.ts';
import { sendAgain } from '../../../src/flow/accept/send-again.ts';
import type { Sender } from '../../../src/flow/draft.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { Event } from '../../../src/store/rows.ts';
import { ACCEPT, draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const PLANS = `
[[plans]]
id = "files"
attachment_bytes = 100
[[plans]]
id = "closed"
confirmed_recipients_only = true
`;
const DAY_MS = 86_400_000;

let fixture: Fixture;
let sender: Sender;

beforeEach(async () => {
  fixture = await openFixture({ toml: PLANS });
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

const file = (bytes: number) => ({
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  contentId: null,
  content: Buffer.alloc(bytes),
});

test('followers hear of every event of what was committed, and of nothing that was refused', async () => {
  const heard: Event[] = [];
  const end = fixture.ctx.followers.follow((event) => void heard.push(event));
  const to = [mailbox('ann@receiver.example'), mailbox('bounced@sandbox.test')];
  await refusal(fixture.accept(sender, draft({ from: mailbox('a@nobody.example') })));
  await fixture.accept(sender, [draft({ to }), draft()]);
  expect(heard.map(({ type }) => type)).toEqual([
    'email.queued',
    'email.sent',
    'email.bounced',
    'email.queued',
  ]);
  end();
  await fixture.accept(sender, draft());
  expect(heard).toHaveLength(4);
});

test('only messages with a recipient to mail are handed on', async () => {
  const simulated = draft({ to: [mailbox('delivered@sandbox.test')] });
  const { messageIds } = await fixture.accept(sender, [simulated, draft()]);
  expect(fixture.sink.messages.map(({ message }) => message.id)).toEqual(messageIds.slice(1));
});

test('a record lasts 24 hours of steady time, however the wall clock stands', async () => {
  fixture.clock.jump(-3 * DAY_MS);
  const idempotency = { key: 'k', route: 'POST /emails', bodyHash: 'h' };
  const send = () => fixture.accept(sender, draft(), { idempotency });
  await send();
  fixture.clock.pass(DAY_MS - 1);
  expect((await send()).isReplay).toBe(true);
  fixture.clock.pass(1);
  expect((await send()).isReplay).toBe(false);
});

test('the disk is asked for the content and the recipients of all messages together', async () => {
  const asked: unknown[] = [];
  const spend = fixture.ctx.disk.spend.bind(fixture.ctx.disk);
  fixture.ctx.disk.spend = (write, work) => {
    asked.push(write);
    return spend(write, work);
  };
  const to = ['a', 'b', 'c'].map((local) => mailbox(`${local}@receiver.example`));
  const first = draft({ to, text: '12345', html: '123', attachments: [file(70)] });
  await fixture.accept(sender, [first, draft({ text: '1' })]);
  expect(asked).toEqual([{ contentBytes: 79, recipients: 4 }]);
});

test('a refusal names the field as it stands in the whole body, in path and words', async () => {
  const error = await refusal(
    fixture.accept(sender, [draft(), draft({ to: [] }), validationFailed([])].slice(0, 2), {
      pathOf: (index) => `[${index}]`,
    }),
  );
  expect(error.detail?.issues).toEqual([
    { path: '[1].to', message: '[1].to must name at least one recipient.' },
  ]);
});

test('attachments may fill the plan and not pass it, all of them together', async () => {
  const by = await fixture.sender({ plan: 'files', name: 'files' });
  await fixture.verified(by, 'acme.example');
  await fixture.accept(by, draft({ attachments: [file(60), file(40)] }));
  const over = draft({ attachments: [file(60), file(41)] });
  const error = await refusal(fixture.accept(by, over));
  expect([error.code, error.detail]).toEqual(['content_rejected', { bytes: 101, max_bytes: 100 }]);
  const raw = Buffer.from('From: hello@acme.example\r\n\r\nHello\r\n');
  const whole = draft({ raw, attachmentBytes: 101 });
  expect((await refusal(fixture.accept(by, whole))).code).toBe('content_rejected');
});

test('an address at a domain of the account counts as confirmed once that is verified', async () => {
  const by = await fixture.sender({ plan: 'closed', name: 'closed' });
  await fixture.verified(by, 'acme.example');
  const pending = await fixture.verified(by, 'pending.example');
  await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
  await fixture.accept(by, draft({ to: [mailbox('ann@acme.example')] }));
  const to = [mailbox('Ann@pending.example')];
  const error = await refusal(fixture.accept(by, draft({ to })));
  expect(error.code).toBe('recipient_not_confirmed');
  expect(error.message).toStartWith('Ann@pending.example ');
});

test('a suppressed sandbox address is simulated all the same, and a suppressed copy is left out', async () => {
  const { id } = sender.account;
  await addSuppression(fixture.ctx, id, { email: 'delivered@sandbox.test' });
  await addSuppression(fixture.ctx, id, { email: 'cy@receiver.example', reason: 'complaint' });
  const to = [mailbox('Delivered+1@sandbox.test'), mailbox('delivered@sandbox.test')];
  const bcc = [mailbox('Cy@Receiver.example')];
  const { recipients } = await fixture.stored(await fixture.accept(sender, draft({ to, bcc })));
  expect(
    recipients.map(({ status, attempts, lastReason }) => [status, attempts, lastReason]),
  ).toEqual([
    ['delivered', 1, null],
    ['delivered', 1, null],
    ['suppressed', 0, 'The recipient is suppressed (complaint).'],
  ]);
});

test('what is simulated and what is suppressed spends no quota, and is shown in the order of events', async () => {
  await addSuppression(fixture.ctx, sender.account.id, { email: 'ben@receiver.example' });
  const to = ['ann@receiver.example', 'ben@receiver.example', 'failed@sandbox.test'];
  const { types, message } = await fixture.stored(
    await fixture.accept(sender, draft({ to: to.map((one) => mailbox(one)) })),
  );
  expect(types).toEqual(['email.suppressed', 'email.queued', 'email.failed']);
  expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(1);
  // While one still waits, the message shows what happened last.
  const reason = 'No server could be reached (simulated).';
  expect([message.status, message.failureReason]).toEqual(['failed', reason]);
});

test('a recipient is due and expires by steady time, and its row carries the wall clock', async () => {
  const steady = fixture.clock.steady();
  fixture.clock.jump(DAY_MS);
  const [recipient] = (await fixture.stored(await fixture.accept(sender, draft()))).recipients;
  const { delivery } = fixture.ctx.config.live;
  expect(recipient).toMatchObject({
    nextAttemptAt: steady,
    expiresAt: steady + delivery.expiresMs,
    updatedAt: steady + DAY_MS,
  });
});

test('an email that is sent again has everything of the first but what names it or its time', async () => {
  const first = draft({
    to: [mailbox('ann@receiver.example', 'Ann')],
    cc: [mailbox('ben@receiver.example')],
    bcc: [mailbox('cy@receiver.example')],
    replyTo: [mailbox('desk@acme.example')],
    html: '<p>Hello</p>',
    headers: [
      ['X-Kept', 'yes'],
      ['date', 'Thu, 01 Jan 2026 00:00:00 +0000'],
      ['Feedback-ID', 'a:b:c'],
      ['Message-Id', '<first@acme.example>'],
    ],
    attachments: [file(3)],
    tags: [{ name: 'kind', value: 'welcome' }],
  });
  const before = await fixture.stored(await fixture.accept(sender, first));
  const { store } = fixture.ctx;
  const id = await sendAgain(fixture.ctx, fixture.sink, sender.account, before.message);
  const again = await store.message(sender.account.id, id);
  const { from, to, cc, bcc, replyTo, subject, tags, isSandbox, messageId } = before.message;
  expect(again).toMatchObject({ from, to, cc, bcc, replyTo, subject, tags, isSandbox });
  expect([again?.id === before.message.id, again?.messageId === messageId]).toEqual([false, false]);
  expect([again?.keyId, again?.logId]).toEqual([null, null]);
  const content = (await store.body(sender.account.id, id))?.body;
  expect(content).toMatchObject({
    html: '<p>Hello</p>',
    text: 'Hello.',
    headers: [['X-Kept', 'yes']],
  });
  expect(content?.attachments.map(({ content: bytes }) => bytes.length)).toEqual([3]);
});

test('a sandbox email that is sent again stays one, and one whose content is gone is not found', async () => {
  const by = await fixture.sender({ isTest: true });
  const { message } = await fixture.stored(await fixture.accept(by, draft()));
  const id = await sendAgain(fixture.ctx, fixture.sink, by.account, message);
  expect((await fixture.ctx.store.messageById(id))?.isSandbox).toBe(true);
  await fixture.ctx.store.purgeBodies(fixture.clock.now() + 1);
  const gone = await refusal(sendAgain(fixture.ctx, fixture.sink, by.account, message));
  expect(gone.code).toBe('not_found');
});

test('of an acceptance that could not be written nobody hears: no log, no metric, no follower and no queue', async () => {
  const { ctx, sink, logged } = fixture;
  const heard: Event[] = [];
  ctx.followers.follow((event) => void heard.push(event));
  const store = { ...ctx.store, accept: () => Promise.reject(new Error('disk I/O error')) };
  const work = acceptEmails({ ...ctx, store }, sink, sender, [draft()], ACCEPT);
  expect(await work.catch(String)).toBe('Error: disk I/O error');
  const counted = (await ctx.metrics.render()).split('\n');
  expect([
    logged,
    heard,
    sink.messages,
    sink.calls,
    counted.filter((line) => line.startsWith('postrider_messages_accepted_total{')),
  ]).toEqual([[], [], [], [], []]);
});
