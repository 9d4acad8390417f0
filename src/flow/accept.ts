/**
 * Acceptance: the one place that decides whether mail is taken, and takes it.
 *
 * Promises that an answer it returns is on disk: messages, recipients, events, usage and idempotency
 * record are one commit. Both doors come through here, so that they refuse alike. Never delivers,
 * never reads back what it wrote: it hands accepted messages on in memory. Fails with ApiError for
 * every refusal, `platform_halted` when the disk is full.
 */
import { ApiError, validationFailed, type Issue } from '../base/errors.ts';
import {
  StoreFullError,
  type AcceptResult,
  type CallRef,
  type NewIdempotencyRecord,
  type NewMessage,
} from '../store/store.ts';
import { decide } from './accept-decide.ts';
import { buildMessage, type Built } from './accept-message.ts';
import { refuseInactive } from './accounts.ts';
import type { Context } from './context.ts';
import { refuseWhileDiskLow } from './disk.ts';
import type { Draft, Sender } from './draft.ts';
import { refuseWhileHalted } from './halt.ts';
import { logAccepted, logReplayed } from './journey-log.ts';
import { overQuota, usageClaim } from './usage.ts';

/** How long a repeated request is answered from the record (interface, Sending). */
const REPLAY_MS = 24 * 3_600_000;
/** Seconds after which a client may try again when the disk is full. */
const FULL_RETRY_SECONDS = 30;

export interface AcceptOptions {
  /** Batch permissive: accept the valid ones, list the others. */
  isPermissive: boolean;
  /** `route`: method and path without prefix, e.g. `POST /emails/batch`. `bodyHash`: of the raw body. */
  idempotency: { key: string; route: string; bodyHash: string } | null;
  /** Path of a draft in the body (`[3]`); absent: the draft is the body. */
  placeOf?(index: number): string;
  /** Builds the answer that is sent and stored for replay. */
  respond(results: ItemResult[]): { status: number; body: unknown };
}

export type ItemResult =
  | { kind: 'accepted'; id: string; status: 'queued' | 'sent' | 'suppressed' }
  | { kind: 'refused'; error: ApiError };

export interface Acceptance {
  /** The answer is that of an earlier request with the same idempotency key. */
  isReplay: boolean;
  status: number;
  /** JSON text. */
  body: string;
  /** Ids of the messages accepted now, in order; empty for a replay. */
  messageIds: string[];
}

/** Where accept hands over what is due at once. */
export interface AcceptedSink {
  /** Told before the commit of what will be offered after it; may mark recipients as begun. */
  markAhead?(messages: NewMessage[]): void;
  offerAccepted(messages: NewMessage[]): void;
  offerCalls(calls: CallRef[]): void;
}

/**
 * Takes `drafts` for `sender`, all in one commit. `drafts[i]` may already be a refusal (the shape error
 * of that batch item, issue paths as in the whole body). Strict: any refusal is thrown and nothing is
 * taken; several `validation_failed` become one with all issues. Throws ApiError.
 */
export async function acceptEmails(
  ctx: Context,
  queue: AcceptedSink,
  sender: Sender,
  drafts: (Draft | ApiError)[],
  asked: AcceptOptions,
): Promise<Acceptance> {
  const options = { ...asked, idempotency: ofKind(sender, asked.idempotency) };
  // A repeated request is answered before anything can refuse it: its mail has long been taken.
  const replay = await findReplay(ctx, sender, options);
  if (replay !== null) return replay;
  refuseWhileHalted(ctx);
  refuseWhileDiskLow(ctx);
  refuseInactive(sender.account);

  const now = ctx.clock.now();
  const decisions = await decide(ctx, sender, drafts);
  const built: Built[] = [];
  const results = decisions.map((decision, index): ItemResult => {
    if (decision instanceof ApiError) {
      // A shape error knows its place already.
      const isPlaced = decision === drafts[index] || options.placeOf === undefined;
      const error = isPlaced ? decision : placed(decision, options.placeOf?.(index) ?? '');
      return { kind: 'refused', error };
    }
    const one = buildMessage(ctx, sender, decision, now);
    built.push(one);
    return { kind: 'accepted', id: one.accepted.message.id, status: one.result };
  });
  if (!options.isPermissive) throwRefusals(results);

  const answer = options.respond(results);
  const body = JSON.stringify(answer.body);
  const accepted = built.map((one) => one.accepted);
  const open = built.filter(({ isOpen }) => isOpen).map(({ accepted }) => accepted);
  queue.markAhead?.(open);
  const result = await commit(ctx, sender, built, now, record(options, answer.status, body, now));
  switch (result.kind) {
    case 'accepted':
      for (const one of built) ctx.metrics.accepted.add({ status: one.result });
      logAccepted(ctx, sender, accepted);
      queue.offerAccepted(open);
      if (result.calls.length > 0) queue.offerCalls(result.calls);
      return {
        isReplay: false,
        status: answer.status,
        body,
        messageIds: accepted.map(({ message }) => message.id),
      };
    case 'replay':
      logReplayed(ctx, sender, result.response);
      return { isReplay: true, status: result.status, body: result.response, messageIds: [] };
    case 'idempotency_conflict':
      throw otherBody();
    case 'over_quota':
      throw overQuota(result.which, result.limit, result.used, now);
  }
}

