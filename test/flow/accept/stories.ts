/**
 * Stories of acceptance: what is sent, and everything that it leaves behind, as it stands in stories.txt.
 *
 *   bun test/flow/accept/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ApiError, validationFailed } from '../../../src/base/errors.ts';
import type { AcceptOptions } from '../../../src/flow/accept/accept.ts';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { ACCEPT, draft, mailbox, openFixture, type Fixture } from '../fixture.ts';
import { StoryText } from '../story-text.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

const TOML = `
[limits]
recipients = 6
[[plans]]
id = "small"
included_emails = 3
attachment_bytes = 100
[[plans]]
id = "daily"
daily_limit = 2
[[plans]]
id = "kept"
storage_bytes = 100
[[plans]]
id = "closed"
confirmed_recipients_only = true
`;

/** What a story may do. `accept` writes down the response or the refusal, and what is stored. */
interface Teller {
  fixture: Fixture;
  sender: Sender;
  accept: (
    drafts: Draft | (Draft | ApiError)[],
    options?: Partial<AcceptOptions>,
    by?: Sender,
  ) => Promise<void>;
}

const PERMISSIVE = { isPermissive: true, pathOf: (index: number) => `[${index}]` };
const STRICT_BATCH = { pathOf: PERMISSIVE.pathOf };
const to = (...addresses: string[]): Pick<Draft, 'to'> => ({
  to: addresses.map((address) => mailbox(address)),
});
const onPlan = async ({ fixture }: Teller, plan: string): Promise<Sender> => {
  const sender = await fixture.sender({ name: plan, plan });
  await fixture.verified(sender, 'acme.example');
  return sender;
};

/** One email to every simulated recipient, and an endpoint that asked for `events`. */
async function toldOf({ fixture, sender, accept }: Teller, events: string[]): Promise<void> {
  const url = 'https://hook.example/';
  await addEndpoint(fixture.ctx, sender.account.id, { url, events });
  const names = ['delivered', 'bounced', 'complained', 'delayed', 'failed', 'suppressed'];
  await accept(
    draft({
      ...to(...names.map((name) => `${name}@sandbox.test`)),
      headers: [['X-Order', '42']],
      tags: [{ name: 'kind', value: 'welcome' }],
    }),
  );
}

