/** Filters of the emails list: what the query says, what matches, where a page ends and how far a search goes. */
import { expect, test } from 'bun:test';
import { IdSource } from '../../../src/base/ids.ts';
import {
  emailQueryOf,
  findEmails,
  isFiltered,
  type EmailQuery,
} from '../../../src/dashboard/pages/email-filter.ts';
import type { Visit } from '../../../src/dashboard/frame/visit.ts';
import type { Message } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';

const ALL: EmailQuery = {
  q: null,
  status: null,
  tag: null,
  domainId: null,
  keyId: null,
  recipient: null,
  from: null,
  until: null,
};

const query = (text: string): EmailQuery =>
  emailQueryOf({ query: new URLSearchParams(text) } as unknown as Visit);

test('the query is read by its names; what is no status and no day is left out', () => {
  expect(query('')).toEqual(ALL);
  expect(isFiltered(ALL)).toBe(false);
  const full =
    'q=+a+&status=failed&tag=k%3Dv&domain=d&key=y&to=ann&from=2026-03-01&until=2026-03-02';
  expect(query(full)).toEqual({
    q: 'a',
    status: 'failed',
    tag: 'k=v',
    domainId: 'd',
    keyId: 'y',
    recipient: 'ann',
    from: '2026-03-01',
    until: '2026-03-02',
  });
  expect(query('status=opened&from=2026-02-31x&until=2026-13-01&q=+')).toEqual(ALL);
  // What a date may be elsewhere, and is no day.
  expect(query('from=2026-03-01T10:00&until=+2026-03-01T10:00')).toEqual(ALL);
  expect(query('from=%2B002026-03-01&until=x2026-03-01')).toEqual(ALL);
  for (const one of ['q=a', 'status=sent', 'to=a', 'until=2026-03-02']) {
    expect([one, isFiltered(query(one))]).toEqual([one, true]);
  }
});

const ids = new IdSource();
let time = Date.UTC(2026, 2, 1);

/** An email a minute after the last one. */
function email(more: Partial<Message> = {}): Message {
  time += 60_000;
  return {
    id: ids.next(time),
    accountId: 'account',
    keyId: 'key',
    logId: null,
    domainId: 'domain',
    isSandbox: false,
    from: 'a@x.example',
    to: ['Ann@y.example'],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 's',
    tags: [{ name: 'kind', value: 'a=b' }],
    eventHeaders: [],
    messageId: '',
    status: 'sent',
    failureReason: null,
    createdAt: time,
    updatedAt: time,
    ...more,
  };
}

interface Asked {
  limit: number;
  after: string | null;
  q: string | null;
  status: string | null;
}

/** Rows of a store that pages as the real one does, newest first; what it was asked. */
async function find(
  rows: readonly Message[],
  wanted: Partial<EmailQuery>,
  limit = 50,
  after: string | null = null,
  /** What a question to the store takes, in milliseconds. */
  tookMs = 0,
) {
  const asked: Asked[] = [];
  const clock = new TestClock();
  let steady = 0;
  const store = {
    emails: (_account: string, page: Asked) => {
      asked.push(page);
      steady += tookMs;
      const sorted = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1));
      const later = sorted.filter(({ id }) => page.after === null || id < page.after);
      const found = later.slice(0, page.limit);
      return Promise.resolve({ rows: found, hasMore: later.length > found.length });
    },
  };
  clock.steady = () => steady;
  const ctx = { store, clock } as unknown as Parameters<typeof findEmails>[0];
  const found = await findEmails(ctx, 'account', { ...ALL, ...wanted }, after, limit);
  return { found, asked, positions: found.rows.map((row) => rows.indexOf(row)) };
}

test('a page ends at its limit, and names the next where more follows', async () => {
  const rows = [email(), email(), email()];
  const two = await find(rows, {}, 2);
  expect([two.positions, two.found.next]).toEqual([[2, 1], rows[1]?.id ?? null]);
  expect(two.asked[0]).toMatchObject({ limit: 2, after: null, q: null, status: null });
  const rest = await find(rows, {}, 2, two.found.next);
  expect([rest.positions, rest.found.next, rest.found.searchedTo]).toEqual([[0], null, null]);
  expect((await find(rows, {}, 3)).found.next).toBeNull();
  // The last match is not the last row that was read.
  const tagged = [email(), email(), email()];
  expect((await find(tagged, { keyId: 'key' }, 2)).found.next).toBe(tagged[1]?.id ?? '');
  expect((await find(tagged, { keyId: 'key' }, 3)).found.next).toBeNull();
});

test('status and text go to the store, a recipient too where there is no text', async () => {
  const asked = async (wanted: Partial<EmailQuery>) => (await find([email()], wanted)).asked[0];
  expect(await asked({ q: 'a', status: 'failed', recipient: 'b' })).toMatchObject({
    q: 'a',
    status: 'failed',
  });
  expect(await asked({ recipient: 'b' })).toMatchObject({ q: 'b', status: null, limit: 50 });
  expect(await asked({ tag: 'k' })).toMatchObject({ limit: 500 });
});

