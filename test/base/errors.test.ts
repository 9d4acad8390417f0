/** Refusals: their status and name, and that more detail changes nothing else of them. */
import { expect, test } from 'bun:test';

import { ApiError, REFUSALS, validationFailed, type ErrorCode } from '../../src/base/errors.ts';

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
