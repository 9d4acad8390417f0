/**
 * Attempts of recipients: begin (before dialling), sent (while one takes long), finish (with everything that follows), each
 * a group as one transaction.
 *
 * Promises that what each decides (`attempt-choice.ts`) rests on rows that are locked until its commit: messages first,
 * then what waits, each in the order of ids, so that transactions of several nodes never wait for each other in a circle.
 * Within a group the items are decided one after the other, each in the state that the one before has left.
 */
import { begunOf, chooseEnd, maySaySent, showsReason, shownReason } from '../attempt-choice.ts';
import type { OwnedRecipient, RecipientState } from '../attempt-choice.ts';
import { isCounted, isReal } from '../counted.ts';
import type { BeginAttempt, Finished, FinishAttempt, SentAttempt } from '../journey.ts';
import type { OutdatedError } from '../revision.ts';
import type { Message, Recipient } from '../rows.ts';
import type { CallRef } from '../webhooks.ts';
import type { Access, Session, Transaction } from './database.ts';
import { EventRows, ONCE, subscribersOf } from './events.ts';
import { writeStanding } from './revision.ts';
import { SELECT_WAITING_RECIPIENT } from './shapes.ts';
import { insertInto, part, table, together, updateFrom } from './statement.ts';
import type { Part } from './statement.ts';
import { SuppressionRows } from './suppression-rows.ts';
import { Sums } from './sums.ts';
import { ATTEMPTS, QUEUE } from './tables.ts';

/** What one call of `begin` asks for. */
export interface BeginGroup {
  attempts: readonly BeginAttempt[];
  now: number;
  revision: number | null;
}

const BEGUN = table('queue', {
  recipientId: 'uuid',
  attempts: 'int4',
  owner: 'text',
  leaseUntil: 'int8',
  nextAttemptAt: 'int8',
  updatedAt: 'int8',
});

/** Begins what each call may begin; its recipients in the state after the mark. */
export function beginAll(
  database: Access,
  all: readonly BeginGroup[],
): Promise<(Recipient[] | OutdatedError)[]> {
  return writeStanding(database, all, async (session, calls) => {
    const rows = await session.all<OwnedRecipient>(
      part(
        `${SELECT_WAITING_RECIPIENT} WHERE q.recipient_id = ANY($1::uuid[]) ORDER BY q.recipient_id FOR UPDATE OF q`,
        calls.flatMap(({ attempts }) => attempts.map(({ recipientId }) => recipientId)),
      ),
    );
    const states = new Map(rows.map((row) => [row.id, row]));
    const answers = calls.map(({ attempts, now }) =>
      attempts.flatMap((attempt) => {
        const row = states.get(attempt.recipientId);
        const recipient = row === undefined ? null : begunOf(row, attempt, now);
        if (recipient === null) return [];
        const { owner, leaseUntil } = attempt;
        states.set(recipient.id, { ...recipient, owner, leaseUntil });
        return [recipient];
      }),
    );
    const begun = new Set(answers.flat().map(({ id }) => id));
    const changed = [...begun].flatMap((recipientId) => {
      const state = states.get(recipientId);
      return state === undefined ? [] : [{ ...state, recipientId }];
    });
    if (changed.length > 0) session.send(updateFrom(BEGUN, ['recipientId'], changed));
    return answers;
  });
}

/** A recipient, as its end looks at it. */
interface RecipientRow
  extends
    Omit<RecipientState, 'messageStatus'>,
    Pick<
      Recipient,
      'messageId' | 'domain' | 'lastReason' | 'updatedAt' | 'attempts' | 'delayedAt'
    > {}

type MessageRow = Pick<Message, 'id' | 'accountId' | 'status' | 'createdAt' | 'isSandbox'>;

/** A message under lock, with all its recipients. */
interface State {
  message: MessageRow;
  recipients: RecipientRow[];
  /** What it shows besides its status; undefined: it was not changed. */
  change?: { failureReason: string | null; updatedAt: number };
}

/** Notes what is sent; the calls of each. */
export function noteAllSent(
  database: Access,
  groups: readonly SentAttempt[][],
): Promise<CallRef[][]> {
  return database.transaction(async (session) => {
    const all = groups.flat();
    const [states, subscribers] = await Promise.all([
      statesOf(session, all),
      subscribersOf(
        session,
        all.map(({ event }) => event),
      ),
    ]);
    const ends = new Ends(states, new EventRows(subscribers), new Sums(session, 'sent'));
    const answers = groups.map((attempts) => attempts.flatMap((attempt) => ends.noteSent(attempt)));
    ends.write(session);
    return answers;
  });
}

/** Ends attempts and recipients; what became of each. */
export function finishAll(
  database: Access,
  results: readonly FinishAttempt[],
): Promise<Finished[]> {
  return database.transaction(async (session) => {
    const [states, hosts, subscribers] = await Promise.all([
      statesOf(session, results),
      hostsOf(session, results),
      subscribersOf(
        session,
        results.flatMap(({ events }) => events),
      ),
    ]);
    const sums = new Sums(session, 'finish');
    const suppress = results.flatMap((result) => result.suppress ?? []);
    const suppressions = await SuppressionRows.read(session, suppress, sums);
    const ends = new Ends(states, new EventRows(subscribers), sums, { suppressions, hosts });
    const answers = results.map((result) => ends.finish(result));
    ends.write(session);
    return answers;
  });
}

