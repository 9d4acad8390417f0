/** Two nodes on one database: what one has changed is in force on the other before it accepts or begins anything. */
import { expect, test } from 'bun:test';

import { ApiError } from '../../src/base/errors.ts';
import { setAccountStatus, changeAccount } from '../../src/flow/accounts/accounts.ts';
import { authenticate, createKey, revokeKey } from '../../src/flow/accounts/keys.ts';
import { removeDomain } from '../../src/flow/domains/domains.ts';
import type { Draft, Sender } from '../../src/flow/draft.ts';
import { failByOperator } from '../../src/flow/queue/operator.ts';
import { HaltSwitch } from '../../src/flow/halt-switch.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { TestClock } from '../rig/clock.ts';
import { testServer } from '../rig/postgres.ts';
import { draft, mailbox, openFixture, refusal } from './fixture.ts';
import type { Fixture, RequestSender } from './fixture.ts';

const PLANS = `
[[plans]]
id = "small"
attachment_bytes = 100
`;

interface Nodes {
  a: Fixture;
  b: Fixture;
  /** Read by `b`, which remembers it. */
  sender: RequestSender;
}

/** Runs `body` with two nodes on one new database; a domain is verified, and `b` has accepted from it. */
async function withNodes(body: (nodes: Nodes) => Promise<void>): Promise<void> {
  const url = await (await testServer()).freshDatabase();
  const clock = new TestClock();
  const open = async () => {
    const store = await openPostgres({ url, passwordFile: '', now: clock.now() });
    return openFixture({ toml: PLANS, store, clock });
  };
  const a = await open();
  const b = await open();
  try {
    const sender = await b.sender();
    await b.verified(sender, 'acme.example');
    await b.accept(sender, draft());
    await body({ a, b, sender });
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );

test('a change by one node decides the next acceptance of the other, in both directions', () =>
  withNodes(async ({ a, b, sender }) => {
    const { account } = sender;
    const send = (change: Partial<Draft> = {}) => codeOf(b.accept(sender, draft(change)));
    await a.ctx.halt.halt('Moving.');
    expect(await send()).toBe('platform_halted');
    await a.ctx.halt.resume();
    expect(await send()).toBe('accepted');

    await setAccountStatus(a.ctx, 'acme', 'paused', 'Too many bounces.');
    expect(await send()).toBe('account_paused');
    await setAccountStatus(a.ctx, 'acme', 'active');
    expect(await send()).toBe('accepted');

    const file = { filename: 'a', contentType: 'a/b', contentId: null, content: Buffer.alloc(101) };
    expect(await send({ attachments: [file] })).toBe('accepted');
    await changeAccount(a.ctx, account.id, { name: 'acme', plan: 'small' });
    expect(await send({ attachments: [file] })).toBe('content_rejected');

    const other = await a.verified(sender, 'other.example');
    const from = mailbox('x@other.example');
    expect(await send({ from })).toBe('accepted');
    const check = { ...other, now: 1, recordStates: {}, pendingSince: 1 };
    await a.ctx.store.finishDomainCheck({ ...check, status: 'pending' });
    expect(await send({ from })).toBe('domain_not_verified');
    await a.ctx.store.finishDomainCheck({ ...check, status: 'verified' });
    expect(await send({ from })).toBe('accepted');
    await removeDomain(a.ctx, account.id, other.id);
    expect(await send({ from })).toBe('from_domain_not_allowed');

    expect(await send()).toBe('accepted');
    await revokeKey(a.ctx, account.id, sender.key.id ?? '');
    expect(await send()).toBe('unauthorized');
  }));

test('a permissive batch goes by the present, also where it would refuse by the past', () =>
  withNodes(async ({ a, b, sender }) => {
    const domain = await a.verified(sender, 'late.example');
    const check = { ...domain, now: 1, recordStates: {}, pendingSince: 1 };
    await a.ctx.store.finishDomainCheck({ ...check, status: 'pending' });
    const drafts = [draft(), draft({ from: mailbox('x@late.example') })];
    const send = async () =>
      JSON.parse((await b.accept(sender, drafts, { isPermissive: true })).body) as unknown[];
    expect(await send()).toMatchObject([{ status: 'queued' }, { code: 'domain_not_verified' }]);
    await a.ctx.store.finishDomainCheck({ ...check, status: 'verified' });
    expect(await send()).toMatchObject([{ status: 'queued' }, { status: 'queued' }]);
  }));

test('a permissive batch of which nothing would be taken by the past goes by the present, too', () =>
  withNodes(async ({ a, b, sender }) => {
    const domain = await a.verified(sender, 'late.example');
    const check = { ...domain, now: 1, recordStates: {}, pendingSince: 1 };
    await a.ctx.store.finishDomainCheck({ ...check, status: 'pending' });
    // Nothing is committed for such a batch, so no commit can say that a node has changed something.
    const drafts = [draft({ from: mailbox('x@late.example') })];
    const send = async () =>
      JSON.parse((await b.accept(sender, drafts, { isPermissive: true })).body) as unknown[];
    expect(await send()).toMatchObject([{ code: 'domain_not_verified' }]);
    await a.ctx.store.finishDomainCheck({ ...check, status: 'verified' });
    expect(await send()).toMatchObject([{ status: 'queued' }]);
  }));

test('a sender whose rows were read before a change is read anew, an operator always', () =>
  withNodes(async ({ a, b, sender }) => {
    const operator: Sender = { ...sender, key: { id: null, isTest: false }, requestId: null };
    delete operator.revision;
    await setAccountStatus(a.ctx, 'acme', 'paused', 'Why.');
    await b.ctx.revision.check();
    for (const one of [sender, operator]) {
      expect((await refusal(b.accept(one, draft()))).code).toBe('account_paused');
    }
    await a.ctx.store.closeAccount(sender.account.id, 'Gone.');
    expect((await refusal(b.accept(sender, draft()))).code).toBe('unauthorized');
  }));

test('what a node remembers is dropped by its look, within a second', () =>
  withNodes(async ({ a, b, sender }) => {
    const { token, key } = await createKey(a.ctx, sender.account.id, {
      name: 'other',
      permission: 'full_access',
    });
    expect((await authenticate(b.ctx, token))?.key.id).toBe(key.id);
    await revokeKey(a.ctx, sender.account.id, key.id);
    await a.ctx.halt.halt('Moving.');
    expect(b.ctx.halt.state).toBeNull();
    const dropped: (string | undefined)[] = [];
    b.ctx.revision.onChange(() => dropped.push(b.ctx.halt.state?.reason));
    expect([b.ctx.revision.firstMs, b.ctx.revision.everyMs()]).toEqual([1_000, 1_000]);
    await b.ctx.revision.run();
    expect(dropped).toEqual(['Moving.']);
    expect(await authenticate(b.ctx, token)).toBeNull();
    await b.ctx.revision.run();
    expect(dropped).toEqual(['Moving.']);
  }));

test('a halt that the store has not taken stays in force, whatever other nodes change', () =>
  withNodes(async ({ a, b }) => {
    const store = { ...b.ctx.store, setSetting: () => Promise.reject(new Error('away')) };
    const halt = new HaltSwitch({ ...b.ctx, store });
    expect(await halt.halt('Stop.').catch((error: Error) => error.message)).toBe('away');
    await a.ctx.halt.halt('Other.');
    await halt.load();
    expect(halt.state?.reason).toBe('Stop.');
  }));

test('the text of a webhook call is there for the first endpoint, whichever node made it', () =>
  withNodes(async ({ a, b, sender }) => {
    expect(b.ctx.subscribers.mayHave(sender.account.id)).toBe(true);
    const endpoint = {
      id: a.ctx.ids.next(a.clock.now()),
      accountId: sender.account.id,
      url: 'https://hook.example/',
      events: [],
      status: 'active' as const,
      sealedSecret: Buffer.of(1),
      sealedPreviousSecret: null,
      previousUntil: null,
      failureCount: 0,
      lastFailureAt: null,
      createdAt: a.clock.now(),
      deletedAt: null,
    };
    await a.ctx.store.createEndpoint(endpoint, 10);
    await b.accept(sender, draft({ to: [mailbox('delivered@sandbox.test')] }));
    expect(b.sink.calls.map(({ endpointId }) => endpointId)).toContain(endpoint.id);
  }));

test('an operator gives up what waits, and leaves alone what another node has begun', () =>
  withNodes(async ({ a, b, sender }) => {
    const [id = ''] = (await b.accept(sender, draft())).messageIds;
    const [recipient] = await b.ctx.store.recipients(id);
    if (recipient === undefined) throw new Error('no recipient');
    const now = b.clock.steady();
    const lease = { owner: 'b', leaseUntil: now + 60_000, nextAttemptAt: now + 15_000 };
    await b.ctx.store.begin([{ recipientId: recipient.id, ...lease }], now);
    const queue = { owner: 'a', isInAttempt: () => false };
    const heard: string[] = [];
    a.ctx.followers.follow(({ type }) => void heard.push(type));
    for (const one of [queue, null]) expect(await failByOperator(a.ctx, id, one)).toEqual([]);
    expect(heard).toEqual([]);
    await b.clock.advance(60_000);
    expect(await failByOperator(a.ctx, id, queue)).toHaveLength(1);
    expect(heard).toEqual(['email.failed']);
  }));

/** `TRIES=1000` for as many of each; `test/store/postgres/revision.test.ts` makes a thousand of its own. */
const TRIES = Number(process.env['TRIES'] ?? 200);

/** What turns the sending of `sender` off and on again, and the refusal while it is off. */
const SWITCHES: {
  name: string;
  code: string;
  off: (nodes: Nodes) => Promise<unknown>;
  on: (nodes: Nodes) => Promise<unknown>;
}[] = [
  {
    name: 'halt',
    code: 'platform_halted',
    off: ({ a }) => a.ctx.halt.halt('Stop.'),
    on: ({ a }) => a.ctx.halt.resume(),
  },
  {
    name: 'pause',
    code: 'account_paused',
    off: ({ a }) => setAccountStatus(a.ctx, 'acme', 'paused', 'Why.'),
    on: ({ a }) => setAccountStatus(a.ctx, 'acme', 'active'),
  },
  {
    name: 'revoke',
    code: 'unauthorized',
    off: ({ a, sender }) => revokeKey(a.ctx, sender.account.id, sender.key.id ?? ''),
    // Each round has a key of its own.
    on: () => Promise.resolve(),
  },
];

for (const { name, code, off, on } of SWITCHES) {
  test(
    `${name}: of ${TRIES} tries under load none is accepted after the command has returned`,
    () =>
      withNodes(async ({ a, b, sender: first }) => {
        const { store } = a.ctx;
        const counted = async () => (await store.countsByStatus(first.account.id, 0)).queued;
        let tried = 0;
        let accepted = 0;
        while (tried < TRIES) {
          const sender = name === 'revoke' ? await b.sender() : first;
          const sends: Promise<string>[] = [];
          const over = new AbortController();
          const sending = (async () => {
            while (!over.signal.aborted) {
              sends.push(...[1, 2, 3, 4].map(() => codeOf(b.accept(sender, draft()))));
              await sends.at(-1);
            }
          })();
          await Promise.race(sends);
          await off({ a, b, sender });
          const atReturn = await counted();
          over.abort();
          await sending;
          const codes = new Set(await Promise.all(sends));
          expect(await counted()).toBe(atReturn);
          expect([...codes].filter((one) => one !== 'accepted' && one !== code)).toEqual([]);
          expect(await codeOf(b.accept(sender, draft()))).toBe(code);
          await on({ a, b, sender });
          accepted += codes.has('accepted') ? 1 : 0;
          tried += 1;
        }
        expect(accepted).toBeGreaterThan(TRIES * 0.9);
      }),
    240_000,
  );
}
