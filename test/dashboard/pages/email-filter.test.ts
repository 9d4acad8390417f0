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
) {
  const asked: Asked[] = [];
  const clock = new TestClock();
  const store = {
    emails: (_account: string, page: Asked) => {
      asked.push(page);
      const sorted = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1));
      const later = sorted.filter(({ id }) => page.after === null || id < page.after);
      const found = later.slice(0, page.limit);
      return Promise.resolve({ rows: found, hasMore: later.length > found.length });
    },
  };
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
