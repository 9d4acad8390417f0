/** What an operator sends: alone, again, as a test; and what an email of SMTP may say that one of the API may not. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { NO_QUEUE, sendByOperator } from '../../../src/flow/accept/operator-send.ts';
import { sendAgain } from '../../../src/flow/accept/send-again.ts';
import { sendTestEmail } from '../../../src/flow/accept/test-email.ts';
import { contentOf } from '../../../src/flow/content/content.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import type { Context } from '../../../src/flow/context.ts';
import type { Domain } from '../../../src/store/rows.ts';
import {
  draft,
  mailbox,
  openFixture,
  refusal,
  type Fixture,
  type RequestSender,
} from '../fixture.ts';

let fixture: Fixture;
let sender: RequestSender;
let domain: Domain;
beforeEach(async () => {
  fixture = await openFixture({ toml: '[[plans]]\nid = "one"\ndaily_limit = 1\n' });
  sender = await fixture.sender();
  domain = await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

const send = (change = {}, isSandbox = false, ctx: Context = fixture.ctx) =>
  sendByOperator(ctx, fixture.sink, sender.account, { draft: draft(change), isSandbox });

test('an operator needs no key, and is told the id and where the email went', async () => {
  await addSuppression(fixture.ctx, sender.account.id, { email: 'gone@receiver.example' });
  const rows = [];
  for (const [local, isSandbox] of [
    ['ann', false],
    ['ann', true],
    ['gone', false],
    ['gone', true],
  ] as const) {
    const { id, status } = await send({ to: [mailbox(`${local}@receiver.example`)] }, isSandbox);
    const message = await fixture.ctx.store.messageById(id);
    rows.push([local, status, message?.isSandbox, message?.keyId, message?.logId]);
  }
  expect(rows).toEqual([
    ['ann', 'queued', false, null, null],
    ['ann', 'sent', true, null, null],
    ['gone', 'suppressed', false, null, null],
    ['gone', 'suppressed', true, null, null],
  ]);
  expect(fixture.sink.messages).toHaveLength(1);
});

test('an operator sends by the plan of the account, and by none that is gone', async () => {
  const { account } = await fixture.sender({ name: 'one', plan: 'one' });
  sender = { ...sender, account };
  await fixture.verified(sender, 'acme.example');
  await send();
  const { code, detail } = await refusal(send());
  expect([code, detail]).toEqual(['quota_exceeded', { period: 'daily', limit: 1, used: 1 }]);
  expect((await send({}, true)).status).toBe('sent');
  account.plan = 'gone';
  expect((await send()).status).toBe('queued');
});

test('an operator is told why an email is refused', async () => {
  const { code, detail } = await refusal(send({ from: mailbox('a@foreign.example') }));
  expect([code, detail?.issues?.[0]?.path]).toEqual(['from_domain_not_allowed', undefined]);
});

test('a process without a queue sends all the same', async () => {
  const { ctx } = fixture;
  const { id } = await sendByOperator(ctx, NO_QUEUE, sender.account, {
    draft: draft(),
    isSandbox: false,
  });
  expect((await ctx.store.messageById(id))?.status).toBe('queued');
});

test('the test email, whole', async () => {
  const { ctx, sink } = fixture;
  const id = await sendTestEmail(ctx, sink, sender.account, domain, 'Me@receiver.example');
  const message = await ctx.store.messageById(id);
  expect([message?.subject, message?.tags, message?.domainId]).toEqual([
    'Test email from acme.example',
    [{ name: 'source', value: 'dashboard_test' }],
    domain.id,
  ]);
  const words =
    'This email left mail.appliance.example, signed for acme.example. If you read it, sending works.';
  expect((await ctx.store.body(sender.account.id, id))?.body).toEqual({
    html: `<p>${words}</p><p>Look at its header for <code>dkim=pass</code>, <code>spf=pass</code> and <code>dmarc=pass</code>.</p>`,
    text: `${words}\n\nLook at its header for dkim=pass, spf=pass and dmarc=pass.\n`,
    headers: [],
    attachments: [],
    raw: null,
  });
  const { detail } = await refusal(sendTestEmail(ctx, sink, sender.account, domain, 'me'));
  expect(detail?.issues?.[0]?.message).toMatch(/^to .*\.$/);
});

test('an email is sent again by the plan of today, and says which address of it is none', async () => {
  const { ctx, sink } = fixture;
  const { message } = await fixture.stored(await fixture.accept(sender, draft()));
  for (const [field, change] of [
    ['to', { to: ['a@b', 'nobody'] }],
    ['cc', { cc: ['nobody'] }],
    ['bcc', { bcc: ['nobody'] }],
    ['reply_to', { replyTo: ['nobody'] }],
    ['from', { from: 'nobody' }],
  ] as const) {
    const broken = { ...message, ...change } as typeof message;
    const { code, detail } = await refusal(sendAgain(ctx, sink, sender.account, broken));
    expect([code, detail?.issues?.[0]?.path]).toEqual(['validation_failed', field]);
    expect(detail?.issues?.[0]?.message).toMatch(new RegExp(`^${field} .*\\.$`));
  }
  const account = { ...sender.account, plan: 'one' };
  const again = await refusal(sendAgain(ctx, sink, account, message));
  expect(again.errorName).toBe('daily_quota_exceeded');
  // What has ended is purged.
  const to = [mailbox('delivered@sandbox.test')];
  const ended = (await fixture.stored(await fixture.accept(sender, draft({ to })))).message;
  await ctx.store.purgeBodies(fixture.clock.now() + 1);
  const gone = await refusal(sendAgain(ctx, sink, sender.account, ended));
  expect([gone.code, gone.message]).toEqual([
    'not_found',
    'The content of this email is no longer kept.',
  ]);
});

test('a whole message of SMTP may have a Message-ID of ours: only one of the API is refused it', async () => {
  const messageId = '<01913c7e-89ab-7cde-8f01-23456789abce@mail.appliance.example>';
  const error = await refusal(fixture.accept(sender, draft({ messageId })));
  expect(error.detail?.issues).toEqual([
    {
      path: 'headers.Message-ID',
      message:
        'headers.Message-ID must not be one that this service made for another email. Leave it out.',
    },
  ]);
  const raw = Buffer.from('Subject: x\r\n\r\nHello\r\n');
  const { message } = await fixture.stored(await fixture.accept(sender, draft({ raw, messageId })));
  expect(message.messageId).toBe(messageId);
});

test('an email of SMTP goes again with the whole of a long text', async () => {
  const { ctx, sink } = fixture;
  const html = `<p>${'word '.repeat(60_000)}</p>`;
  const raw = Buffer.from(`Subject: x\r\nContent-Type: text/html\r\n\r\n${html}`);
  const { message } = await fixture.stored(await fixture.accept(sender, draft({ raw })));
  const id = await sendAgain(ctx, sink, sender.account, message);
  const again = await contentOf(ctx, sender.account.id, id);
  expect(again?.html === html).toBe(true);
});

test('a List-Unsubscribe in the body or in another field of a raw message is none of its own', async () => {
  const bytes = (text: string): Buffer => {
    // A part of a larger piece of memory, as a listener hands it over.
    const whole = Buffer.from(`List-Unsubscribe: <x>\r\n\r\n${text}`);
    return whole.subarray(whole.length - text.length);
  };
  const ask = async (text: string): Promise<string> =>
    fixture.accept(sender, draft({ raw: bytes(text), text: null, wantsUnsubscribe: true })).then(
      () => 'accepted',
      (error: Error) => error.message,
    );
  expect(await ask('Subject: x\r\n\r\nList-Unsubscribe: <y>\r\n')).toBe('accepted');
  expect(await ask('X-List-Unsubscribe: <y>\r\nList-Unsubscribe-Post: y\r\n\r\nHi\r\n')).toBe(
    'accepted',
  );
  const refused =
    'headers.X-Postrider-Unsubscribe and a List-Unsubscribe header of your own cannot be combined.';
  for (const name of ['List-Unsubscribe', 'LIST-UNSUBSCRIBE', 'list-unsubscribe \t']) {
    expect(await ask(`Subject: x\r\n${name}: <y>\r\n\r\nHi\r\n`)).toBe(refused);
  }
});
