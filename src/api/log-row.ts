/**
 * The row of the request log for one answered request.
 *
 * Promises what `redaction.ts` promises about bodies. Request bodies are kept for writes only; answers
 * for writes and refusals, since what a read found stands in the store already. The html and text of an accepted email
 * are left to its message; other content is hidden where the account's rows are kept for longer than
 * `[retention] bodies` allows.
 */
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Identity } from '../flow/keys.ts';
import { withoutContent } from '../flow/logged-request.ts';
import { planOf } from '../flow/plans.ts';
import type { LogRecord } from '../store/rows.ts';
import { clientAddress, trustedProxies } from './client-address.ts';
import type { Incoming } from './incoming.ts';
import { logBody, logRest } from './redaction.ts';
import type { Answer } from './route.ts';

/** Longest path or user agent that is kept, in characters. */
const MAX_TEXT_LENGTH = 2_048;
const DAY_MS = 86_400_000;

/** The body of a request: its bytes, and once it was read as JSON its text and value. */
interface RequestBody {
  rawBody: Uint8Array;
  json: string | null;
  value: unknown;
}

/** Makes the row. `payload`: what was sent; bytes are never kept. */
export function logRow(
  { clock, config }: { clock: Clock; config: Config },
  { request, method, path, peer }: Incoming,
  known: RequestBody & { requestId: string; startedAt: number; identity: Identity },
  answer: Answer,
  payload: string | Uint8Array,
): LogRecord {
  const { key, account } = known.identity;
  const isPlainRead = request.method === 'GET' && answer.status < 400;
  const isContentHidden =
    planOf(config, account).logRetentionDays * DAY_MS > config.retention.bodiesMs;
  return {
    id: known.requestId,
    accountId: account.id,
    keyId: key.id,
    keyName: key.name,
    keyPermission: key.permission,
    method,
    path: path.slice(0, MAX_TEXT_LENGTH),
    status: answer.status,
    durationMs: Math.max(0, clock.now() - known.startedAt),
    messageId: answer.messageId ?? null,
    userAgent: request.headers.get('user-agent')?.slice(0, MAX_TEXT_LENGTH) ?? null,
    ip: clientAddress(peer, request.headers, trustedProxies(config)),
    requestBody: shortBody(known, answer, isContentHidden) ?? wholeBody(known, isContentHidden),
    responseBody:
      isPlainRead || typeof payload !== 'string' ? null : logBody(payload, { isJson: true }),
    createdAt: known.startedAt,
  };
}

/** Of an accepted email: the body without what its message holds. Null for all others, replays among them. */
function shortBody(
  { value }: RequestBody,
  { messageId, content }: Answer,
  isContentHidden: boolean,
): string | null {
  if (messageId === undefined || content === undefined) return null;
  const rest = withoutContent(value, content);
  return rest === null ? null : logRest(rest, isContentHidden);
}

/** A body on a read is never looked at, so there is none to keep. */
function wholeBody({ json, rawBody }: RequestBody, isContentHidden: boolean): string | null {
  const { buffer, byteOffset, byteLength } = rawBody;
  const text = json ?? Buffer.from(buffer, byteOffset, byteLength).toString();
  return logBody(text, { isJson: json !== null, isContentHidden });
}