export const STORIES: Readonly<Record<string, (teller: Teller) => Promise<void>>> = {
  'one recipient, and every field of an email': async ({ accept }) =>
    accept(
      draft({
        from: mailbox('Hello@acme.example', 'Ärger, "Co" & Sons'),
        to: [mailbox('Ann@Receiver.example', 'Ann')],
        replyTo: [mailbox('a@acme.example'), mailbox('b@acme.example', 'B')],
        subject: 'Grüße',
        html: '<p>Hello</p>',
        headers: [
          ['X-Order', '42'],
          ['X-Postrider-Unsubscribe', 'one-click'],
        ],
        attachments: [
          {
            filename: 'a.txt',
            contentType: 'text/plain',
            contentId: 'cid1',
            content: Buffer.from('file'),
          },
        ],
        tags: [{ name: 'kind', value: 'welcome' }],
        sender: mailbox('robot@acme.example', 'Robot'),
        messageId: '<own@client.example>',
      }),
    ),
  'every kind of recipient, each address once': async ({ fixture, sender, accept }) => {
    await addSuppression(fixture.ctx, sender.account.id, { email: 'gone@receiver.example' });
    await accept(
      draft({
        ...to('ann@receiver.example', 'ANN@receiver.example', 'bounced@sandbox.test'),
        cc: [mailbox('Gone@receiver.example')],
        bcc: [mailbox('cy@other.example'), mailbox('ann@RECEIVER.example')],
      }),
    );
  },
  'each simulated end': async ({ accept }) => {
    for (const name of ['delivered', 'bounced', 'complained', 'delayed', 'failed', 'suppressed']) {
      await accept(draft(to(`${name}+label@sandbox.test`)));
    }
  },
  'what a webhook is told of each simulated end': async (teller) => toldOf(teller, []),
  'what a webhook is told that asked for two events': async (teller) =>
    toldOf(teller, ['email.bounced', 'email.complained']),
  'a sandbox key: nothing leaves, from any domain, and no quota is used': async (teller) => {
    const { fixture, accept } = teller;
    const small = await onPlan(teller, 'small');
    const tester = { ...small, key: { ...small.key, isTest: true } };
    const many = to('a@x.example', 'b@x.example', 'c@x.example', 'd@x.example');
    await accept(draft({ ...many, from: mailbox('any@nobody.example') }), {}, tester);
    await accept(draft(many), {}, tester);
    fixture.ctx.disk.isLow = true;
    await accept(draft(), {}, tester);
  },
  'all recipients suppressed, for each reason': async ({ fixture, sender, accept }) => {
    await addSuppression(fixture.ctx, sender.account.id, { email: 'a@receiver.example' });
    await accept(draft({ ...to('a@receiver.example', 'suppressed@sandbox.test') }));
  },
  'a whole message by SMTP': async ({ accept }) => {
    const raw = Buffer.from('Subject: x\r\n\r\nHello.\r\n');
    await accept(draft({ raw, text: null, messageId: '<c@client.example>', attachmentBytes: 5 }));
    await accept(draft({ raw, text: null, wantsUnsubscribe: true }));
    const own = Buffer.from('Subject: x\r\nList-Unsubscribe : <https://x>\r\n\r\nHello.\r\n');
    await accept(draft({ raw: own, text: null, wantsUnsubscribe: true }));
  },
  'recipients: none, too many, one that is not simulated': async ({ accept }) => {
    await accept(draft({ to: [] }));
    const three = to('a@x.example', 'b@x.example', 'c@x.example');
    const two = to('d@x.example', 'e@x.example');
    await accept(draft({ ...three, cc: two.to, bcc: draft().to }));
    await accept(draft({ ...three, cc: two.to, bcc: two.to }));
    await accept(draft(to('bounce@sandbox.test')));
  },
  'a From and a Sender of nobody, and of a domain that is not verified': async (teller) => {
    const { fixture, sender, accept } = teller;
    const pending = await fixture.verified(sender, 'pending.example');
    await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
    for (const from of ['a@nobody.example', 'a@sub.acme.example', 'a@pending.example']) {
      await accept(draft({ from: mailbox(from) }));
      await accept(draft({ sender: mailbox(from) }));
    }
  },
  'a Message-ID that this service made': async ({ accept }) => {
    const messageId = '<01913c7e-89ab-7cde-8f01-23456789abce@mail.appliance.example>';
    await accept(draft({ messageId }));
  },
  'attachments of the most bytes, and of one more': async (teller) => {
    const small = await onPlan(teller, 'small');
    const file = { filename: 'a', contentType: 'x/y', contentId: null };
    for (const bytes of [100, 101]) {
      const attachments = [{ ...file, content: Buffer.alloc(bytes - 1, 'a') }];
      attachments.push({ ...file, content: Buffer.from('b') });
      await teller.accept(draft({ attachments }), {}, small);
    }
  },
  'quotas: the month, the day, the bytes kept': async (teller) => {
    const two = to('a@x.example', 'b@x.example');
    for (const plan of ['small', 'daily', 'kept']) {
      const sender = await onPlan(teller, plan);
      await teller.accept(draft({ ...two, text: 'x'.repeat(60) }), {}, sender);
      await teller.accept(draft({ ...two, text: 'x'.repeat(60) }), {}, sender);
      await teller.accept(draft({ ...to('delivered@sandbox.test'), text: 'x' }), {}, sender);
    }
  },
  'recipients who confirmed, where the plan asks for it': async (teller) => {
    const closed = await onPlan(teller, 'closed');
    await teller.accept(draft(to('boss@acme.example')), {}, closed);
    await teller.accept(draft(to('boss@acme.example', 'Ann@receiver.example')), {}, closed);
  },
  'a halt, a low disk, an account that is paused, and one that is unpaid': async (teller) => {
    const { fixture, sender, accept } = teller;
    await fixture.ctx.halt.halt('Moving.');
    await accept(draft());
    await fixture.ctx.halt.resume();
    fixture.ctx.disk.isLow = true;
    await accept(draft());
    fixture.ctx.disk.isLow = false;
    for (const status of ['paused', 'payment_required'] as const) {
      const account = await setAccountStatus(fixture.ctx, 'acme', status, 'Bounces.');
      await accept(draft(), {}, { ...sender, account });
    }
  },
  'a strict batch: the first refusal, or all faults of shape': async ({ accept }) => {
    const shape = (path: string) => validationFailed([{ path, message: `${path} is wrong.` }]);
    await accept([draft(), draft({ from: mailbox('a@nobody.example') })], STRICT_BATCH);
    await accept([shape('[0].to'), draft({ to: [] })], STRICT_BATCH);
    await accept([draft(), draft({ to: [] })], STRICT_BATCH);
    await accept([draft(), draft()], STRICT_BATCH);
  },
  'a permissive batch': async ({ accept }) => {
    const bad = draft({ headers: [['X-Postrider-Unsubscribe', 'one-click']] });
    bad.to.push(mailbox('ben@receiver.example'));
    await accept([bad, draft(), validationFailed([{ path: '[2].to', message: 'x' }])], PERMISSIVE);
    await accept([bad], PERMISSIVE);
  },
  'an idempotency key: again, with another body, by another route, a day later': async (teller) => {
    const { fixture, sender, accept } = teller;
    const idempotency = { key: 'k1', route: 'POST /emails', bodyHash: 'h1' };
    await accept(draft(), { idempotency });
    await accept(draft(), { idempotency });
    await accept(draft(), { idempotency: { ...idempotency, bodyHash: 'h2' } });
    await accept(draft(), { idempotency: { ...idempotency, route: 'POST /x' } });
    await accept(draft(), { idempotency }, { ...sender, key: { ...sender.key, isTest: true } });
    await fixture.clock.advance(24 * 3_600_000 - 1);
    await accept(draft(), { idempotency });
    await fixture.clock.advance(1);
    await accept(draft(), { idempotency });
  },
};

