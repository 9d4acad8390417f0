/**
 * Refusals: what the caller did wrong or may not do, and the one table that gives each its status and name.
 *
 * Promises that every code of the contract has exactly one HTTP status here, and that names come only
 * from the 21 every client library knows. Outcomes of the network are values, not errors; any other
 * throw is a fault of ours and is turned into `internal_error` by the listener.
 */

/** The contract's codes with their HTTP status and default name (docs/contract.md C3.6). */
export const REFUSALS = {
  unauthorized: { status: 401, name: 'invalid_api_key' },
  forbidden: { status: 403, name: 'invalid_access' },
  not_found: { status: 404, name: 'not_found' },
  validation_failed: { status: 422, name: 'validation_error' },
  domain_not_verified: { status: 403, name: 'validation_error' },
  from_domain_not_allowed: { status: 403, name: 'validation_error' },
  recipient_suppressed: { status: 422, name: 'validation_error' },
  recipient_not_confirmed: { status: 403, name: 'validation_error' },
  rate_limited: { status: 429, name: 'rate_limit_exceeded' },
  quota_exceeded: { status: 429, name: 'monthly_quota_exceeded' },
  conflict: { status: 409, name: 'invalid_parameter' },
  payment_required: { status: 402, name: 'invalid_access' },
  account_paused: { status: 403, name: 'invalid_access' },
  content_rejected: { status: 422, name: 'validation_error' },
  platform_halted: { status: 503, name: 'application_error' },
  payload_too_large: { status: 413, name: 'validation_error' },
  length_required: { status: 411, name: 'validation_error' },
  idempotency_conflict: { status: 409, name: 'invalid_idempotent_request' },
  provider_error: { status: 502, name: 'application_error' },
  internal_error: { status: 500, name: 'internal_server_error' },
} as const;

export type ErrorCode = keyof typeof REFUSALS;

/** The names that every client library knows; anything else breaks some of them. */
export type ErrorName =
  | 'invalid_idempotency_key'
  | 'validation_error'
  | 'missing_api_key'
  | 'restricted_api_key'
  | 'invalid_api_key'
  | 'not_found'
  | 'method_not_allowed'
  | 'invalid_idempotent_request'
  | 'concurrent_idempotent_requests'
  | 'missing_required_field'
  | 'invalid_attachment'
  | 'invalid_from_address'
  | 'invalid_access'
  | 'invalid_parameter'
  | 'invalid_region'
  | 'daily_quota_exceeded'
  | 'monthly_quota_exceeded'
  | 'rate_limit_exceeded'
  | 'security_error'
  | 'application_error'
  | 'internal_server_error';

/** One thing wrong with one field. `path` is dotted, `[n]` for items of a list: `to[1]`, `attachments[0].filename`. */
export interface Issue {
  path: string;
  message: string;
}

/** Facts of a refusal for programs; shown to the caller. */
export interface RefusalDetail {
  /** Every issue of `validation_failed`. */
  issues?: Issue[];
  [fact: string]: unknown;
}

export interface RefusalOptions {
  /** Overrides the table's name for this code. */
  name?: ErrorName;
  /** Overrides the table's status: 400 for a body that is not JSON, 405 for a wrong method. */
  status?: number;
  detail?: RefusalDetail;
  /** Extra response headers: `Retry-After`, `Allow`, … */
  headers?: Record<string, string>;
}

/** A refusal. `message` is shown to the caller as it is: it names the field and what would be right. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly errorName: ErrorName;
  readonly status: number;
  readonly detail: RefusalDetail | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: RefusalOptions = {}) {
    super(message);
    this.code = code;
    this.errorName = options.name ?? REFUSALS[code].name;
    this.status = options.status ?? REFUSALS[code].status;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
  }

  /** The same refusal with more detail. */
  with(detail: RefusalDetail): ApiError {
    return new ApiError(this.code, this.message, {
      name: this.errorName,
      status: this.status,
      headers: this.headers,
      detail: { ...this.detail, ...detail },
    });
  }
}

/**
 * The refusal for a body, query or path with faults: every issue at once under `detail.issues`.
 * Throws nothing; give it at least one issue.
 */
export function validationFailed(issues: Issue[], options: RefusalOptions = {}): ApiError {
  const first = issues[0];
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new ApiError('validation_failed', `${first?.message ?? 'Invalid request.'}${more}`, {
    ...options,
    detail: { issues },
  });
}

/** The exit code for a wrong config: EX_CONFIG of sysexits.h. */
export const EXIT_CONFIG = 78;

/** A fault that an operator can fix: `hint` says what to do next. Ends a command with exit code 1 or 78. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  readonly hint: string;
  readonly exitCode: number;

  constructor(message: string, hint: string, exitCode = 1) {
    super(message);
    this.hint = hint;
    this.exitCode = exitCode;
  }
}
