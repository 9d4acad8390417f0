/** Acceptance against a real store: what is refused, what is written, and that neither can be split. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type ApiError, validationFailed } from '../../../src/base/errors.ts';
import {
  acceptEmails,
  type AcceptOptions,
  type Acceptance,
} from '../../../src/flow/accept/accept.ts';
import { confirmRecipient } from '../../../src/flow/accept/confirmed-recipients.ts';
import { setAccountStatus } from '../../../src/flow/accounts/accounts.ts';
import type { Draft, Sender } from '../../../src/flow/draft.ts';
import { addSuppression } from '../../../src/flow/suppressions/suppressions.ts';
import { StoreFullError } from '../../../src/store/store.ts';
import { ACCEPT, draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

const PLANS = `
[[plans]]
id = "small"
included_emails = 5
[[plans]]
id = "daily"
daily_limit = 3
attachment_bytes = 100
[[plans]]
id = "closed"
confirmed_recipients_only = true
`;

let fixture: Fixture;
let sender: Sender;

beforeEach(async () => {
  fixture = await openFixture({ toml: PLANS });
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

function accept(
  drafts: Draft | (Draft | ApiError)[],
  options: Partial<AcceptOptions> = {},
  by: Sender = sender,
): Promise<Acceptance> {
  return fixture.accept(by, drafts, options);
}

describe('a message that is accepted', () => {
  test('is stored with recipients, content and event, and handed on', async () => {
    const acceptance = await accept(
      draft({
        to: [mailbox('Ann@receiver.example', 'Ann'), mailbox('ann@RECEIVER.example')],
        cc: [mailbox('ben@receiver.example')],
        bcc: [mailbox('ANN@receiver.example'), mailbox('cy@other.example')],
        tags: [{ name: 'kind', value: 'welcome' }],
      }),
    );
    const { message, recipients, types } = await fixture.stored(acceptance);
    expect(message).toMatchObject({
      from: 'Acme <hello@acme.example>',
      to: ['Ann <Ann@receiver.example>', 'ann@receiver.example'],
      cc: ['ben@receiver.example'],
      status: 'queued',
      messageId: `<${message.id}@mail.appliance.example>`,
      logId: sender.requestId,
      keyId: sender.key.id,
      isSandbox: false,
    });
    expect(
      recipients.map(({ address, kind, domain, status }) => [address, kind, domain, status]),
    ).toEqual([
      ['Ann@receiver.example', 'to', 'receiver.example', 'queued'],
      ['ben@receiver.example', 'cc', 'receiver.example', 'queued'],
      ['cy@other.example', 'bcc', 'other.example', 'queued'],
    ]);
    expect(types).toEqual(['email.queued']);
    expect(JSON.parse(acceptance.body)).toEqual([{ id: message.id, status: 'queued' }]);
    expect(fixture.sink.messages.map(({ message: { id } }) => id)).toEqual([message.id]);
    expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(3);
  });

  test('keeps the Message-ID it came with over SMTP', async () => {
    const acceptance = await accept(draft({ messageId: '<own@client.example>' }));
    expect((await fixture.stored(acceptance)).message.messageId).toBe('<own@client.example>');
  });
});

describe('what is refused', () => {
  test('a From domain of no account, of another account, below a verified one, not verified', async () => {
    const other = await fixture.sender({ name: 'other' });
    await fixture.verified(other, 'other.example');
    for (const from of ['a@nobody.example', 'a@other.example', 'a@sub.acme.example']) {
      const error = await refusal(accept(draft({ from: mailbox(from) })));
      expect([error.code, error.status]).toEqual(['from_domain_not_allowed', 403]);
      expect(error.message).toContain(from.slice(2));
    }
    const pending = await fixture.verified(sender, 'pending.example');
    await fixture.ctx.store.finishDomainCheck({ ...pending, now: 1, status: 'pending' });
    const error = await refusal(accept(draft({ from: mailbox('a@pending.example') })));
    expect([error.code, error.status]).toEqual(['domain_not_verified', 403]);
  });

  test('a paused and an unpaid account, from the moment it is', async () => {
    for (const [status, code, http] of [
      ['paused', 'account_paused', 403],
      ['payment_required', 'payment_required', 402],
    ] as const) {
      const account = await setAccountStatus(fixture.ctx, 'acme', status, 'Too many complaints.');
      const error = await refusal(accept(draft(), {}, { ...sender, account }));
      expect([error.code, error.status]).toEqual([code, http]);
      expect(error.message).toContain('Too many complaints.');
    }
  });

  test('everything while the appliance is halted, and nothing after', async () => {
    await fixture.ctx.halt.halt('Moving to another machine.');
    const error = await refusal(accept(draft()));
    expect([error.code, error.status]).toEqual(['platform_halted', 503]);
    expect(Number(error.headers['Retry-After'])).toBeGreaterThan(0);
    expect(error.message).toContain('Moving to another machine.');
    await fixture.ctx.halt.resume();
    expect((await accept(draft())).status).toBe(200);
  });

  test('for the halt first, where the account is paused too: a halt passes by itself', async () => {
    const account = await setAccountStatus(fixture.ctx, 'acme', 'paused', 'Too many bounces.');
    const paused = { ...sender, account };
    await fixture.ctx.halt.halt('Moving.');
    expect((await refusal(accept(draft(), {}, paused))).code).toBe('platform_halted');
    await fixture.ctx.halt.resume();
    fixture.ctx.disk.isLow = true;
    expect((await refusal(accept(draft(), {}, paused))).code).toBe('platform_halted');
    fixture.ctx.disk.isLow = false;
    expect((await refusal(accept(draft(), {}, paused))).code).toBe('account_paused');
  });

  test('no recipient, and more than the limit over to, cc and bcc together', async () => {
    const many = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, n) => mailbox(`${prefix}${n}@receiver.example`));
    expect((await refusal(accept(draft({ to: [] })))).errorName).toBe('missing_required_field');
    const error = await refusal(
      accept(draft({ to: many('a', 20), cc: many('b', 20), bcc: many('c', 11) })),
    );
    expect([error.code, error.status]).toEqual(['validation_failed', 422]);
    await accept(draft({ to: many('a', 20), cc: many('b', 20), bcc: many('c', 10) }));
  });

  test('attachments beyond the plan', async () => {
    const small = await fixture.sender({ name: 'daily', plan: 'daily' });
    await fixture.verified(small, 'acme.example');
    const file = (bytes: number) => ({
      filename: 'a.bin',
      contentType: 'application/octet-stream',
      contentId: null,
      content: Buffer.alloc(bytes),
    });
    const error = await refusal(accept(draft({ attachments: [file(60), file(41)] }), {}, small));
    expect([error.code, error.status, error.errorName]).toEqual([
      'content_rejected',
      422,
      'invalid_attachment',
    ]);
    await accept(draft({ attachments: [file(60), file(40)] }), {}, small);
  });

  test('recipients that are not confirmed, where the plan asks for it', async () => {
    const closed = await fixture.sender({ name: 'closed', plan: 'closed' });
    await fixture.verified(closed, 'acme.example');
    const error = await refusal(accept(draft(), {}, closed));
    expect([error.code, error.status]).toEqual(['recipient_not_confirmed', 403]);
    expect(error.message).toContain('ann@receiver.example');
    await confirmRecipient(fixture.ctx, closed.account.id, 'ANN@receiver.example');
    await accept(draft(), {}, closed);
    await accept(draft({ to: [mailbox('boss@acme.example')] }), {}, closed);
    await accept(draft({ to: [mailbox('delivered@sandbox.test')] }), {}, closed);
  });

  test('a full disk, as a halt that says when to come back', async () => {
    const ctx = {
      ...fixture.ctx,
      store: {
        ...fixture.ctx.store,
        accept: () => Promise.reject(new StoreFullError('database or disk is full')),
      },
    };
    const error = await refusal(acceptEmails(ctx, fixture.sink, sender, [draft()], ACCEPT));
    expect([error.code, error.status]).toEqual(['platform_halted', 503]);
    expect(error.headers['Retry-After']).toBe('30');
    expect(fixture.sink.messages).toEqual([]);
  });
});

describe('suppressed recipients', () => {
  test('are left out with an event, whatever their case', async () => {
    await addSuppression(fixture.ctx, sender.account.id, { email: 'ann@Receiver.example' });
    const acceptance = await accept(
      draft({ to: [mailbox('Ann@receiver.example'), mailbox('ben@receiver.example')] }),
    );
    const { message, recipients, types } = await fixture.stored(acceptance);
    expect(recipients.map(({ status, nextAttemptAt }) => [status, nextAttemptAt !== null])).toEqual(
      [
        ['suppressed', false],
        ['queued', true],
      ],
    );
    expect(types).toEqual(['email.suppressed', 'email.queued']);
    expect(message.status).toBe('queued');
    expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(1);
  });

  test('make a message suppressed when none is left, and nothing is handed on', async () => {
    await addSuppression(fixture.ctx, sender.account.id, { email: 'ann@receiver.example' });
    const acceptance = await accept(draft());
    const { message, types } = await fixture.stored(acceptance);
    expect(message.status).toBe('suppressed');
    expect(message.failureReason).toContain('suppressed');
    expect(types).toEqual(['email.suppressed']);
    expect(JSON.parse(acceptance.body)).toEqual([{ id: message.id, status: 'suppressed' }]);
    expect(fixture.sink.messages).toEqual([]);
    expect(await fixture.ctx.store.usedInMonth(sender.account.id, '2026-01')).toBe(0);
  });

  test('of another account do not matter', async () => {
    const other = await fixture.sender({ name: 'other' });
    await addSuppression(fixture.ctx, other.account.id, { email: 'ann@receiver.example' });
    expect((await fixture.stored(await accept(draft()))).message.status).toBe('queued');
  });
});

describe('batches', () => {
  const bad = () => draft({ from: mailbox('a@nobody.example') });

  test('strict: one refusal, and nothing is accepted', async () => {
    const error = await refusal(accept([draft(), bad(), draft()]));
    expect(error.code).toBe('from_domain_not_allowed');
    expect(await fixture.ctx.store.emailsByPage(sender.account.id, 1, 10)).toEqual([]);
  });

  test('strict: a refusal that is no shape error says which item it is about', async () => {
    const foreign = draft({ from: mailbox('a@elsewhere.example') });
    const error = await refusal(accept([draft(), foreign, draft()]));
    expect(error.code).toBe('from_domain_not_allowed');
    expect(error.detail).toEqual({ index: 1 });
    expect((await refusal(accept([foreign, draft()]))).detail).toEqual({ index: 0 });
    expect((await refusal(accept(foreign))).detail).toBeUndefined();
  });

  test('strict: what a refusal says besides stays beside the item that it is about', async () => {
    const large = draft({ attachmentBytes: 1e9 });
    const error = await refusal(accept([draft(), large]));
    expect([error.code, error.errorName, error.status]).toEqual([
      'content_rejected',
      'invalid_attachment',
      422,
    ]);
    expect(error.detail).toEqual({ bytes: 1e9, max_bytes: expect.any(Number), index: 1 });
  });

  test('strict: all shape errors at once', async () => {
    const shape = (path: string) => validationFailed([{ path, message: `${path} is wrong.` }]);
    const error = await refusal(accept([shape('[0].to'), draft(), shape('[2].subject')]));
    expect(error.detail).toEqual({
      issues: [
        { path: '[0].to', message: '[0].to is wrong.' },
        { path: '[2].subject', message: '[2].subject is wrong.' },
      ],
    });
  });

  test('permissive: the valid ones are accepted, in order', async () => {
    const acceptance = await accept([draft(), bad(), draft({ to: [] }), draft()], {
      isPermissive: true,
    });
    const answer = JSON.parse(acceptance.body) as { code?: string; status?: string }[];
    expect(answer.map(({ code, status }) => code ?? status)).toEqual([
      'queued',
      'from_domain_not_allowed',
      'validation_failed',
      'queued',
    ]);
    expect(acceptance.messageIds).toHaveLength(2);
    expect(fixture.sink.messages).toHaveLength(2);
  });

  test('permissive: with none valid, nothing is written', async () => {
    const acceptance = await accept([bad()], { isPermissive: true });
    expect([acceptance.status, acceptance.messageIds]).toEqual([200, []]);
  });
});

describe('quotas', () => {
  test('cannot be beaten by parallel requests, whatever their sizes', async () => {
    const seed = Date.now() % 100_000;
    let state = seed;
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const small = await fixture.sender({ name: 'small', plan: 'small' });
    await fixture.verified(small, 'acme.example');
    const sizes = Array.from({ length: 40 }, () => 1 + random(3));
    const ends = await Promise.allSettled(
      sizes.map((size, n) => {
        const to = Array.from({ length: size }, (_, m) => mailbox(`r${n}.${m}@receiver.example`));
        return accept(draft({ to }), {}, small);
      }),
    );
    const taken = sizes.filter((_, n) => ends[n]?.status === 'fulfilled');
    const sum = taken.reduce((total, size) => total + size, 0);
    const used = await fixture.ctx.store.usedInMonth(small.account.id, '2026-01');
    expect({ seed, sum, used }).toEqual({ seed, sum: used, used });
    expect(used).toBeLessThanOrEqual(5);
    // A request of one fits as long as fewer than five are used, so the quota is met or only larger ones failed.
    const smallestRefused = Math.min(...sizes.filter((_, n) => ends[n]?.status === 'rejected'));
    expect(used + smallestRefused).toBeGreaterThan(5);
  });

  test('a day ends at midnight UTC, and the refusal says when', async () => {
    const daily = await fixture.sender({ name: 'daily', plan: 'daily' });
    await fixture.verified(daily, 'acme.example');
    for (let n = 0; n < 3; n += 1) await accept(draft(), {}, daily);
    const error = await refusal(accept(draft(), {}, daily));
    expect([error.code, error.status, error.errorName]).toEqual([
      'quota_exceeded',
      429,
      'daily_quota_exceeded',
    ]);
    expect(error.headers['Retry-After']).toBe(String(12 * 3_600));
    await fixture.clock.advance(12 * 3_600_000);
    await accept(draft(), {}, daily);
  });
});
