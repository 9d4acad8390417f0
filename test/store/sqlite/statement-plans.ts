/**
 * Every statement that the store on SQLite prepares, with the way SQLite finds its rows, and the checksums of the schema
 * that it stands on, as text: statements.txt.
 *
 * A statement that walks a whole table shows as SCAN, one that sorts as TEMP B-TREE: both take as long as the data are
 * large. The plans are those of empty files, as those of a new installation are.
 */
import { Database } from 'bun:sqlite';
import type { SQLQueryBindings, Statement } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

import { accountReads } from '../../../src/store/sql/accounts.ts';
import { dkimKeyReads, domainReads } from '../../../src/store/sql/domains.ts';
import { messageReads } from '../../../src/store/sql/messages.ts';
import { operatorReads } from '../../../src/store/sql/people.ts';
import type { SqlReader } from '../../../src/store/sql/reader.ts';
import { logReads } from '../../../src/store/sql/request-logs.ts';
import { settingReads } from '../../../src/store/sql/settings.ts';
import { suppressionReads } from '../../../src/store/sql/suppressions.ts';
import { callReads, endpointReads, messageCallReads } from '../../../src/store/sql/webhooks.ts';
import { dkimKeyWrites } from '../../../src/store/sqlite/dkim-keys.ts';
import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { withKeptPlan } from '../../../src/store/sqlite/kept-plans.ts';
import { longReads } from '../../../src/store/sqlite/long-reads.ts';
import { MessageSeqs } from '../../../src/store/sqlite/message-seqs.ts';
import {
  LOG_MIGRATIONS,
  MAIL_MIGRATIONS,
  SEARCH_MIGRATIONS,
  migrate,
} from '../../../src/store/sqlite/migrations.ts';
import type { Migration } from '../../../src/store/sqlite/migrations.ts';
import { OutcomeCounts } from '../../../src/store/sqlite/outcome-counts.ts';
import { peopleWrites } from '../../../src/store/sqlite/people.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { contentReads } from '../../../src/store/sqlite/read-messages.ts';
import { dueReads } from '../../../src/store/sqlite/read-queue.ts';
import { dueCallReads } from '../../../src/store/sqlite/read-webhooks.ts';
import { OutcomeRecount } from '../../../src/store/sqlite/recounts.ts';
import { SearchWriter } from '../../../src/store/sqlite/search-index.ts';
import { SEARCH_SOURCES } from '../../../src/store/sqlite/search-sources.ts';
import { secretWrites } from '../../../src/store/sqlite/secrets.ts';
import { settingWrites } from '../../../src/store/sqlite/settings.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { accountDeletionWrites } from '../../../src/store/sqlite/write-account-deletion.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountWrites } from '../../../src/store/sqlite/write-accounts.ts';
import { attemptWrites } from '../../../src/store/sqlite/write-attempts.ts';
import { callWrites } from '../../../src/store/sqlite/write-calls.ts';
import { domainWrites } from '../../../src/store/sqlite/write-domains.ts';
import { endpointWrites } from '../../../src/store/sqlite/write-endpoints.ts';
import { erasureWrites } from '../../../src/store/sqlite/write-erasure.ts';
import { EventWriter } from '../../../src/store/sqlite/write-events.ts';
import { leaseWrites } from '../../../src/store/sqlite/write-leases.ts';
import { logWrites } from '../../../src/store/sqlite/write-logs.ts';
import { retentionWrites } from '../../../src/store/sqlite/write-retention.ts';
import {
  SuppressionWriter,
  suppressionWrites,
} from '../../../src/store/sqlite/write-suppressions.ts';

export const STATEMENTS_FILE = join(import.meta.dir, 'statements.txt');

/** A file in memory that notes which statements are prepared on it. */
class Noting extends Database {
  readonly texts: string[] = [];

  constructor() {
    super(':memory:', { strict: true });
  }

  override prepare<Row, Params extends SQLQueryBindings | SQLQueryBindings[]>(
    sql: string,
    params?: Params,
    // oxlint-disable-next-line typescript/no-explicit-any -- word for word what is overridden
  ): Statement<Row, Params extends any[] ? Params : [Params]> {
    this.texts.push(sql);
    return super.prepare<Row, Params>(sql, params);
  }
}

const checksumOf = (sql: string): string => createHash('sha256').update(sql).digest('hex');

