/**
 * A search with a status that more than two thousand emails have: by the index, where candidates lie close together and
 * where they lie far apart, in both directions, beside another account and another status; and one of sandbox sends alone.
 */
import { expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';

import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import { Indexer, SEARCH_FILE } from '../../../src/store/sqlite/indexer.ts';
import { MAIL_MIGRATIONS, LOG_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { emailLists } from '../../../src/store/sqlite/read-emails.ts';
import { SearchReader } from '../../../src/store/sqlite/search-index.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { batchOf, newAccount, newMessage } from '../samples.ts';
import { withDir } from '../test-store.ts';

const COUNT = 4_200;
const [account, other] = [newAccount('one'), newAccount('two')];

/** The email with this number: every third is queued, some are another account's, and two words come often and seldom. */
function emailAt(n: number) {
  const owner = n % 7 === 6 ? other : account;
  const status = n % 3 === 2 ? ('queued' as const) : ('delivered' as const);
  return {
    owner,
    status,
    subject: `${n % 2 === 0 ? 'even' : 'odd'}${n % 101 === 0 ? ' rare' : ''}`,
  };
}

const SOME = 'seq IN (SELECT seq FROM messages WHERE account_id = ? LIMIT ?)';
const MAKE_DELIVERED = 'UPDATE messages SET status = iif(' + SOME + ", 'delivered', 'queued')";
const MAKE_SANDBOX = 'UPDATE messages SET is_sandbox = ' + SOME;

test('of one status, or of sandbox sends, finds what a scan finds', () =>
  withDir(async (dir) => {
    const mail = openForWriting(join(dir, 'mail.db'), 'normal');
    const log = openForWriting(join(dir, 'log.db'), 'normal');
    migrate(mail, MAIL_MIGRATIONS, 0);
    migrate(log, LOG_MIGRATIONS, 0);
    for (const row of [account, other]) accountWrites(mail).createAccount(row);
    const events = new EventWriter(mail);
    const sums = [new StatusCounts(mail), new StoredBytes(mail)] as const;
    const { accept } = acceptWrites(mail, events, sums[0], new Positions(mail), sums[1]);
    const ids: string[] = [];
    mail.run('BEGIN');
    for (let n = 0; n < COUNT; n += 1) {
      const { owner, ...change } = emailAt(n);
      const message = { ...newMessage(owner.id, change), recipients: [], events: [] };
      accept(batchOf(owner.id, message));
      ids.push(message.message.id);
    }
    mail.run('COMMIT');
    const indexer = new Indexer(dir, 0);
    while (indexer.step());
    const [reader, search] = [
      openForReading(mail.filename),
      openForReading(join(dir, SEARCH_FILE)),
    ];
    const lists = emailLists(reader, search);
    const wanted = (q: string) =>
      ids
        .filter((_, n) => {
          const { owner, status, subject } = emailAt(n);
          return owner === account && status === 'delivered' && subject.includes(q);
        })
        .toReversed();
    for (const q of ['even', 'rare', 'odd rare', 'shop']) {
      const all = q === 'shop' ? wanted('') : wanted(q);
      const middle = Math.floor(all.length / 2);
      const find = async (limit: number, after: string | null, before: string | null) => {
        const filter = { q, status: 'delivered', limit, after, before } as const;
        const { rows, hasMore } = await lists.emails(account.id, filter);
        return [q, hasMore, ...rows.map(({ id }) => id)];
      };
      const cursor = all[middle] ?? '';
      expect(await find(COUNT, null, null)).toEqual([q, false, ...all]);
      expect(await find(3, null, null)).toEqual([q, true, ...all.slice(0, 3)]);
      expect(await find(3, cursor, null)).toEqual([q, true, ...all.slice(middle + 1, middle + 4)]);
      expect(await find(3, null, cursor)).toEqual([q, true, ...all.slice(middle - 3, middle)]);
      const rest = all.slice(middle + 1);
      expect(await find(rest.length, cursor, null)).toEqual([q, false, ...rest]);
      expect(await find(rest.length - 1, cursor, null)).toEqual([q, true, ...rest.slice(0, -1)]);
    }
    // The same of sandbox sends, of which there are more than two thousand.
    mail.run('UPDATE messages SET is_sandbox = seq % 5 <> 0');
    for (const [q, status] of [
      ['even', null],
      ['rare', 'delivered'],
      ['odd rare', null],
      ['shop', 'delivered'],
    ] as const) {
      const all = ids
        .filter((_, n) => {
          const { owner, status: of, subject } = emailAt(n);
          const isFound = q === 'shop' || subject.includes(q);
          return owner === account && (n + 1) % 5 !== 0 && isFound && of === (status ?? of);
        })
        .toReversed();
      const middle = Math.floor(all.length / 2);
      const find = async (limit: number, after: string | null, before: string | null) => {
        const filter = { q, status, limit, after, before, isSandboxOnly: true };
        const { rows, hasMore } = await lists.emails(account.id, filter);
        return [q, hasMore, ...rows.map(({ id }) => id)];
      };
      const cursor = all[middle] ?? '';
      expect(await find(COUNT, null, null)).toEqual([q, false, ...all]);
      expect(await find(3, cursor, null)).toEqual([q, true, ...all.slice(middle + 1, middle + 4)]);
      expect(await find(3, null, cursor)).toEqual([q, true, ...all.slice(middle - 3, middle)]);
    }
    // Each email has all pieces of it, of one address and of another.
    const pieces = { q: 'shop@example.org', limit: 3, after: null, before: null } as const;
    for (const isSandboxOnly of [false, true]) {
      for (const status of [null, 'delivered'] as const) {
        const found = await lists.emails(account.id, { ...pieces, status, isSandboxOnly });
        expect(found).toEqual({ rows: [], hasMore: false });
      }
    }
    mail.run('UPDATE messages SET is_sandbox = 0');
    // Of few rows all are looked through: up to two thousand of the status, or of sandbox sends.
    const asked = spyOn(SearchReader.prototype, 'candidates');
    const asksIndex = async (isSandboxOnly: boolean) => {
      asked.mockClear();
      const page = { limit: 3, after: null, before: null, isSandboxOnly } as const;
      await lists.emails(account.id, { ...page, q: 'shop', status: 'delivered' });
      return asked.mock.calls.length > 0;
    };
    const few: unknown[] = [];
    for (const isSandboxOnly of [false, true]) {
      for (const count of [2_001, 2_000]) {
        mail.run(isSandboxOnly ? MAKE_SANDBOX : MAKE_DELIVERED, [account.id, count]);
        few.push([count, isSandboxOnly, await asksIndex(isSandboxOnly)]);
      }
    }
    asked.mockRestore();
    expect(few).toEqual([
      [2_001, false, true],
      [2_000, false, false],
      [2_001, true, true],
      [2_000, true, false],
    ]);
    for (const thing of [indexer, reader, search, mail, log]) thing.close();
  }));
