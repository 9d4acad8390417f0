/**
 * SMTP replies: code, enhanced code (RFC 3463) and text, also for every refusal that the API knows.
 *
 * Promises the API's message text after a code that makes a client do the right thing: 4xx where trying again later
 * helps, 5xx where it does not. Text is printable ASCII, since a reply line allows nothing else.
 */
import { ApiError, type ErrorCode } from '../base/errors.ts';
import { StoreFullError, StoreUnwritableError } from '../store/store.ts';

/** Longest text of a reply: RFC 5321 section 4.5.3.1.5 allows 512 octets in a line, code and CRLF included. */
const MAX_TEXT_LENGTH = 480;

/** A reply that refuses, in the shape smtp-server takes: `message` begins with the enhanced code. */
export class SmtpRefusal extends Error {
  override readonly name = 'SmtpRefusal';
  readonly responseCode: number;

  constructor(responseCode: number, enhanced: string, text: string) {
    super(replyText(enhanced, text));
    this.responseCode = responseCode;
  }
}

/** `5.7.1 text`: what follows the reply code, cut to one line. */
export function replyText(enhanced: string, text: string): string {
  return `${enhanced} ${text}`.replace(/[^\x20-\x7e]+/g, '?').slice(0, MAX_TEXT_LENGTH);
}

/**
 * Code and enhanced code for each refusal. 4xx for what ends by itself (rate, quota, halt, faults of ours), so that
 * the client keeps the message and tries again; anything else would be refused every time.
 */
const REPLIES: Record<ErrorCode, [code: number, enhanced: string]> = {
  unauthorized: [535, '5.7.8'],
  forbidden: [550, '5.7.1'],
  not_found: [550, '5.1.1'],
  validation_failed: [554, '5.6.0'],
  domain_not_verified: [550, '5.7.1'],
  from_domain_not_allowed: [550, '5.7.1'],
  recipient_suppressed: [550, '5.7.1'],
  recipient_not_confirmed: [550, '5.7.1'],
  rate_limited: [450, '4.7.1'],
  quota_exceeded: [450, '4.7.1'],
  conflict: [554, '5.5.0'],
  payment_required: [550, '5.7.1'],
  account_paused: [550, '5.7.1'],
  content_rejected: [554, '5.6.0'],
  platform_halted: [452, '4.3.1'],
  payload_too_large: [552, '5.3.4'],
  length_required: [554, '5.5.0'],
  idempotency_conflict: [554, '5.5.0'],
  provider_error: [451, '4.4.3'],
  internal_error: [451, '4.3.0'],
};

/** The reply for anything thrown; null for a fault of ours, which the caller logs and replies to with `FAULT`. */
export function refusalFor(error: unknown): SmtpRefusal | null {
  if (error instanceof SmtpRefusal) return error;
  if (error instanceof StoreUnwritableError) {
    const enhanced = error instanceof StoreFullError ? '4.3.1' : '4.3.0';
    return new SmtpRefusal(452, enhanced, `${error.said} Try again later.`);
  }
  if (!(error instanceof ApiError)) return null;
  const [code, enhanced] = REPLIES[error.code];
  return new SmtpRefusal(code, enhanced, error.message);
}

/** What a client learns of a fault of ours: nothing about its cause. */
export const FAULT = new SmtpRefusal(
  451,
  '4.3.0',
  'The service failed to handle this command. Try again later.',
);