interface Files {
  mail: Noting;
  logs: Noting;
  search: Noting;
}

/** Everything that writes. */
function writes({ mail, logs, search }: Files): void {
  const counts = new StatusCounts(mail);
  const stored = new StoredBytes(mail);
  const outcomes = new OutcomeCounts(mail);
  const recount = new OutcomeRecount(mail, outcomes);
  const events = new EventWriter(mail);
  const seqs = new MessageSeqs(mail);
  const harm = new HarmCounts(mail);
  const suppressions = new SuppressionWriter(mail, harm);
  const { setSetting } = settingWrites(mail);
  acceptWrites(mail, events, counts, new Positions(mail), stored, seqs);
  attemptWrites(mail, events, suppressions, counts, recount);
  accountWrites(mail);
  domainWrites(mail);
  dkimKeyWrites(mail);
  leaseWrites(mail);
  endpointWrites(mail, events);
  callWrites(mail, events);
  suppressionWrites(suppressions);
  retentionWrites(mail, stored);
  erasureWrites(mail, stored);
  accountDeletionWrites({ db: mail, events, stored, seqs });
  peopleWrites(mail);
  secretWrites(mail, setSetting);
  logWrites(logs);
  for (const { source, file, ...read } of SEARCH_SOURCES) {
    const from = file === 'mail' ? mail : logs;
    read.rowsAfter(from, () => '');
    from.texts.push(read.selectId, read.selectLast, read.selectFirst ?? '');
    void new SearchWriter(search, source);
  }
}

/** Everything that reads; the verbs that any engine has are asked, since they prepare what they are asked for. */
async function reads({ mail, logs, search }: Files): Promise<void> {
  longReads({ mail, logs, search });
  contentReads(mail);
  dueReads(mail);
  dueCallReads(mail);
  const verbs = [
    accountReads,
    domainReads,
    dkimKeyReads,
    messageReads,
    operatorReads,
    settingReads,
    suppressionReads,
    callReads,
    endpointReads,
    messageCallReads,
  ];
  for (const verb of verbs) await askAll(verb(noting(mail)));
  await askAll(logReads(noting(logs)));
}

/** Notes what is asked, and answers with a row that names another, so that what follows from it is asked too. */
function noting(db: Noting): SqlReader {
  const row = { callId: 'id', accountId: 'id' };
  return {
    async all<Row>(text: string) {
      db.texts.push(text);
      return [row] as Row[];
    },
    async one<Row>(text: string) {
      db.texts.push(text);
      return row as Row;
    },
  };
}

async function askAll(verbs: object): Promise<void> {
  for (const verb of Object.values(verbs) as ((...args: unknown[]) => Promise<unknown>)[]) {
    // What a row of nothing becomes is nobody's business here: the statements are noted by then.
    await verb('id', ['id'], 'id').catch(() => undefined);
  }
}

/** What SQLite goes through for a statement, a line each. */
function planOf(db: Database, text: string): string[] {
  return db
    .query<{ detail: string }, []>('EXPLAIN QUERY PLAN ' + withKeptPlan(text))
    .all()
    .map(({ detail }) => '  ' + detail);
}

function textOf(name: string, db: Noting, history: readonly Migration[]): string[] {
  const texts = [...new Set(db.texts)].filter((text) =>
    /^(WITH|SELECT|INSERT|UPDATE|DELETE)/.test(text),
  );
  return [
    `== ${name}: steps of the schema`,
    ...history.map((step) => `${step.version} ${step.name} ${checksumOf(step.sql)}`),
    `== ${name}: statements`,
    ...texts.toSorted().flatMap((text) => [text, ...planOf(db, text)]),
  ];
}

/** The text of statements.txt. */
export async function statementText(): Promise<string> {
  const files = { mail: new Noting(), logs: new Noting(), search: new Noting() };
  migrate(files.mail, MAIL_MIGRATIONS, 0);
  migrate(files.logs, LOG_MIGRATIONS, 0);
  migrate(files.search, SEARCH_MIGRATIONS, 0);
  writes(files);
  await reads(files);
  const lines = [
    ...textOf('mail', files.mail, MAIL_MIGRATIONS),
    ...textOf('log', files.logs, LOG_MIGRATIONS),
    ...textOf('search', files.search, SEARCH_MIGRATIONS),
  ];
  for (const file of Object.values(files)) file.close();
  return lines.join('\n') + '\n';
}
