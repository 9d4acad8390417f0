/**
 * A search through more rows than one step of it reads, none of which the index holds: each list is found whole, from
 * both ends, also where one step ends and the next begins.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

import type { Page } from '../../../src/store/pages.ts';
import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { Indexer, SEARCH_FILE } from '../../../src/store/sqlite/indexer.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { emailLists } from '../../../src/store/sqlite/read-emails.ts';
import { logLists } from '../../../src/store/sqlite/read-logs.ts';
import { suppressionLists } from '../../../src/store/sqlite/read-suppressions.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { logWrites } from '../../../src/store/sqlite/write-logs.ts';
import { SuppressionWriter } from '../../../src/store/sqlite/write-suppressions.ts';
import { batchOf, newAccount, newLogRecord, newMessage, newSuppression } from '../samples.ts';
import { withDir } from '../test-store.ts';

/** What one step looks at. */
const STEP = 2_000;
const COUNT = 2 * STEP + 5;

const REQUESTS = { q: 'edge', method: null, status: null, keyId: null } as const;

/** Near an end of a step, counted from either end of the list. */
const isWanted = (n: number): boolean =>
  [n, COUNT - 1 - n].some((at) => (at + 2) % STEP < 4 || at === COUNT - 1);
const wordAt = (n: number): string => (isWanted(n) ? 'edge' : 'plain');

test('finds every row of emails, requests and suppressions', () =>
  withDir(async (dir) => {
    const [mail, log] = [
      openForWriting(join(dir, 'mail.db'), 'normal'),
      openForWriting(join(dir, 'log.db'), 'normal'),
    ];
    migrate(mail, MAIL_MIGRATIONS, 0);
    migrate(log, LOG_MIGRATIONS, 0);
    const account = newAccount('one');
    accountWrites(mail).createAccount(account);
    const sums = [new StatusCounts(mail), new StoredBytes(mail)] as const;
    const { accept } = acceptWrites(
      mail,
      new EventWriter(mail),
      sums[0],
      new Positions(mail),
      sums[1],
    );
    const suppressions = new SuppressionWriter(mail, new HarmCounts(mail));
    const ids: Record<string, string[]> = { emails: [], logs: [], suppressions: [] };
    mail.run('BEGIN');
    log.run('BEGIN');
    for (let n = 0; n < COUNT; n += 1) {
      const email = newMessage(account.id, { subject: wordAt(n) });
      accept(batchOf(account.id, { ...email, recipients: [], events: [] }));
      const request = newLogRecord(account.id, { path: `/${wordAt(n)}` });
      logWrites(log).appendLogs([request]);
      const suppression = newSuppression(account.id, `${wordAt(n)}-${n}@b.example`);
      suppressions.add(suppression);
      ids['emails']?.push(email.message.id);
      ids['logs']?.push(request.id);
      ids['suppressions']?.push(suppression.id);
    }
    mail.run('COMMIT');
    log.run('COMMIT');
    // It makes the file of the index, and puts nothing in.
    const indexer = new Indexer(dir, 0);
    const [mailReader, logReader, search] = ['mail.db', 'log.db', SEARCH_FILE].map((name) =>
      openForReading(join(dir, name)),
    ) as [typeof mail, typeof mail, typeof mail];
    const reads = {
      emails: (page: Page) =>
        emailLists(mailReader, search).emails(account.id, { ...page, q: 'edge', status: null }),
      logs: (page: Page) => logLists(logReader, search).logs(account.id, { ...page, ...REQUESTS }),
      suppressions: (page: Page) =>
        suppressionLists(mailReader, search).suppressions(account.id, 'edge', page),
    };
    for (const [name, read] of Object.entries(reads)) {
      const wanted = ids[name]?.filter((_, n) => isWanted(n)).toReversed() ?? [];
      const find = async (after: string | null, before: string | null): Promise<unknown[]> => {
        const { rows, hasMore } = await read({ limit: 100, after, before });
        return [name, hasMore, ...rows.map(({ id }) => id)];
      };
      expect(await find(null, null)).toEqual([name, false, ...wanted]);
      expect(await find(null, wanted.at(-1) ?? null)).toEqual([
        name,
        false,
        ...wanted.slice(0, -1),
      ]);
    }
    for (const thing of [indexer, mailReader, logReader, search, mail, log]) thing.close();
  }));
