/** A message as it is read back, and a request as the log shows it: what is asked of the store, and what is shown of it. */
import { expect, test } from 'bun:test';
import { contentOf } from '../../../src/flow/content/content.ts';
import { LEFT_OUT, requestBodyOf } from '../../../src/flow/content/logged-request.ts';
import { sourceOf } from '../../../src/flow/content/source.ts';
import { ByteBudget } from '../../../src/flow/byte-budget.ts';
import { composeInputOf } from '../../../src/flow/compose-input.ts';
import { feedbackIdOf, messageOfFeedbackId } from '../../../src/flow/feedback-id.ts';
import type { Context } from '../../../src/flow/context.ts';
import { encodeReturnPath } from '../../../src/mail/reports/return-path.ts';
import type { Body, LogRecord, Message } from '../../../src/store/rows.ts';
import { draft, mailbox, openFixture } from '../fixture.ts';

const ATTACHMENT = {
  filename: 'a.txt',
  contentType: 'text/plain',
  contentId: null,
  content: Buffer.from('file'),
};
const BODY: Body = {
  html: '<p>Hi</p>',
  text: 'Hi',
  headers: [['X-A', 'b']],
  attachments: [ATTACHMENT],
  raw: null,
};

const budget = new ByteBudget();
const LARGE = {} as Context['large'];

/** A store with this body, and for what its content was read. */
function storeWith(body: Body | null | undefined) {
  const asked: unknown[] = [];
  const read = async (...args: unknown[]) => {
    asked.push(args);
    return body === undefined ? null : { body };
  };
  const contentSizes = async () => (body ? { body: 2, attachments: 1 } : null);
  const store = { body: read, listedBody: read, contentSizes } as unknown as Context['store'];
  return { store, asked };
}

test('content is what is stored, or the parts of a message that was taken whole', async () => {
  const read: unknown[] = [];
  const parts = { html: '<p>x</p>', text: 'x', headers: [['X-B', 'c']], attachments: [] };
  const large = {
    async read(raw: Uint8Array) {
      read.push(raw);
      return parts;
    },
  } as unknown as Context['large'];
  const contentIn = async (body: Body | null | undefined): Promise<unknown> => {
    const { store, asked } = storeWith(body);
    const content = await contentOf({ store, large, budget }, 'account', 'message');
    expect(asked).toEqual([['account', 'message', false]]);
    return content;
  };
  expect([await contentIn(undefined), await contentIn(null), await contentIn(BODY)]).toEqual([
    null,
    null,
    BODY,
  ]);
  expect(read).toEqual([]);
  const raw = Buffer.from('Subject: x\r\n\r\nHi\r\n');
  const whole = { html: null, text: null, headers: [], attachments: [], raw };
  expect(await contentIn(whole)).toEqual({ ...parts, raw });
  expect(read).toEqual([raw]);
});

test('what was left out of a request is put back in its order, from the message of the account of the row', async () => {
  const shown = async (request: unknown, body: Body | null | undefined, change = {}) => {
    const { store, asked } = storeWith(body);
    const requestBody = typeof request === 'string' ? request : JSON.stringify(request);
    const row = { accountId: 'account', messageId: 'message', requestBody, ...change } as LogRecord;
    return [await requestBodyOf({ store, budget, large: LARGE }, row), asked.length];
  };
  const request = { html: LEFT_OUT, to: 'a', text: LEFT_OUT };
  const text = JSON.stringify(request);
  expect(
    await Promise.all([
      shown(request, BODY),
      shown({ html: '<b>', to: 'a', text: LEFT_OUT }, BODY),
      shown({ html: LEFT_OUT, to: 'a' }, { ...BODY, html: null }),
      shown(request, null),
      shown(request, undefined),
      shown({ html: '<b>', to: 'a' }, BODY),
      shown([request], BODY),
      shown('no json', BODY),
      shown('null', BODY),
      shown(request, BODY, { messageId: null }),
      shown(request, BODY, { requestBody: null }),
    ]),
  ).toEqual([
    ['{"html":"<p>Hi</p>","to":"a","text":"Hi"}', 1],
    ['{"html":"<b>","to":"a","text":"Hi"}', 1],
    ['{"html":"[no longer kept]","to":"a"}', 1],
    ['{"html":"[no longer kept]","to":"a","text":"[no longer kept]"}', 1],
    ['{"html":"[no longer kept]","to":"a","text":"[no longer kept]"}', 1],
    ['{"html":"<b>","to":"a"}', 0],
    [JSON.stringify([request]), 0],
    ['no json', 0],
    ['null', 0],
    [text, 0],
    [null, 0],
  ]);
});

test('the source of a message, whole, and what is composed for it', async () => {
  const fixture = await openFixture();
  const { ctx } = fixture;
  try {
    const by = await fixture.sender();
    const domain = await fixture.verified(by, 'acme.example');
    const { message } = await fixture.stored(
      await fixture.accept(
        by,
        draft({
          cc: [mailbox('ben@receiver.example')],
          bcc: [mailbox('cy@receiver.example')],
          replyTo: [mailbox('desk@acme.example')],
          subject: 'Grüße',
          headers: [['X-A', 'b']],
        }),
      ),
    );
    const body: Body = { ...BODY, html: null, attachments: [] };
    const feedbackId = feedbackIdOf(ctx, message);
    const first = encodeReturnPath(message.id, (text) => ctx.secrets.mac('feedback-id', text));
    expect(feedbackId).toBe(`${first}:${by.account.id}:${domain.id}:mail.appliance.example`);
    const other: Message = { ...message, domainId: null };
    expect(feedbackIdOf(ctx, other)).toBe(`${first}:${by.account.id}::mail.appliance.example`);
    expect(messageOfFeedbackId(ctx, feedbackId)).toBe(message.id);
    expect(composeInputOf(ctx, message, BODY)).toEqual({
      from: 'Acme <hello@acme.example>',
      to: ['ann@receiver.example'],
      cc: ['ben@receiver.example'],
      replyTo: ['desk@acme.example'],
      subject: 'Grüße',
      html: '<p>Hi</p>',
      text: 'Hi',
      headers: [['X-A', 'b']],
      attachments: [ATTACHMENT],
      messageId: `<${message.id}@mail.appliance.example>`,
      date: new Date(message.createdAt),
      feedbackId,
    });
    const source = async (one: Body | null, of = message): Promise<string | null> => {
      const { store, asked } = storeWith(one);
      const bytes = await sourceOf({ ...ctx, store }, of);
      expect(asked).toEqual([[by.account.id, message.id, false]]);
      return bytes?.toString() ?? null;
    };
    const text = (await source(body)) ?? '';
    expect(text.replace(feedbackId, 'FEEDBACK').split('\r\n')).toEqual([
      'From: Acme <hello@acme.example>',
      'To: ann@receiver.example',
      'Cc: ben@receiver.example',
      'Reply-To: desk@acme.example',
      'Subject: =?UTF-8?B?R3LDvMOfZQ==?=',
      'Date: Thu, 15 Jan 2026 12:00:00 +0000',
      `Message-ID: <${message.id}@mail.appliance.example>`,
      'Feedback-ID: FEEDBACK',
      'X-A: b',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi',
      '',
    ]);
    expect(await source(null)).toBeNull();
    // What can never be written has no source.
    expect(await source(body, { ...message, from: 'no address at all' })).toBeNull();
  } finally {
    await fixture.close();
  }
});
