/** The order of what is deleted for good: what must stop first, what is told after, and what is said of it in the log. */
import { afterEach, beforeEach, expect, test } from 'bun:test';

import type { Scope } from '../../src/control/operation.ts';
import type { Queue } from '../../src/flow/queue/queue.ts';
import type { WebhookDispatcher } from '../../src/flow/webhooks/dispatcher.ts';
import { draft, mailbox, openFixture, type Fixture, type RequestSender } from '../flow/fixture.ts';
import { runnerIn, scopeOf } from './scope.ts';

let fixture: Fixture;
let scope: Scope;
let sender: RequestSender;
/** What was called, in order; of the store when it has ended. */
let seen: string[];

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  seen = [];
  const told =
    (name: string) =>
    (id: string): void =>
      void seen.push(`${name} ${id}`);
  scope = scopeOf(fixture.ctx, {
    queue: { forgetMarks: told('marks') } as unknown as Queue,
    dispatcher: { endpointChanged: told('endpoint') } as unknown as WebhookDispatcher,
  });
});
afterEach(() => fixture.close());

const run = runnerIn(() => scope);

/** Notes the end of a call of the store; `fault`: it fails then. */
function watch(
  name: 'closeAccount' | 'removeAccount' | 'eraseAddress' | 'scrub' | 'addAudit',
  fault: Error | null = null,
): void {
  const { store } = fixture.ctx;
  const work = store[name].bind(store) as (...args: never[]) => Promise<unknown>;
  Reflect.set(store, name, async (...args: never[]) => {
    const result = await work(...args);
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(name);
    if (fault !== null) throw fault;
    return result;
  });
}

/** Notes what is forgotten. */
function watchMemories(): void {
  const { identities, senderDomains } = fixture.ctx;
  for (const [name, memory] of Object.entries({ identities, senderDomains })) {
    const forget = memory.forget.bind(memory);
    memory.forget = (...which: Parameters<typeof forget>) => {
      seen.push(name);
      forget(...which);
    };
  }
}

test('an account is closed before its keys are forgotten, and all of it is scrubbed before it is told', async () => {
  const { account } = sender;
  const where = { account: account.name, url: 'https://8.8.8.8/h', events: [] };
  const { endpoint } = await run('webhook.add', where);
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft({ to: [mailbox('ann@x.example')] }));
  watch('closeAccount');
  watch('removeAccount');
  watch('scrub');
  watch('addAudit');
  watchMemories();
  fixture.logged.length = 0;
  const deleted = await run('account.delete', { account: account.name });
  expect(seen).toEqual([
    'closeAccount',
    'identities',
    `marks ${account.id}`,
    `endpoint ${endpoint.id}`,
    'removeAccount',
    'identities',
    'senderDomains',
    'scrub',
    'addAudit',
  ]);
  const { id, ...counts } = deleted;
  expect(deleted).toMatchObject({ id: account.id, messages: 1, keys: 1, domains: 1, webhooks: 1 });
  expect(fixture.logged.filter(({ event }) => event === 'account_deleted')).toEqual([
    expect.objectContaining({ level: 'info', account_id: id, ...counts }),
  ]);
  // Its name is not kept.
  expect(JSON.stringify(fixture.logged)).not.toContain(account.name);
});

test('what could not be scrubbed is no success: it is neither logged nor noted', async () => {
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft({ to: [mailbox('ann@x.example')] }));
  watch('scrub', new Error('the files cannot be written'));
  watch('addAudit');
  fixture.logged.length = 0;
  const { name } = sender.account;
  const args = { address: 'ann@x.example', account: null };
  expect(await run('erase', args).catch(String)).toBe('Error: the files cannot be written');
  const deletion = run('account.delete', { account: name });
  expect(await deletion.catch(String)).toBe('Error: the files cannot be written');
  const told = ['scrub', `marks ${sender.account.id}`, 'scrub'];
  expect([seen, fixture.logged]).toEqual([told, []]);
});

test('an address is erased in any case, scrubbed, told and noted in this order, and never named', async () => {
  await fixture.verified(sender, 'acme.example');
  await fixture.accept(sender, draft({ to: [mailbox('ann@x.example')] }));
  watch('eraseAddress');
  watch('scrub');
  watch('addAudit');
  fixture.logged.length = 0;
  const erased = await run('erase', { address: 'ANN@X.example', account: null });
  // It waits for its delivery, and is erased with its end.
  expect([erased.waiting, seen]).toEqual([1, ['eraseAddress', 'scrub', 'addAudit']]);
  expect(fixture.logged).toEqual([
    expect.objectContaining({ level: 'info', event: 'erased', ...erased }),
  ]);
  expect(JSON.stringify(fixture.logged).toLowerCase()).not.toContain('ann');
});

test('a change is told as made once it stands in the audit log', async () => {
  watch('addAudit');
  const { name } = sender.account;
  await run('suppression.add', { account: name, email: 'a@x.example', reason: null, note: null });
  expect(seen).toEqual(['addAudit']);
});

test('once the last account is gone, what needs one says that there is none', async () => {
  const page = { account: null, status: null, q: null, limit: null, after: null };
  expect(await run('email.list', page)).toEqual({ emails: [], hasMore: false });
  await run('account.delete', { account: sender.account.name });
  const told = await run('email.list', page).catch(String);
  expect(told).toBe('ApiError: There is no account: make one with `postrider account create`.');
  expect(await run('account.list', {})).toEqual([]);
  for (const name of ['one', 'two']) await run('account.create', { name, plan: null });
  expect(await run('email.list', page).catch(String)).toBe(
    'ApiError: There are several accounts: name one with --account.',
  );
});

test('a change by somebody who is not known has nobody’s name in the audit log', async () => {
  scope = { ...scope, by: '' };
  await run('account.create', { name: 'made', plan: null });
  const [entry] = await run('audit.list', { who: null, limit: '1', before: null });
  expect(entry).toEqual({
    seq: expect.any(Number) as number,
    at: fixture.clock.now(),
    via: 'command',
    who: '',
    action: 'account.create',
    target: 'name=made',
    account: null,
    address: null,
  });
});
