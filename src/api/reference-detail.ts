/**
 * One route as OpenAPI describes an operation, from the shapes that validate it.
 *
 * Promises that nothing here is written twice: parameters, bodies, answers and examples come from the
 * route itself, errors from what the guard and the readers can refuse on a route of its kind.
 */
import type { TSchema } from '@sinclair/typebox';
import { REFUSALS, type ErrorCode } from '../base/errors.ts';
import type { Route } from './route.ts';
import { refusalExample } from './shapes/error-shape.ts';
import { exampleOf } from './shapes/example.ts';

const SENDING_ERRORS: readonly ErrorCode[] = [
  'domain_not_verified',
  'from_domain_not_allowed',
  'recipient_not_confirmed',
  'account_paused',
  'payment_required',
  'content_rejected',
  'quota_exceeded',
  'idempotency_conflict',
  'platform_halted',
];

/** The `detail` of Elysia's route hook, which the swagger plugin takes over as it is. */
export function detailOf(route: Route): Record<string, unknown> {
  const { text, success, body } = route;
  return {
    tags: [text.tag],
    summary: text.summary,
    ...(text.description !== undefined && { description: text.description }),
    ...(route.access === 'open' && { security: [] }),
    parameters: [...headerParameters(route), ...queryParameters(route)],
    ...(body !== null && {
      requestBody: { required: true, content: jsonContent(body.schema) },
    }),
    responses: {
      [success.status]: { description: success.description, content: jsonContent(success.schema) },
      ...errorAnswers(route),
    },
  };
}

/** Every code that a route can answer with. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (...more: ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.access !== 'open') add('unauthorized');
  if (route.access === 'full') add('forbidden');
  if (route.path.includes(':')) add('not_found');
  if (route.query !== null) add('validation_failed');
  if (route.body !== null) add('validation_failed', 'length_required', 'payload_too_large');
  if (route.isSend) add(...SENDING_ERRORS);
  if (route.isSend || route.method === 'GET') add('rate_limited');
  add('internal_error');
  return [...codes].sort((a, b) => REFUSALS[a].status - REFUSALS[b].status);
}

function errorAnswers(route: Route): Record<string, unknown> {
  const answers: Record<string, { description: string; content: unknown }> = {};
  const byStatus = Map.groupBy(errorsOf(route), (code) => REFUSALS[code].status);
  for (const [status, codes] of byStatus) {
    const rows = codes.map((code) => [code, refusalExample(code)] as const);
    answers[status] = {
      description: rows.map(([code, { sentence }]) => `\`${code}\`: ${sentence}`).join('\n\n'),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          examples: Object.fromEntries(rows.map(([code, { body: value }]) => [code, { value }])),
        },
      },
    };
  }
  return answers;
}

function jsonContent(schema: TSchema): Record<string, unknown> {
  return { 'application/json': { schema, example: exampleOf(schema) } };
}

function queryParameters({ query }: Route): object[] {
  const properties = (query?.schema['properties'] ?? {}) as Record<string, TSchema>;
  const required = (query?.schema['required'] ?? []) as string[];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ isSend, path }: Route): object[] {
  if (!isSend) return [];
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes a repeated request safe for 24 hours.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  };
  if (path !== '/emails/batch') return [key];
  const mode = {
    name: 'x-batch-validation',
    in: 'header',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  };
  return [key, mode];
}
