/** `tail`: which events a reader gets, what a slow one is told, and that nothing is left of one that has gone. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { ArgumentsOf } from '../../src/control/operations.ts';
import { perform } from '../../src/control/operations.ts';
import type { TailLine } from '../../src/control/tail.ts';
import type { Queue } from '../../src/flow/queue/queue.ts';
import type { Event } from '../../src/store/rows.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../flow/fixture.ts';

let fixture: Fixture;
let acme: RequestSender;
const readers: Reader[] = [];

beforeEach(async () => {
  fixture = await openFixture();
  acme = await fixture.sender();
  await fixture.verified(acme, 'acme.example');
});
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.leave();
  await fixture.close();
});

class Reader {
  readonly lines: TailLine[] = [];
  readonly said: string[] = [];
  /** What the next pieces wait for. */
  gate: Promise<void> = Promise.resolve();
  readonly #left = new AbortController();
  readonly #end: Promise<unknown>;

  constructor(args: Partial<ArgumentsOf<'tail'>> = {}) {
    readers.push(this);
    const sink = {
      progress: (text: string) => void this.said.push(text),
      chunk: async (text: string) => {
        this.lines.push(JSON.parse(text) as TailLine);
        await this.gate;
      },
      left: this.#left.signal,
    };
    const { ctx } = fixture;
    // It only has to be there.
    const scope = { ctx, queue: {} as Queue, dispatcher: null, sink, reload: null, by: 'tester' };
    this.#end = perform(scope, 'tail', { account: null, domain: null, status: null, ...args });
  }

  async isReady(): Promise<void> {
    while (this.said.length === 0) await Bun.sleep(1);
  }

  /** Waits until it has this many lines and no event waits. */
  async has(count: number): Promise<TailLine[]> {
    while (this.lines.length < count) await Bun.sleep(1);
    return this.lines;
  }

  async leave(): Promise<void> {
    this.#left.abort();
    await this.#end;
  }
}

/** An event of `type` about the mail to `to`, as if it had just been committed. */
async function happen(
  type: Event['type'],
  to = 'ann@receiver.example',
  by = acme,
  said: Record<string, string> = { reply: '250 2.0.0 ok' },
): Promise<Event> {
  const { message, events } = await fixture.stored(
    await fixture.accept(by, draft({ to: [mailbox(to)] })),
  );
  const [queued] = events;
  if (queued === undefined) throw new Error('no event');
  const payload = JSON.stringify({ recipient: to, ...said });
  const event = { ...queued, id: `event of ${message.id}`, type, payload };
  fixture.ctx.followers.tell([event]);
  return event;
}

test('a line has the names of the API, what it is about and what the server said', async () => {
  const reader = new Reader();
  await reader.isReady();
  const event = await happen('email.delivered');
  const line = (await reader.has(2))[1];
  expect(line).toEqual({
    id: event.id,
    type: 'email.delivered',
    created_at: new Date(event.occurredAt).toISOString(),
    account_id: acme.account.id,
    account: 'acme',
    email_id: event.messageId,
    from: expect.stringContaining('@acme.example'),
    recipient: 'ann@receiver.example',
    to: ['ann@receiver.example'],
    subject: expect.any(String),
    reason: '250 2.0.0 ok',
  });
  expect(reader.lines[0]).toMatchObject({ type: 'email.queued', recipient: null, reason: null });
  expect(reader.said).toEqual(['Waiting for events. Ctrl-C ends it.']);
});

test('the reason is the reply, without one the cause, else what the appliance says', async () => {
  const reader = new Reader({ status: 'failed' });
  await reader.isReady();
  const unsaid = { cause: 'timeout', reason: 'expired' };
  const all = { reply: '550 no', ...unsaid };
  for (const said of [all, unsaid, { reason: 'expired' }, { host: 'mx.example' }]) {
    await happen('email.failed', 'ann@receiver.example', acme, { ...said });
  }
  const lines = await reader.has(4);
  expect(lines.map(({ reason }) => reason)).toEqual(['550 no', 'timeout', 'expired', null]);
});