/** One story, told on a store of its own. */
export async function tell(name: string): Promise<string> {
  const fixture = await openFixture({ toml: TOML });
  const text = new StoryText();
  try {
    const sender = { ...(await fixture.sender()), requestId: null };
    await fixture.verified(sender, 'acme.example');
    const story = STORIES[name];
    if (story === undefined) throw new Error(`there is no story ${name}`);
    await story({ fixture, sender, accept: (...what) => accept(fixture, text, sender, ...what) });
    text.add('log', fixture.logged);
    const metrics = await fixture.ctx.metrics.render();
    text.add(
      'metrics',
      metrics.split('\n').filter((line) => line.startsWith('postrider_messages_accepted_total{')),
    );
  } finally {
    await fixture.close();
  }
  return `> ${name}\n${text.toString()}`;
}

async function accept(
  fixture: Fixture,
  text: StoryText,
  owner: Sender,
  drafts: Draft | (Draft | ApiError)[],
  options: Partial<AcceptOptions> = {},
  by: Sender = owner,
): Promise<void> {
  const { store } = fixture.ctx;
  fixture.sink.messages.length = 0;
  const respond: AcceptOptions['respond'] = (results) => ({
    ...ACCEPT.respond(results),
    body: results.map((one) => (one.kind === 'accepted' ? one : seen(one.error))),
  });
  try {
    const accepted = await fixture.accept(by, drafts, { ...options, respond });
    text.add('accepted', { ...accepted, body: JSON.parse(accepted.body) as unknown });
    for (const id of accepted.messageIds) {
      text.add('message', await store.messageById(id));
      text.add('content', await store.body(by.account.id, id));
      text.add('recipients', await store.recipients(id));
      text.add('events', await store.events(id));
      text.add('calls', await store.callsOfMessage(id));
    }
    const begun = fixture.sink.calls.splice(0).map(({ id }) => ({
      id,
      owner: 'story',
      leaseUntil: 0,
      nextAttemptAt: 0,
    }));
    text.add('called', await store.beginCalls(begun, fixture.clock.now()));
    text.add(
      'handed on',
      fixture.sink.messages.map(({ message }) => message.id),
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    text.add('refused', seen(error));
  }
  text.add('used this month', await store.usedInMonth(by.account.id, '2026-01'));
}

/** A refusal as a client sees it. */
function seen({ code, status, errorName, message, detail, headers }: ApiError): unknown {
  return { code, status, errorName, message, detail, headers };
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
