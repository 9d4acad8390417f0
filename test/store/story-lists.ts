/** Every answer about the story's mail, its lists and its sums. */
import { MESSAGE_STATUSES } from '../../src/base/status.ts';
import type { NewMessage } from '../../src/store/journey.ts';
import { at, type Story } from './story.ts';

const PAGE = { limit: 10, after: null, before: null };

/** Every answer about mail. */
export async function askMail(story: Story, messages: NewMessage[]): Promise<void> {
  const [shop, other] = [story.id('shop'), story.id('other')];
  for (const { message, recipients } of messages) {
    await story.ask('message', shop, message.id);
    await story.ask('messageById', message.id);
    await story.ask('recipients', message.id);
    await story.ask('recipientById', recipients.at(-1)?.id ?? '');
    await story.ask('attempts', message.id);
    await story.ask('events', message.id);
    await story.ask('body', shop, message.id);
    await story.ask('messageForDelivery', message.id);
    await story.ask('callsOfMessage', message.id);
  }
  await askLists(story, shop);
  for (const accountId of [shop, other, null]) {
    for (const bucket of ['hour', 'day'] as const) {
      await story.ask('outcomes', {
        accountId,
        from: at(-3600),
        until: at(14_400),
        bucket,
      });
    }
  }
  await story.ask('outcomes', {
    accountId: shop,
    from: at(0),
    until: at(10_800),
    bucket: 'hour',
  });
  for (const accountId of [shop, other]) {
    await story.ask('harm', accountId, at(0));
    await story.ask('storedBytes', accountId);
    await story.ask('usedByDay', accountId, '2026-01-01');
    for (const since of [at(-90_000), at(10_800)]) {
      await story.ask('countsByStatus', accountId, since);
      await story.ask('sandboxCountsByStatus', accountId, since);
    }
  }
  await story.ask('harm', shop, at(3600));
  await story.ask('harmedAccounts', at(0), { hardBounces: 1, complaints: 1 });
  await story.ask('harmedAccounts', at(0), { hardBounces: 2, complaints: 2 });
  for (const month of ['2026-01', '2026-02']) await story.ask('usedInMonth', shop, month);
  for (const day of ['2026-01-31', '2026-02-01']) await story.ask('usedOnDay', shop, day);
  await story.ask('usedByDay', shop, '2026-02-01');
  for (const now of [0, 89_999, 90_000]) await story.ask('idempotencyRecord', shop, 'k1', at(now));
  await story.ask('idempotencyRecord', other, 'k1', at(0));
  await story.ask('queue', { domain: null, limit: 10, after: null });
  await story.ask('queueCounts', null, 9);
  await story.ask('queueCounts', 'b.example', 1);
  for (const after of [0, 12_000, 13_000]) await story.ask('nextRecipientDue', at(after));
}

async function askLists(story: Story, shop: string): Promise<void> {
  const filter = { ...PAGE, q: null, status: null };
  await story.ask('emails', shop, filter);
  await story.ask('emails', shop, { ...filter, isSandboxOnly: true });
  await story.ask('emails', shop, { ...filter, limit: 2 });
  await story.ask('emails', shop, {
    ...filter,
    limit: 2,
    after: story.id('m3'),
  });
  await story.ask('emails', shop, {
    ...filter,
    limit: 2,
    before: story.id('m1'),
  });
  for (const q of ['m2@shop', 'gmail.com', 'order', 'für', 'nobody at all', 'm1']) {
    await story.ask('emails', shop, { ...filter, q });
  }
  for (const status of MESSAGE_STATUSES) await story.ask('emails', shop, { ...filter, status });
  await story.ask('emails', shop, {
    ...filter,
    q: 'b.example',
    status: 'queued',
  });
}

/** Pages by number, while no message has left the middle of the list: what such a page then shows is the store's own. */
export async function askPages(story: Story): Promise<void> {
  for (const page of [1, 2, 3]) await story.ask('emailsByPage', story.id('shop'), page, 2);
  await story.ask('emailsByPage', story.id('shop'), 1, 2, true);
}
