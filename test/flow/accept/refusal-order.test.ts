/** Of several reasons to refuse: which one is told, how those of a batch become one, and what is handed on before a commit. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { validationFailed } from '../../../src/base/errors.ts';
import { acceptEmails, type AcceptOptions } from '../../../src/flow/accept/accept.ts';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import { ACCEPT, draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const TOML = `
[cluster]
name = "mail.service.example"
[limits]
recipients = 2
[[plans]]
id = "closed"
confirmed_recipients_only = true
attachment_bytes = 10
`;
const OUR_ID = '01913c7e-89ab-7cde-8f01-23456789abce';

let fixture: Fixture;
let sender: Sender;
beforeEach(async () => {
  fixture = await openFixture({ toml: TOML });
  sender = await fixture.sender({ plan: 'closed' });
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

/** What is told for `change`, and for it with one fault after the other repaired. */
async function toldOf(change: Partial<Draft>, repaired: Partial<Draft>[]): Promise<unknown[]> {
  const told: unknown[] = [];
  let present = draft(change);
  for (const step of [{}, ...repaired]) {
    present = { ...present, ...step };
    const error = await refusal(fixture.accept(sender, present));
    told.push([error.code, error.detail?.issues?.[0]?.path ?? error.message.split(' ')[0]]);
  }
  return told;
}

test('what stops every send comes first: a halt, the disk, the drain of this server, then the account', async () => {
  const { ctx } = fixture;
  const account = await setAccountStatus(ctx, 'acme', 'payment_required');
  const node = { isDraining: true };
  Object.assign(ctx, { node });
  ctx.disk.isLow = true;
  await ctx.halt.halt('Moving.');
  const told: unknown[] = [];
  const tell = async () => {
    // An address that is refused, too: nothing of the draft is looked at before.
    const error = await refusal(fixture.accept({ ...sender, account }, draft({ to: [] })));
    told.push([error.code, error.headers['Retry-After'] ?? null, error.message]);
  };
  await tell();
  await ctx.halt.resume();
  await tell();
  ctx.disk.isLow = false;
  await tell();
  node.isDraining = false;
  await tell();
  expect(told).toEqual([
    ['platform_halted', '60', 'Sending is halted: Moving.'],
    ['platform_halted', '30', expect.stringContaining('disk')],
    ['platform_halted', '1', expect.stringContaining('drained')],
    ['payment_required', null, 'This account cannot send until it is paid.'],
  ]);
});

test('of one draft the cheapest reason is told: recipients, attachments, Message-ID, link, domains, confirmation', async () => {
  const ann = mailbox('ann@receiver.example');
  const two = [ann, mailbox('ben@receiver.example')];
  const told = await toldOf(
    {
      to: [...two, mailbox('nobody@sandbox.test')],
      attachmentBytes: 11,
      messageId: `<${OUR_ID}@mail.service.example>`,
      headers: [
        ['x-postrider-unsubscribe', 'yes'],
        ['list-unsubscribe', '<mailto:a@acme.example>'],
      ],
      from: mailbox('a@nobody.example'),
      sender: mailbox('a@robot.example'),
    },
    [
      { to: [ann, mailbox('nobody@sandbox.test')] },
      { to: two },
      { attachmentBytes: 10 },
      // The name of the host is ours as much as that of the service.
      { messageId: `<${OUR_ID}@mail.appliance.example>` },
      { messageId: '<own@client.example>' },
      // Each address once: this is one recipient.
      { to: [ann, mailbox('ANN@receiver.example')] },
      { headers: [['x-postrider-unsubscribe', 'yes']] },
      { from: mailbox('hello@acme.example') },
      { sender: mailbox('robot@acme.example') },
    ],
  );
  expect(told).toEqual([
    ['validation_failed', 'to'],
    ['validation_failed', 'to'],
    ['content_rejected', 'The'],
    ['validation_failed', 'headers.Message-ID'],
    ['validation_failed', 'headers.Message-ID'],
    ['validation_failed', 'headers.X-Postrider-Unsubscribe'],
    ['validation_failed', 'headers.X-Postrider-Unsubscribe'],
    ['from_domain_not_allowed', 'The'],
    ['from_domain_not_allowed', 'The'],
    ['recipient_not_confirmed', 'ann@receiver.example'],
  ]);
});

