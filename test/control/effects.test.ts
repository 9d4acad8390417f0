/** What operations do beside their result: files scrubbed, memories forgotten, progress told, names shown for ids. */
import { afterEach, beforeEach, expect, jest, spyOn, test } from 'bun:test';

import { TOTP } from 'otpauth';

import type { Scope } from '../../src/control/operation.ts';
import { OPERATIONS, runOperation } from '../../src/control/operations.ts';
import type { OperationName } from '../../src/control/operations.ts';
import { enableTotp, newSecret } from '../../src/flow/people/totp.ts';
import type { Queue } from '../../src/flow/queue/queue.ts';
import { openFixture, type Fixture, type RequestSender } from '../flow/fixture.ts';
import {
  accepted,
  finishOf,
  newAttempt,
  newLogRecord,
  newMessage,
  recipientOf,
} from '../store/samples.ts';
import { runnerIn, scopeOf } from './scope.ts';

let fixture: Fixture;
let scope: Scope;
let sender: RequestSender;
/** In order: what was told as progress, and which of the watched functions were called. */
let seen: string[];

beforeEach(async () => {
  fixture = await openFixture();
  sender = await fixture.sender();
  seen = [];
  scope = scopeOf(fixture.ctx, {}, (text) => void seen.push(text));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await fixture.close();
});

const run = runnerIn(() => scope);

test('what is erased or deleted with its account is scrubbed from the files before the result', async () => {
  const { store } = fixture.ctx;
  const scrub = store.scrub.bind(store);
  store.scrub = async () => {
    await scrub();
    seen.push('scrubbed');
  };
  await run('erase', { address: 'ann@x.example', account: null });
  expect(seen).toEqual(['scrubbed']);
  await run('account.delete', { account: sender.account.name });
  expect(seen).toEqual(['scrubbed', 'scrubbed']);
});

test('a deleted account’s keys and domains are forgotten once its rows are gone', async () => {
  const { identities, senderDomains, store } = fixture.ctx;
  for (const [name, memory] of Object.entries({ identities, senderDomains })) {
    const forget = memory.forget.bind(memory);
    memory.forget = (...which: Parameters<typeof forget>) => {
      seen.push(name);
      forget(...which);
    };
  }
  const remove = store.removeAccount.bind(store);
  store.removeAccount = async (...args) => {
    const rows = await remove(...args);
    seen.push('gone');
    return rows;
  };
  await run('account.delete', { account: sender.account.name });
  const after = seen.slice(seen.indexOf('gone') + 1);
  expect(after.toSorted()).toEqual(['identities', 'senderDomains']);
  expect(seen[0]).toBe('identities');
});

test('a long deletion tells how far it is every ten thousand emails', async () => {
  const { store } = fixture.ctx;
  const remove = store.removeAccount.bind(store);
  store.removeAccount = (id, settings, told) => {
    for (const messages of [9_999, 10_000, 19_999, 20_001, 30_000, 30_001]) told(messages);
    return remove(id, settings, told);
  };
  await run('account.delete', { account: sender.account.name });
  expect(seen).toEqual(['10000 emails deleted', '20001 emails deleted', '30001 emails deleted']);
});

test('the operator removes a suppression whatever its reason, and sees it once', async () => {
  const which = { account: sender.account.name, email: 'ann@x.example', note: null };
  for (const reason of ['complaint', 'hard_bounce', 'unsubscribe', 'manual'] as const) {
    await run('suppression.add', { ...which, reason });
    await run('suppression.remove', which);
    expect(await fixture.ctx.store.suppression(sender.account.id, which.email)).toBeNull();
  }
});

test('of what waits the first thousand recipients are listed', async () => {
  const addresses = Array.from({ length: 1_001 }, (_, at) => `a${at}@x.example`);
  await accepted(fixture.ctx.store, newMessage(sender.account.id, {}, addresses));
  const { recipients, destinations } = await run('queue.list', { domain: null });
  expect(recipients).toHaveLength(1_000);
  expect(destinations).toMatchObject([{ domain: 'x.example', waiting: 1_001 }]);
});

