/** Lines of the log of the jobs that keep the appliance able to work, whole, and what nodes ask of each other's store. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Backups } from '../../../src/flow/upkeep/backups.ts';
import { DescriptorWatch } from '../../../src/flow/upkeep/descriptors.ts';
import { SharedCertificates } from '../../../src/flow/upkeep/shared-certificates.ts';
import type { Context } from '../../../src/flow/context.ts';
import { keyAuthorization } from '../../../src/wire/https/acme.ts';
import { openFixture, refusal, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const lines = (): unknown[] => fixture.logged.map(({ time: _time, ...line }) => line);

test('listeners that rest and listen again', async () => {
  let lowest: number | null = null;
  const said: string[] = [];
  const listener = {
    rest: () => void said.push('rest'),
    listenAgain: async () => void said.push('listen'),
  };
  const watch = new DescriptorWatch(fixture.ctx.log, [listener], 256, () => lowest);
  await watch.run();
  lowest = 10;
  await watch.run();
  expect([said, watch.firstMs, watch.failure]).toEqual([
    ['rest', 'listen'],
    1_000,
    {
      event: 'descriptor_watch_failed',
      hint: 'It is tried again in some seconds. Please report it.',
    },
  ]);
  expect(lines()).toEqual([
    {
      level: 'error',
      event: 'descriptors_low',
      limit: 256,
      hint: 'Nearly all open files of this process are in use: nothing is accepted until some are free. Raise LimitNOFILE, or find who opens so many connections.',
    },
    { level: 'info', event: 'descriptors_enough' },
  ]);
  // Nothing to rest, nothing to say.
  lowest = null;
  await new DescriptorWatch(fixture.ctx.log, [], 256, () => lowest).run();
  expect(fixture.logged).toHaveLength(2);
});

test('the descriptors of this process are far from their limit', async () => {
  const said: string[] = [];
  const listener = { rest: () => void said.push('rest'), listenAgain: async () => undefined };
  await new DescriptorWatch(fixture.ctx.log, [listener]).run();
  expect(said).toEqual([]);
});

test('a backup that fails, and one that is under way', async () => {
  const { ctx, clock } = fixture;
  const end = Promise.withResolvers<void>();
  const backups = new Backups({
    ...ctx,
    store: {
      ...ctx.store,
      async backUpTo() {
        await end.promise;
        throw new Error('no space');
      },
    },
  });
  const { ended } = backups.start();
  const busy = await refusal(Promise.resolve().then(() => backups.start()));
  expect([busy.code, busy.message]).toEqual(['conflict', 'A backup is being written already.']);
  clock.pass(3_000);
  end.resolve();
  await ended;
  expect(backups.last).toEqual({
    kind: 'failed',
    endedAt: clock.now(),
    problem: 'The server log says why.',
  });
  expect(lines()).toEqual([
    {
      level: 'error',
      event: 'backup_failed',
      error: expect.objectContaining({ message: 'no space' }),
      hint: 'Nothing of the backup is left. Look at the disk of data_dir, then make it again.',
    },
  ]);
});

test('the account of all nodes: who makes it, for how long, and which texts are tokens', async () => {
  const { ctx, clock } = fixture;
  const asked: unknown[] = [];
  const settings = new Map<string, string | null>();
  let isFree = false;
  const store: Context['store'] = {
    ...ctx.store,
    async setting(name) {
      asked.push(['read', name]);
      return settings.get(name) ?? null;
    },
    async setSetting(name, value) {
      asked.push(['write', name]);
      settings.set(name, value);
    },
    async takeJob(...args) {
      asked.push(['take', ...args]);
      return isFree;
    },
    async endJob(...args) {
      asked.push(['end', ...args]);
    },
  };
  const shared = new SharedCertificates({ ...ctx, store }, ['b.example', 'a.example'], 'me');
  expect([shared.holder, shared.orderJob]).toEqual([
    'me',
    'sealed:acme_certificate:a.example b.example',
  ]);
  const account = 'sealed:acme_account';
  expect(await shared.answerTo('-'.repeat(16))).toBeNull();
  expect(asked.splice(0)).toEqual([['read', account]]);
  clock.pass(1_000);
  expect(await shared.accountKey(null)).toBeNull();
  expect(asked.splice(0)).toEqual([
    ['read', account],
    ['take', 'acme_account', 'me', 30_000],
  ]);
  isFree = true;
  const key = (await shared.accountKey(null)) ?? '';
  expect(key).toContain('PRIVATE KEY');
  expect(asked.splice(0)).toEqual([
    ['read', account],
    ['take', 'acme_account', 'me', 30_000],
    ['read', account],
    ['write', account],
    ['end', 'acme_account', 'me', 0],
  ]);
  expect([await shared.accountKey('own'), asked.splice(0)]).toEqual([key, [['read', account]]]);
  for (const [length, isToken] of [
    [15, false],
    [16, true],
    [128, true],
    [129, false],
  ] as const) {
    const token = '-'.repeat(length);
    expect([length, await shared.answerTo(token)]).toEqual([
      length,
      isToken ? keyAuthorization(token, key) : null,
    ]);
  }
  // Once a second.
  expect(asked.splice(0)).toEqual([['read', account]]);
  clock.pass(999);
  await shared.answerTo('-'.repeat(16));
  expect(asked).toEqual([]);
  clock.pass(1);
  await shared.answerTo('-'.repeat(16));
  expect(asked).toEqual([['read', account]]);
});

test('a node that cannot write the account leaves its making to another one', async () => {
  const { ctx } = fixture;
  const ended: unknown[] = [];
  const store: Context['store'] = {
    ...ctx.store,
    setting: async () => null,
    setSetting: () => Promise.reject(new Error('disk full')),
    takeJob: async () => true,
    endJob: async (...args) => void ended.push(args),
  };
  const shared = new SharedCertificates({ ...ctx, store }, ['a.example'], 'me');
  expect(await shared.accountKey('own').catch(String)).toBe('Error: disk full');
  expect(ended).toEqual([['acme_account', 'me', 0]]);
});
