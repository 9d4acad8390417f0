/**
 * What each request counts against: sends and writes by account, reads by key and by account.
 *
 * Promises that more keys are no way round a limit, and that sandbox keys spend nothing of what live keys may do: they
 * have windows of their own. Beyond a limit the request is `rate_limited`, with `Retry-After`, before its body is read.
 */
import { ApiError } from '../base/errors.ts';
import { rateOwner } from '../flow/accounts/plans.ts';
import type { Identity } from '../flow/draft.ts';
import type { RateResult, RateWindows } from './rate-windows.ts';
import type { Route } from './routes/route.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** All keys of an account together read this many times what one may (docs/decisions.md D57). */
const KEYS_READ = 10;

interface Limit {
  /** Name of the window. */
  name: string;
  limit: number;
  windowMs: number;
  /** What is limited, as the refusal says it. */
  text: string;
}

/**
 * Counts the request and sets the headers of the last limit that was looked at. Throws `rate_limited` beyond one
 * (docs/contract.md C17.1 to C17.3).
 */
export function spendRate(
  rates: Pick<RateWindows, 'take'>,
  route: Pick<Route, 'method' | 'path' | 'isSend' | 'perMinute'>,
  caller: Identity,
  progress: { headers: Record<string, string> },
): void {
  for (const { name, limit, windowMs, text } of limitsOf(route, caller)) {
    const rate = rates.take(name, limit, windowMs);
    // The smallest number that is left is the one a client has to know.
    const isTighter = rate.remaining < Number(progress.headers['RateLimit-Remaining'] ?? Infinity);
    if (isTighter || !rate.isAllowed) progress.headers = rateHeaders(rate);
    if (!rate.isAllowed) throw overRate(rate, `This ${text}.`);
  }
}

/**
 * Whether a request that counted against no limit gets a row in the request log: as many of an account do in a minute as
 * one key may read, so that nobody fills the disk with what is refused at once (docs/decisions.md D513).
 */
export function mayHaveRow(
  rates: Pick<RateWindows, 'take'>,
  { key, account, plan }: Identity,
): boolean {
  return rates.take(`row ${rateOwner(key, account)}`, plan.readsPerMinute, MINUTE_MS).isAllowed;
}

function limitsOf(
  { method, path, isSend, perMinute }: Pick<Route, 'method' | 'path' | 'isSend' | 'perMinute'>,
  { key, account, plan }: Identity,
): Limit[] {
  const owner = rateOwner(key, account);
  if (isSend) {
    const limit = plan.ratePerSecond;
    const text = `account can make ${limit} send requests per second`;
    return [{ name: `send ${owner}`, limit, windowMs: SECOND_MS, text }];
  }
  const perMinuteOf = (name: string, limit: number, text: string): Limit => ({
    name,
    limit,
    windowMs: MINUTE_MS,
    text: `${text} per minute`,
  });
  if (method === 'GET') {
    const each = plan.readsPerMinute;
    const all = each * KEYS_READ;
    return [
      perMinuteOf(`read ${key.id}`, each, `key can make ${each} read requests`),
      perMinuteOf(`reads ${owner}`, all, `account can make ${all} read requests`),
    ];
  }
  const writes = plan.writesPerMinute;
  const limits = [perMinuteOf(`write ${owner}`, writes, `account can make ${writes} changes`)];
  if (perMinute !== null) {
    const route = `${method} ${path}`;
    const text = `account can make ${perMinute} requests to ${route}`;
    limits.push(perMinuteOf(`${route} ${owner}`, perMinute, text));
  }
  return limits;
}

function rateHeaders({ limit, remaining, resetSeconds }: RateResult): Record<string, string> {
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(resetSeconds),
  };
}

function overRate({ retrySeconds }: RateResult, message: string): ApiError {
  return new ApiError(
    'rate_limited',
    `${message} Try again in ${retrySeconds} ${retrySeconds === 1 ? 'second' : 'seconds'}.`,
    { headers: { 'Retry-After': String(retrySeconds) } },
  );
}