test('account, status and domain narrow it, the domain of sender or recipient in any case', async () => {
  const all = new Reader();
  const ofAcme = new Reader({ account: 'acme' });
  const bounced = new Reader({ status: 'bounced' });
  const toTwo = new Reader({ domain: 'TWO.example' });
  const fromOther = new Reader({ domain: 'other.example' });
  for (const reader of readers) await reader.isReady();
  const other = await fixture.sender({ name: 'other' });
  await fixture.verified(other, 'other.example');
  await happen('email.bounced', 'a@one.example');
  await happen('email.delivered', 'b@Two.example');
  const from = mailbox('x@other.example');
  await fixture.accept(other, draft({ from, to: [mailbox('c@three.example')] }));
  await all.has(5);
  expect(all.lines.at(-1)).toMatchObject({ account: 'other', type: 'email.queued' });
  const told = async (reader: Reader, count: number): Promise<string[]> =>
    (await reader.has(count)).map(({ type, to }) => `${type.slice(6)} ${to.join()}`);
  expect(await told(ofAcme, 4)).toEqual([
    'queued a@one.example',
    'bounced a@one.example',
    'queued b@two.example',
    'delivered b@two.example',
  ]);
  expect(await told(bounced, 1)).toEqual(['bounced a@one.example']);
  expect(await told(toTwo, 2)).toEqual(['queued b@two.example', 'delivered b@two.example']);
  expect(await told(fromOther, 1)).toEqual(['queued c@three.example']);
});

test('an email belongs to the domain of each who gets a copy, and one that is gone shows nothing', async () => {
  const where = ['from', 'to', 'cc', 'bcc'].map(
    (name) => new Reader({ domain: `${name}.example` }),
  );
  const all = new Reader();
  for (const reader of readers) await reader.isReady();
  await fixture.verified(acme, 'from.example');
  const named = (domain: string) => ({ ...mailbox(`x@${domain}`), name: 'Ann Example' });
  const [gone] = (await fixture.stored(await fixture.accept(acme, draft()))).events;
  if (gone === undefined) throw new Error('no event');
  await all.has(1);
  fixture.ctx.followers.tell([{ ...gone, id: 'of nothing', messageId: 'gone' }]);
  await fixture.accept(
    acme,
    draft({
      from: named('from.example'),
      to: [mailbox('y@else.example'), named('to.example')],
      cc: [named('cc.example')],
      bcc: [named('bcc.example')],
    }),
  );
  const [, last] = await all.has(2);
  for (const reader of where) {
    expect((await reader.has(1)).map(({ id }) => id)).toEqual([last?.id ?? '']);
  }
});

test('an event of an account that is gone has its id, and no name', async () => {
  const reader = new Reader();
  await reader.isReady();
  const event = await happen('email.delivered');
  await reader.has(2);
  fixture.ctx.followers.tell([{ ...event, accountId: 'gone' }]);
  expect((await reader.has(3))[2]).toEqual({
    ...(reader.lines[1] as TailLine),
    account_id: 'gone',
    account: '',
  });
});

test('what happens to one recipient concerns its domain and the sender’s, not those of the others', async () => {
  const [ofOne, ofTwo, ofAcme] = ['one.example', 'two.example', 'acme.example'].map(
    (domain) => new Reader({ domain }),
  );
  for (const reader of readers) await reader.isReady();
  const to = ['ann@one.example', 'bob@two.example'].map((address) => mailbox(address));
  const { events } = await fixture.stored(await fixture.accept(acme, draft({ to })));
  const [queued] = events;
  if (queued === undefined) throw new Error('no event');
  const payload = JSON.stringify({ recipient: 'ann@one.example', reply: '550 no' });
  fixture.ctx.followers.tell([{ ...queued, id: 'bounced', type: 'email.bounced', payload }]);
  await ofAcme?.has(2);
  await ofOne?.has(2);
  // Comes after what it would have been told before.
  fixture.ctx.followers.tell([{ ...queued, id: 'last' }]);
  await ofTwo?.has(2);
  const told = [ofOne, ofTwo, ofAcme].map((reader) =>
    reader?.lines.slice(0, 2).map(({ id, type, recipient }) => [id, type, recipient]),
  );
  const first = [queued.id, 'email.queued', null];
  const bounced = ['bounced', 'email.bounced', 'ann@one.example'];
  expect(told).toEqual([
    [first, bounced],
    [first, ['last', 'email.queued', null]],
    [first, bounced],
  ]);
});

