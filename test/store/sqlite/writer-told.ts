/** What the writer is told and says, in short, and what stands in its files. */
import { spyOn } from 'bun:test';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import type { NewMessage } from '../../../src/store/journey.ts';
import type { Suppression } from '../../../src/store/rows.ts';
import { StatusCounts } from '../../../src/store/sqlite/status-counts.ts';
import type { Arrivals } from '../../rig/arrivals.ts';
import { finishOf, newEvent, newLogRecord, newSuppression, recipientOf } from '../samples.ts';

export type Call = readonly [name: string, ...args: unknown[]];
export const setting = (name: string, value: string | null = 'on'): Call => [
  'setSetting',
  name,
  value,
];
export const logRow = (): Call => ['appendLogs', [newLogRecord('a')]];

/** A suppression at the Unix epoch whose source is the message. */
export const harmOf = (
  { message }: NewMessage,
  accountId: string,
  email: string,
  reason: Suppression['reason'],
): Suppression => newSuppression(accountId, email, { reason, source: message.id, createdAt: 0 });

/** The message bounces for good at the Unix epoch; its suppression is of an account, which there may not be. */
export function bounced(message: NewMessage, accountId: string): Call {
  const recipient = recipientOf(message);
  const event = { ...newEvent(message.message, recipient.id, 'email.bounced'), occurredAt: 0 };
  const suppress = harmOf(message, accountId, `${recipient.id}@x.example`, 'hard_bounce');
  const end = { status: 'bounced', events: [event], suppress } as const;
  return ['finish', { ...finishOf(message, recipient), ...end }];
}

export interface Done {
  kind: string;
  commitMs: number | null;
  results: { ticket: number; value?: unknown; error?: { name: string; message: string } }[];
}

/** Whether a commit was timed, and its results: a failure by its name and text. */
function told(message: unknown): unknown {
  const { kind, commitMs, results } = message as Done;
  if (kind !== 'done') return message;
  const short = results.map(({ ticket: of, value, error }) =>
    error === undefined ? [of, value] : [of, error.name, error.message],
  );
  return [commitMs === null ? 'log' : 'mail', ...short];
}

/** What the writer has said, once so many writes have their results. */
export async function resultsIn(said: Arrivals<unknown>, count: number): Promise<unknown[]> {
  const answered = (): number =>
    said.items.flatMap((message) => (message as Partial<Done>).results ?? []).length;
  await said.first(() => answered() >= count);
  return said.items.map(told);
}

/** Every row of a table in one of the files of `dir`. */
export function rowsIn(dir: string, sql: string, file = 'mail.db'): unknown[] {
  const db = new Database(join(dir, file), { readonly: true });
  const rows = db.query(sql).all();
  db.close();
  return rows;
}

/** Changes a file that nobody has open. */
export function runIn(dir: string, sql: string): void {
  const db = new Database(join(dir, 'mail.db'));
  db.run(sql);
  db.close();
}

/** Commits of the mail file fail with this, which no item has caused. */
export const flushFailing = (error: Error) =>
  spyOn(StatusCounts.prototype, 'flush').mockImplementation(() => {
    throw error;
  });

/** How durable each file in `dir` is set to be, as it is opened. */
export function durabilitiesIn(dir: string) {
  const settings: string[] = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { run } = Database.prototype;
  const spy = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    sql,
    ...rest
  ) {
    if (sql.includes('synchronous')) settings.push(`${this.filename.slice(dir.length + 1)} ${sql}`);
    return run.call(this, sql, ...rest);
  });
  return { settings, spy };
}
