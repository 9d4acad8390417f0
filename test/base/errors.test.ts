/** Refusals: their status and name, and that more detail changes nothing else of them. */
import { expect, test } from 'bun:test';

import {
  ApiError,
  EXIT_CONFIG,
  OperatorError,
  REFUSALS,
  validationFailed,
  type ErrorCode,
} from '../../src/base/errors.ts';

test('status and name are those of the table where nothing else is said', () => {
  for (const [code, { status, name }] of Object.entries(REFUSALS) as [
    ErrorCode,
    (typeof REFUSALS)[ErrorCode],
  ][]) {
    const { status: given, errorName, detail, headers } = new ApiError(code, 'No.');
    expect([code, given, errorName, detail, headers]).toEqual([code, status, name, undefined, {}]);
  }
});

test('more detail is added to what there was; message, name, status and headers stay', () => {
  const refusal = new ApiError('rate_limited', 'Too fast.', {
    name: 'daily_quota_exceeded',
    status: 400,
    headers: { 'Retry-After': '7' },
    detail: { limit: 3, index: 9 },
  });
  const { code, message, errorName, status, headers, detail } = refusal.with({ index: 1 });
  expect({ code, message, errorName, status, headers, detail }).toEqual({
    code: 'rate_limited',
    message: 'Too fast.',
    errorName: 'daily_quota_exceeded',
    status: 400,
    headers: { 'Retry-After': '7' },
    detail: { limit: 3, index: 1 },
  });
  expect(refusal.detail).toEqual({ limit: 3, index: 9 });
});

test('of several issues the first is told, and how many more there are', () => {
  const issues = ['from', 'to', 'subject'].map((path) => ({
    path,
    message: `${path} is missing.`,
  }));
  expect(validationFailed(issues.slice(0, 2)).message).toBe('from is missing. (and 1 more)');
  expect(validationFailed(issues).message).toBe('from is missing. (and 2 more)');
  expect(validationFailed(issues.slice(2)).message).toBe('subject is missing.');
  const options = {
    status: 400,
    name: 'missing_required_field',
    headers: { Allow: 'GET' },
  } as const;
  const { status, errorName, headers, detail } = validationFailed(issues, options);
  expect([status, errorName, headers, detail]).toEqual([
    400,
    'missing_required_field',
    { Allow: 'GET' },
    { issues },
  ]);
});

test('each refusal has the status and name of the contract', () => {
  expect(Object.entries(REFUSALS).map(([code, { status, name }]) => `${code} ${status} ${name}`))
    // docs/contract.md C3.6
    .toEqual([
      'unauthorized 401 invalid_api_key',
      'forbidden 403 invalid_access',
      'not_found 404 not_found',
      'validation_failed 422 validation_error',
      'domain_not_verified 403 validation_error',
      'from_domain_not_allowed 403 validation_error',
      'recipient_suppressed 422 validation_error',
      'recipient_not_confirmed 403 validation_error',
      'rate_limited 429 rate_limit_exceeded',
      'quota_exceeded 429 monthly_quota_exceeded',
      'conflict 409 invalid_parameter',
      'payment_required 402 invalid_access',
      'account_paused 403 invalid_access',
      'content_rejected 422 validation_error',
      'platform_halted 503 application_error',
      'payload_too_large 413 validation_error',
      'length_required 411 validation_error',
      'idempotency_conflict 409 invalid_idempotent_request',
      'provider_error 502 application_error',
      'internal_error 500 internal_server_error',
    ]);
});

test('what an operator can fix ends a command with 1, a wrong config with 78', () => {
  expect(new OperatorError('No.', 'Do.').exitCode).toBe(1);
  expect(EXIT_CONFIG).toBe(78);
});
