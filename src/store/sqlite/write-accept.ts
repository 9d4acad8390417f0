/**
 * Accepting: idempotency, quota, messages, recipients and events as one item of one commit.
 *
 * Promises that the checks and the rows they allow cannot be split: parallel requests can neither pass a quota nor use
 * one idempotency key twice. Never decides whether a message is fit; the flow has done that before.
 */
import type { Database } from 'bun:sqlite';
import type { AcceptBatch, AcceptResult, NewIdempotencyRecord, UsageClaim } from '../journey.ts';
import type { CallRef } from '../webhooks.ts';
import type { Positions } from './positions.ts';
import type { StatusCounts } from './status-counts.ts';
import { MessageSeqs } from './message-seqs.ts';
import { headersText } from '../json-columns.ts';
import { contentBytes, type StoredBytes } from './stored-bytes.ts';
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
      const earlier = records.answerTo(batch);
      if (earlier !== null) return earlier;
      const full = refuseBytes(stored, batch);
      if (full !== null) return full;
      if (batch.usage !== null && batch.usage.count > 0) {
        const refused = quota.spend(batch.accountId, batch.usage);
        if (refused !== null) return refused;
      }
      const calls: CallRef[] = [];
      for (const message of batch.messages) {
        messages.add(message);
        calls.push(...events.record(batch.accountId, message.events, batch.now, batch.steadyNow));
      }
      if (batch.idempotency !== null) records.add(batch.accountId, batch.idempotency);
      return { kind: 'accepted', calls };
    },
  };
}

/** The refusal of content beyond what the account may keep; null while it fits. */
function refuseBytes(
  stored: StoredBytes,
  { accountId, storageBytes: limit, messages }: AcceptBatch,
): AcceptResult | null {
  if (limit === undefined || limit === null || messages.length === 0) return null;
  const used = stored.of(accountId);
  let bytes = 0;
  for (const { body } of messages) bytes += contentBytes(body, headersText(body.headers));
  if (used + bytes <= limit) return null;
  return { kind: 'over_quota', which: 'storage', limit, used };
}

/** Usage by account and UTC day, and the limits on it. */
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

  /** Spends the claim, or answers what the account has no quota left for. */
  spend(accountId: string, claim: UsageClaim): AcceptResult | null {
    const { count, day, dailyLimit, monthlyLimit } = claim;
    if (dailyLimit !== null) {
      const used = this.#usedOnDay.get(accountId, day)?.used ?? 0;
      if (used + count > dailyLimit) {
        return { kind: 'over_quota', which: 'daily', limit: dailyLimit, used };
      }
    }
    if (monthlyLimit !== null) {
      const month = day.slice(0, 7);
      const used = this.#usedInMonth.get(accountId, `${month}-01`, `${month}-31`)?.used ?? 0;
      if (used + count > monthlyLimit) {
        return { kind: 'over_quota', which: 'monthly', limit: monthlyLimit, used };
      }
    }
    this.#spend.run(accountId, day, count);
    return null;
  }
}

type StoredRecord = Omit<NewIdempotencyRecord, 'key' | 'createdAt'>;

/** The records that make a repeated request safe. */
class IdempotencyRecords {
  readonly #get;
  readonly #add;

  constructor(db: Database) {
    this.#get = db.prepare<StoredRecord, [string, string]>(
      'SELECT route, body_hash AS bodyHash, status, response, expires_at AS expiresAt' +
        ' FROM idempotency WHERE account_id = ? AND key = ?',
    );
    this.#add = db.prepare(
      'INSERT OR REPLACE INTO idempotency (account_id, key, route, body_hash, status, response,' +
        ' created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
  }

  /** What an earlier request with the same key decides; null when there is none in force. */
  answerTo({ accountId, idempotency, now, steadyNow = now }: AcceptBatch): AcceptResult | null {
    if (idempotency === null) return null;
    const stored = this.#get.get(accountId, idempotency.key);
    if (stored === null || stored.expiresAt <= steadyNow) return null;
    const isSame = stored.route === idempotency.route && stored.bodyHash === idempotency.bodyHash;
    if (!isSame) return { kind: 'idempotency_conflict' };
    return { kind: 'replay', status: stored.status, response: stored.response };
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