/** The messages and their recipients, locked. */
async function statesOf(
  session: Session,
  about: readonly Pick<FinishAttempt, 'messageId' | 'recipientId'>[],
): Promise<Map<string, State>> {
  const messageIds = [...new Set(about.map(({ messageId }) => messageId))];
  const [messages, , recipients] = await Promise.all([
    session.all<MessageRow>(
      part(
        'SELECT id, account_id AS "accountId", status, created_at AS "createdAt", is_sandbox AS "isSandbox"' +
          ' FROM messages WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE',
        messageIds,
      ),
    ),
    session.all(
      part(
        'SELECT 1 FROM queue WHERE recipient_id = ANY($1::uuid[]) ORDER BY recipient_id FOR UPDATE',
        about.map(({ recipientId }) => recipientId),
      ),
    ),
    session.all<RecipientRow>(
      part(
        'SELECT r.id, r.message_id AS "messageId", r.status, r.domain, r.last_reason AS "lastReason",' +
          ' r.updated_at AS "updatedAt", r.delayed_at AS "delayedAt", q.next_attempt_at AS "nextAttemptAt", q.owner, q.lease_until AS "leaseUntil",' +
          ' COALESCE(q.attempts, r.attempts) AS attempts FROM recipients AS r' +
          ' LEFT JOIN queue AS q ON q.recipient_id = r.id WHERE r.message_id = ANY($1::uuid[]) ORDER BY r.id',
        messageIds,
      ),
    ),
  ]);
  const states = new Map<string, State>(
    messages.map((message) => [message.id, { message, recipients: [] }]),
  );
  for (const recipient of recipients) states.get(recipient.messageId)?.recipients.push(recipient);
  return states;
}

/** The host of the last attempt of those that end without one, for the counters. */
async function hostsOf(
  session: Session,
  results: readonly FinishAttempt[],
): Promise<Map<string, string | null>> {
  const ended = results.filter(
    ({ attempt, events }) => attempt === null && events.some(({ type }) => isCounted(type)),
  );
  if (ended.length === 0) return new Map();
  const rows = await session.all<{ recipientId: string; host: string | null }>(
    part(
      'SELECT DISTINCT ON (recipient_id) recipient_id AS "recipientId", host FROM attempts' +
        ' WHERE message_id = ANY($1::uuid[])' +
        ' AND (message_id, recipient_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))' +
        ' ORDER BY recipient_id, id DESC',
      ended.map(({ messageId }) => messageId),
      ended.map(({ recipientId }) => recipientId),
    ),
  );
  return new Map(rows.map(({ recipientId, host }) => [recipientId, host]));
}

const ENDED_MESSAGES = table('messages', {
  id: 'uuid',
  status: 'text',
  updatedAt: 'int8',
  failureReason: 'text',
});
const ENDED_RECIPIENTS = table('recipients', {
  id: 'uuid',
  status: 'text',
  attempts: 'int4',
  lastReason: 'text',
  delayedAt: 'int8',
  updatedAt: 'int8',
});

interface EndParts {
  suppressions: SuppressionRows;
  /** Of the last attempt of each recipient that may end without one. */
  hosts: Map<string, string | null>;
}

/** The ends of one transaction: decided one after the other, written together. */
class Ends {
  readonly #states: ReadonlyMap<string, State>;
  readonly #events: EventRows;
  readonly #sums: Sums;
  readonly #parts: EndParts | null;
  readonly #attempts: FinishAttempt['attempt'][] = [];
  readonly #changed = new Map<string, RecipientRow>();
  /** Recipients whose row in the queue changes. */
  readonly #moved = new Map<string, { row: RecipientRow; accountId: string }>();

  constructor(
    states: ReadonlyMap<string, State>,
    events: EventRows,
    sums: Sums,
    parts: EndParts | null = null,
  ) {
    this.#states = states;
    this.#events = events;
    this.#sums = sums;
    this.#parts = parts;
  }

  noteSent(attempt: SentAttempt): CallRef[] {
    const state = this.#states.get(attempt.messageId);
    if (state === undefined || !maySaySent(attempt, recipientStates(state))) return [];
    const recipient = state.recipients.find(({ id }) => id === attempt.recipientId);
    if (recipient === undefined) return [];
    recipient.status = 'sent';
    recipient.updatedAt = attempt.now;
    this.#changed.set(recipient.id, recipient);
    this.#setMessage(state, 'sent', attempt.now);
    return this.#events.record(attempt.accountId, [attempt.event], attempt.now, attempt.dueAt);
  }

