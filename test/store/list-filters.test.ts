/**
 * Every list with its filters together, at every kind of cursor and limit, compared row for row with what a plain filter of
 * all rows gives. Cursors name rows that are listed, that the filter leaves out, that are another account's, and that have
 * gone. With `LIST_STRIDE=1` every case is asked; otherwise one of seven.
 */
import { expect } from 'bun:test';

import { idBound } from '../../src/base/ids.ts';
import { MESSAGE_STATUSES } from '../../src/base/status.ts';
import type { Page, PageOf } from '../../src/store/pages.ts';
import type { Message, Suppression } from '../../src/store/rows.ts';
import type { LogFilter } from '../../src/store/request-logs.ts';
import type { Store } from '../../src/store/store.ts';
import { finished, happen } from './call-steps.ts';
import {
  accepted,
  finishOf,
  newAccount,
  newEndpoint,
  newLogRecord,
  newMessage,
  newSuppression,
  recipientOf,
} from './samples.ts';
import { eachStore } from './stores.ts';
import { everyCallDue } from './due-calls.ts';

const STRIDE = Number(process.env['LIST_STRIDE'] ?? 7);
/** An id of this moment, whatever ids were made before. */
const idAt = (ms: number): string => `${idBound(ms)}-7000-8000-000000000000`;
const ADDRESS = 'erika@person.example';

/** A filter's name, and whether it keeps a row. */
type Filters<Filter, Row> = readonly [filter: Partial<Filter>, keeps: (row: Row) => boolean][];

/** Each of one list with each of the others. */
function combined<Filter, Row>(...lists: Filters<Filter, Row>[]): Filters<Filter, Row> {
  return lists.reduce((all, list) =>
    all.flatMap(([filter, keeps]) =>
      list.map(([more, also]): [Partial<Filter>, (row: Row) => boolean] => [
        { ...filter, ...more },
        (row) => keeps(row) && also(row),
      ]),
    ),
  );
}

interface Cursor {
  /** What the list is asked with. */
  name: string;
  /** Of what it names: rows are before it or after it by their ids. */
  id: string;
}

/** `rows`: all that the account has, the oldest first. */
async function expectPages<Filter, Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  filters: Filters<Filter, Row>,
  cursors: readonly Cursor[],
  list: (filter: Partial<Filter>, page: Page) => Promise<PageOf<Row>>,
): Promise<void> {
  const none = { after: null, before: null };
  const pages: { page: Omit<Page, 'limit'>; from: Cursor | null }[] = [
    { page: none, from: null },
    ...cursors.flatMap((from) => [
      { page: { ...none, after: from.name }, from },
      { page: { ...none, before: from.name }, from },
    ]),
  ];
  let at = 0;
  for (const [filter, keeps] of filters) {
    const kept = rows.filter(keeps);
    for (const { page, from } of pages) {
      for (const limit of [1, 2, Math.max(kept.length, 1), kept.length + 1]) {
        at += 1;
        if (at % STRIDE !== 0) continue;
        const isNewer = page.before !== null;
        const within = kept.filter((row) =>
          from === null ? true : isNewer ? idOf(row) > from.id : idOf(row) < from.id,
        );
        const nearest = isNewer ? within.slice(0, limit) : within.slice(-limit);
        const shown = {
          rows: nearest.toReversed(),
          hasMore: within.length > limit,
        };
        const asked = { filter, page, limit };
        expect({ asked, shown: await list(filter, { ...page, limit }) }).toEqual({ asked, shown });
      }
    }
  }
}

const isInClass = (status: number, digit: number): boolean => Math.floor(status / 100) === digit;

