/**
 * Stories of reports: what comes in on port 25 about mail that was sent, and everything that it leaves behind, as it
 * stands in stories.txt.
 *
 *   bun test/flow/reports/stories.ts
 *
 * writes stories.txt anew.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { MessageStatus } from '../../../src/base/status.ts';
import { feedbackIdOf } from '../../../src/flow/feedback-id.ts';
import { endOf } from '../../../src/flow/recipient-end.ts';
import { Reports } from '../../../src/flow/reports/reports.ts';
import { addEndpoint } from '../../../src/flow/webhooks/endpoints.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { encodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import type { Message, Recipient } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';
import { StoryText } from '../story-text.ts';

export const STORIES_FILE = join(import.meta.dir, 'stories.txt');

interface Teller {
  fixture: Fixture;
  message: Message;
  /** The recipients of the message: ann, and what else the story mails. */
  recipients: Recipient[];
  /** Gives the first recipient this status before the report comes. */
  is: (status: MessageStatus) => Promise<void>;
  /** Takes one message, for the first recipient unless told; an hour later each time. */
  take: (text: string, ids?: (string | null)[], peer?: string) => Promise<void>;
}

const dsn = (...groups: string[]): string =>
  `Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.receiver.example\r\n\r\n${groups
    .map((group) => `${group.split('; ').join('\r\n').replaceAll(/ = /g, ': ')}\r\n\r\n`)
    .join('')}`;
const arf = (...fields: string[]): string =>
  `Content-Type: message/feedback-report\r\n\r\n${fields.map((field) => `${field}\r\n`).join('')}`;

const ANN = 'Final-Recipient = rfc822;ann@receiver.example';

const failed = (...fields: string[]): string => dsn([ANN, 'Action = failed', ...fields].join('; '));

export const STORIES: Readonly<Record<string, (teller: Teller) => Promise<void>>> = {
  'no such mailbox, and the same report again': async ({ is, take }) => {
    await is('sent');
    const report = failed(
      'Status = 5.1.1',
      'Remote-MTA = dns;mx7.receiver.example',
      'Diagnostic-Code = smtp;550 5.1.1 <ann@receiver.example> no such user',
    );
    await take(report);
    await take(report);
  },
  'a full mailbox suppresses nobody': async ({ is, take }) => {
    await is('sent');
    await take(failed('Status = 5.2.2', 'Diagnostic-Code = smtp;552 5.2.2 mailbox full'));
  },
  'refused for its content, with a hint': async ({ is, take }) => {
    await is('delivered');
    const said = 'smtp;550 5.7.1 Service unavailable, client host [192.0.2.1] blocked using a list';
    await take(failed('Status = 5.7.1', `Diagnostic-Code = ${said}`));
  },
  'a failure without a word': async ({ is, take }) => {
    await is('sent');
    await take(failed('Status = 5.0.0'));
  },
  'a failure with neither word nor code': async ({ is, take }) => {
    await is('sent');
    await take(failed());
  },
  'sent, late, forwarded, and then delivered': async ({ is, take }) => {
    await is('sent');
    for (const action of ['delayed', 'relayed', 'expanded', 'delivered', 'delivered']) {
      await take(dsn(`${ANN}; Action = ${action}; Status = 2.0.0; Remote-MTA = dns;inner.example`));
    }
  },
  'delivered elsewhere, in the name of an alias': async ({ is, take }) => {
    await is('sent');
    await take(
      dsn(
        'Final-Recipient = rfc822;box@inner.example; Action = delivered; Status = 2.1.5; Diagnostic-Code = smtp;250 2.1.5 kept',
      ),
    );
  },
  'a complaint, and what comes after it': async ({ is, take }) => {
    await is('delivered');
    await take(arf('Feedback-Type: Abuse', 'User-Agent: SomeLoop/2.1', 'Version: 1'));
    await take(arf('Feedback-Type: fraud', 'Version: 1'));
    await take(failed('Status = 5.1.1'));
  },
  'a complaint after a bounce, and of no program': async ({ is, take }) => {
    await is('bounced');
    await take(arf('Feedback-Type: opt-out', 'Version: 1'));
  },
  'a complaint that proves nothing': async ({ is, take }) => {
    await is('delivered');
    const long = 'x'.repeat(400);
    const original = `\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nFeedback-ID: ${long}\r\n\r\nHi\r\n--b--\r\n`;
    const report = `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n${arf('Feedback-Type: abuse')}${original}`;
    await take(report, [null], 'mx.elsewhere.example [192.0.2.9]');
    await take(arf('Feedback-Type: virus'), [null]);
    await take(arf('Feedback-Type: not-spam'), [null]);
  },
  'a complaint by the Feedback-ID of a message': async ({ fixture, message, is, take }) => {
    await is('delivered');
    const id = feedbackIdOf(fixture.ctx, message);
    const original = `\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nFeedback-ID: ${id}\r\n\r\nHi\r\n--b--\r\n`;
    const report = `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n${arf('Feedback-Type: abuse')}${original}`;
    await take(report, [null], 'mx');
  },
  'a bounce to the postmaster that repeats our return path': async (teller) => {
    const { fixture, recipients, is, take } = teller;
    await is('sent');
    const mac = (text: string): Buffer => fixture.ctx.secrets.mac('return-path', text);
    const path = encodeReturnPath(recipients[0]?.id ?? '', mac);
    const inner = `--b\r\n${failed('Status = 5.1.1')}\r\n--b\r\nContent-Type: message/rfc822-headers\r\n\r\nReturn-Path: <${path}@send.acme.example>\r\n\r\n--b--\r\n`;
    await take(`Content-Type: multipart/report; boundary=b\r\n\r\n${inner}`, [null]);
  },
  'a letter, and reports about nobody whom we mailed': async ({ take }) => {
    const nobody = '01913c7e-89ab-7cde-8f01-23456789abce';
    await take('Subject: Hello\r\n\r\nHow are you?\r\n');
    await take(failed('Status = 5.1.1'), [null]);
    await take(failed('Status = 5.1.1'), [nobody]);
    await take(arf('Feedback-Type: abuse'), [nobody]);
  },
};