test.each([
  [{ tag: 'kind' }, true],
  [{ tag: 'kind=a=b' }, true],
  [{ tag: 'kind=a' }, false],
  [{ tag: 'kind=' }, false],
  [{ tag: 'other' }, false],
  [{ domainId: 'domain' }, true],
  [{ domainId: 'other' }, false],
  [{ keyId: 'key' }, true],
  [{ keyId: 'other' }, false],
  [{ recipient: 'ann@Y' }, true],
  [{ recipient: 'ben' }, false],
  [{ tag: 'kind', keyId: 'other' }, false],
])('%j matches: %p', async (wanted, isFound) => {
  expect((await find([email()], wanted)).positions).toEqual(isFound ? [0] : []);
});

test('days are whole days in UTC, also for a clock that is a little off', async () => {
  const at = (text: string): Message => {
    const createdAt = Date.parse(text);
    return { ...email(), id: new IdSource().next(createdAt), createdAt };
  };
  const rows = [
    at('2026-03-01T23:59:59.999Z'),
    at('2026-03-02T00:00:00.000Z'),
    at('2026-03-02T23:59:59.999Z'),
    at('2026-03-03T00:00:00.001Z'),
  ];
  expect((await find(rows, { from: '2026-03-02' })).positions).toEqual([3, 2, 1]);
  expect((await find(rows, { until: '2026-03-02' })).positions).toEqual([2, 1, 0]);
  expect((await find(rows, { from: '2026-03-02', until: '2026-03-02' })).positions).toEqual([2, 1]);
  // A row that is older by less than a minute may stand before one that counts.
  const [early, , late] = rows;
  const swapped = [early, { ...rows[1], id: `${early?.id.slice(0, -1)}` }, late] as Message[];
  expect((await find(swapped, { from: '2026-03-02' })).positions).toEqual([2, 1]);
});

test('a search goes through 20,000 rows, and says from where it may go on', async () => {
  const rows = Array.from({ length: 20_001 }, () => email());
  const { found, asked } = await find(rows, { keyId: 'other' });
  expect(asked).toHaveLength(40);
  expect(found).toEqual({ rows: [], next: rows[1]?.id ?? '', searchedTo: rows[1]?.createdAt ?? 0 });
  const all = await find(rows.slice(1), { keyId: 'other' });
  expect(all.found).toEqual({ rows: [], next: null, searchedTo: null });
});

test('a row that is a minute too old may stand before one that counts; one that is older ends the search', async () => {
  const from = '2026-03-02';
  const day = Date.parse(from);
  /** The positions found where the second of three is so much older than the day. */
  const foundBehind = async (olderMs: number) => {
    const old = new IdSource();
    const row = (atMs: number, createdAt: number): Message => ({
      ...email(),
      id: old.next(atMs),
      createdAt,
    });
    const rows = [row(day, day), row(day + 1, day - olderMs), row(day + 2, day + 2)];
    return (await find(rows, { from })).positions;
  };
  expect(await foundBehind(1)).toEqual([2, 0]);
  expect(await foundBehind(60_000)).toEqual([2, 0]);
  expect(await foundBehind(60_001)).toEqual([2]);
});

test('a search ends after a tenth of a second too, and says from where it may go on', async () => {
  const rows = Array.from({ length: 2_000 }, () => email());
  const asked = async (tookMs: number) =>
    (await find(rows, { keyId: 'other' }, 50, null, tookMs)).asked.length;
  expect(await asked(24)).toBe(4);
  expect(await asked(50)).toBe(2);
  expect(await asked(49)).toBe(3);
  expect(await asked(100)).toBe(1);
  const { found } = await find(rows, { keyId: 'other' }, 50, null, 100);
  expect(found).toEqual({
    rows: [],
    next: rows[1_500]?.id ?? '',
    searchedTo: rows[1_500]?.createdAt ?? 0,
  });
});

test('other work goes on between the steps of a search', async () => {
  const rows = Array.from({ length: 1_001 }, () => email());
  let ticks = 0;
  setImmediate(() => (ticks += 1));
  await find(rows, { keyId: 'other' });
  expect(ticks).toBe(1);
});

test('a later page goes on behind its cursor, whatever the last day is', async () => {
  const at = (text: string): Message => {
    const createdAt = Date.parse(text);
    return { ...email(), id: new IdSource().next(createdAt), createdAt };
  };
  const rows = [at('2026-03-01T10:00Z'), at('2026-03-02T10:00Z'), at('2026-03-02T11:00Z')];
  const wanted = { until: '2026-03-02' };
  expect((await find(rows, wanted)).positions).toEqual([2, 1, 0]);
  const later = await find(rows, wanted, 50, rows[2]?.id);
  expect([later.positions, later.asked[0]?.after]).toEqual([[1, 0], rows[2]?.id ?? '']);
  // Before there were emails, and before times had numbers.
  const never = await find(rows, { until: '1960-01-01' });
  expect(never.positions).toEqual([]);
  expect(never.asked[0]?.after).toBe('00000000-0000-7000-8000-000000000000');
});

test('one tag of several, and one recipient of several, is enough', async () => {
  const tags = [
    { name: 'kind', value: 'a' },
    { name: 'shop', value: 'b' },
  ];
  const row = email({ tags, to: ['ann@x.example', 'ben@y.example'] });
  for (const wanted of [{ tag: 'kind' }, { tag: 'shop=b' }, { recipient: 'BEN' }]) {
    expect((await find([row], wanted)).positions).toEqual([0]);
  }
  // The value of one tag is not that of another.
  expect((await find([row], { tag: 'kind=b' })).positions).toEqual([]);
});
