/** One-click unsubscribe: the fields a message gets, and links that cannot be changed to another address. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Sender } from '../../../src/flow/draft.ts';
import {
  acceptUnsubscribe,
  findUnsubscribe,
  unsubscribeUrl,
} from '../../../src/flow/suppressions/unsubscribe.ts';
import { newId } from '../../rig/ids.ts';
import { draft, mailbox, openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
let sender: Sender;

beforeEach(async () => {
  fixture = await openFixture({ toml: '[http]\npublic_url = "https://mail.acme.example/"\n' });
  sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
});
afterEach(() => fixture.close());

const request: [string, string][] = [
  ['X-Campaign', 'spring'],
  ['x-postrider-unsubscribe', 'Yes'],
];

/** Header fields as stored, by name. */
async function headersOf(headers: [string, string][]): Promise<Map<string, string>> {
  const { messageIds } = await fixture.accept(sender, draft({ headers }));
  const body = await fixture.ctx.store.body(sender.account.id, messageIds[0] ?? '');
  return new Map(body?.body?.headers);
}

describe('asked for by header', () => {
  test('the message gets both fields, and keeps its others', async () => {
    const fields = await headersOf(request);
    expect([...fields.keys()]).toEqual(['X-Campaign', 'List-Unsubscribe', 'List-Unsubscribe-Post']);
    expect(fields.get('List-Unsubscribe')).toMatch(
      /^<https:\/\/mail\.acme\.example\/unsubscribe\/[\w-]{38}>$/,
    );
    expect(fields.get('List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
  });

  test('any other word than yes takes the field out and does nothing', async () => {
    const fields = await headersOf([['X-Postrider-Unsubscribe', 'no']]);
    expect([...fields.keys()]).toEqual([]);
  });

  test('several recipients, or a list header of the sender, are refused', async () => {
    const to = [mailbox('a@receiver.example'), mailbox('b@receiver.example')];
    for (const change of [
      { to, headers: request },
      { headers: [...request, ['List-Unsubscribe', '<mailto:x@y.example>'] as [string, string]] },
    ]) {
      const error = await refusal(fixture.accept(sender, draft(change)));
      expect([error.code, error.status]).toEqual(['validation_failed', 422]);
    }
    // The same address twice is one recipient.
    const twice = [mailbox('a@receiver.example'), mailbox('A@receiver.example')];
    expect((await fixture.accept(sender, draft({ to: twice, headers: request }))).status).toBe(200);
  });
});

describe('the link', () => {
  async function token(): Promise<string> {
    const { recipients } = await fixture.stored(await fixture.accept(sender, draft()));
    return (
      unsubscribeUrl(fixture.ctx, recipients[0]?.id ?? '')
        .split('/')
        .at(-1) ?? ''
    );
  }

  test('names its recipient, suppresses when it is accepted, and twice is fine', async () => {
    const own = await token();
    expect(await findUnsubscribe(fixture.ctx, own)).toMatchObject({
      accountId: sender.account.id,
      address: 'ann@receiver.example',
    });
    expect(
      await fixture.ctx.store.suppression(sender.account.id, 'ann@receiver.example'),
    ).toBeNull();
    const row = await acceptUnsubscribe(fixture.ctx, own);
    expect(row).toMatchObject({ email: 'ann@receiver.example', reason: 'unsubscribe' });
    expect(await acceptUnsubscribe(fixture.ctx, own)).toEqual(row);
    const { messageIds } = await fixture.accept(sender, draft());
    expect((await fixture.ctx.store.messageById(messageIds[0] ?? ''))?.status).toBe('suppressed');
  });

  test('is refused when any one bit of it differs', async () => {
    const own = Buffer.from(await token(), 'base64url');
    for (let bit = 0; bit < own.length * 8; bit += 1) {
      const forged = Buffer.from(own);
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(await acceptUnsubscribe(fixture.ctx, forged.toString('base64url'))).toBeNull();
    }
    for (const junk of ['', 'x', 'a'.repeat(38), 'ä'.repeat(38), 'a'.repeat(10_000)]) {
      expect(await acceptUnsubscribe(fixture.ctx, junk)).toBeNull();
    }
    expect(
      await fixture.ctx.store.suppression(sender.account.id, 'ann@receiver.example'),
    ).toBeNull();
  });

  test.each([
    ['https://mail.acme.example', 'https://mail.acme.example/unsubscribe/'],
    ['https://mail.acme.example//', 'https://mail.acme.example/unsubscribe/'],
    ['https://acme.example/mail/', 'https://acme.example/mail/unsubscribe/'],
  ])('below %s begins with %s', (publicUrl, begin) => {
    const { config, secrets } = fixture.ctx;
    const live = { ...config.live, http: { ...config.live.http, publicUrl } };
    const url = unsubscribeUrl({ secrets, config: { ...config, live } }, newId(1));
    expect(url).toMatch(/\/[\w-]{38}$/);
    expect(url.slice(0, -38)).toBe(begin);
  });

  test('of a recipient whose mail is deleted is refused', async () => {
    const gone = unsubscribeUrl(fixture.ctx, '01900000-0000-7000-8000-00000000abcd')
      .split('/')
      .at(-1);
    expect(await findUnsubscribe(fixture.ctx, gone ?? '')).toBeNull();
  });
});
