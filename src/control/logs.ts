/** The request log as the operator sees it: an account's API requests, newest first, without their bodies. */
import { Type } from '@sinclair/typebox';

import { OperatorError } from '../base/errors.ts';
import { oneAccount } from './accounts.ts';
import { cursorOf, limitOf } from './emails.ts';
import { operation } from './operation.ts';
import { Text, Time, orNull } from './shapes.ts';

const LogShape = Type.Object({
  id: Type.String(),
  method: Type.String(),
  path: Type.String(),
  status: Type.Integer(),
  durationMs: orNull(Type.Integer()),
  messageId: orNull(Type.String()),
  keyName: orNull(Type.String()),
  ip: orNull(Type.String()),
  createdAt: Time,
});

/** A status such as `404`, or the first digit of `4xx`. Throws `OperatorError`. */
function statusOf(text: string | null): number | null {
  if (text === null) return null;
  if (/^[1-5]\d\d$/.test(text)) return Number(text);
  if (/^[245]xx$/.test(text)) return Number(text.charAt(0));
  throw new OperatorError(
    `--status must be a status such as 404, or 2xx, 4xx or 5xx, not "${text}".`,
    '',
  );
}

export const LOG_OPERATIONS = {
  'log.list': operation(
    {
      account: orNull(Text),
      status: orNull(Text),
      method: orNull(Text),
      q: orNull(Text),
      limit: orNull(Text),
      after: orNull(Text),
    },
    Type.Object({ requests: Type.Array(LogShape), hasMore: Type.Boolean() }),
    async (scope, { account, status, method, q, limit, after }) => {
      const { id } = await oneAccount(scope, account);
      const { rows, hasMore } = await scope.ctx.store.logs(id, {
        q,
        after: cursorOf(after),
        before: null,
        status: statusOf(status),
        method: method?.toUpperCase() ?? null,
        limit: limitOf(limit),
      });
      const requests = rows.map((row) => ({
        id: row.id,
        method: row.method,
        path: row.path,
        status: row.status,
        durationMs: row.durationMs,
        messageId: row.messageId,
        keyName: row.keyName,
        ip: row.ip,
        createdAt: row.createdAt,
      }));
      return { requests, hasMore };
    },
  ),
};
