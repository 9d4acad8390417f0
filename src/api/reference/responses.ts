/**
 * The responses of an operation: its success and every refusal, by status, with their headers.
 *
 * Promises that a status has a schema which allows only the codes that can come with it, and an example of each.
 */
import type { TSchema } from '@sinclair/typebox';
import { REFUSALS, type ErrorCode } from '../../base/errors.ts';
import type { Route } from '../routes/route.ts';
import { ErrorShape, refusalExample, SENTENCES } from '../shapes/error-body.ts';
import { exampleOf } from '../shapes/example.ts';
import type { Components } from './components.ts';

const SENDING_ERRORS: readonly ErrorCode[] = [
  'domain_not_verified',
  'from_domain_not_allowed',
  'recipient_not_confirmed',
  'account_paused',
  'payment_required',
  'content_rejected',
  'quota_exceeded',
  'idempotency_conflict',
];

/** Status of a body that is no JSON or cannot be read at all (docs/contract.md C3.8). */
const MALFORMED = 400;

/** Response headers, for `components.headers`. */
export const HEADERS = {
  'X-Request-Id': text('The id of the request in the log.', { format: 'uuid' }, true),
  'RateLimit-Limit': number('Requests that the window allows.'),
  'RateLimit-Remaining': number('Requests that are left in the window.'),
  'RateLimit-Reset': number('Seconds until the window is over.'),
  'Retry-After': number('Seconds after which to try again.'),
  'WWW-Authenticate': text('`Bearer` (RFC 6750 section 3).', {}),
  'Idempotent-Replayed': text('On a response that was stored under the same key.', {
    const: 'true',
  }),
};

type HeaderName = keyof typeof HEADERS;

const RATE: readonly HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const BY_STATUS: Partial<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Every error code that a route can return. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (...more: ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.access !== 'open') add('unauthorized');
  if (route.access === 'full') add('forbidden');
  if (route.path.includes(':')) add('not_found');
  if (route.query !== null || route.body !== null) add('validation_failed');
  if (mayHaveBody(route)) add('length_required', 'payload_too_large');
  if (route.isSend) add(...SENDING_ERRORS);
  if (isCounted(route)) add('rate_limited');
  // What asks the store needs one that answers; what writes, free space on the disk; what sends, no halt.
  if (route.access !== 'open' || route.method !== 'GET') add('platform_halted');
  add('internal_error');
  return [...codes].sort((a, b) => REFUSALS[a].status - REFUSALS[b].status);
}

/** The `responses` of an operation. */
export function responsesOf(route: Route, components: Components): Record<string, unknown> {
  const { status, description, schema, mediaType = 'application/json' } = route.success;
  const headers = [
    ...(isCounted(route) ? RATE : []),
    ...(route.isSend ? (['Idempotent-Replayed'] as const) : []),
  ];
  const isJson = mediaType === 'application/json';
  const content = isJson ? jsonContent(schema, components) : { [mediaType]: { schema: {} } };
  return {
    [status]: { description, headers: headersOf(headers), content },
    ...errorResponses(route, components),
  };
}

/** JSON of a shape, with an example. */
export function jsonContent(shape: TSchema, components: Components): Record<string, unknown> {
  return { 'application/json': { schema: components.schema(shape), example: exampleOf(shape) } };
}

function errorResponses(route: Route, components: Components): Record<string, unknown> {
  const entries = errorsOf(route).map((code) => ({
    status: REFUSALS[code].status as number,
    code,
  }));
  if (mayHaveBody(route)) entries.unshift({ status: MALFORMED, code: 'validation_failed' });
  const responses: Record<string, unknown> = {};
  for (const [status, ofStatus] of Map.groupBy(entries, (entry) => entry.status)) {
    const codes = ofStatus.map(({ code }) => code);
    responses[status] = {
      description: codes.map((code) => `\`${code}\`: ${SENTENCES[code]}`).join('\n\n'),
      headers: headersOf(BY_STATUS[status] ?? []),
      content: {
        'application/json': {
          schema: {
            ...components.schema(ErrorShape),
            properties: { code: { enum: codes } },
          },
          examples: Object.fromEntries(
            codes.map((code) => [
              code,
              components.example(exampleName(code, status), refusalExample(code, status)),
            ]),
          ),
        },
      },
    };
  }
  return responses;
}

function exampleName(code: ErrorCode, status: number): string {
  return status === REFUSALS[code].status ? code : `${code}_${status}`;
}

function mayHaveBody({ method }: Route): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** Whether the route counts against a rate (docs/contract.md C17.1 to C17.3). */
function isCounted({ access }: Route): boolean {
  return access !== 'open';
}

function headersOf(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(
    (['X-Request-Id', ...names] as const).map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );
}

function text(description: string, schema: object, required = false): object {
  return { description, required, schema: { type: 'string', ...schema } };
}

function number(description: string): object {
  return { description, schema: { type: 'integer', minimum: 0 } };
}
