/** Small parts that have no state of their own: followers, the log of the journey, labels, extra certificates, shares. */
import { expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ByteBudget, tooBusy } from '../../src/flow/byte-budget.ts';
import { bodyBytes } from '../../src/flow/body-bytes.ts';
import { EventFollowers } from '../../src/flow/event-followers.ts';
import { readExtraCa } from '../../src/flow/extra-ca.ts';
import { ClockMarks } from '../../src/flow/kept-clock.ts';
import { KeyUses } from '../../src/flow/key-uses.ts';
import { FairShare } from '../../src/flow/pacing/fair-share.ts';
import { RowCache } from '../../src/flow/row-cache.ts';
import { labelOf } from '../../src/flow/seal-labels.ts';
import { storeRefusal } from '../../src/flow/store-refusal.ts';
import type { OperatorError } from '../../src/base/errors.ts';
import { StoreAwayError, StoreFullError } from '../../src/store/store.ts';
import { SteadyClock } from '../../src/base/steady-clock.ts';
import type { Event } from '../../src/store/rows.ts';
import { TestClock } from '../rig/clock.ts';

const event = (id: string): Event => ({
  id,
  messageId: 'm',
  accountId: 'a',
  recipientId: null,
  type: 'email.sent',
  occurredAt: 1,
  payload: null,
});

test('each follower hears each event, in order, until it ends', () => {
  const followers = new EventFollowers();
  const heard: string[] = [];
  const ends = ['x', 'y'].map((name) =>
    followers.follow(({ id }) => void heard.push(`${name}${id}`)),
  );
  followers.tell([event('1'), event('2')]);
  ends[0]?.();
  followers.tell([event('3')]);
  expect(heard).toEqual(['x1', 'y1', 'x2', 'y2', 'y3']);
});

test.each([
  ['dkim', 'dkim:7'],
  ['next_dkim', 'dkim:7'],
  ['webhook', 'endpoint:7'],
  ['previous_webhook', 'endpoint:7'],
  ['totp', 'totp:7'],
  ['setting', '7'],
] as const)('a sealed %s is opened as %s', (kind, label) => {
  expect(labelOf({ kind, id: '7' })).toBe(label);
});

test('extra certificates are all those of the file, none without one, and a file without any is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ca-'));
  const file = join(folder, 'ca.pem');
  const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;
  try {
    writeFileSync(file, `# ours\n${pem('AAAA')}\nand\n${pem('BBBB')}\n`);
    expect(readExtraCa(file)).toEqual([pem('AAAA'), pem('BBBB')]);
    expect(readExtraCa('')).toEqual([]);
    writeFileSync(file, 'no certificate here\n');
    const fault = (path: string): unknown => {
      try {
        return readExtraCa(path);
      } catch (error) {
        const { message, hint, exitCode } = error as OperatorError;
        return [message.split(': ')[0], hint, exitCode];
      }
    };
    const hint = 'Check tls.extra_ca_file: it must name a readable file of PEM certificates.';
    expect(fault(file)).toEqual(['tls.extra_ca_file contains no certificate', hint, 78]);
    expect(fault(join(folder, 'none'))).toEqual(['tls.extra_ca_file cannot be read', hint, 78]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a body counts its texts, the submitted bytes and every attachment', () => {
  const content = Buffer.alloc(5);
  const file = { filename: 'a', contentType: 'b', contentId: null, content };
  const body = { html: '12', text: '123', headers: [], attachments: [file, file], raw: content };
  expect(bodyBytes(body)).toBe(20);
  expect(bodyBytes({ ...body, html: null, text: null, raw: null, attachments: [] })).toBe(0);
});

test('a body of 512 KiB is worked on alone, one byte less beside others', async () => {
  const budget = new ByteBudget();
  const begin = async (bytes: number) => {
    const share = budget.open(`owner ${bytes}`);
    share.grow(bytes);
    let isBegun = false;
    void share.begin().then(() => (isBegun = true));
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return isBegun;
  };
  expect(await begin(512 * 1024)).toBe(true);
  expect(await begin(512 * 1024 - 1)).toBe(true);
  expect(await begin(512 * 1024)).toBe(false);
});

test('whoever finds no memory is told to come again in five seconds', () => {
  expect(tooBusy()).toMatchObject({
    code: 'platform_halted',
    message: 'This service is handling too many large requests at the moment. Try again later.',
    headers: { 'Retry-After': '5' },
  });
});

test('what the store refuses is said with half a minute to wait; any other fault is none of its refusals', () => {
  const headers = { 'Retry-After': '30' };
  const code = 'platform_halted';
  expect(storeRefusal(new StoreFullError('x'))).toMatchObject({
    code,
    headers,
    message: 'This service is out of disk space. Try again later.',
  });
  expect(storeRefusal(new StoreAwayError('x'))).toMatchObject({
    code,
    headers,
    message: 'The database of this service cannot be reached. Try again later.',
  });
  expect([storeRefusal(new Error('x')), storeRefusal(null)]).toEqual([null, null]);
});

test('the budget has 96 MiB for large bodies, half of it for one owner, and 16 MiB for small ones', () => {
  const MIB = 1024 * 1024;
  const budget = new ByteBudget();
  expect([budget.isFree(48 * MIB, 'a'), budget.isFree(48 * MIB + 1, 'a')]).toEqual([true, false]);
  budget.open('a').grow(48 * MIB);
  expect(budget.isFree(65_537, 'a')).toBe(false);
  budget.open('b').grow(32 * MIB);
  expect([budget.isFree(16 * MIB, 'c'), budget.isFree(16 * MIB + 1, 'c')]).toEqual([true, false]);
  for (let count = 0; count < 255; count += 1) budget.open('c').grow(64 * 1024);
  expect([budget.isFree(64 * 1024, 'c'), budget.open('c').grow(64 * 1024)]).toEqual([true, true]);
  expect([budget.isFree(1, 'c'), budget.isFree(0, 'c'), budget.bytes]).toEqual([
    false,
    true,
    96 * MIB,
  ]);
});

