/**
 * The row of the request log for one request that was handled.
 *
 * Promises what `redaction.ts` promises about bodies. Request bodies are kept for writes only; response bodies for
 * writes and refusals, since the store still has what a read returned. The html and text of an accepted email are kept
 * with its message only; other content is hidden where the account keeps log rows longer than `[retention] bodies`
 * allows.
 */
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import { hideKeys } from '../../base/key-text.ts';
import { withoutContent } from '../../flow/content/logged-request.ts';
import type { Draft, Identity } from '../../flow/draft.ts';
import { planOf } from '../../flow/accounts/plans.ts';
import type { LogRecord } from '../../store/rows.ts';
import { logBody, logLargeBody, logRest } from './redaction.ts';

/** Longest path or user agent that is kept, in characters. */
const MAX_TEXT_LENGTH = 2_048;
/** A body that was refused before it was read as JSON is looked through for the log up to this size. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Routes that take no email. */
const OTHER_RESOURCES = /\/(?:api-keys|domains|suppressions|webhooks)(?:\/|$)/;
const DAY_MS = 86_400_000;

/** The request as it arrived. `method` and `path`: as the client sent them. */
interface LoggedRequest {
  request: Request;
  method: string;
  path: string;
}

/** How it was handled. */
interface LoggedResult {
  status: number;
  /** Id of the first message it created, and the content of that message where it is the only one. */
  messageId?: string;
  content?: Pick<Draft, 'html' | 'text'>;
}

/** The body of a request. `text`: null for one that was not read as JSON, and for a large one. */
interface LoggedBody {
  length: number;
  text: string | null;
  /** Undefined for one that was not read as JSON. */
  value: unknown;
  /** Its text, where it was not read as JSON; null where it has more bytes than `most`. */
  unread: (most: number) => string | null;
}

interface Known {
  body: LoggedBody;
  requestId: string;
  startedAt: number;
  identity: Identity;
  /** Address of the client; null without a socket. */
  ip: string | null;
}

/** The row. `payload`: the response body; it is kept where it is a text. */
export function logRow(
  { clock, config }: { clock: Clock; config: Config },
  { request, method, path }: LoggedRequest,
  known: Known,
  result: LoggedResult,
  payload: string | object,
): LogRecord {
  const { key, account } = known.identity;
  const userAgent = request.headers.get('user-agent');
  const isPlainRead = request.method === 'GET' && result.status < 400;
  const isContentHidden =
    planOf(config.live.plans, account).logRetentionDays * DAY_MS > config.live.retention.bodiesMs;
  return {
    id: known.requestId,
    accountId: account.id,
    keyId: key.id,
    keyName: key.name,
    keyPermission: key.permission,
    isSandbox: key.isTest,
    method,
    path: hideKeys(path).slice(0, MAX_TEXT_LENGTH),
    status: result.status,
    durationMs: Math.max(0, clock.now() - known.startedAt),
    messageId: result.messageId ?? null,
    userAgent: userAgent === null ? null : hideKeys(userAgent).slice(0, MAX_TEXT_LENGTH),
    ip: known.ip,
    requestBody:
      shortBody(known, result, isContentHidden) ??
      wholeBody(known, { isContentHidden, isEmail: !OTHER_RESOURCES.test(path) }),
    responseBody:
      isPlainRead || typeof payload !== 'string' ? null : logBody(payload, { isJson: true }),
    createdAt: known.startedAt,
  };
}

/** Of an accepted email: the body without the content that its message keeps. Null for others, replays too. */
function shortBody(
  { body: { value } }: Known,
  { messageId, content }: LoggedResult,
  isContentHidden: boolean,
): string | null {
  if (messageId === undefined || content === undefined) return null;
  const rest = withoutContent(value, content);
  return rest === null ? null : logRest(rest, isContentHidden);
}

/** The body as it was sent. Empty for a read, whose body is never read. */
function wholeBody(
  { body }: Known,
  what: { isContentHidden: boolean; isEmail: boolean },
): string | null {
  const { text, value } = body;
  if (text !== null) return logBody(text, { isJson: true, ...what, value });
  if (value !== undefined) return logLargeBody(value, what);
  const unread = body.unread(MAX_UNREAD_BYTES);
  if (unread === null) return `[${body.length} bytes that were not read]`;
  return logBody(unread, what);
}