test('suppressions are listed by five hundred, each once', async () => {
  const account = sender.account.name;
  const csv = Array.from({ length: 1_001 }, (_, at) => `a${at}@x.example\n`).join('');
  await run('suppression.import', { account, csv, line: null });
  const pages: { email: string }[][] = [];
  const chunk = (text: string): Promise<void> => {
    pages.push(JSON.parse(text) as { email: string }[]);
    return Promise.resolve();
  };
  scope = { ...scope, sink: { ...scope.sink, chunk } };
  expect(await run('suppression.list', { account })).toBeNull();
  expect(pages.map((page) => page.length)).toEqual([500, 500, 1]);
  expect(new Set(pages.flat().map(({ email }) => email)).size).toBe(1_001);
  await run('suppression.remove', { account, email: 'a0@x.example', note: null });
  pages.length = 0;
  await run('suppression.list', { account });
  expect(pages.map((page) => page.length)).toEqual([500, 500]);
});

test('confirmed recipients are listed by five hundred, each once', async () => {
  const { id, name: account } = sender.account;
  for (let at = 0; at < 501; at += 1) {
    await fixture.ctx.store.addConfirmedRecipient(id, `a${at}@x.example`, at);
  }
  const pages: { email: string }[][] = [];
  const chunk = (text: string): Promise<void> => {
    pages.push(JSON.parse(text) as { email: string }[]);
    return Promise.resolve();
  };
  scope = { ...scope, sink: { ...scope.sink, chunk } };
  expect(await run('recipient.list', { account })).toBeNull();
  expect(pages.map((page) => page.length)).toEqual([500, 1]);
  expect(new Set(pages.flat().map(({ email }) => email)).size).toBe(501);
});

test('a list of suppressions ends with the reader that does not take its next piece', async () => {
  const account = sender.account.name;
  const csv = Array.from({ length: 1_001 }, (_, at) => `a${at}@x.example\n`).join('');
  await run('suppression.import', { account, csv, line: null });
  for (const name of ['suppression.list', 'suppression.export'] as const) {
    let pieces = 0;
    const chunk = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      pieces += 1;
      throw new Error('the reader has left');
    };
    scope = { ...scope, sink: { ...scope.sink, chunk } };
    expect(await run(name, { account }).catch(String)).toBe('Error: the reader has left');
    expect(pieces).toBe(1);
  }
});

test('an account stands by its name in the audit log and beside an operator', async () => {
  const { account } = sender;
  const made = await run('operator.add', { name: 'bob', role: 'read_only', account: account.name });
  expect(made.operator.account).toBe(account.name);
  const [listed] = await run('operator.list', {});
  expect(listed).toMatchObject({ name: 'bob', account: account.name });
  const entry = {
    at: 1,
    via: 'api',
    who: 'key',
    action: 'domain.add',
    target: 'x',
    address: '203.0.113.7',
  } as const;
  await fixture.ctx.store.addAudit({ ...entry, accountId: account.id });
  await fixture.ctx.store.addAudit({ ...entry, accountId: 'gone' });
  const rows = await run('audit.list', { who: 'key', limit: null, before: null });
  expect(rows.map((row) => row.account)).toEqual(['gone', account.name]);
});

test('a domain is named by its id too, in any case', async () => {
  const domain = await fixture.verified(sender, 'acme.example');
  for (const name of [domain.id, domain.id.toUpperCase()]) {
    const named = await run('domain.records', { name, account: null });
    expect(named.domain).toMatchObject({ id: domain.id, name: 'acme.example' });
  }
});

