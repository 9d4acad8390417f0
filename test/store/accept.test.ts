/** Accepting: everything of a message at once, idempotency, quota; also when many do it in parallel. */
import { describe, expect } from 'bun:test';

import type { AcceptBatch, NewIdempotencyRecord } from '../../src/store/journey.ts';
import type { Attachment, Body, Message } from '../../src/store/rows.ts';
import { accepted, batchOf, newAccount, newEndpoint, newEvent, newMessage } from './samples.ts';
import { eachStorage, eachStore } from './stores.ts';

const DAY = '2026-01-15';

function record(change: Partial<NewIdempotencyRecord> = {}): NewIdempotencyRecord {
  const createdAt = Date.now();
  return {
    key: 'k1',
    route: 'POST /emails',
    bodyHash: 'h1',
    status: 200,
    response: '{"id":"first"}',
    createdAt,
    expiresAt: createdAt + 60_000,
    ...change,
  };
}

/** An attachment without its bytes. */
function described({ filename, contentType, contentId }: Attachment) {
  return { filename, contentType, contentId };
}

const withRecord = (batch: AcceptBatch, idempotency: NewIdempotencyRecord): AcceptBatch => ({
  ...batch,
  idempotency,
});

describe('accept', () => {
  eachStorage('what was accepted reads back as it was given, opened anew too', async (storage) => {
    const account = newAccount('default');
    const every: Partial<Message> = {
      keyId: 'key',
      domainId: 'domain',
      isSandbox: true,
      cc: ['Cy <cy@example.org>'],
      bcc: ['dan@example.org', 'eve@example.org'],
      eventHeaders: [['In-Reply-To', '<x@example.org>']],
      failureReason: 'none yet',
    };
    const sent = newMessage(account.id, every, ['ann@example.org', 'bob@example.net']);
    const [file] = sent.body.attachments;
    if (file === undefined) throw new Error('the sample has an attachment');
    const second = { ...file, filename: '0.png', contentType: 'image/png', contentId: 'logo' };
    sent.body.attachments.push({ ...second, content: Buffer.from('d') });
    sent.body.raw = Buffer.from('Subject: as it came');
    const store = await storage.open();
    await store.createAccount(account);
    await accepted(store, sent);
    await store.close();

    const again = await storage.open();
    const { id } = sent.message;
    expect(await again.message(account.id, id)).toEqual(sent.message);
    expect(await again.messageForDelivery(id)).toEqual({
      message: sent.message,
      body: { ...sent.body, raw: expect.anything(), attachments: expect.anything() },
    });
    const content = await again.body(account.id, id);
    const bytes = ({ content: kept }: Attachment): string => Buffer.from(kept).toString();
    expect(content?.body?.attachments.map((one) => ({ ...one, content: bytes(one) }))).toEqual([
      { ...file, content: 'abc' },
      { ...second, content: 'd' },
    ]);
    expect(Buffer.from(content?.body?.raw ?? '').toString()).toBe('Subject: as it came');
    expect(await again.listedBody(account.id, id)).toEqual({
      body: {
        ...sent.body,
        raw: expect.anything(),
        attachments: [
          { ...described(file), size: 3 },
          { ...described(second), size: 1 },
        ],
      },
    });
    expect(await again.recipients(id)).toEqual(sent.recipients);
    const { webhookBody: _, ...event } =
      sent.events[0] ?? newEvent(sent.message, null, 'email.queued');
    expect(await again.events(id)).toEqual([event]);
    await again.close();
  });

  eachStore('sizes of content are in bytes, of all that there is', async (store, account) => {
    const bytes = (length: number) => Buffer.alloc(length, 65);
    const file = { filename: 'f', contentType: 'a/b', contentId: null };
    const sizesOf = async (body: Partial<Body>) => {
      const sent = newMessage(account.id);
      Object.assign(sent.body, { html: null, text: null, raw: null, attachments: [] }, body);
      const { message } = await accepted(store, sent);
      return store.contentSizes(account.id, message.id);
    };
    expect(await sizesOf({})).toEqual({ body: 0, attachments: 0 });
    expect(await sizesOf({ text: 'née €' })).toEqual({ body: 8, attachments: 0 });
    expect(await sizesOf({ html: '<p>', text: 'xy', raw: bytes(40_000) })).toEqual({
      body: 40_005,
      attachments: 0,
    });
    const attachments = [
      { ...file, content: bytes(50_000) },
      { ...file, content: bytes(7) },
    ];
    expect(await sizesOf({ html: 'é', attachments })).toEqual({ body: 2, attachments: 50_007 });
  });

  eachStore('another account does not see it', async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const { message } = await accepted(store, newMessage(account.id));
    expect(await store.message(other.id, message.id)).toBeNull();
    expect(await store.body(other.id, message.id)).toBeNull();
    expect(await store.listedBody(other.id, message.id)).toBeNull();
    expect(await store.contentSizes(other.id, message.id)).toBeNull();
    const page = { limit: 10, after: null, before: null, q: null, status: null };
    expect((await store.emails(other.id, page)).rows).toEqual([]);
  });

  eachStore(
    'a batch with one impossible message leaves nothing, and does not harm other batches',
    async (store, account) => {
      const good = newMessage(account.id);
      const before = newMessage(account.id);
      const after = newMessage(account.id);
      const results = await Promise.allSettled([
        store.accept(batchOf(account.id, before)),
        // The same id twice breaks in the middle of the batch.
        store.accept(batchOf(account.id, good, good)),
        store.accept(batchOf(account.id, after)),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await store.messageById(good.message.id)).toBeNull();
      expect(await store.recipients(good.message.id)).toEqual([]);
      expect(await store.messageById(before.message.id)).not.toBeNull();
      expect(await store.messageById(after.message.id)).not.toBeNull();
      expect((await store.countsByStatus(account.id, 0)).queued).toBe(2);
      // Nor a gap in the account's list, whose pages are counted.
      const page = await store.emailsByPage(account.id, 1, 2);
      expect(page.map(({ id }) => id)).toEqual([after.message.id, before.message.id]);
    },
  );

  eachStore(
    'events of an accepted message become calls of the endpoints that want them',
    async (store, account) => {
      const all = newEndpoint(account.id);
      const bounces = newEndpoint(account.id, { events: ['email.bounced'] });
      await store.createEndpoint(all, 10);
      await store.createEndpoint(bounces, 10);
      const sent = newMessage(account.id);
      sent.events.push(newEvent(sent.message, null, 'email.sent'));
      const result = await store.accept(batchOf(account.id, sent));
      if (result.kind !== 'accepted') throw new Error(result.kind);
      expect(result.calls.map(({ endpointId }) => endpointId)).toEqual([all.id]);
      const [call] = await store.beginCalls(
        result.calls.map(({ id }) => ({ id, owner: 'me', leaseUntil: 0, nextAttemptAt: 0 })),
        Date.now(),
      );
      expect(call?.body).toBe(sent.events[1]?.webhookBody ?? 'none');
      expect(call?.eventId).toBe(sent.events[1]?.id ?? 'none');
    },
  );
});

