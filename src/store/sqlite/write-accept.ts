/**
 * Accepting: idempotency, quota, messages, recipients and events as one item of one commit.
 *
 * Promises that the checks (`accept-answer.ts`) and the rows they allow cannot be split: parallel requests can neither
 * pass a quota nor use one idempotency key twice. Never decides whether a message is fit; the flow has done that before.
 */
import type { Database } from 'bun:sqlite';
import { refusalOf, repetitionOf, storageLimit } from '../accept-answer.ts';
import type { EarlierRequest } from '../accept-answer.ts';
import type { AcceptBatch, NewIdempotencyRecord, UsageClaim } from '../journey.ts';
import type { CallRef } from '../webhooks.ts';
import type { Positions } from './positions.ts';
import type { StatusCounts } from './status-counts.ts';
import type { StoredBytes } from './stored-bytes.ts';
import { MessageSeqs } from './message-seqs.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';
import { MessageWriter } from './write-message.ts';

/** The verb over the writer's connection; statements are prepared once, here. */
export function acceptWrites(
  db: Database,
  events: EventWriter,
  counts: StatusCounts,
  positions: Positions,
  stored: StoredBytes,
  seqs: MessageSeqs = new MessageSeqs(db),
): Pick<Writes, 'accept'> {
  const quota = new Quota(db);
  const records = new IdempotencyRecords(db);
  const messages = new MessageWriter(db, { counts, positions, stored, seqs });
  return {
    accept(batch) {
      const { accountId } = batch;
      const claim = batch.usage !== null && batch.usage.count > 0 ? batch.usage : null;
      const repetition = repetitionOf(batch, records.earlier(batch));
      if (repetition !== null) return repetition;
      const refusal = refusalOf(batch, {
        bytes: storageLimit(batch) === null ? 0 : stored.of(accountId),
        onDay: quota.usedOnDay(accountId, claim),
        inMonth: quota.usedInMonth(accountId, claim),
      });
      if (refusal !== null) return refusal;
      if (claim !== null) quota.spend(accountId, claim);
      const calls: CallRef[] = [];
      for (const message of batch.messages) {
        messages.add(message);
        calls.push(...events.record(accountId, message.events, batch.now, batch.steadyNow));
      }
      if (batch.idempotency !== null) records.add(accountId, batch.idempotency);
      return { kind: 'accepted', calls };
    },
  };
}

/** Usage by account and UTC day. What a claim sets no limit to is not read. */
class Quota {
  readonly #usedOnDay;
  readonly #usedInMonth;
  readonly #spend;

  constructor(db: Database) {
    this.#usedOnDay = db.prepare<{ used: number }, [string, string]>(
      'SELECT count AS used FROM usage_days WHERE account_id = ? AND day = ?',
    );
    this.#usedInMonth = db.prepare<{ used: number }, [string, string, string]>(
      'SELECT COALESCE(sum(count), 0) AS used FROM usage_days' +
        ' WHERE account_id = ? AND day BETWEEN ? AND ?',
    );
    this.#spend = db.prepare(
      'INSERT INTO usage_days (account_id, day, count) VALUES (?, ?, ?)' +
        ' ON CONFLICT DO UPDATE SET count = count + excluded.count',
    );
  }

  usedOnDay(accountId: string, claim: UsageClaim | null): number {
    if (claim === null || claim.dailyLimit === null) return 0;
    return this.#usedOnDay.get(accountId, claim.day)?.used ?? 0;
  }

  usedInMonth(accountId: string, claim: UsageClaim | null): number {
    if (claim === null || claim.monthlyLimit === null) return 0;
    const month = claim.day.slice(0, 7);
    return this.#usedInMonth.get(accountId, `${month}-01`, `${month}-31`)?.used ?? 0;
  }

  spend(accountId: string, { day, count }: UsageClaim): void {
    this.#spend.run(accountId, day, count);
  }
}

/** The records that make a repeated request safe. */
class IdempotencyRecords {
  readonly #get;
  readonly #add;

  constructor(db: Database) {
    this.#get = db.prepare<EarlierRequest, [string, string]>(
      'SELECT route, body_hash AS bodyHash, status, response, expires_at AS expiresAt' +
        ' FROM idempotency WHERE account_id = ? AND key = ?',
    );
    this.#add = db.prepare(
      'INSERT OR REPLACE INTO idempotency (account_id, key, route, body_hash, status, response,' +
        ' created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
  }

  /** The record of an earlier request with the batch's key; null: none. */
  earlier({ accountId, idempotency }: AcceptBatch): EarlierRequest | null {
    return idempotency === null ? null : this.#get.get(accountId, idempotency.key);
  }

  add(accountId: string, record: NewIdempotencyRecord): void {
    this.#add.run(
      accountId,
      record.key,
      record.route,
      record.bodyHash,
      record.status,
      record.response,
      record.createdAt,
      record.expiresAt,
    );
  }
}
