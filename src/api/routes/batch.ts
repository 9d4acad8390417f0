/**
 * `POST /emails/batch`: 1 to 100 emails in one request, in one commit.
 *
 * Strict: one invalid email, and none is sent. Permissive: the valid ones are sent, the others are listed in `errors`
 * with their position in the request. All accepted emails are on disk before the response.
 */
import { Type } from '@sinclair/typebox';
import { validationFailed, type ApiError } from '../../base/errors.ts';
import type { ItemResult } from '../../flow/accept/accept.ts';
import type { Draft } from '../../flow/draft.ts';
import { defineRoute, type Route } from './route.ts';
import { send } from './send.ts';
import { MAX_ISSUES, refusalFor } from '../shapes/check.ts';
import { SendResult } from '../shapes/email-response.ts';
import { FullEmail } from '../shapes/email-fields.ts';
import { readEmail } from '../shapes/read-email.ts';
import type { Reader } from '../shapes/reader.ts';

const MAX_EMAILS = 100;
const ROUTE = 'POST /emails/batch';

const manyEmails: Reader<(Draft | ApiError)[]> = {
  schema: Type.Array(FullEmail, { minItems: 1, maxItems: MAX_EMAILS }),
  read(value) {
    if (!Array.isArray(value) || value.length < 1 || value.length > MAX_EMAILS) {
      const message = `The body must be a list of 1 to ${MAX_EMAILS} emails.`;
      throw validationFailed([{ path: '', message }]);
    }
    // One budget for the whole request; what comes after it learns its first fault only.
    let left = MAX_ISSUES;
    return value.map((item: unknown, at) => {
      const read = readEmail(item, {
        mostFaults: Math.max(left, 1),
        kind: 'full',
        at: pathOf(at),
        mayLink: false,
        needsContent: false,
      });
      if (!Array.isArray(read)) return read.draft;
      left -= read.length;
      return refusalFor(read);
    });
  },
};

const BatchResult = Type.Object(
  {
    data: Type.Array(SendResult),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          index: Type.Integer({ description: 'Position in the request, from 0.' }),
          message: Type.String(),
          code: Type.String(),
          name: Type.String(),
        }),
        { description: 'Only in a permissive batch.' },
      ),
    ),
  },
  { title: 'BatchResult' },
);

export const batchRoutes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/emails/batch',
    access: 'send',
    isSend: true,
    body: manyEmails,
    text: {
      id: 'sendBatch',
      clauses: ['C5.1', 'C5.2', 'C5.3', 'C5.4', 'C5.5', 'C6.1'],
      tag: 'Emails',
      summary: 'Send up to 100 emails',
      description:
        'With the header `x-batch-validation: permissive`, valid emails are sent and the others are ' +
        'listed in `errors`; the default, `strict`, sends all or none.',
    },
    success: { status: 200, schema: BatchResult, description: 'Accepted and stored on disk.' },
    async handle(call) {
      const isPermissive = mayFailPartly(call.headers);
      return send(call, call.body, {
        route: ROUTE,
        isPermissive,
        pathOf,
        respond: (results) => ({ status: 200, body: batchBody(results, isPermissive) }),
      });
    },
  }),
];

function pathOf(index: number): string {
  return `[${index}]`;
}

function batchBody(results: readonly ItemResult[], isPermissive: boolean): object {
  const data = results.flatMap((result) =>
    result.kind === 'accepted' ? [{ id: result.id, status: result.status }] : [],
  );
  if (!isPermissive) return { data };
  const errors = results.flatMap((result, index) =>
    result.kind === 'refused'
      ? [
          {
            index,
            message: result.error.message,
            code: result.error.code,
            name: result.error.errorName,
          },
        ]
      : [],
  );
  return { data, errors };
}

function mayFailPartly(headers: Headers): boolean {
  const mode = headers.get('x-batch-validation') ?? 'strict';
  if (mode === 'strict' || mode === 'permissive') return mode === 'permissive';
  const message = 'x-batch-validation must be "strict" or "permissive".';
  throw validationFailed([{ path: 'x-batch-validation', message }]);
}