/** One story, told on a store of its own. */
export async function tell(name: string): Promise<string> {
  const fixture = await openFixture();
  const text = new StoryText();
  const { ctx, clock, sink } = fixture;
  try {
    // What is due goes by steady time, all else by the wall clock.
    clock.jump(86_400_000);
    const by = { ...(await fixture.sender()), requestId: '01913c7e-0000-7000-8000-000000000001' };
    await fixture.verified(by, 'acme.example');
    const url = 'https://hook.example/';
    await addEndpoint(ctx, by.account.id, { url, events: [] });
    const to = [mailbox('Ann@receiver.example')];
    const { message, recipients } = await fixture.stored(await fixture.accept(by, draft({ to })));
    const [first] = recipients;
    const story = STORIES[name];
    if (story === undefined || first === undefined) throw new Error(`there is no story ${name}`);
    fixture.logged.length = 0;
    const heard: string[] = [];
    ctx.followers.follow(({ type }) => void heard.push(type));
    const reports = new Reports(ctx, sink);
    await story({
      fixture,
      message,
      recipients,
      async is(status) {
        await ctx.store.finish(endOf(first, clock.now(), { status, lastReason: 'before' }));
      },
      async take(report, ids = [first.id], peer) {
        await clock.advance(3_600_000);
        const inbound = new InboundMessage(Buffer.from(report));
        text.add('end', await reports.take(inbound, ids, peer));
        text.add('recipient', await ctx.store.recipientById(first.id));
        const begun = sink.calls.splice(0);
        text.add(
          'due',
          begun.map(({ dueAt }) => dueAt),
        );
        const claims = begun.map(({ id }) => ({ id, owner: 'o', leaseUntil: 0, nextAttemptAt: 0 }));
        text.add(
          'calls',
          (await ctx.store.beginCalls(claims, clock.now())).map(({ body }) => body),
        );
      },
    });
    text.add('message', await ctx.store.messageById(message.id));
    text.add('events', await ctx.store.events(message.id));
    text.add('heard', heard);
    text.add('suppressed', await ctx.store.suppression(by.account.id, 'ann@receiver.example'));
    text.add('log', fixture.logged);
  } finally {
    await fixture.close();
  }
  return `> ${name}\n${text.toString()}`;
}

if (import.meta.main) {
  const told: string[] = [];
  for (const name of Object.keys(STORIES)) told.push(await tell(name));
  writeFileSync(STORIES_FILE, told.join('\n'));
}
