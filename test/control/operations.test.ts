/**
 * The table of operations: what it refuses, naming the argument, and that each result fits its schema after a trip
 * through JSON and holds no secret. On a real store, without a server.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closeContext, openContext } from '../../src/appliance/context.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/base/config-file.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import type { Scope } from '../../src/control/operation.ts';
import { OPERATIONS, perform, runOperation } from '../../src/control/operations.ts';
import type { ArgumentsOf, OperationName, ResultOf } from '../../src/control/operations.ts';
import { operatorWith } from '../../src/flow/people/operators.ts';
import { addEndpoint } from '../../src/flow/webhooks/endpoints.ts';
import { accepted, finishOf, newAttempt, newMessage } from '../store/samples.ts';

const names = Object.keys(OPERATIONS).filter((name): name is OperationName => name in OPERATIONS);

const folder = mkdtempSync(join(tmpdir(), 'operations-'));
const shown: string[] = [];
let scope: Scope;

beforeAll(async () => {
  const text = `hostname = "mail.example.com"\ndata_dir = "${join(folder, 'data')}"\n[webhooks]\nallow_networks = ["192.0.2.0/24"]\n`;
  const log = createLog(() => undefined, Date.now);
  const ctx = await openContext(parseConfig(text, 'test.toml'), { clock: systemClock, log });
  const sink = {
    progress: (line: string) => void shown.push(line),
    chunk: async (piece: string) => void shown.push(piece),
    left: new AbortController().signal,
  };
  scope = { ctx, queue: null, dispatcher: null, sink, reload: null, by: 'tester' };
  await run('account.create', { name: 'shop', plan: null });
});

afterAll(async () => {
  await closeContext(scope.ctx);
  rmSync(folder, { recursive: true });
});

/** Runs it, and reads the result as a command does that got it over the socket. */
async function run<Name extends OperationName>(
  name: Name,
  args: ArgumentsOf<Name>,
): Promise<ResultOf<Name>> {
  const result = await perform(scope, name, args);
  const text = JSON.stringify(result);
  expect(text).not.toMatch(/sealed|secret/i);
  const read = OPERATIONS[name].readResult(JSON.parse(text));
  expect(read as unknown).toEqual(result);
  return read;
}

