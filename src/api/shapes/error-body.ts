/**
 * The error body: its type, its schema, and an example of each refusal for the reference page.
 *
 * Promises the documented shape for every failure, with a `name` from the list that client libraries know. `error`
 * repeats three fields for one library, which takes the text `code` for a number (docs/client-libraries.md L2).
 */
import { Type } from '@sinclair/typebox';
import { ApiError, REFUSALS, type ErrorCode } from '../../base/errors.ts';

/** The body of every error response (docs/contract.md C3.1). */
export interface ErrorBody {
  statusCode: number;
  name: string;
  message: string;
  code: string;
  detail?: Record<string, unknown>;
  request_id: string;
  error: { statusCode: number; name: string; message: string };
}

/** The body of a refusal. */
export function errorBody(error: ApiError, requestId: string): ErrorBody {
  const { status: statusCode, errorName: name, message, code, detail } = error;
  return {
    statusCode,
    name,
    message,
    code,
    ...(detail !== undefined && { detail }),
    request_id: requestId,
    error: { statusCode, name, message },
  };
}

export const ErrorShape = Type.Object(
  {
    statusCode: Type.Integer(),
    name: Type.String({ description: 'The error name that client libraries use.' }),
    message: Type.String(),
    code: Type.Union(
      Object.keys(REFUSALS).map((code) => Type.Literal(code)),
      { description: 'More specific than `name`.' },
    ),
    detail: Type.Optional(Type.Object({}, { additionalProperties: true })),
    request_id: Type.String({ format: 'uuid', description: 'The id of the request in the log.' }),
    error: Type.Object({
      statusCode: Type.Integer(),
      name: Type.String(),
      message: Type.String(),
    }),
  },
  { title: 'Error' },
);

/** What each refusal means, in one sentence for the reference page. */
export const SENTENCES: Record<ErrorCode, string> = {
  unauthorized: 'The API key is missing, invalid or revoked.',
  forbidden: 'The key or the account does not have permission.',
  not_found: 'The account has no such object.',
  validation_failed: 'The request is invalid. `detail.issues` lists every problem.',
  domain_not_verified: 'The domain of `from` is not verified yet.',
  from_domain_not_allowed: 'The domain of `from` does not belong to this account.',
  recipient_suppressed: 'The address is suppressed.',
  recipient_not_confirmed: 'The plan only allows confirmed recipients.',
  rate_limited: 'Too many requests. `Retry-After` says when to try again.',
  quota_exceeded: 'The daily or monthly quota is used up.',
  conflict: 'The object already exists.',
  payment_required: 'The account cannot send until its bill is paid.',
  account_paused: 'The account is paused.',
  content_rejected:
    'The content is not allowed, for example because the attachments exceed the limit of the plan.',
  platform_halted:
    'Sending is halted, or the service cannot do this now. `Retry-After` says when to try again.',
  payload_too_large: 'The body is larger than 14 MB.',
  length_required: 'A request with a body must have a Content-Length header.',
  idempotency_conflict: 'The idempotency key was already used for a different request.',
  provider_error: 'The DNS lookup failed.',
  internal_error: 'The service failed to handle the request.',
};

const REQUEST_ID = '01913c7e-89ab-7cde-8f01-23456789abce';

/** An example of the body of a refusal with this status. */
export function refusalExample(code: ErrorCode, status: number): ErrorBody {
  return errorBody(new ApiError(code, SENTENCES[code], { status }), REQUEST_ID);
}
