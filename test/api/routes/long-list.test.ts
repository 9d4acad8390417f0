/** Lists that are returned whole: of any length, in part as before, and never cut short without a word. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';

import { listBody, LongList } from '../../../src/api/routes/long-list.ts';
import type { WholeListPart } from '../../../src/api/shapes/common.ts';
import { wholePage } from '../../../src/api/shapes/common.ts';
import { createLog } from '../../../src/base/log.ts';
import type { ListPart } from '../../../src/store/pages.ts';
import { PART_ROWS } from '../../../src/store/parts.ts';
import type { Account } from '../../../src/store/rows.ts';
import { seeded } from '../../mail/random.ts';
import { newKey } from '../../store/samples.ts';
import { openBench, type Bench } from '../bench.ts';

interface Row {
  id: string;
  name: string;
}

const NO_LOG = createLog(
  () => undefined,
  () => 0,
);

const rowsOf = (count: number): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    id: String(2 * at + 1).padStart(6, '0'),
    name: `"${at}"`,
  }));

/** `rows` as a store reads them. */
const readerOf =
  (rows: readonly Row[], most: { rows: number } = { rows: 0 }) =>
  async ({ limit, after, before }: ListPart): Promise<Row[]> => {
    most.rows = Math.max(most.rows, limit);
    if (before !== undefined) return rows.filter(({ id }) => id < before).slice(-limit);
    return rows.filter(({ id }) => id > (after ?? '')).slice(0, limit);
  };

const show = ({ id, name }: Row) => ({ id, shown: name });

async function jsonOf(body: object): Promise<unknown> {
  if (!(body instanceof LongList)) return JSON.parse(JSON.stringify(body));
  let text = '';
  for await (const piece of body.pieces()) text += piece;
  return JSON.parse(text);
}

test('whatever is asked, it is what the whole list would give (seed 526)', async () => {
  const random = seeded(526);
  for (let run = 0; run < 300; run += 1) {
    const rows = rowsOf(random.int(4 * PART_ROWS));
    const cursor = String(random.int(2 * rows.length + 3)).padStart(6, '0');
    const query: WholeListPart = {
      ...(random.int(2) === 0 && { limit: 1 + random.int(100) }),
      ...[{}, { after: cursor }, { before: cursor }][random.int(3)],
    };
    const body = await listBody({ read: readerOf(rows), show }, query, NO_LOG);
    const whole = wholePage(rows, query);
    const expected: unknown = { ...whole, data: whole.data.map(show) };
    expect([query, await jsonOf(body)]).toEqual([query, expected]);
  }
});

test('a long list is read part by part, while it is sent', async () => {
  const most = { rows: 0 };
  const body = await listBody({ read: readerOf(rowsOf(1_000), most), show }, {}, NO_LOG);
  expect(body).toBeInstanceOf(LongList);
  expect(most.rows).toBe(PART_ROWS + 1);
  const pieces: string[] = [];
  for await (const piece of (body as LongList).pieces()) pieces.push(piece);
  expect(pieces.length).toBeGreaterThanOrEqual(1_000 / PART_ROWS);
  expect(most.rows).toBe(PART_ROWS + 1);
});

test('a list of one part is sent as a whole', async () => {
  const body = await listBody({ read: readerOf(rowsOf(PART_ROWS)), show }, {}, NO_LOG);
  expect(body).not.toBeInstanceOf(LongList);
});

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** An account with so many keys, of which every third is of the sandbox. */
async function crowded(
  name: string,
  count: number,
): Promise<{ account: Account; live: string; test: string }> {
  const account = await bench.account(name, 'fast');
  const keys = {
    account,
    live: await bench.key(account),
    test: await bench.key(account, 'full_access', true),
  };
  for (let at = 2; at < count; at += 1) {
    const hash = crypto.getRandomValues(new Uint8Array(32));
    const key = { ...newKey(account.id), isTest: at % 3 === 0 };
    expect(await bench.ctx.store.createKey(key, hash, count)).toBe('created');
  }
  return keys;
}

interface KeyList {
  has_more: boolean;
  data: { id: string }[];
}

test('all keys of an account come, and page by page the same', async () => {
  const keys = await crowded('crowded', 350);
  for (const key of [keys.live, keys.test]) {
    const whole = (await bench.ask({ path: '/api-keys', key })).json as KeyList;
    expect([whole.has_more, whole.data.length]).toEqual([false, key === keys.live ? 350 : 117]);
    const paged: string[] = [];
    for (let after = ''; ;) {
      const path = `/api-keys?limit=60${after && `&after=${after}`}`;
      const { has_more, data } = (await bench.ask({ path, key })).json as KeyList;
      paged.push(...data.map(({ id }) => id));
      if (!has_more) break;
      after = data.at(-1)?.id ?? '';
    }
    expect(paged).toEqual(whole.data.map(({ id }) => id));
  }
});

test('where the store fails in the middle, the response breaks off and the log says so', async () => {
  const { account, live: key } = await crowded('broken', 350);
  const { store } = bench.ctx;
  const rows = await store.keys(account.id);
  let calls = 0;
  const spy = spyOn(store, 'keys').mockImplementation(async (_, part) => {
    calls += 1;
    if (calls > 3) throw new Error('the disk is gone');
    const from = rows.filter(({ id }) => id > (part?.after ?? ''));
    return from.slice(0, part?.limit);
  });
  const [ended] = await Promise.allSettled([bench.ask({ path: '/api-keys', key })]);
  spy.mockRestore();
  expect([ended?.status, calls]).toEqual(['rejected', 4]);
  const line = bench.logLines.find((one) => one.includes('"list_broke_off"'));
  expect(line).toContain('the disk is gone');
});