test('garbage is collected after a body of 4 MiB, and after a smaller one it is not', async () => {
  const collect = spyOn(Bun, 'gc').mockImplementation(() => 0);
  try {
    const budget = new ByteBudget();
    const work = async (bytes: number) => {
      collect.mockClear();
      const share = budget.open('a');
      share.grow(bytes);
      await share.begin();
      share.release();
      await new Promise((resolve) => setImmediate(resolve));
      return collect.mock.calls;
    };
    // Begun, and not waited for.
    expect(await work(4 * 1024 * 1024)).toEqual([[false]]);
    expect(await work(4 * 1024 * 1024 - 1)).toEqual([]);
  } finally {
    collect.mockRestore();
  }
});

test('a large body that ends before its work began lets no other one begin', async () => {
  const budget = new ByteBudget();
  const [first, idle, next] = ['a', 'b', 'c'].map((owner) => {
    const share = budget.open(owner);
    share.grow(1024 * 1024);
    return share;
  });
  await first?.begin();
  let isBegun = false;
  void next?.begin().then(() => (isBegun = true));
  idle?.release();
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isBegun).toBe(false);
  first?.release();
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isBegun).toBe(true);
});

test('ten thousand rows are kept, and the next one begins anew', async () => {
  const cache = new RowCache<number>(new TestClock());
  let reads = 0;
  const find = (key: number) => cache.find(String(key), async () => (reads += 1));
  for (let key = 0; key < 10_000; key += 1) await find(key);
  await find(0);
  await find(9_999);
  expect(reads).toBe(10_000);
  await find(10_000);
  await find(0);
  expect(reads).toBe(10_002);
});

test('uses that cannot be written are logged and lost, and a flush waits for the writes before it', async () => {
  const clock = new TestClock();
  const logged: unknown[] = [];
  const failure = new Error('full');
  let end = (): void => undefined;
  const answers = [
    Promise.reject(failure),
    new Promise<void>((resolve) => (end = resolve)),
    Promise.resolve(),
  ];
  let writes = 0;
  const store = { touchKeys: () => answers[writes++] ?? Promise.resolve() };
  const put = (...line: unknown[]) => void logged.push(line);
  const log = { info: put, warn: put, error: put };
  const uses = new KeyUses({ store, clock, log });
  uses.note('k');
  await uses.flush();
  expect(logged).toEqual([['key_uses_not_written', { error: failure }]]);
  expect(clock.pending()).toEqual([]);
  uses.note('k');
  void uses.flush();
  uses.note('k');
  let isDone = false;
  const done = uses.flush().then(() => (isDone = true));
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([writes, isDone]).toEqual([3, false]);
  end();
  await done;
  await uses.flush();
  expect([writes, logged.length]).toEqual([3, 1]);
});

test('an account may have four times what is free', () => {
  const shares = new FairShare();
  for (let count = 0; count < 7; count += 1) shares.take('a');
  expect([shares.of('a'), shares.of('b')]).toEqual([7, 0]);
  expect([shares.leavesEnough(7, 2), shares.leavesEnough(8, 2)]).toEqual([true, false]);
  expect(shares.leavesEnough(0, 0)).toBe(false);
  for (let count = 0; count < 7; count += 1) shares.giveBack('a');
  expect(shares.of('a')).toBe(0);
});

test('uses of keys are written ten seconds after the first of them, each time of a key over the one before', async () => {
  const clock = new TestClock();
  // People read these times: they are by the wall clock.
  clock.jump(-3_600_000);
  const written: { id: string; usedAt: number }[][] = [];
  const store = {
    touchKeys: async (uses: { id: string; usedAt: number }[]) => void written.push(uses),
  };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const uses = new KeyUses({ store, clock, log });
  const began = clock.now();
  uses.note('k');
  await clock.advance(9_999);
  uses.note('k');
  expect(written).toEqual([]);
  await clock.advance(1);
  expect(written).toEqual([[{ id: 'k', usedAt: began + 9_999 }]]);
  await clock.advance(60_000);
  await uses.flush();
  expect(written).toHaveLength(1);
  uses.note('l');
  await clock.advance(10_000);
  expect(written).toHaveLength(2);
});

test('a row is kept for less than thirty seconds, and what has gone is forgotten', async () => {
  const clock = new TestClock();
  const cache = new RowCache<string>(clock);
  let row: string | null = 'one';
  let reads = 0;
  const find = () =>
    cache.find('k', async () => {
      reads += 1;
      return row;
    });
  await find();
  clock.pass(29_999);
  row = null;
  expect([await find(), reads]).toEqual(['one', 1]);
  clock.pass(1);
  expect([await find(), reads]).toEqual([null, 2]);
  expect([await find(), reads]).toEqual([null, 3]);
});

test('the clock leaves its mark at once and every minute', async () => {
  const marks: string[] = [];
  const store = {
    setting: async () => null,
    setSetting: async (name: string, value: string | null) => void marks.push(`${name} ${value}`),
  };
  const clock = new SteadyClock(new TestClock(), null);
  const job = new ClockMarks(clock, store);
  expect([job.firstMs, job.everyMs()]).toEqual([0, 60_000]);
  await job.run();
  expect(marks).toEqual([`clock ${JSON.stringify(clock.mark())}`]);
  const full = { ...store, setSetting: () => Promise.reject(new Error('the disk is full')) };
  expect(await new ClockMarks(clock, full).run().catch(String)).toBe('Error: the disk is full');
});
