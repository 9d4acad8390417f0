/**
 * The row of the request log for one answered request.
 *
 * Promises what `redaction.ts` promises about bodies. Request bodies are kept for writes only; answers
 * for writes and refusals, since what a read found stands in the store already. An email's content is left out where
 * the account's rows are kept for longer than `[retention] bodies` allows.
 */
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Identity } from '../flow/keys.ts';
import { planOf } from '../flow/plans.ts';
import type { LogRecord } from '../store/rows.ts';
import { clientAddress, trustedProxies } from './client-address.ts';
import type { Incoming } from './incoming.ts';
import { logBody } from './redaction.ts';
import type { Answer } from './route.ts';

/** Longest path or user agent that is kept, in characters. */
const MAX_TEXT_LENGTH = 2_048;
const DAY_MS = 86_400_000;

/** Makes the row. `payload`: what was sent; bytes are never kept. */
export function logRow(
  { clock, config }: { clock: Clock; config: Config },
  { request, method, path, peer }: Incoming,
  known: {
    requestId: string;
    startedAt: number;
    identity: Identity;
    rawBody: Uint8Array;
    json: string | null;
  },
  answer: Answer,
  payload: string | Uint8Array,
): LogRecord {
  const { key, account } = known.identity;
  const isPlainRead = request.method === 'GET' && answer.status < 400;
  const { buffer, byteOffset, byteLength } = known.rawBody;
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
    // A body on a read is never looked at, so there is none to keep.
    requestBody: logBody(known.json ?? Buffer.from(buffer, byteOffset, byteLength).toString(), {
      isJson: known.json !== null,
      isContentHidden:
        planOf(config, account).logRetentionDays * DAY_MS > config.retention.bodiesMs,
    }),
    responseBody:
      isPlainRead || typeof payload !== 'string' ? null : logBody(payload, { isJson: true }),
    createdAt: known.startedAt,
  };
}
