/** SQL is written by hand: no text of it is made from data, and statements are prepared once. */
import { expect, spyOn, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { Glob } from 'bun';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { openForReading, openForWriting } from '../../../src/store/sqlite/database.ts';
import {
  MAIL_MIGRATIONS,
  SEARCH_MIGRATIONS,
  migrate,
} from '../../../src/store/sqlite/migrations.ts';
import { emailLists } from '../../../src/store/sqlite/read-emails.ts';
import { messageReads } from '../../../src/store/sql/messages.ts';
import { KeptStatements } from '../../../src/store/sqlite/kept-statements.ts';
import { deliveryReads } from '../../../src/store/sqlite/read-messages.ts';
import { dueReads } from '../../../src/store/sqlite/read-queue.ts';
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { OutcomeCounts } from '../../../src/store/sqlite/outcome-counts.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { OutcomeRecount } from '../../../src/store/sqlite/recounts.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { attemptWrites } from '../../../src/store/sqlite/write-attempts.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { SuppressionWriter } from '../../../src/store/sqlite/write-suppressions.ts';
import { batchOf, finishOf, newAccount, newMessage } from '../samples.ts';
import { withDir } from '../test-store.ts';

const STORE = join(import.meta.dir, '../../../src/store');
const KEYWORD = /\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA|VACUUM|WHERE|CREATE|DROP|ALTER)\b/;

/** Template literals with a hole, and with words of SQL in them. */
function builtSql(text: string): string[] {
  const templates = text.match(/`(?:[^`\\]|\\.)*`/gs) ?? [];
  return templates.filter((template) => template.includes('${') && KEYWORD.test(template));
}

/** Every file below `folder` with its text. */
function filesOf(folder: string): { file: string; text: string }[] {
  return Array.from(new Glob('**/*.ts').scanSync(join(STORE, folder))).map((file) => ({
    file: join(folder, file),
    text: readFileSync(join(STORE, folder, file), 'utf8'),
  }));
}

test('no template with a hole holds SQL, but for the texts that PostgreSQL gets', () => {
  const files = filesOf('.').filter(({ file }) => !file.startsWith('postgres/'));
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap(({ file, text }) => builtSql(text).map((sql) => `${file}: ${sql}`));
  expect(found).toEqual([]);
  expect(builtSql('db.run(`DELETE FROM x WHERE id = ${id}`)')).toHaveLength(1);
});

/**
 * What a hole in a text for PostgreSQL may hold: constants in capitals, and these. Each is made of names of tables and
 * columns and of numbers of parameters; none comes from a request, a message or a row. A value is always bound.
 */
const PIECES = [
  // Names of tables, and conditions without values, that stand as literals in the same file.
  'from',
  'is',
  'name',
  'by',
  'select',
  'only',
  'idle',
  'ofRecipient',
  'ofEndpoints',
  'conflict',
  "where.replace('$2,', '$2::uuid,')",
  // Columns of a table's descriptor, and the numbered parameters for them.
  'columns',
  'of.name',
  'insert.text',
  'values.text',
  'fieldsOf(of, of.name)',
  "fieldsOf(CALL_ATTEMPTS, 'call_attempts')",
  "fieldsOf(SUPPRESSIONS, 'suppressions')",
  "[...columns, ...cut].join(', ')",
  'all',
  "fields.map(columnOf).join(', ')",
  "sets.join(', ')",
  "sums.join(', ')",
  'baseAt',
  "values.join(', ')",
  "same.join(' AND ')",
  "texts.join(', ')",
];

test('what fills a text for PostgreSQL is known piece by piece', () => {
  const holes = (sql: string): string[] =>
    Array.from(sql.matchAll(/\$\{([^}]*)\}/g), ([, hole]) => hole ?? '');
  const found = new Set(
    filesOf('postgres').flatMap(({ text }) => builtSql(text).flatMap((sql) => holes(sql))),
  );
  const others = Array.from(found).filter((hole) => !/^[A-Z_]+$/.test(hole));
  expect(others.toSorted()).toEqual(PIECES.toSorted());
});

test('no statement is prepared after the start, but a read by its text when it is first asked for', () =>
  withDir(async (dir) => {
    const mail = openForWriting(join(dir, 'mail.db'), 'normal');
    const search = openForWriting(join(dir, 'search.db'), 'normal');
    migrate(mail, MAIL_MIGRATIONS, 0);
    migrate(search, SEARCH_MIGRATIONS, 0);
    const counts = new StatusCounts(mail);
    const events = new EventWriter(mail);
    const { accept } = acceptWrites(
      mail,
      events,
      counts,
      new Positions(mail),
      new StoredBytes(mail),
    );
    const outcomes = new OutcomeCounts(mail);
    const recount = new OutcomeRecount(mail, outcomes);
    const harm = new HarmCounts(mail);
    const suppressions = new SuppressionWriter(mail, harm);
    const { begin, finish } = attemptWrites(mail, events, suppressions, counts, recount);
    const account = newAccount('default');
    accountWrites(mail).createAccount(account);
    const reader = openForReading(join(dir, 'mail.db'));
    const reads = { ...deliveryReads(reader), ...dueReads(reader) };
    const byText = messageReads(new KeptStatements(reader));
    const none = newMessage(account.id).message.id;
    for (const read of [byText.message(account.id, none), byText.recipients(none)]) await read;
    const lists = emailLists(reader, openForReading(join(dir, 'search.db')));

    const prepare = spyOn(Database.prototype, 'prepare');
    try {
      for (let round = 0; round < 20; round += 1) {
        const message = newMessage(account.id);
        const [recipient] = message.recipients;
        if (recipient === undefined) throw new Error('no recipient');
        accept(batchOf(account.id, message));
        begin([{ recipientId: recipient.id, owner: 'me', leaseUntil: 9, nextAttemptAt: 9 }], 0);
        finish(finishOf(message, recipient));
        for (const sum of [counts, outcomes]) {
          sum.keep();
          sum.flush();
        }
        await reads.messageForDelivery(message.message.id);
        await byText.message(account.id, message.message.id);
        await byText.recipients(message.message.id);
        await reads.dueRows({ owner: 'me', now: 1, limit: 10, after: null });
        const page = { limit: 10, after: null, before: null, status: null };
        await lists.emails(account.id, { ...page, q: null });
        await lists.emails(account.id, { ...page, q: `order ${round}` });
      }
      expect(prepare).not.toHaveBeenCalled();
    } finally {
      prepare.mockRestore();
    }
    mail.close();
  }));
