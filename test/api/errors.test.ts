/** What is thrown becomes a refusal: ours unchanged, a full disk to be tried again, anything else without its cause. */
import { expect, test } from 'bun:test';
import { refusalOf } from '../../src/api/errors.ts';
import { ApiError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { SearchUnreadyError, StoreAwayError, StoreFullError } from '../../src/store/store.ts';

function refusal(error: unknown) {
  const lines: string[] = [];
  const log = createLog(
    (line) => lines.push(line),
    () => 0,
  );
  return { refused: refusalOf(error, 'request-1', log), lines };
}

test('a refusal stays as it is and is not logged', () => {
  const own = new ApiError('conflict', 'It exists.');
  expect(refusal(own)).toEqual({ refused: own, lines: [] });
});

test.each([
  ['a full disk', new StoreFullError()],
  ['a database that is away', new StoreAwayError()],
  ['an unfinished search index', new SearchUnreadyError()],
])('%s is 503 with the time to try again, and no fault', (_, error) => {
  const { refused, lines } = refusal(error);
  expect(refused.message).toBe(`${error.said} Try again later.`);
  expect([refused.status, refused.code, refused.errorName]).toEqual([
    503,
    'platform_halted',
    'application_error',
  ]);
  expect(refused.headers).toEqual({ 'Retry-After': '30' });
  expect(lines).toEqual([]);
});

test.each([
  ['an error', () => new Error('the secret cause')],
  ['text', () => 'the secret cause'],
  ['null', () => null],
])('%s that is thrown is 500 without its cause, and logged once with its request', (_, thrown) => {
  const { refused, lines } = refusal(thrown());
  expect([refused.status, refused.code]).toEqual([500, 'internal_error']);
  expect(refused.message).toBe(
    'The service failed to handle this request. Find the cause in its log under the request id.',
  );
  expect([refused.errorName, refused.detail, refused.headers]).toEqual([
    'internal_server_error',
    undefined,
    {},
  ]);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    event: 'request_failed',
    request_id: 'request-1',
  });
});

test('the line of a fault says what to do with it', () => {
  const { lines } = refusal(new TypeError('x is undefined'));
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    request_id: 'request-1',
    hint: 'This is a bug in Postrider. Report it together with this log line.',
  });
});
