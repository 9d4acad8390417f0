/**
 * Acceptance: decides, alone, whether mail is accepted, and accepts it. The story of this room:
 *
 * Drafts come in from HTTP or from submission. A repeated request gets the response of the first one; a halt, a low
 * disk or an inactive account refuses all; `decide` checks each draft (domain, recipients, suppressions, attachments);
 * `message` turns it into rows, with what ends inside the appliance (`sandbox`, suppressed recipients); one commit
 * writes messages, recipients, events, usage and idempotency record. Then the queue is offered what is due.
 *
 * Promises that a response it returns is on disk: a crash before the commit loses nothing that was promised, a crash
 * after it nothing at all. HTTP and submission refuse alike. Never delivers, never reads back what it wrote. Fails with
 * ApiError for every refusal, `platform_halted` when the store cannot be written.
 */
import { ApiError, validationFailed } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { AcceptResult, NewIdempotencyRecord, NewMessage } from '../../store/journey.ts';
import { OutdatedError } from '../../store/revision.ts';
import type { CallRef } from '../../store/webhooks.ts';
import { decide } from './decide.ts';
import { buildMessage, type Built } from './message.ts';
import { refuseInactive } from '../accounts/accounts.ts';
import { currentSender } from '../accounts/keys.ts';
import { bodyBytes } from '../body-bytes.ts';
import type { Context } from '../context.ts';
import type { Draft, Sender } from '../draft.ts';
import { logAccepted, logReplayed } from '../journey-log.ts';
import { overQuota, overStorage, usageClaim } from '../accounts/usage.ts';
import { storeRefusal } from '../store-refusal.ts';

/** How long a repeated request is answered from the record (docs/contract.md C6.1). */
const REPLAY_MS = 24 * 3_600_000;
export interface AcceptOptions {
  /** Batch permissive: accept the valid ones, list the others. */
  isPermissive: boolean;
  /** `route`: method and path without prefix, e.g. `POST /emails/batch`. `bodyHash`: of the raw body. */
  idempotency: { key: string; route: string; bodyHash: string } | null;
  /** Path of a draft in the body (`[3]`); absent: the draft is the body. */
  pathOf?(index: number): string;
  /** Builds the response that is sent and stored for replay. */
  respond(results: ItemResult[]): { status: 200 | 202; body: unknown };
}

export type ItemResult =
  | { kind: 'accepted'; id: string; status: 'queued' | 'sent' | 'suppressed' }
  | { kind: 'refused'; error: ApiError };

export interface Acceptance {
  /** The response is that of an earlier request with the same idempotency key. */
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
  if (ctx.revision.number !== null) return acceptRevised(ctx, queue, sender, drafts, options);
  // A repeated request gets its response before anything can refuse it: its mail has been taken already.
  const replay = options.idempotency === null ? null : await findReplay(ctx, sender, options);
  return replay ?? (await acceptNow(ctx, queue, sender, drafts, options));
}

/** The same on a store that other nodes change, too: what this rests on must be the present. */
async function acceptRevised(
  ctx: Context,
  queue: AcceptedSink,
  sender: Sender,
  drafts: (Draft | ApiError)[],
  options: AcceptOptions,
): Promise<Acceptance> {
  for (;;) {
    const replay = await findReplay(ctx, sender, options);
    if (replay !== null) return replay;
    const now = await currentSender(ctx, sender);
    try {
      return await acceptNow(ctx, queue, now, drafts, options);
    } catch (error) {
      const isOutdated = error instanceof OutdatedError;
      if (!isOutdated && !isRemembered(ctx, error)) throw error;
      // Another node may have changed what this rests on: then all of it is decided again.
      await ctx.revision.check();
      if (!isOutdated && ctx.revision.number === now.revision) throw error;
    }
  }
}

/** Refusals that rest on what is kept in memory. */
const REMEMBERED: ReadonlySet<ErrorCode> = new Set([
  'account_paused',
  'payment_required',
  'domain_not_verified',
  'from_domain_not_allowed',
]);

function isRemembered(
  { halt, revision }: Pick<Context, 'halt' | 'revision'>,
  error: unknown,
): boolean {
  if (revision.number === null || !(error instanceof ApiError)) return false;
  // Also said of a full disk, or while the database is away.
  if (error.code === 'platform_halted') return halt.state !== null;
  return REMEMBERED.has(error.code);
}

/** Throws `OutdatedError` where another node has changed what is remembered of `sender`. */
async function refuseOutdated(
  { revision }: Pick<Context, 'revision'>,
  sender: Sender,
): Promise<void> {
  await revision.check();
  if (revision.number !== sender.revision) throw new OutdatedError('the revision was raised');
}

/** Load balancers have been told; who is here all the same asks again and comes to another node. */
function refuseWhileDraining({ node }: Pick<Context, 'node'>): void {
  if (node?.isDraining !== true) return;
  throw new ApiError('platform_halted', 'This server is being drained: another one takes mail.', {
    headers: { 'Retry-After': '1' },
  });
}