eachStore(
  'what was undone with its group, and written again alone, is counted once',
  async (store, account) => {
    const first = await accepted(store, newMessage(account.id));
    const bytes = await store.storedBytes(account.id);
    expect(bytes).toBeGreaterThan(0);
    // Asked for together, they share a commit; the one whose id is taken breaks it.
    const [fresh, taken] = await Promise.allSettled([
      store.accept(batchOf(account.id, newMessage(account.id))),
      store.accept(batchOf(account.id, newMessage(account.id, { id: first.message.id }))),
    ]);
    expect([fresh.status, taken.status]).toEqual(['fulfilled', 'rejected']);
    expect(await store.storedBytes(account.id)).toBe(2 * bytes);
    expect((await store.countsByStatus(account.id, 0)).queued).toBe(2);
  },
);

describe('idempotency', () => {
  eachStore(
    'the same request is answered from the record, another body is a conflict',
    async (store, account) => {
      const first = batchOf(account.id, newMessage(account.id));
      expect((await store.accept(withRecord(first, record()))).kind).toBe('accepted');
      const again = batchOf(account.id, newMessage(account.id));
      expect(await store.accept(withRecord(again, record({ response: 'second' })))).toEqual({
        kind: 'replay',
        status: 200,
        response: '{"id":"first"}',
      });
      for (const change of [{ bodyHash: 'h2' }, { route: 'POST /emails/batch' }]) {
        expect(await store.accept(withRecord(again, record(change)))).toEqual({
          kind: 'idempotency_conflict',
        });
      }
      expect((await store.countsByStatus(account.id, 0)).queued).toBe(1);
    },
  );

  eachStore('a record that has expired gives way to a new one', async (store, account) => {
    const old = batchOf(account.id, newMessage(account.id));
    await store.accept(withRecord(old, record({ expiresAt: old.now + 5 })));
    const later = { ...batchOf(account.id, newMessage(account.id)), now: old.now + 5 };
    const fresh = record({ bodyHash: 'h2', response: 'second' });
    expect((await store.accept(withRecord(later, fresh))).kind).toBe('accepted');
    expect(await store.idempotencyRecord(account.id, 'k1', later.now)).toEqual(fresh);
    expect(await store.idempotencyRecord(account.id, 'k1', fresh.expiresAt)).toBeNull();
  });

  eachStore(
    'of 50 parallel requests with one key one is accepted and 49 are replays of it',
    async (store, account) => {
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          store.accept(
            withRecord(
              batchOf(account.id, newMessage(account.id)),
              record({ response: `answer ${at}` }),
            ),
          ),
        ),
      );
      expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
      const replays = results.filter((result) => result.kind === 'replay');
      expect(replays).toHaveLength(49);
      expect(new Set(replays.map(({ response }) => response)).size).toBe(1);
      const winner = results.findIndex(({ kind }) => kind === 'accepted');
      expect(replays[0]?.response).toBe(`answer ${winner}`);
    },
  );

  eachStore('two accounts may use one key', async (store, account) => {
    const other = newAccount('other');
    await store.createAccount(other);
    for (const { id } of [account, other]) {
      const result = await store.accept(withRecord(batchOf(id, newMessage(id)), record()));
      expect(result.kind).toBe('accepted');
    }
  });
});

