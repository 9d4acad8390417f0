/** The verbs of the writer over files in memory, without its thread: a test calls one step and reads what it left. */
import { Database } from 'bun:sqlite';

import { HarmCounts } from '../../../src/store/sqlite/harm-counts.ts';
import { MessageSeqs } from '../../../src/store/sqlite/message-seqs.ts';
import { LOG_MIGRATIONS, MAIL_MIGRATIONS, migrate } from '../../../src/store/sqlite/migrations.ts';
import { OutcomeCounts } from '../../../src/store/sqlite/outcome-counts.ts';
import { Positions } from '../../../src/store/sqlite/positions.ts';
import { OutcomeRecount } from '../../../src/store/sqlite/recounts.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import { StoredBytes } from '../../../src/store/sqlite/stored-bytes.ts';
import { acceptWrites } from '../../../src/store/sqlite/write-accept.ts';
import { accountDeletionWrites } from '../../../src/store/sqlite/write-account-deletion.ts';
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

export type WriterAtHand = ReturnType<typeof writerAtHand>;

/** New files without a row; whoever makes them closes them. */
export function writerAtHand() {
  const mail = new Database(':memory:', { strict: true });
  const log = new Database(':memory:', { strict: true });
  mail.run('PRAGMA foreign_keys = ON');
  migrate(mail, MAIL_MIGRATIONS, 0);
  migrate(log, LOG_MIGRATIONS, 0);
  const counts = new StatusCounts(mail);
  const stored = new StoredBytes(mail);
  const recount = new OutcomeRecount(mail, new OutcomeCounts(mail));
  const events = new EventWriter(mail);
  const seqs = new MessageSeqs(mail);
  const suppressions = new SuppressionWriter(mail, new HarmCounts(mail));
  return {
    mail,
    log,
    events,
    stored,
    ...accountWrites(mail),
    ...acceptWrites(mail, events, counts, new Positions(mail), stored, seqs),
    ...attemptWrites(mail, events, suppressions, counts, recount),
    ...leaseWrites(mail),
    ...domainWrites(mail),
    ...endpointWrites(mail, events),
    ...callWrites(mail, events),
    ...suppressionWrites(suppressions),
    ...retentionWrites(mail, stored),
    ...erasureWrites(mail, stored),
    ...accountDeletionWrites({ db: mail, events, stored, seqs }),
    ...logWrites(log),
    /** The first column of the rows. */
    column: (sql: string, ...values: (string | number)[]): unknown[] =>
      mail
        .query(sql)
        .values(...values)
        .map(([value]) => value),
    close() {
      mail.close();
      log.close();
    },
  };
}
