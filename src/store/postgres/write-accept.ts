/**
 * Accepting: the batches of a group, checked and written as one transaction.
 *
 * Promises that the checks (`accept-answer.ts`) and the rows they allow cannot be split: what they look at is locked until
 * the commit, an account with a limit by its row, an idempotency key by a lock of its own, so that requests on several
 * nodes can neither pass a quota nor use one key twice. What has neither is written without waiting for anybody. Never
 * decides whether a message is fit; the flow has done that before.
 */
import { contentBytes, refusalOf, repetitionOf, storageLimit } from '../accept-answer.ts';
import type { EarlierRequest, Used } from '../accept-answer.ts';
import { ownerAtAccept } from '../attempt-choice.ts';
import { headersText } from '../json-columns.ts';
import type { AcceptBatch, AcceptResult, NewMessage } from '../journey.ts';
import type { OutdatedError } from '../revision.ts';
import type { CallRef } from '../webhooks.ts';
import type { Access, Session, Transaction } from './database.ts';
import { EventRows, subscribersOf } from './events.ts';
import { writeStanding } from './revision.ts';
import { bytesOf, messageRow } from './shapes.ts';
import { insertInto, insertOne, part, together } from './statement.ts';
import type { Part, RowOf, Table } from './statement.ts';
import type { Value } from './values.ts';
import { Sums } from './sums.ts';
import { ATTACHMENTS, BODIES, IDEMPOTENCY, NEW_MESSAGES, QUEUE, RECIPIENTS } from './tables.ts';

/** Writes a group of batches; one answer for each. */
export function acceptAll(
  database: Access,
  all: readonly AcceptBatch[],
): Promise<(AcceptResult | OutdatedError)[]> {
  return writeStanding(database, all, async (session, batches) => {
    const [records, used, subscribers] = await Promise.all([
      recordsOf(session, batches),
      usedBy(session, batches),
      subscribersOf(session, batches.flatMap(eventsOf)),
      lockAccounts(session, batches),
    ]);
    const acceptance = new Acceptance(
      records,
      used,
      new EventRows(subscribers),
      new Sums(session, 'accept'),
    );
    const answers = batches.map((batch) => acceptance.answer(batch));
    const parts = acceptance.parts();
    if (parts.length > 0) session.send(together(parts));
    for (const long of acceptance.longParts()) session.send(long);
    await acceptance.copyLarge(session);
    return answers;
  });
}

/** The rows of a recipient as text, in the message, the queue and the events: to write them keeps the event loop. */
const RECIPIENT_BYTES = 1_024;

/** What the batch counts for in a group: its content, and what has to be written for each recipient. */
export function groupBytesOf({ messages }: AcceptBatch): number {
  return messages.reduce(
    (sum, { body, recipients }) =>
      sum + contentBytes(body, headersText(body.headers)) + recipients.length * RECIPIENT_BYTES,
    0,
  );
}

const eventsOf = ({ messages }: AcceptBatch) => messages.flatMap(({ events }) => events);
const keyOf = (accountId: string, key: string): string => `${accountId} ${key}`;

/** Keeps the accounts from being deleted until the commit. Fails when one of them is gone. */
async function lockAccounts(session: Session, batches: readonly AcceptBatch[]): Promise<void> {
  const ids = [...new Set(batches.map(({ accountId }) => accountId))];
  const locked = await session.all(
    part('SELECT id FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR KEY SHARE', ids),
  );
  if (locked.length < ids.length) throw new Error('an account was deleted before the acceptance');
}

/** The records of earlier requests, and a lock on each key. */
async function recordsOf(
  session: Session,
  batches: readonly AcceptBatch[],
): Promise<Map<string, EarlierRequest>> {
  const asked = new Map<string, { accountId: string; key: string }>();
  for (const { accountId, idempotency } of batches) {
    if (idempotency !== null)
      asked.set(keyOf(accountId, idempotency.key), { accountId, key: idempotency.key });
  }
  if (asked.size === 0) return new Map();
  const sorted = [...asked.keys()].toSorted();
  const keys = [...asked.values()];
  const [, rows] = await Promise.all([
    session.all(
      part(
        'SELECT count(pg_advisory_xact_lock(hashtextextended(k, 0))) FROM unnest($1::text[]) AS k',
        sorted,
      ),
    ),
    session.all<EarlierRequest & { accountId: string; key: string }>(
      part(
        'SELECT account_id AS "accountId", key, route, body_hash AS "bodyHash", status, response,' +
          ' expires_at AS "expiresAt" FROM idempotency WHERE (account_id, key) IN' +
          ' (SELECT * FROM unnest($1::uuid[], $2::text[]))',
        keys.map(({ accountId }) => accountId),
        keys.map(({ key }) => key),
      ),
    ),
  ]);
  return new Map(rows.map((row) => [keyOf(row.accountId, row.key), row]));
}

