/**
 * The request log over HTTP: a page of it, and one record in full.
 *
 * Promises that a caller finds its own last request: rows still in memory are written before reading.
 */
import { Type, type Static } from '@sinclair/typebox';
import { ApiError } from '../../base/errors.ts';
import { requestBodyOf } from '../../flow/content/logged-request.ts';
import type { LogRecord } from '../../store/rows.ts';
import { defineRoute, type Route } from './route.ts';
import { Id, iso, nullable, paged, pagedList, Time, words } from '../shapes/common.ts';
import { must } from '../shapes/check.ts';
import { scopeOf, SCOPES } from '../shapes/key-response.ts';
import { count, CursorFields, pageOfQuery, queryOf, search } from '../shapes/query.ts';

const TAG = 'Logs and usage';

const summary = {
  id: Id,
  method: Type.String(),
  path: Type.String(),
  endpoint: Type.String({ description: 'The same as `path`.' }),
  status: Type.Integer(),
  response_status: Type.Integer({ description: 'The same as `status`.' }),
  duration_ms: nullable(Type.Integer()),
  message_id: nullable(Id),
  key_name: nullable(Type.String()),
  key_scope: nullable(words(SCOPES)),
  user_agent: nullable(Type.String()),
  created_at: Time,
};

const LogSummary = Type.Object(summary, { title: 'LogSummary' });

const Log = Type.Object(
  {
    object: Type.Literal('log'),
    ...summary,
    account_id: nullable(Id),
    key_id: nullable(Id),
    ip: nullable(Type.String()),
    request_body: nullable(Type.String()),
    response_body: nullable(Type.String()),
  },
  { title: 'Log' },
);

/** Also methods that no route accepts: refused requests are logged like all others. Submissions are `SMTP`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'SMTP'];
const ANY_CASE = METHODS.map((method) =>
  method.replaceAll(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`),
);

const LogQuery = queryOf(
  Type.Object({
    limit: count(1, 100, 50),
    ...CursorFields,
    q: Type.Optional(search('Part of the path.')),
    status: Type.Optional(
      must(
        Type.String({
          pattern: '^(?:[245]|[1-5][0-9]{2})$',
          description: 'A status code, or 2, 4 or 5 for all codes of that class.',
        }),
        'must be a status code such as 404, or 2, 4 or 5 for all codes of that class',
      ),
    ),
    method: Type.Optional(
      must(
        Type.String({
          pattern: `^(?:${ANY_CASE.join('|')})$`,
          description: 'Method of the request, in any case.',
          examples: ['POST'],
        }),
        `must be one of ${METHODS.join(', ')}`,
      ),
    ),
  }),
);

export const logRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/logs',
    access: 'full',
    query: LogQuery,
    text: { id: 'listLogs', clauses: ['C15.1'], tag: TAG, summary: 'List API requests' },
    success: { status: 200, schema: pagedList(LogSummary), description: 'A page, newest first.' },
    async handle({ api, identity, query }) {
      await api.requestLog.flush();
      const page = await api.ctx.store.logs(identity.account.id, {
        ...pageOfQuery(query),
        q: query.q ?? null,
        status: query.status === undefined ? null : Number(query.status),
        method: query.method?.toUpperCase() ?? null,
        isSandboxOnly: identity.key.isTest,
      });
      return { status: 200, body: paged(page, ({ id }) => id, logSummary) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/logs/:id',
    access: 'full',
    text: {
      id: 'getLog',
      clauses: ['C15.2', 'C15.3'],
      tag: TAG,
      summary: 'Retrieve an API request',
    },
    success: { status: 200, schema: Log, description: 'The full record.' },
    async handle({ api, identity, params }) {
      await api.requestLog.flush();
      const row = await api.ctx.store.log(identity.account.id, params['id'] ?? '');
      const isHidden = identity.key.isTest && row?.isSandbox === false;
      if (row === null || isHidden) {
        throw new ApiError('not_found', 'There is no such log record.');
      }
      const body: Static<typeof Log> = {
        object: 'log',
        ...logSummary(row),
        account_id: row.accountId,
        key_id: row.keyId,
        ip: row.ip,
        request_body: await requestBodyOf(api.ctx, row),
        response_body: row.responseBody,
      };
      return { status: 200, body };
    },
  }),
];

function logSummary(
  row: Omit<LogRecord, 'requestBody' | 'responseBody'>,
): Static<typeof LogSummary> {
  return {
    id: row.id,
    method: row.method,
    path: row.path,
    endpoint: row.path,
    status: row.status,
    response_status: row.status,
    duration_ms: row.durationMs,
    message_id: row.messageId,
    key_name: row.keyName,
    key_scope: scopeOf(row.keyPermission),
    user_agent: row.userAgent,
    created_at: iso(row.createdAt),
  };
}