/** The refusal with the paths of its issues as they stand in the whole body. */
function placed(refusal: ApiError, place: string): ApiError {
  const issues = refusal.detail?.['issues'];
  if (!Array.isArray(issues)) return refusal;
  const whole = (issues as Issue[]).map(({ path, message }) => ({
    path: `${place}.${path}`,
    message: message.startsWith(path) ? `${place}.${message}` : message,
  }));
  return validationFailed(whole, { name: refusal.errorName, status: refusal.status });
}

/** A sandbox answer must never stand for a live send: the kind of key is part of what was asked. */
function ofKind(
  { key }: Sender,
  idempotency: AcceptOptions['idempotency'],
): AcceptOptions['idempotency'] {
  if (idempotency === null || !key.isTest) return idempotency;
  return { ...idempotency, route: `${idempotency.route} (sandbox)` };
}

async function findReplay(
  ctx: Context,
  sender: Sender,
  { idempotency }: AcceptOptions,
): Promise<Acceptance | null> {
  if (idempotency === null) return null;
  const { key, route, bodyHash } = idempotency;
  const kept = await ctx.store.idempotencyRecord(sender.account.id, key, ctx.clock.now());
  if (kept === null) return null;
  if (kept.route !== route || kept.bodyHash !== bodyHash) throw otherBody();
  logReplayed(ctx, sender, kept.response);
  return { isReplay: true, status: kept.status, body: kept.response, messageIds: [] };
}

function otherBody(): ApiError {
  return new ApiError(
    'idempotency_conflict',
    'This idempotency key was used within 24 hours for a request with another route or body, or with a key of the other kind (live, test).',
  );
}

/** Only 2xx answers are stored (decisions, Idempotency). */
function record(
  { idempotency }: AcceptOptions,
  status: number,
  response: string,
  now: number,
): NewIdempotencyRecord | null {
  if (idempotency === null || status < 200 || status > 299) return null;
  return { ...idempotency, status, response, createdAt: now, expiresAt: now + REPLAY_MS };
}

async function commit(
  ctx: Context,
  sender: Sender,
  built: readonly Built[],
  now: number,
  idempotency: NewIdempotencyRecord | null,
): Promise<AcceptResult> {
  if (built.length === 0 && idempotency === null) return { kind: 'accepted', calls: [] };
  const { account, plan } = sender;
  const count = built.reduce((sum, one) => sum + one.usage, 0);
  try {
    return await ctx.store.accept({
      accountId: account.id,
      now,
      usage: usageClaim(plan, account, count, now),
      idempotency,
      messages: built.map(({ accepted }) => accepted),
    });
  } catch (error) {
    if (!(error instanceof StoreFullError)) throw error;
    throw new ApiError('platform_halted', 'The disk of this service is full; try again later.', {
      headers: { 'Retry-After': String(FULL_RETRY_SECONDS) },
    });
  }
}

/**
 * Throws the refusal of a strict request: the first one, with the place of its item in a batch, or all
 * shape errors as one (their paths name the items).
 */
function throwRefusals(results: readonly ItemResult[]): void {
  const refusals = results.flatMap((result) => (result.kind === 'refused' ? [result.error] : []));
  const [first] = refusals;
  if (first === undefined) return;
  const shapes = refusals.filter(({ code }) => code === 'validation_failed');
  if (first.code !== 'validation_failed') {
    const index = results.findIndex((result) => result.kind === 'refused');
    throw results.length > 1 ? first.with({ index }) : first;
  }
  if (shapes.length < 2) throw first;
  const issues = shapes.flatMap(({ detail }) => (detail?.['issues'] ?? []) as Issue[]);
  throw validationFailed(issues, { name: first.errorName, status: first.status });
}
