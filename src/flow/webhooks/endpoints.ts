/**
 * Webhook endpoints of an account: adding, changing, enabling, rotating the secret, removing.
 *
 * Promises that an endpoint's URL is https and leads only to public addresses (or to networks the
 * operator admits) at the moment it is registered; the dispatcher checks again at each connection. The
 * signing secret is stored sealed and shown once. Fails with `ApiError`.
 */
import { ApiError, type Issue, validationFailed } from '../../base/errors.ts';
import { type EndpointStatus, WEBHOOK_EVENTS } from '../../base/status.ts';
import type { Endpoint } from '../../store/rows.ts';
import type { CallPosition } from '../../store/webhooks.ts';
import { AddressGuard } from '../../wire/addresses/address-guard.ts';
import { loopbackUrl } from '../../wire/https/loopback-post.ts';
import { findAddresses, parseTarget } from '../../wire/https/target.ts';
import { parseNetworks } from '../../wire/addresses/networks.ts';
import type { Context } from '../context.ts';
import { endpointLabel } from '../seal-labels.ts';
import { newSigningSecret } from './signing.ts';

/** Told when an endpoint was changed: the dispatcher, so that it uses no stale row. */
export interface EndpointWatcher {
  endpointChanged(endpointId: string): void;
}

/** Endpoints an account may have (docs/contract.md C12.5). */
export const MAX_ENDPOINTS = 10;
/** How long the previous secret still signs after a rotation, in milliseconds. */
export const ROTATION_MS = 24 * 3_600_000;
/**
 * How old an open call may be when its endpoint is enabled again: the whole schedule with its jitter. Older
 * ones count as missed, and a replay brings them.
 */
const CALL_WINDOW_MS = 12_111_000;
/** Longest URL that is stored, in characters; common servers refuse longer ones. */
const MAX_URL_LENGTH = 2048;

/**
 * Registers an endpoint. Throws `validation_failed` (issues at `endpoint` and `events[n]`), or `forbidden`
 * for an eleventh. `secret` is `whsec_…` and can never be read again.
 */
export async function addEndpoint(
  ctx: Context,
  accountId: string,
  input: { url: string; events: readonly string[] },
): Promise<{ endpoint: Endpoint; secret: string }> {
  await refuseUnfit(ctx, input.url, input.events);
  const now = ctx.clock.now();
  const id = ctx.ids.next(now);
  const secret = newSigningSecret();
  const endpoint: Endpoint = {
    id,
    accountId,
    url: input.url,
    events: [...new Set(input.events)],
    status: 'active',
    sealedSecret: ctx.secrets.seal(secret, endpointLabel(id)),
    sealedPreviousSecret: null,
    previousUntil: null,
    failureCount: 0,
    lastFailureAt: null,
    createdAt: now,
    deletedAt: null,
  };
  ctx.subscribers.note(accountId);
  if ((await ctx.store.createEndpoint(endpoint, MAX_ENDPOINTS)) === 'too_many') {
    throw new ApiError('forbidden', `An account has at most ${MAX_ENDPOINTS} webhook endpoints.`);
  }
  return { endpoint, secret };
}

/** All endpoints of the account, oldest first. */
export function listEndpoints(ctx: Context, accountId: string): Promise<Endpoint[]> {
  return ctx.store.endpoints(accountId);
}

/** Throws `not_found`. */
export async function getEndpoint(ctx: Context, accountId: string, id: string): Promise<Endpoint> {
  return (await ctx.store.endpoint(accountId, id)) ?? notFound();
}

/** Changes what is given. Throws `not_found` or `validation_failed`. */
export async function updateEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
  change: { url?: string; events?: readonly string[]; status?: EndpointStatus },
): Promise<Endpoint> {
  await getEndpoint(ctx, accountId, id);
  await refuseUnfit(ctx, change.url ?? null, change.events ?? []);
  const { url, events, status } = change;
  const now = ctx.clock.now();
  if (status === 'active') await missLateCalls(ctx, accountId, id, now - CALL_WINDOW_MS);
  const fields = {
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: [...new Set(events)] }),
    ...(status !== undefined && { status }),
  };
  const endpoint = await ctx.store.updateEndpoint(accountId, id, fields, now);
  watcher.endpointChanged(id);
  return endpoint ?? notFound();
}

/** Before it is enabled: what is made from then on is younger. Others' writes wait for one step of it. */
async function missLateCalls(
  { store }: Pick<Context, 'store'>,
  accountId: string,
  id: string,
  before: number,
): Promise<void> {
  let after: CallPosition | null = null;
  do after = await store.missCalls(accountId, id, before, after);
  while (after !== null);
}

/**
 * Makes it active again with a failure count of 0. Open calls go on within their window; older ones are left
 * for a replay. Throws `not_found`.
 */
export function enableEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<Endpoint> {
  return updateEndpoint(ctx, watcher, accountId, id, { status: 'active' });
}

/** A new secret; the old one signs beside it for 24 hours (until `previousUntil`, steady time). Throws `not_found`. */
export async function rotateEndpointSecret(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<{ endpoint: Endpoint; secret: string; previousUntil: number }> {
  const secret = newSigningSecret();
  const sealed = ctx.secrets.seal(secret, endpointLabel(id));
  const previousUntil = ctx.clock.steady() + ROTATION_MS;
  const isDone = await ctx.store.rotateEndpointSecret(accountId, id, sealed, previousUntil);
  if (!isDone) return notFound();
  watcher.endpointChanged(id);
  return { endpoint: await getEndpoint(ctx, accountId, id), secret, previousUntil };
}

/** Throws `not_found`. */
export async function removeEndpoint(
  ctx: Context,
  watcher: EndpointWatcher,
  accountId: string,
  id: string,
): Promise<void> {
  if (!(await ctx.store.deleteEndpoint(accountId, id, ctx.clock.now()))) notFound();
  watcher.endpointChanged(id);
}

function notFound(): never {
  throw new ApiError('not_found', 'There is no such webhook endpoint in this account.');
}

async function refuseUnfit(
  ctx: Context,
  url: string | null,
  events: readonly string[],
): Promise<void> {
  const known: readonly string[] = WEBHOOK_EVENTS;
  const issues: Issue[] = events.flatMap((event, index) =>
    known.includes(event)
      ? []
      : [{ path: `events[${index}]`, message: `events must be among ${known.join(', ')}.` }],
  );
  const problem = url === null ? null : await urlProblem(ctx, url);
  if (problem !== null) issues.unshift({ path: 'endpoint', message: `endpoint: ${problem}.` });
  if (issues.length > 0) throw validationFailed(issues);
}

/** Why `url` cannot be an endpoint; null when it can. A resolver that fails does not count against it. */
async function urlProblem(ctx: Context, url: string): Promise<string | null> {
  if (url.length > MAX_URL_LENGTH) return `the URL is longer than ${MAX_URL_LENGTH} characters`;
  // The parser would drop them, and the URL that is shown would not be the one that is called.
  if (/[\s\p{Cc}]/u.test(url)) return 'the URL contains white space or a control character';
  if (ctx.emulation !== null && loopbackUrl(url) !== null) return null;
  const target = parseTarget(url);
  if ('refused' in target) return target.refused;
  const admitted = parseNetworks(ctx.config.startup.webhooks.allowNetworks);
  const found = await findAddresses(target.host, ctx.resolver, new AddressGuard(admitted));
  return found.kind === 'refused' || found.kind === 'missing' ? found.reason : null;
}