test('a sandbox key may use any From and any Sender, and only the recipients that are confirmed', async () => {
  const tester = { ...sender, key: { ...sender.key, isTest: true } };
  const from = mailbox('a@nobody.example');
  const change = { from, sender: mailbox('b@robot.example'), to: [mailbox('c@acme.example')] };
  const cc = [mailbox('failed@sandbox.test')];
  const { message, recipients } = await fixture.stored(
    await fixture.accept(tester, draft({ ...change, cc })),
  );
  expect([message.domainId, message.isSandbox]).toEqual([null, true]);
  // Who is simulated ends as the address says with this key, too.
  expect(recipients.map(({ status }) => status)).toEqual(['delivered', 'failed']);
  const error = await refusal(fixture.accept(tester, draft()));
  expect(error.code).toBe('recipient_not_confirmed');
  const own = await fixture.stored(await fixture.accept(tester, draft({ to: change.to })));
  expect(own.message.domainId).not.toBeNull();
});

test('the name of several shape errors is that of the first, and another refusal counts only in front', async () => {
  const shape = validationFailed([{ path: '[1].subject', message: '[1].subject is wrong.' }]);
  const foreign = draft({ from: mailbox('a@nobody.example') });
  const told: unknown[] = [];
  for (const drafts of [
    [draft({ to: [] }), shape],
    [shape, draft({ to: [] })],
    [shape, foreign, draft({ to: [] })],
    [shape, foreign],
    [foreign, shape, draft({ to: [] })],
  ]) {
    const error = await refusal(
      fixture.accept(sender, drafts, { pathOf: (index) => `[${index}]` }),
    );
    const paths = error.detail?.issues?.map(({ path }) => path);
    told.push([error.code, error.errorName, paths, error.detail?.['index']]);
  }
  expect(told).toEqual([
    ['validation_failed', 'missing_required_field', ['[0].to', '[1].subject'], undefined],
    ['validation_failed', 'validation_error', ['[1].subject', '[1].to'], undefined],
    ['validation_failed', 'validation_error', ['[1].subject', '[2].to'], undefined],
    ['validation_failed', 'validation_error', ['[1].subject'], undefined],
    ['from_domain_not_allowed', 'validation_error', undefined, 0],
  ]);
});

test('words that do not begin with their field stay as they are, below the path of the item', async () => {
  const to = ['a', 'b', 'c'].map((local) => mailbox(`${local}@receiver.example`));
  const error = await refusal(
    fixture.accept(sender, [draft({ to })], { pathOf: (index) => `[${index}]` }),
  );
  const message = 'This email has 3 recipients; to, cc and bcc may have 2 together.';
  expect(error.detail?.issues).toEqual([{ path: '[0].to', message }]);
});

test('the queue is told before the commit of what it will be offered, and of nothing that has ended', async () => {
  const { ctx } = fixture;
  const steps: unknown[] = [];
  const accept = ctx.store.accept.bind(ctx.store);
  ctx.store.accept = (batch) => {
    steps.push('commit');
    return accept(batch);
  };
  const ids = (of: { message: { id: string } }[]) => of.map(({ message }) => message.id);
  const sink = {
    markAhead: (of: Parameters<typeof ids>[0]) => void steps.push(['ahead', ids(of)]),
    offerAccepted: (of: Parameters<typeof ids>[0]) => void steps.push(['offered', ids(of)]),
    offerCalls: () => void steps.push('calls'),
  };
  const to = [mailbox('c@acme.example')];
  const drafts = [draft({ id: OUR_ID, to }), draft({ to: [mailbox('failed@sandbox.test')] })];
  const options: AcceptOptions = {
    ...ACCEPT,
    idempotency: { key: 'k', route: 'POST /emails', bodyHash: 'h' },
  };
  const { messageIds } = await acceptEmails(ctx, sink, sender, drafts, options);
  expect(messageIds).toEqual([OUR_ID, expect.any(String)]);
  expect(steps).toEqual([['ahead', [OUR_ID]], 'commit', ['offered', [OUR_ID]]]);
  const { message } = await fixture.stored({ isReplay: false, status: 200, body: '', messageIds });
  // Under the name of the service, not that of this host.
  expect(message.messageId).toBe(`<${OUR_ID}@mail.service.example>`);
  steps.length = 0;
  fixture.logged.length = 0;
  expect((await acceptEmails(ctx, sink, sender, drafts, options)).isReplay).toBe(true);
  expect([steps, fixture.logged.map(({ event }) => event)]).toEqual([[], ['replayed']]);
  const counted = (await ctx.metrics.render())
    .split('\n')
    .filter((line) => line.startsWith('postrider_messages_accepted_total{'));
  expect(counted.sort()).toEqual([
    'postrider_messages_accepted_total{status="queued"} 1',
    'postrider_messages_accepted_total{status="sent"} 1',
  ]);
});