eachStore(
  'the request log: key, sandbox, method, status or class, time and text together',
  async (store, { id }) => {
    const other = newAccount('other');
    await store.createAccount(other);
    // The store keeps the newest row of all.
    const outcomes = ['POST 200', 'GET 404', 'POST 422', 'POST 404', 'GET 200', 'DELETE 404'];
    const records = Array.from({ length: 18 }, (_, n) => {
      const [method = '', status] = (outcomes[n % outcomes.length] ?? '').split(' ');
      const isGone = n === 6 || n === 13;
      return newLogRecord(n % 5 === 4 ? other.id : id, {
        id: idAt(1_000_000 + n * 1_000),
        createdAt: 1_000_000 + n * 1_000,
        method,
        status: Number(status),
        keyId: n % 5 === 4 ? 'other key' : n % 3 === 0 ? null : `key ${n % 2}`,
        keyName: n % 3 === 0 ? null : `name ${n % 2}`,
        keyPermission: n % 2 === 0 ? 'full_access' : 'sending_access',
        isSandbox: n % 4 < 2,
        path: `/${n % 2 === 0 ? 'Emails' : 'domains'}/${isGone ? ADDRESS : n}%_`,
        durationMs: n % 6 === 5 ? null : n,
        messageId: n % 4 === 3 ? null : `message ${n}`,
        userAgent: n % 4 === 2 ? null : `agent ${n}`,
        ip: n % 4 === 1 ? null : `192.0.2.${n}`,
      });
    });
    await store.appendLogs(records);
    expect((await store.eraseAddress(ADDRESS, id)).log_rows).toBe(2);
    const rows = records
      .filter(({ accountId, path }) => accountId === id && !path.includes(ADDRESS))
      .map(({ requestBody: _request, responseBody: _response, ...row }) => row);
    const filters = combined<LogFilter, (typeof rows)[number]>(
      [
        [{}, () => true],
        [{ keyId: 'key 1' }, ({ keyId }) => keyId === 'key 1'],
        [{ keyId: 'other key' }, () => false],
        [{ isSandboxOnly: true }, ({ isSandbox }) => isSandbox],
        [{ isSandboxOnly: true, keyId: 'key 0' }, ({ isSandbox }) => isSandbox],
      ],
      [
        [{ method: null }, () => true],
        [{ method: 'POST' }, ({ method }) => method === 'POST'],
      ],
      [
        [{ status: null }, () => true],
        [{ status: 404 }, ({ status }) => status === 404],
        [{ status: 4 }, ({ status }) => isInClass(status, 4)],
      ],
      [
        [{ q: null }, () => true],
        [{ q: 'EMAILS/' }, ({ path }) => path.startsWith('/Emails')],
        [{ q: '1%_' }, ({ path }) => path.endsWith('1%_')],
      ],
      [
        [{}, () => true],
        [
          { since: 1_002_000, until: 1_016_000 },
          ({ createdAt: at }) => at >= 1_002_000 && at < 1_016_000,
        ],
      ],
    );
    const cursors = [3, 4, 6, 11, 13].map((n) => records[n]?.id ?? '');
    await expectPages(
      rows,
      (row) => row.id,
      filters,
      cursors.map((name) => ({ name, id: name })),
      (filter, page) => store.logs(id, { q: null, status: null, method: null, ...filter, ...page }),
    );
  },
  60_000,
);

/** Emails of two accounts, live and of sandbox keys, in every state. */
async function emailsOf(store: Store, mine: string, other: string): Promise<Message[]> {
  const all: Message[] = [];
  for (let n = 0; n < 20; n += 1) {
    const to = [n === 7 || n === 12 ? ADDRESS : `ann${n}@example.org`];
    const createdAt = Date.now() - 100_000 + n * 1_000;
    const change = { id: idAt(createdAt), createdAt, updatedAt: createdAt, to };
    const sent = newMessage(
      n % 5 === 4 ? other : mine,
      { ...change, isSandbox: n % 3 === 0, subject: n % 2 === 0 ? 'An Order_100%' : 'A bill' },
      to,
    );
    await accepted(store, sent);
    const status = MESSAGE_STATUSES[n % 4] ?? 'queued';
    const end = { status, nextAttemptAt: null, attempt: null, events: [] };
    await store.finish(finishOf(sent, recipientOf(sent), end));
    all.push((await store.messageById(sent.message.id)) ?? sent.message);
  }
  await store.eraseAddress(ADDRESS, mine);
  return all;
}

eachStore(
  'emails: sandbox, status and text together',
  async (store, { id }) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const all = await emailsOf(store, id, other.id);
    const rows = all.filter(({ accountId, to }) => accountId === id && !to.includes(ADDRESS));
    interface Filter {
      isSandboxOnly: boolean;
      status: Message['status'] | null;
      q: string | null;
    }
    const filters = combined<Filter, Message>(
      [
        [{ isSandboxOnly: false }, () => true],
        [{ isSandboxOnly: true }, ({ isSandbox }) => isSandbox],
      ],
      [
        [{ status: null }, () => true],
        ...MESSAGE_STATUSES.slice(0, 3).map((status): Filters<Filter, Message>[number] => [
          { status },
          (row) => row.status === status,
        ]),
      ],
      [
        [{ q: null }, () => true],
        [{ q: 'order_100%' }, ({ subject }) => subject === 'An Order_100%'],
        [{ q: 'ANN1' }, ({ to }) => to[0]?.startsWith('ann1') === true],
      ],
    );
    const cursors = [3, 4, 7, 10, 12, 19].map((n) => all[n]?.id ?? '');
    await expectPages(
      rows,
      (row) => row.id,
      filters,
      cursors.map((name) => ({ name, id: name })),
      (filter, page) => store.emails(id, { q: null, status: null, ...filter, ...page }),
    );
  },
  60_000,
);