test('an operator’s second factor is shown, and off after its reset; an account that is gone stands by its id', async () => {
  const { store } = fixture.ctx;
  const who = { name: 'bob', role: 'read_only', account: sender.account.name } as const;
  const { operator } = await run('operator.add', who);
  const secret = newSecret();
  const code = new TOTP({ secret }).generate({ timestamp: fixture.ctx.clock.now() });
  expect(await enableTotp(fixture.ctx, operator, secret, code)).not.toBeNull();
  const second = async (): Promise<(boolean | undefined)[]> => {
    const all = await run('operator.list', {});
    return all.filter(({ name }) => name === 'bob').map((one) => one.hasSecondFactor);
  };
  expect([operator.hasSecondFactor, await second()]).toEqual([false, [true]]);
  await store.noteSignIn(operator.id, 1_700_000_000_000);
  const listed = (await run('operator.list', {})).find(({ name }) => name === 'bob');
  expect(listed?.signedInAt).toBe(1_700_000_000_000);
  expect(await run('operator.totp_reset', { name: 'bob' })).toMatchObject({
    hasSecondFactor: false,
  });
  expect(await second()).toEqual([false]);
  store.account = () => Promise.resolve(null);
  expect(await run('operator.remove', { name: 'bob' })).toMatchObject({
    account: sender.account.id,
  });
});

test('an attempt is shown with its TLS, and without where its row has none that can be read', async () => {
  const policies = ['opportunistic', 'dane', 'mta-sts', 'mta-sts-testing', 'route', 'smarthost'];
  const made = newMessage(
    sender.account.id,
    {},
    [...policies, 'none'].map((name) => `${name}@x.example`),
  );
  await accepted(fixture.ctx.store, made);
  const all = policies.map((policy) => ({
    version: 'TLSv1.3',
    cipher: 'AES',
    verified: true,
    policy,
  }));
  for (const [at, text] of [...all.map((one) => JSON.stringify(one)), '{"version":7}'].entries()) {
    const recipient = recipientOf(made, at);
    const attempt = newAttempt(recipient, { tls: text });
    await fixture.ctx.store.finish(finishOf(made, recipient, { attempt }));
  }
  const { attempts } = await run('queue.show', { id: made.message.id });
  expect(attempts.map((one) => one.tls)).toEqual([...all, null]);
});

test('requests are found by their method in any case', async () => {
  const which = { account: sender.account.name, status: null, q: null, limit: null, after: null };
  await fixture.ctx.store.appendLogs(
    ['GET', 'POST'].map((method) => newLogRecord(sender.account.id, { method })),
  );
  for (const method of ['post', 'POST']) {
    const { requests } = await run('log.list', { ...which, method });
    expect(requests.map((row) => row.method)).toEqual(['POST']);
  }
});

test('one event is replayed by its id, without a time', async () => {
  const { account } = sender;
  const added = await run('webhook.add', {
    account: account.name,
    url: 'https://8.8.8.8/h',
    events: [],
  });
  const which = { account: account.name, id: added.endpoint.id };
  const none = { replayed: 0 };
  expect(await run('webhook.replay', { ...which, event: 'evt', since: null })).toEqual(none);
});

test('who waits for an email is told at once what is delayed already, and nothing of the others', async () => {
  const { store, clock } = fixture.ctx;
  const made = newMessage(sender.account.id, {}, ['ann@x.example', 'bob@x.example']);
  await accepted(store, made);
  const [ann] = made.recipients;
  if (ann === undefined) throw new Error('no recipient');
  const delayed = { status: 'delivery_delayed', lastReason: '451 4.7.1 Later.' } as const;
  const nextAttemptAt = clock.steady() + 60_000;
  await store.finish(finishOf(made, ann, { ...delayed, nextAttemptAt, attempt: null }));
  const left = new AbortController();
  const progress = (text: string): void => {
    seen.push(text);
    left.abort();
  };
  scope = { ...scope, queue: {} as Queue, sink: { ...scope.sink, progress, left: left.signal } };
  await run('email.wait', { id: made.message.id });
  expect(seen).toEqual([expect.stringMatching(/^ann@x\.example waits for its first attempt/)]);
});

test('a delay that cannot be read ends the wait for an email with its error', async () => {
  const { store, followers } = fixture.ctx;
  const made = newMessage(sender.account.id, {}, ['ann@x.example']);
  await accepted(store, made);
  scope = { ...scope, queue: {} as Queue };
  const follow = followers.follow.bind(followers);
  const following = new Promise<void>((resolve) => {
    followers.follow = (listener) => {
      resolve();
      return follow(listener);
    };
  });
  const waiting = run('email.wait', { id: made.message.id }).catch((error: Error) => error.message);
  await following;
  store.recipientById = () => Promise.reject(new Error('the store is closed'));
  const [event] = made.events;
  if (event === undefined) throw new Error('nothing was made');
  const recipientId = made.recipients[0]?.id ?? null;
  followers.tell([{ ...event, type: 'email.delivery_delayed', recipientId }]);
  expect(await waiting).toBe('the store is closed');
});