  finish(result: FinishAttempt): Finished {
    const state = this.#states.get(result.messageId);
    const { kind, messageStatus } = chooseEnd(
      result,
      state === undefined ? [] : recipientStates(state),
    );
    const isOvertaken = kind === 'overtaken';
    const recipient = state?.recipients.find(({ id }) => id === result.recipientId);
    if (state === undefined || recipient === undefined || isOvertaken) {
      return { calls: [], messageStatus, isOvertaken };
    }
    if (result.attempt !== null) {
      this.#attempts.push(result.attempt);
      this.#parts?.hosts.set(result.recipientId, result.attempt.host);
    }
    if (kind === 'recorded') return { calls: [], messageStatus, isOvertaken };
    this.#setRecipient(recipient, result);
    const { accountId, events, now, dueAt } = result;
    const calls = this.#events.record(accountId, events, now, dueAt);
    this.#count(result, state.message, recipient);
    if (result.suppress !== null) this.#parts?.suppressions.add(result.suppress);
    this.#setMessage(state, messageStatus, now);
    return { calls, messageStatus, isOvertaken };
  }

  write(session: Transaction): void {
    const messages = [...this.#states.values()].flatMap(({ message, change }) =>
      change === undefined ? [] : [{ id: message.id, status: message.status, ...change }],
    );
    const parts: Part[] = [];
    const attempts = this.#attempts.flatMap((attempt) =>
      attempt === null ? [] : [{ ...attempt }],
    );
    if (attempts.length > 0) parts.push(insertInto(ATTEMPTS, attempts, ONCE));
    if (this.#changed.size > 0) {
      parts.push(
        updateFrom(
          ENDED_RECIPIENTS,
          ['id'],
          [...this.#changed.values()].map((row) => ({ ...row })),
        ),
      );
    }
    if (messages.length > 0) parts.push(updateFrom(ENDED_MESSAGES, ['id'], messages));
    parts.push(...this.#queueParts(), ...this.#events.parts());
    if (this.#parts !== null) parts.push(...this.#parts.suppressions.parts());
    parts.push(...this.#sums.parts());
    if (parts.length > 0) session.send(together(parts));
  }

  #queueParts(): Part[] {
    const parts: Part[] = [];
    const ended: string[] = [];
    const waiting = [];
    for (const [recipientId, { row, accountId }] of this.#moved) {
      const { messageId, domain, nextAttemptAt, attempts, updatedAt } = row;
      if (nextAttemptAt === null) ended.push(recipientId);
      else {
        const whose = { owner: null, leaseUntil: null };
        waiting.push({
          recipientId,
          messageId,
          accountId,
          domain,
          nextAttemptAt,
          attempts,
          ...whose,
          updatedAt,
        });
      }
    }
    if (ended.length > 0) {
      parts.push(part('DELETE FROM queue WHERE recipient_id = ANY($1::uuid[])', ended));
    }
    if (waiting.length > 0) parts.push(insertInto(QUEUE, waiting, PUT_OFF));
    return parts;
  }

  #setRecipient(recipient: RecipientRow, result: FinishAttempt): void {
    recipient.status = result.status;
    recipient.nextAttemptAt = result.nextAttemptAt;
    recipient.lastReason = result.lastReason ?? recipient.lastReason;
    recipient.delayedAt = result.delayedAt;
    recipient.updatedAt = result.now;
    recipient.owner = null;
    if (result.isUnbegun === true) recipient.attempts -= 1;
    this.#changed.set(recipient.id, recipient);
    this.#moved.set(recipient.id, { row: recipient, accountId: result.accountId });
  }

  /** Sets and counts what the message shows. */
  #setMessage(state: State, status: MessageRow['status'], now: number): void {
    const { message, recipients } = state;
    // Of the recipients in that state, and only while it is a failure.
    const failureReason = showsReason(status)
      ? shownReason(recipients.filter((recipient) => recipient.status === status))
      : null;
    state.change = { failureReason, updatedAt: now };
    if (status === message.status) return;
    this.#sums.status(message.accountId, message.createdAt, message.status, -1);
    this.#sums.status(message.accountId, message.createdAt, status, 1);
    message.status = status;
  }

  #count(result: FinishAttempt, { isSandbox }: MessageRow, { domain }: RecipientRow): void {
    if (!isReal(isSandbox, domain)) return;
    const { attempt, events, accountId, recipientId } = result;
    const host = attempt === null ? (this.#parts?.hosts.get(recipientId) ?? null) : attempt.host;
    for (const { type, occurredAt } of events) {
      this.#sums.outcome({ accountId, type, occurredAt, domain, host });
    }
  }
}

/** What waits for its next attempt is nobody's. */
const PUT_OFF =
  'ON CONFLICT (recipient_id) DO UPDATE SET next_attempt_at = excluded.next_attempt_at,' +
  ' attempts = excluded.attempts, owner = NULL, lease_until = NULL, updated_at = excluded.updated_at';

function recipientStates({ message, recipients }: State): RecipientState[] {
  return recipients.map((recipient) => ({ ...recipient, messageStatus: message.status }));
}