/** What the accounts with limits have used: bytes, and sends by day. */
class Usage {
  readonly #bytes = new Map<string, number>();
  readonly #days = new Map<string, Map<string, number>>();

  addBytes(accountId: string, bytes: number): void {
    this.#bytes.set(accountId, (this.#bytes.get(accountId) ?? 0) + bytes);
  }

  addSends(accountId: string, day: string, count: number): void {
    const days = this.#days.get(accountId) ?? new Map<string, number>();
    this.#days.set(accountId, days.set(day, (days.get(day) ?? 0) + count));
  }

  of({ accountId, usage }: AcceptBatch): Used {
    const day = usage?.day ?? '';
    let inMonth = 0;
    for (const [each, count] of this.#days.get(accountId) ?? []) {
      if (each.slice(0, 7) === day.slice(0, 7)) inMonth += count;
    }
    const onDay = this.#days.get(accountId)?.get(day) ?? 0;
    return { bytes: this.#bytes.get(accountId) ?? 0, onDay, inMonth };
  }
}

const hasLimit = (batch: AcceptBatch): boolean =>
  storageLimit(batch) !== null ||
  (batch.usage !== null && (batch.usage.dailyLimit !== null || batch.usage.monthlyLimit !== null));

/** What the accounts with limits have used, and a lock on each until the commit. */
async function usedBy(session: Session, batches: readonly AcceptBatch[]): Promise<Usage> {
  const usage = new Usage();
  const limited = batches.filter(hasLimit);
  if (limited.length === 0) return usage;
  const accountIds = [...new Set(limited.map(({ accountId }) => accountId))];
  const months = [...new Set(limited.flatMap(({ usage: claim }) => claim?.day.slice(0, 7) ?? []))];
  const [, stored, sends] = await Promise.all([
    session.all(
      part(
        'SELECT id FROM accounts WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE',
        accountIds,
      ),
    ),
    session.all<{ accountId: string; bytes: number }>(
      part(
        'SELECT account_id AS "accountId", sum(bytes) AS bytes FROM stored_bytes' +
          ' WHERE account_id = ANY($1::uuid[]) GROUP BY account_id',
        accountIds,
      ),
    ),
    session.all<{ accountId: string; day: string; count: number }>(
      part(
        'SELECT account_id AS "accountId", day, sum(count) AS count FROM usage_days' +
          ' WHERE account_id = ANY($1::uuid[]) AND left(day, 7) = ANY($2::text[]) GROUP BY account_id, day',
        accountIds,
        months,
      ),
    ),
  ]);
  for (const { accountId, bytes } of stored) usage.addBytes(accountId, bytes);
  for (const { accountId, day, count } of sends) usage.addSends(accountId, day, count);
  return usage;
}

/** One transaction: the answers, one after the other, and the rows that they are about. */
class Acceptance {
  readonly #records: Map<string, EarlierRequest>;
  readonly #used: Usage;
  readonly #events: EventRows;
  readonly #sums: Sums;
  readonly #messages: RowOf<typeof NEW_MESSAGES>[] = [];
  readonly #bodies: RowOf<typeof BODIES>[] = [];
  readonly #attachments: RowOf<typeof ATTACHMENTS>[] = [];
  /** Texts as they came. */
  readonly #largeBodies: RowOf<typeof BODIES>[] = [];
  readonly #largeFiles: RowOf<typeof ATTACHMENTS>[] = [];
  readonly #recipients: RowOf<typeof RECIPIENTS>[] = [];
  readonly #queue: RowOf<typeof QUEUE>[] = [];
  readonly #idempotency: RowOf<typeof IDEMPOTENCY>[] = [];

  constructor(records: Map<string, EarlierRequest>, used: Usage, events: EventRows, sums: Sums) {
    this.#records = records;
    this.#used = used;
    this.#events = events;
    this.#sums = sums;
  }

