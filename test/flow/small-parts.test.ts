/** Small parts that have no state of their own: followers, the log of the journey, labels, extra certificates, shares. */
import { expect, test } from 'bun:test';
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
    expect(() => readExtraCa(file)).toThrow('contains no certificate');
    expect(() => readExtraCa(join(folder, 'none'))).toThrow('cannot be read');
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
  expect(tooBusy()).toMatchObject({ code: 'platform_halted', headers: { 'Retry-After': '5' } });
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
});