describe('quota', () => {
  const claim = (count: number, dailyLimit: number | null, monthlyLimit: number | null) => ({
    count,
    day: DAY,
    dailyLimit,
    monthlyLimit,
  });

  eachStore('parallel requests cannot pass the daily limit', async (store, account) => {
    const results = await Promise.all(
      Array.from({ length: 30 }, () =>
        store.accept({
          ...batchOf(account.id, newMessage(account.id)),
          usage: claim(1, 7, null),
        }),
      ),
    );
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(7);
    const refused = results.find(({ kind }) => kind === 'over_quota');
    expect(refused).toEqual({ kind: 'over_quota', which: 'daily', limit: 7, used: 7 });
    expect(await store.usedOnDay(account.id, DAY)).toBe(7);
    expect((await store.countsByStatus(account.id, 0)).queued).toBe(7);
  });

  eachStore('a batch that does not fit spends nothing', async (store, account) => {
    const batch = batchOf(account.id, newMessage(account.id), newMessage(account.id));
    const result = await store.accept({ ...batch, usage: claim(2, 1, null) });
    expect(result.kind).toBe('over_quota');
    expect(await store.usedOnDay(account.id, DAY)).toBe(0);
  });

  eachStore('the month is the sum of its days and no other month', async (store, account) => {
    for (const day of ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-01']) {
      const usage = { ...claim(3, null, null), day };
      await store.accept({ ...batchOf(account.id, newMessage(account.id)), usage });
    }
    expect(await store.usedInMonth(account.id, '2026-01')).toBe(6);
    const over = await store.accept({
      ...batchOf(account.id, newMessage(account.id)),
      usage: claim(2, null, 7),
    });
    expect(over).toEqual({ kind: 'over_quota', which: 'monthly', limit: 7, used: 6 });
  });
});