  answer(batch: AcceptBatch): AcceptResult {
    const { accountId, usage, idempotency, now, steadyNow } = batch;
    const key = idempotency === null ? null : keyOf(accountId, idempotency.key);
    const earlier = key === null ? null : (this.#records.get(key) ?? null);
    const refused = repetitionOf(batch, earlier) ?? refusalOf(batch, this.#used.of(batch));
    if (refused !== null) return refused;
    if (usage !== null && usage.count > 0) {
      this.#used.addSends(accountId, usage.day, usage.count);
      this.#sums.usage(accountId, usage.day, usage.count);
    }
    const calls: CallRef[] = [];
    for (const message of batch.messages) {
      this.#add(message);
      calls.push(...this.#events.record(accountId, message.events, now, steadyNow));
    }
    if (idempotency !== null && key !== null) {
      // What comes later in the group with this key repeats it.
      this.#records.set(key, idempotency);
      this.#idempotency.push({ accountId, ...idempotency });
    }
    return { kind: 'accepted', calls };
  }

  #add({ message, body, recipients, owner }: NewMessage): void {
    const { id: messageId, accountId } = message;
    this.#messages.push(messageRow(message));
    this.#sums.status(accountId, message.createdAt, message.status, 1);
    const headers = headersText(body.headers);
    const bytes = contentBytes(body, headers);
    this.#sums.stored(accountId, bytes);
    this.#used.addBytes(accountId, bytes);
    const { html, text, raw } = body;
    const content = { messageId, html, text, headers, raw, bytes };
    if (longestIn(content) >= LARGE_BYTES) this.#largeBodies.push(content);
    else this.#bodies.push({ ...content, html: bytesOf(html), text: bytesOf(text) });
    for (const [position, file] of body.attachments.entries()) {
      const isLarge = file.content.byteLength >= LARGE_BYTES;
      (isLarge ? this.#largeFiles : this.#attachments).push({ messageId, position, ...file });
    }
    for (const recipient of recipients) {
      this.#recipients.push({ ...recipient });
      const { id: recipientId, nextAttemptAt, domain, attempts, updatedAt } = recipient;
      if (nextAttemptAt === null) continue;
      const whose = { owner: ownerAtAccept(recipient, owner), leaseUntil: null };
      const waiting = { recipientId, messageId, accountId, domain, nextAttemptAt, attempts };
      this.#queue.push({ ...waiting, ...whose, updatedAt });
    }
  }

  /** What writes large content, behind the rows of the messages. */
  async copyLarge(session: Transaction): Promise<void> {
    if (this.#largeBodies.length > 0) await session.copy(BODIES, this.#largeBodies);
    if (this.#largeFiles.length > 0) await session.copy(ATTACHMENTS, this.#largeFiles);
  }

  /** What writes long content. */
  longParts(): Part[] {
    return [
      ...this.#bodies.filter(isLong).map((row) => insertOne(BODIES, row)),
      ...this.#attachments.filter(isLong).map((row) => insertOne(ATTACHMENTS, row)),
    ];
  }

  /** What writes everything else. */
  parts(): Part[] {
    const parts = [
      ...rows(NEW_MESSAGES, this.#messages),
      ...rows(
        BODIES,
        this.#bodies.filter((row) => !isLong(row)),
      ),
      ...rows(
        ATTACHMENTS,
        this.#attachments.filter((row) => !isLong(row)),
      ),
      ...rows(RECIPIENTS, this.#recipients),
      ...rows(QUEUE, this.#queue),
      ...this.#events.parts(),
      ...this.#sums.parts(),
    ];
    if (this.#idempotency.length > 0)
      parts.push(insertInto(IDEMPOTENCY, this.#idempotency, REPLACE));
    return parts;
  }
}

/** Bytes above which content is a statement of its own. */
const LONG_BYTES = 32 * 1024;
/**
 * Bytes from which on it is copied in pieces. As one value it is laid down in fresh memory as a whole, and a text encoded
 * before: 13 MB stopped the main thread for up to 0.15 s where fresh memory is dear.
 */
const LARGE_BYTES = 256 * 1024;

/** Bytes of the longest value. */
function longestIn(row: Readonly<Record<string, Value>>): number {
  let longest = 0;
  for (const value of Object.values(row)) {
    if (typeof value === 'string') longest = Math.max(longest, Buffer.byteLength(value));
    else if (value instanceof Uint8Array) longest = Math.max(longest, value.byteLength);
  }
  return longest;
}

function isLong(row: Readonly<Record<string, Value>>): boolean {
  return Object.values(row).some(
    (value) => value instanceof Uint8Array && value.byteLength > LONG_BYTES,
  );
}

/** Instead of one that has expired. */
const REPLACE =
  'ON CONFLICT (account_id, key) DO UPDATE SET route = excluded.route, body_hash = excluded.body_hash,' +
  ' status = excluded.status, response = excluded.response, created_at = excluded.created_at,' +
  ' expires_at = excluded.expires_at';

function rows<F extends string>(of: Table<F>, all: readonly RowOf<Table<F>>[]): Part[] {
  return all.length === 0 ? [] : [insertInto(of, all)];
}