/** Takes them by what is remembered now. Fails with `OutdatedError` where that is not the present any more. */
async function acceptNow(
  ctx: Context,
  queue: AcceptedSink,
  sender: Sender,
  drafts: (Draft | ApiError)[],
  options: AcceptOptions,
): Promise<Acceptance> {
  ctx.halt.refuse();
  ctx.disk.refuseWhileLow();
  refuseWhileDraining(ctx);
  refuseInactive(sender.account);

  const now = ctx.clock.now();
  const decisions = await decide(ctx, sender, drafts);
  const built: Built[] = [];
  const results = decisions.map((decision, index): ItemResult => {
    if (decision instanceof ApiError) {
      // The paths of a shape error are those of the whole body already.
      const isWhole = decision === drafts[index] || options.pathOf === undefined;
      const error = isWhole ? decision : belowPath(decision, options.pathOf?.(index) ?? '');
      return { kind: 'refused', error };
    }
    const one = buildMessage(ctx, sender, decision, now);
    built.push(one);
    return { kind: 'accepted', id: one.accepted.message.id, status: one.result };
  });
  if (!options.isPermissive) throwRefusals(results);
  else if (decisions.some((one) => isRemembered(ctx, one))) await refuseOutdated(ctx, sender);

  const response = options.respond(results);
  const body = JSON.stringify(response.body);
  const accepted = built.map((one) => one.accepted);
  const open = built.filter(({ isOpen }) => isOpen).map(({ accepted }) => accepted);
  queue.markAhead?.(open);
  const result = await commit(ctx, sender, built, now, record(ctx, options, response.status, body));
  switch (result.kind) {
    case 'accepted':
      for (const one of built) ctx.metrics.accepted.inc({ status: one.result });
      logAccepted(ctx, sender, accepted);
      for (const { events } of accepted) ctx.followers.tell(events);
      queue.offerAccepted(open);
      if (result.calls.length > 0) queue.offerCalls(result.calls);
      return {
        isReplay: false,
        status: response.status,
        body,
        messageIds: accepted.map(({ message }) => message.id),
      };
    case 'replay':
      logReplayed(ctx, sender, result.response);
      return { isReplay: true, status: result.status, body: result.response, messageIds: [] };
    case 'idempotency_conflict':
      throw otherBody();
    case 'over_quota':
      if (result.which === 'storage') throw overStorage(result.limit, result.used);
      throw overQuota(result.which, result.limit, result.used, now);
  }
}

/** The refusal with the paths of its issues as they are in the whole body, below `above`. */
function belowPath(refusal: ApiError, above: string): ApiError {
  const issues = refusal.detail?.issues;
  if (issues === undefined) return refusal;
  const whole = issues.map(({ path, message }) => ({
    path: `${above}.${path}`,
    message: message.startsWith(path) ? `${above}.${message}` : message,
  }));
  return validationFailed(whole, { name: refusal.errorName });
}

/**
 * Sandbox keys have a namespace of their own: a sandbox send is never replayed for a live one, nor in its way. No
 * idempotency key of a request holds a line break.
 */
function ofKind(
  { key }: Sender,
  idempotency: AcceptOptions['idempotency'],
): AcceptOptions['idempotency'] {
  if (idempotency === null || !key.isTest) return idempotency;
  return { ...idempotency, key: `sandbox\n${idempotency.key}` };
}

async function findReplay(
  ctx: Context,
  sender: Sender,
  { idempotency }: AcceptOptions,
): Promise<Acceptance | null> {
  if (idempotency === null) return null;
  const { key, route, bodyHash } = idempotency;
  const kept = await ctx.store.idempotencyRecord(sender.account.id, key, ctx.clock.steady());
  if (kept === null) return null;
  if (kept.route !== route || kept.bodyHash !== bodyHash) throw otherBody();
  logReplayed(ctx, sender, kept.response);
  return { isReplay: true, status: kept.status, body: kept.response, messageIds: [] };
}

function otherBody(): ApiError {
  return new ApiError(
    'idempotency_conflict',
    'This idempotency key was used within 24 hours for a request with another route or body.',
  );
}

/** Of an accepted request alone: one that was refused may be sent again. */
function record(
  { clock }: Pick<Context, 'clock'>,
  { idempotency }: AcceptOptions,
  status: 200 | 202,
  response: string,
): NewIdempotencyRecord | null {
  if (idempotency === null) return null;
  const expiresAt = clock.steady() + REPLAY_MS;
  return { ...idempotency, status, response, createdAt: clock.now(), expiresAt };
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
    const write = {
      contentBytes: built.reduce((sum, { accepted }) => sum + bodyBytes(accepted.body), 0),
      recipients: built.reduce((sum, { accepted }) => sum + accepted.recipients.length, 0),
    };
    return await ctx.disk.spend(write, () =>
      ctx.store.accept({
        accountId: account.id,
        now,
        steadyNow: ctx.clock.steady(),
        revision: sender.revision ?? null,
        usage: usageClaim(plan, account, count, now),
        storageBytes: plan.storageBytes,
        idempotency,
        messages: built.map(({ accepted }) => accepted),
      }),
    );
  } catch (error) {
    throw storeRefusal(error) ?? error;
  }
}

/**
 * Throws the refusal of a strict request: the first one, with the index of its item in a batch, or all
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
  const issues = shapes.flatMap(({ detail }) => detail?.issues ?? []);
  throw validationFailed(issues, { name: first.errorName });
}
