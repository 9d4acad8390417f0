/**
 * What an acceptance is answered when it is not written: the record of an earlier request, or a refusal.
 *
 * Promises the same answer in every store: it follows from the batch and from what the store has found in the state that
 * its commit would change. Reads and writes nothing; cannot fail.
 */
import { headersText } from './json-columns.ts';
import type { AcceptBatch, AcceptResult, NewIdempotencyRecord } from './journey.ts';
import type { Body } from './rows.ts';

/** What the record of an earlier request says. */
export type EarlierRequest = Omit<NewIdempotencyRecord, 'key' | 'createdAt'>;

/** What the account has used before the batch. What the batch sets no limit to is not looked at. */
export interface Used {
  /** Bytes of content that it keeps. */
  bytes: number;
  /** Sends on the day of the claim. */
  onDay: number;
  /** Sends in its month. */
  inMonth: number;
}

/** What an earlier request with the same key decides; null when there is none in force. */
export function repetitionOf(
  { idempotency, now, steadyNow = now }: AcceptBatch,
  earlier: EarlierRequest | null,
): AcceptResult | null {
  if (idempotency === null || earlier === null || earlier.expiresAt <= steadyNow) return null;
  const { route, bodyHash, status, response } = earlier;
  const isSame = route === idempotency.route && bodyHash === idempotency.bodyHash;
  return isSame ? { kind: 'replay', status, response } : { kind: 'idempotency_conflict' };
}

/** Most bytes that the account may keep; null when the batch adds none or has no limit: `Used.bytes` is not looked at. */
export function storageLimit({ storageBytes, messages }: AcceptBatch): number | null {
  return messages.length === 0 ? null : (storageBytes ?? null);
}

/** The first limit that the batch would pass: storage, day, month. Null while it fits; exactly full fits. */
export function refusalOf(batch: AcceptBatch, used: Used): AcceptResult | null {
  return storageRefusal(batch, used.bytes) ?? usageRefusal(batch, used);
}

function storageRefusal(batch: AcceptBatch, used: number): AcceptResult | null {
  const limit = storageLimit(batch);
  if (limit === null) return null;
  let bytes = 0;
  for (const { body } of batch.messages) bytes += contentBytes(body, headersText(body.headers));
  if (used + bytes <= limit) return null;
  return { kind: 'over_quota', which: 'storage', limit, used };
}

function usageRefusal({ usage }: AcceptBatch, { onDay, inMonth }: Used): AcceptResult | null {
  if (usage === null || usage.count === 0) return null;
  const { count, dailyLimit, monthlyLimit } = usage;
  if (dailyLimit !== null && onDay + count > dailyLimit) {
    return { kind: 'over_quota', which: 'daily', limit: dailyLimit, used: onDay };
  }
  if (monthlyLimit !== null && inMonth + count > monthlyLimit) {
    return { kind: 'over_quota', which: 'monthly', limit: monthlyLimit, used: inMonth };
  }
  return null;
}

/** What the content of a message counts, in bytes. `headers`: as they are stored. */
export function contentBytes(body: Body, headers: string | null): number {
  let bytes = body.raw?.byteLength ?? 0;
  for (const text of [body.html, body.text, headers]) {
    if (text !== null) bytes += Buffer.byteLength(text);
  }
  for (const { content } of body.attachments) bytes += content.byteLength;
  return bytes;
}
