/**
 * Accepting: idempotency, quota, messages, recipients and events as one item of one commit.
 *
 * Promises that the checks and the rows they allow can not be split: parallel requests can neither pass
 * a quota nor use one idempotency key twice. Never judges a message; that has happened before.
 */
import type { Database } from 'bun:sqlite';
import { listText } from './columns.ts';
import type { Places } from './places.ts';
import type { StatusCounts } from './status-counts.ts';
import type { AcceptBatch, AcceptResult, CallRef, NewMessage, UsageClaim } from './store.ts';
import type { Writes } from './verbs.ts';
import type { EventWriter } from './write-events.ts';

interface Stored {
  route: string;
  bodyHash: string;
  status: number;
  response: string;
  expiresAt: number;
}

/** The verb over the writer's connection; statements are prepared once, here. */
export function acceptWrites(
  db: Database,
  events: EventWriter,
  counts: StatusCounts,
  places: Places,
): Pick<Writes, 'accept'> {
  const record = db.prepare<Stored, [string, string]>(
    'SELECT route, body_hash AS bodyHash, status, response, expires_at AS expiresAt' +
      ' FROM idempotency WHERE account_id = ? AND key = ?',
  );
  const addRecord = db.prepare(
    'INSERT OR REPLACE INTO idempotency (account_id, key, route, body_hash, status, response,' +
      ' created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const usedOnDay = db.prepare<{ used: number }, [string, string]>(
    'SELECT count AS used FROM usage_days WHERE account_id = ? AND day = ?',
  );
  const usedInMonth = db.prepare<{ used: number }, [string, string, string]>(
    'SELECT COALESCE(sum(count), 0) AS used FROM usage_days' +
      ' WHERE account_id = ? AND day BETWEEN ? AND ?',
  );
  const spend = db.prepare(
    'INSERT INTO usage_days (account_id, day, count) VALUES (?, ?, ?)' +
      ' ON CONFLICT DO UPDATE SET count = count + excluded.count',
  );
  const addMessage = db.prepare(
    'INSERT INTO messages (id, account_id, place, status, created_at, updated_at, key_id, log_id, domain_id,' +
      ' is_sandbox, message_id, sender, to_list, cc_list, bcc_list, reply_to_list, subject, tags,' +
      ' failure_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const addBody = db.prepare(
    'INSERT INTO bodies (message_seq, html, text, headers, raw) VALUES (?, ?, ?, ?, ?)',
  );
  const addAttachment = db.prepare(
    'INSERT INTO attachments (message_seq, place, filename, content_type, content_id, content)' +
      ' VALUES (?, ?, ?, ?, ?, ?)',
  );
  const addRecipient = db.prepare(
    'INSERT INTO recipients (id, message_id, account_id, address, domain, kind, status, attempts,' +
      ' next_attempt_at, expires_at, last_reason, delayed_at, updated_at)' +
      ' VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );

  /** What the account may not spend, or null when it may. */
  const refusal = (accountId: string, claim: UsageClaim): AcceptResult | null => {
    if (claim.dailyLimit !== null) {
      const used = usedOnDay.get(accountId, claim.day)?.used ?? 0;
      if (used + claim.count > claim.dailyLimit) {
        return { kind: 'over_quota', which: 'daily', limit: claim.dailyLimit, used };
      }
    }
    if (claim.monthlyLimit !== null) {
      const month = claim.day.slice(0, 7);
      const used = usedInMonth.get(accountId, `${month}-01`, `${month}-31`)?.used ?? 0;
      if (used + claim.count > claim.monthlyLimit) {
        return { kind: 'over_quota', which: 'monthly', limit: claim.monthlyLimit, used };
      }
    }
    return null;
  };

  const replay = (batch: AcceptBatch): AcceptResult | null => {
    if (batch.idempotency === null) return null;
    const stored = record.get(batch.accountId, batch.idempotency.key);
    if (stored === null || stored.expiresAt <= batch.now) return null;
    const isSame =
      stored.route === batch.idempotency.route && stored.bodyHash === batch.idempotency.bodyHash;
    if (!isSame) return { kind: 'idempotency_conflict' };
    return { kind: 'replay', status: stored.status, response: stored.response };
  };

  const insert = ({ message, body, recipients }: NewMessage): void => {
    const { lastInsertRowid: seq } = addMessage.run(
      message.id,
      message.accountId,
      places.next(message.accountId),
      message.status,
      message.createdAt,
      message.updatedAt,
      message.keyId,
      message.logId,
      message.domainId,
      message.isSandbox ? 1 : 0,
      message.messageId,
      message.from,
      listText(message.to),
      listText(message.cc),
      listText(message.bcc),
      listText(message.replyTo),
      message.subject,
      listText(message.tags),
      message.failureReason,
    );
    counts.note(message.accountId, message.createdAt, message.status, 1);
    const headers = body.headers.length === 0 ? null : JSON.stringify(body.headers);
    addBody.run(seq, body.html, body.text, headers, body.raw);
    for (const [place, file] of body.attachments.entries()) {
      addAttachment.run(seq, place, file.filename, file.contentType, file.contentId, file.content);
    }
    for (const recipient of recipients) {
      addRecipient.run(
        recipient.id,
        recipient.messageId,
        recipient.accountId,
        recipient.address,
        recipient.domain,
        recipient.kind,
        recipient.status,
        recipient.attempts,
        recipient.nextAttemptAt,
        recipient.expiresAt,
        recipient.lastReason,
        recipient.delayedAt,
        recipient.updatedAt,
      );
    }
  };

  return {
    accept(batch) {
      const replayed = replay(batch);
      if (replayed !== null) return replayed;
      if (batch.usage !== null && batch.usage.count > 0) {
        const refused = refusal(batch.accountId, batch.usage);
        if (refused !== null) return refused;
        spend.run(batch.accountId, batch.usage.day, batch.usage.count);
      }
      const calls: CallRef[] = [];
      for (const message of batch.messages) {
        insert(message);
        calls.push(...events.record(batch.accountId, message.events, batch.now));
      }
      const idem = batch.idempotency;
      if (idem !== null) {
        addRecord.run(
          batch.accountId,
          idem.key,
          idem.route,
          idem.bodyHash,
          idem.status,
          idem.response,
          idem.createdAt,
          idem.expiresAt,
        );
      }
      return { kind: 'accepted', calls };
    },
  };
}