describe('arguments', () => {
  test.each(names)('%s takes no argument that it does not know', async (name) => {
    const refusal = await runOperation(scope, name, { colour: 'red' }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toBeInstanceOf(OperatorError);
    expect(String(refusal)).toMatch(
      /^OperatorError: (Unknown argument: colour|Missing argument: )/,
    );
  });

  test.each([
    ['account.create', {}, 'Missing argument: name.'],
    ['account.create', { name: '' }, 'The argument name must be text that is not empty.'],
    ['account.create', { name: 7 }, 'The argument name must be text that is not empty.'],
    ['key.create', { name: 'x', isTest: false }, 'Missing argument: permission.'],
    [
      'key.create',
      { name: 'x', isTest: false, permission: 'all' },
      'The argument permission must be "full_access" or "sending_access".',
    ],
    [
      'key.create',
      { name: 'x', isTest: 'yes', permission: 'full_access' },
      'The argument isTest must be true or false.',
    ],
    [
      'suppression.add',
      { email: 'a@example.com', reason: 'whim' },
      'The argument reason must be "hard_bounce" or "complaint" or "unsubscribe" or "manual".',
    ],
    [
      'queue.list',
      { domain: ['example.com'] },
      'The argument domain must be text that is not empty.',
    ],
    ['suppression.import', { csv: 7 }, 'The argument csv must be text.'],
    ['queue.show', null, 'Missing argument: id.'],
    ['queue.show', 'x', 'The arguments must be an object.'],
  ])('%s %j: %s', async (name, args, message) => {
    expect(runOperation(scope, name, args)).rejects.toThrow(message);
  });

  test('an operation that is not in the table is refused by its name', async () => {
    for (const name of ['frobnicate', 'toString', '__proto__', '']) {
      expect(runOperation(scope, name, {})).rejects.toThrow(`does not know the operation ${name}`);
    }
  });
});

describe('results', () => {
  test('accounts and keys', async () => {
    expect(await run('account.list', {})).toMatchObject([{ name: 'shop', status: 'active' }]);
    const paused = await run('account.pause', { account: 'shop', reason: 'Unpaid.' });
    expect(paused).toMatchObject({ status: 'paused', statusReason: 'Unpaid.' });
    await run('account.resume', { account: 'shop', reason: null });
    const { key, token } = await run('key.create', {
      account: null,
      name: 'ci',
      permission: 'full_access',
      isTest: true,
    });
    expect(token).toStartWith('pr_test_');
    expect(await run('key.list', { account: 'shop' })).toEqual([{ ...key, account: 'shop' }]);
    expect(await run('key.revoke', { id: key.id })).toEqual({ id: key.id });
  });

  test('domains, without their private keys', async () => {
    const choice = { name: 'example.org', account: null };
    const { domain, records } = await run('domain.add', choice);
    expect(records.map(({ record }) => record)).toEqual(['DKIM', 'SPF', 'DMARC']);
    expect(await run('domain.list', { account: null })).toEqual([{ ...domain, account: 'shop' }]);
    expect(await run('domain.records', choice)).toEqual({ domain, records });
    expect(await run('domain.remove', choice)).toEqual({ id: domain.id, name: 'example.org' });
  });

  test('suppressions, in and out as CSV', async () => {
    const csv = 'email,reason\na@example.net,complaint\nnobody,\n';
    const done = await run('suppression.import', { account: null, csv, line: null });
    expect(done).toMatchObject({ added: 1, bad: 1, named: [{ line: 3 }] });
    expect(await run('suppression.import', { account: null, csv: '', line: null })).toMatchObject({
      rows: 0,
    });
    expect(
      run('suppression.import', { account: null, csv: 'email\n"a@x', line: 7 }),
    ).rejects.toThrow('This is not CSV: line 8');
    const address = { account: null, email: 'B@example.net' };
    const added = await run('suppression.add', { ...address, reason: null, note: 'asked' });
    expect(added).toMatchObject({ email: 'b@example.net', reason: 'manual', note: 'asked' });
    shown.length = 0;
    expect(await run('suppression.list', { account: null })).toBeNull();
    expect(shown.flatMap((text) => JSON.parse(text) as unknown[])).toHaveLength(2);
    await run('suppression.remove', { ...address, note: null });
    shown.length = 0;
    expect(await run('suppression.export', { account: null })).toBeNull();
    expect(shown.join('')).toContain('a@example.net,complaint');
  });

  test('webhook endpoints, without their secrets', async () => {
    const [account] = await run('account.list', {});
    const url = 'https://192.0.2.7/hook';
    await addEndpoint(scope.ctx, account?.id ?? '', { url, events: ['email.sent'] });
    const [endpoint] = await run('webhook.list', { account: null });
    expect(endpoint).toMatchObject({ url, events: ['email.sent'], status: 'active' });
    const which = { account: null, id: endpoint?.id ?? '', event: null };
    const since = '2026-11-21T03:00:00Z';
    expect(await run('webhook.replay', { ...which, since })).toEqual({ replayed: 0 });
    expect(run('webhook.replay', { ...which, since: 'x' })).rejects.toThrow(
      '--since is not a time',
    );
  });

  test('queue, switches and backup', async () => {
    expect(await run('halt', { reason: 'Leaking.' })).toMatchObject({ reason: 'Leaking.' });
    const listing = await run('queue.list', { domain: null });
    expect(listing).toMatchObject({ halt: { reason: 'Leaking.' }, throttles: [], recipients: [] });
    expect(await run('resume', {})).toEqual({ halted: false, was_halted: true });
    expect(await run('queue.retry', { id: null, domain: null })).toEqual({ retried: 0 });
    expect(run('queue.fail', { id: 'x' })).rejects.toThrow('There is no message or recipient x.');
    expect(run('reload', {})).rejects.toThrow('No server is running on this data directory.');
    const report = await run('backup', { file: join(folder, 'backup') });
    expect(report.rows).toMatchObject({ accounts: 1 });
  });

  test('a domain is named in any case', async () => {
    const { domain } = await run('domain.add', { name: 'Case.example.org', account: null });
    const named = await run('domain.records', { name: 'CASE.Example.ORG', account: null });
    expect(named.domain).toEqual(domain);
    await run('domain.remove', { name: 'case.EXAMPLE.org', account: null });
  });

  test('without a server, what waits is given up by its id', async () => {
    const [account] = await run('account.list', {});
    const made = newMessage(account?.id ?? '', {}, ['ann@example.net', 'bob@example.net']);
    await accepted(scope.ctx.store, made);
    const [ann] = made.recipients;
    const one = { failed: 1, under_way: 0 };
    expect(await run('queue.fail', { id: ann?.id ?? '' })).toEqual(one);
    expect(await run('queue.fail', { id: made.message.id })).toEqual(one);
    expect(await run('queue.fail', { id: made.message.id })).toEqual({ failed: 0, under_way: 0 });
    const { recipients } = await run('queue.show', { id: made.message.id });
    expect(recipients.map(({ status }) => status)).toEqual(['failed', 'failed']);
  });

  test('an email without a subject is listed and shown', async () => {
    const [account] = await run('account.list', {});
    const made = newMessage(account?.id ?? '', { subject: '' });
    await accepted(scope.ctx.store, made);
    const which = { account: 'shop', status: null, q: null, limit: '1', after: null };
    const { emails } = await run('email.list', which);
    expect(emails.map(({ id, subject }) => [id, subject])).toEqual([[made.message.id, '']]);
    expect((await run('queue.show', { id: made.message.id })).message.subject).toBe('');
  });

  test('one recipient is shown with its own attempts, a message with those of all', async () => {
    const [account] = await run('account.list', {});
    const made = newMessage(account?.id ?? '', {}, ['ann@example.net', 'bob@example.net']);
    await accepted(scope.ctx.store, made);
    for (const recipient of made.recipients) {
      await scope.ctx.store.finish(
        finishOf(made, recipient, { attempt: newAttempt(recipient, { tls: null }) }),
      );
    }
    const [ann, bob] = made.recipients.map(({ id }) => id);
    const shownOf = async (id = ''): Promise<unknown[]> => {
      const { message, recipients, attempts } = await run('queue.show', { id });
      return [message.id, recipients.map((one) => one.id), attempts.map((one) => one.recipientId)];
    };
    expect(await shownOf(bob)).toEqual([made.message.id, [bob], [bob]]);
    expect(await shownOf(made.message.id)).toEqual([made.message.id, [ann, bob], [ann, bob]]);
  });

  test('a password that the operator chose is not given back; one that was made is, once', async () => {
    const who = { name: 'anna', role: 'read_only', account: null } as const;
    const { password } = await run('operator.add', who);
    expect(password).toMatch(/^\S{12,}$/);
    const chosen = 'a long pass phrase of mine';
    expect(await run('operator.password', { name: 'anna', password: chosen })).toEqual({
      password: null,
    });
    const made = await run('operator.password', { name: 'anna', password: null });
    expect(made.password).toMatch(/^\S{12,}$/);
    expect(made.password).not.toBe(password);
    const { ctx } = scope;
    expect(await operatorWith(ctx, 'anna', chosen)).toBeNull();
    expect(await operatorWith(ctx, 'anna', made.password ?? '')).toMatchObject({ name: 'anna' });
    await run('operator.remove', { name: 'anna' });
  });

  test('with a second account, what concerns one must name it', async () => {
    await run('account.create', { name: 'other', plan: null });
    const needsOne = { name: 'example.net', account: null };
    for (const refused of [
      run('domain.add', needsOne),
      run('suppression.list', { account: null }),
    ]) {
      expect(String(await refused.catch((error: unknown) => error))).toContain(
        'There are several accounts: name one with --account.',
      );
    }
    expect(await run('suppression.list', { account: 'other' })).toBeNull();
  });

  test('of another version are refused', () => {
    expect(() => OPERATIONS['queue.retry'].readResult({ retried: 'all' })).toThrow(
      "Cannot read the server's result at /retried.",
    );
    expect(() => OPERATIONS['queue.retry'].readResult('all')).toThrow(
      "Cannot read the server's result at /.",
    );
  });
});