eachStore(
  'suppressions: reason and text together, at addresses and ids, removed ones too',
  async (store, { id }) => {
    const other = newAccount('other');
    await store.createAccount(other);
    const reasons = ['manual', 'hard_bounce', 'complaint', 'unsubscribe'] as const;
    const all = Array.from({ length: 24 }, (_, n) =>
      newSuppression(n % 6 === 5 ? other.id : id, `u${n}_%@${n % 2 === 0 ? 'x' : 'y'}.example`, {
        reason: reasons[n % 4] ?? 'manual',
        source: n % 3 === 0 ? null : `source ${n}`,
        note: n % 3 === 1 ? null : `note ${n}`,
        createdAt: n,
      }),
    );
    await store.addSuppressions(all);
    const removed = new Set([8, 9, 14].map((n) => all[n]?.email ?? ''));
    for (const email of removed) await store.removeSuppression(id, email, 100);
    const rows = all.filter(({ accountId, email }) => accountId === id && !removed.has(email));
    interface Filter {
      reason: Suppression['reason'] | undefined;
      q: string | null;
    }
    const filters = combined<Filter, Suppression>(
      [
        [{ reason: undefined }, () => true],
        ...reasons
          .slice(0, 3)
          .map((reason): Filters<Filter, Suppression>[number] => [
            { reason },
            (row) => row.reason === reason,
          ]),
      ],
      [
        [{ q: null }, () => true],
        [{ q: '@X.example' }, ({ email }) => email.endsWith('@x.example')],
        [{ q: '1_%' }, ({ email }) => email.includes('1_%')],
      ],
    );
    const cursors = [0, 8, 9, 13, 14, 22].flatMap((n): Cursor[] => {
      const row = all[n];
      return row === undefined ? [] : [row.id, row.email].map((name) => ({ name, id: row.id }));
    });
    await expectPages(
      rows,
      (row) => row.id,
      filters,
      cursors,
      ({ q = null, reason }, page) => store.suppressions(id, q, page, reason),
    );
    // What was never in the list of the account says nothing of where to go on.
    for (const unknown of ['nobody@x.example', all[5]?.id ?? '', all[5]?.email ?? '']) {
      const page = { limit: 9, after: unknown, before: null };
      expect(await store.suppressions(id, null, page)).toEqual({ rows: [], hasMore: false });
    }
  },
  60_000,
);

eachStore(
  'attempts of a webhook: of failed ones too, at cursors of other webhooks',
  async (store, account) => {
    const [mine, other] = [newEndpoint(account.id), newEndpoint(account.id)];
    for (const endpoint of [mine, other]) await store.createEndpoint(endpoint, 10);
    const rows: Awaited<ReturnType<Store['callAttempts']>>['rows'] = [];
    const cursors: Cursor[] = [];
    for (let n = 0; n < 5; n += 1) {
      const eventId = await happen(store, account);
      const now = Date.now();
      const due = await everyCallDue(store, now);
      const claims = due.map((call) => ({
        id: call.id,
        owner: 'me',
        leaseUntil: now + 1,
        nextAttemptAt: now,
      }));
      for (const call of await store.beginCalls(claims, now)) {
        const end = finished(call, n % 2 === 0, { status: 'done', nextAttemptAt: null });
        await store.finishCall(end);
        if (call.endpointId === mine.id) rows.push({ ...end.attempt, eventId });
        if (n > 0) cursors.push({ name: end.attempt.id, id: end.attempt.id });
      }
    }
    await expectPages<{ isFailedOnly: boolean }, (typeof rows)[number]>(
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      (row) => row.id,
      [
        [{ isFailedOnly: false }, () => true],
        [{ isFailedOnly: true }, ({ ok }) => !ok],
      ],
      cursors,
      ({ isFailedOnly }, page) => store.callAttempts(mine.id, page, isFailedOnly),
    );
    expect(rows).toHaveLength(5);
  },
  60_000,
);