test('what only looks is not in the audit log, and what changes is, by who ran it', async () => {
  const account = sender.account.name;
  const made = newMessage(sender.account.id, {}, ['ann@x.example']);
  await accepted(fixture.ctx.store, made);
  const domain = await fixture.verified(sender, 'acme.example');
  const page = { account, limit: null, after: null };
  await run('version', {});
  await run('account.list', {});
  await run('audit.list', { who: null, limit: null, before: null });
  await run('domain.list', { account: null });
  await run('domain.records', { name: domain.name, account: null });
  await run('email.list', { ...page, status: null, q: null });
  await run('email.show', { id: made.message.id });
  await run('key.list', { account: null });
  await run('log.list', { ...page, status: null, method: null, q: null });
  await run('operator.list', {});
  await run('queue.list', { domain: null });
  await run('queue.show', { id: made.message.id });
  await run('suppression.export', { account });
  await run('suppression.list', { account });
  await run('recipient.list', { account });
  await run('webhook.list', { account });
  const entries = (): ReturnType<typeof run<'audit.list'>> =>
    run('audit.list', { who: null, limit: null, before: null });
  expect(await entries()).toEqual([]);
  await run('queue.fail', { id: made.message.id });
  await run('halt', { reason: 'Leak.' });
  await run('resume', {});
  const changes = (await entries()).map(({ action, who, via }) => [action, who, via]);
  expect(changes).toEqual(
    ['resume', 'halt', 'queue.fail'].map((action) => [action, 'tester', 'command']),
  );
});

test('of all operations those that change something leave an entry, and each is told as under way', async () => {
  const { doing, store } = fixture.ctx;
  const underWay = spyOn(doing, 'during');
  const names = Object.keys(OPERATIONS).filter((name): name is OperationName => name in OPERATIONS);
  for (const name of names) {
    spyOn(OPERATIONS[name], 'readArguments').mockReturnValue({});
    spyOn(OPERATIONS[name], 'run').mockResolvedValue(null);
    await runOperation(scope, name, {});
  }
  expect(underWay.mock.calls.map(([name]) => name)).toEqual(names);
  const entries = await store.audit({ who: 'tester', limit: 100, before: null });
  expect(entries.map(({ action }) => action).toSorted()).toEqual([
    'account.change',
    'account.create',
    'account.delete',
    'account.pause',
    'account.payment_required',
    'account.resume',
    'backup',
    'domain.add',
    'domain.remove',
    'domain.rotate_key',
    'domain.verify',
    'email.send',
    'erase',
    'halt',
    'key.create',
    'key.revoke',
    'node.drain',
    'operator.add',
    'operator.password',
    'operator.remove',
    'operator.totp_reset',
    'password.set',
    'queue.fail',
    'queue.retry',
    'recipient.confirm',
    'recipient.remove',
    'reload',
    'resume',
    'suppression.add',
    'suppression.import',
    'suppression.remove',
    'webhook.add',
    'webhook.replay',
    'webhook.test',
  ]);
});

test('a backup tells how much is copied, then that the copy is verified', async () => {
  fixture.ctx.store.backUpTo = (file, tell) => {
    for (const progress of [1_499_999, 21_416_153_088, 'checking'] as const) tell?.(progress);
    return Promise.resolve({ file, bytes: 7, rows: { accounts: 1 } as never });
  };
  expect(await run('backup', { file: '/x' })).toEqual({
    file: '/x',
    bytes: 7,
    rows: { accounts: 1 },
  });
  expect(seen).toEqual([
    'Copying and verifying. Sending goes on meanwhile.',
    '1 MB copied',
    '21416 MB copied',
    'The copy is being verified. With many gigabytes that takes longer than the copying.',
  ]);
});