test('the domain of an address is behind its last @', async () => {
  const [ofName, ofDomain] = ['one.example', 'two.example'].map((domain) => new Reader({ domain }));
  for (const reader of readers) await reader.isReady();
  await happen('email.bounced', 'ann@two.example', acme, {
    recipient: '"x@one.example"@two.example',
  });
  const lines = (await ofDomain?.has(2)) ?? [];
  expect(lines.map(({ type }) => type)).toEqual(['email.queued', 'email.bounced']);
  expect(ofName?.lines).toEqual([]);
});

test('a domain beyond ASCII is followed by its name', async () => {
  const reader = new Reader({ domain: 'Bücher.example' });
  await reader.isReady();
  await happen('email.delivered', 'ann@two.example');
  await happen('email.delivered', 'ann@xn--bcher-kva.example');
  const lines = await reader.has(2);
  expect(lines.map(({ to }) => to)).toEqual([
    ['ann@xn--bcher-kva.example'],
    ['ann@xn--bcher-kva.example'],
  ]);
});

test('for a slow reader 1,000 events wait, and it is told once how many were skipped', async () => {
  const event = await happen('email.delivered');
  for (const skipped of [1, 234]) {
    const reader = new Reader();
    await reader.isReady();
    const gate = Promise.withResolvers<void>();
    reader.gate = gate.promise;
    const tell = (count: number): void =>
      fixture.ctx.followers.tell(Array.from({ length: count }, () => event));
    tell(1);
    await reader.has(1);
    tell(1_000 + skipped);
    expect(reader.said).toHaveLength(1);
    gate.resolve();
    await reader.has(1_001);
    while (reader.said.length < 2) await Bun.sleep(1);
    const what = skipped === 1 ? '1 event was' : `${skipped} events were`;
    expect(reader.said[1]).toBe(`${what} skipped: they came too fast.`);
    tell(1);
    await reader.has(1_002);
    tell(1);
    await reader.has(1_003);
    await reader.leave();
    expect([reader.lines.length, reader.said.length]).toEqual([1_003, 2]);
  }
});

/** Counts who is followed by from now on. */
function countFollowing(): () => number {
  const { followers } = fixture.ctx;
  const follow = followers.follow.bind(followers);
  let open = 0;
  followers.follow = (follower) => {
    open += 1;
    const stop = follow(follower);
    return () => {
      open -= 1;
      stop();
    };
  };
  return () => open;
}

test('one that leaves is followed no more', async () => {
  const open = countFollowing();
  const reader = new Reader();
  await reader.isReady();
  expect(open()).toBe(1);
  await reader.leave();
  expect(open()).toBe(0);
});

test('a line that cannot be written ends it with the error, and it is followed no more', async () => {
  const open = countFollowing();
  const ready = Promise.withResolvers<void>();
  const sink = {
    progress: () => ready.resolve(),
    chunk: () => Promise.reject(new Error('the reader has left')),
    left: new AbortController().signal,
  };
  const { ctx } = fixture;
  const scope = { ctx, queue: {} as Queue, dispatcher: null, sink, reload: null, by: 'tester' };
  const args = { account: null, domain: null, status: null };
  const end = perform(scope, 'tail', args).catch(String);
  await ready.promise;
  expect(open()).toBe(1);
  await happen('email.delivered');
  expect(await end).toBe('Error: the reader has left');
  expect(open()).toBe(0);
});
