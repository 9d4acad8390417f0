/**
 * The error body as a shape, and an example of each refusal, for the reference page.
 */
import { Type } from '@sinclair/typebox';
import { ApiError, REFUSALS, type ErrorCode } from '../../base/errors.ts';
import { errorBody, type ErrorBody } from '../errors.ts';

export const ErrorShape = Type.Object(
  {
    statusCode: Type.Integer(),
    name: Type.String({ description: 'The name that client libraries branch on.' }),
    message: Type.String(),
    code: Type.Union(
      Object.keys(REFUSALS).map((code) => Type.Literal(code)),
      { description: 'Finer than `name`.' },
    ),
    detail: Type.Optional(Type.Object({}, { additionalProperties: true })),
    request_id: Type.String({ format: 'uuid', description: 'Finds the request in the log.' }),
    error: Type.Object({
      statusCode: Type.Integer(),
      name: Type.String(),
      message: Type.String(),
    }),
  },
  { title: 'Error' },
);

/** What each refusal says, in one sentence for readers. */
const SENTENCES: Record<ErrorCode, string> = {
  unauthorized: 'The API key is missing, invalid or revoked.',
  forbidden: 'This key or this account may not do that.',
  not_found: 'There is nothing of that id in this account.',
  validation_failed:
    'Something in the request is not as it must be; `detail.issues` names all of it.',
  domain_not_verified: 'The domain of `from` is not verified yet.',
  from_domain_not_allowed: 'The domain of `from` is not one of this account.',
  recipient_suppressed: 'The address is suppressed.',
  recipient_not_confirmed: 'The plan allows confirmed recipients only.',
  rate_limited: 'Too many requests; `Retry-After` says for how long.',
  quota_exceeded: 'The daily or monthly quota is used up.',
  conflict: 'It exists already.',
  payment_required: 'The account can not send until it is paid.',
  account_paused: 'The account is paused.',
  content_rejected: 'The content is refused, for instance attachments beyond the plan.',
  platform_halted: 'Sending is halted; `Retry-After` says when to try again.',
  payload_too_large: 'The body is larger than 14 MB.',
  length_required: 'A request with a body needs a Content-Length header.',
  idempotency_conflict: 'The idempotency key was used for another request.',
  provider_error: 'DNS could not be asked.',
  internal_error: 'Something went wrong here.',
};

const REQUEST_ID = '01913c7e-89ab-7cde-8f01-23456789abce';

/** What a refusal means, and what its body looks like. */
export function refusalExample(code: ErrorCode): { sentence: string; body: ErrorBody } {
  const sentence = SENTENCES[code];
  return { sentence, body: errorBody(new ApiError(code, sentence), REQUEST_ID) };
}
