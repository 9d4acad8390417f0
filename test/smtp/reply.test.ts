/** Replies to refused commands: 4xx where a client should try again, one line of ASCII whatever was refused. */
import { expect, test } from 'bun:test';

import { ApiError, REFUSALS, type ErrorCode } from '../../src/base/errors.ts';
import { FAULT, refusalFor, replyText, SmtpRefusal } from '../../src/smtp/reply.ts';
import { StoreAwayError, StoreFullError, StoreUnconfirmedError } from '../../src/store/store.ts';

/** What ends by itself. After 4xx a client keeps the message, after 5xx it gives up (RFC 5321 section 4.2.1). */
const PASSING: readonly ErrorCode[] = [
  'rate_limited',
  'quota_exceeded',
  'platform_halted',
  'provider_error',
  'internal_error',
];

test.each(Object.keys(REFUSALS) as ErrorCode[])('%s', (code) => {
  const reply = refusalFor(new ApiError(code, 'Because.'));
  const digit = PASSING.includes(code) ? '4' : '5';
  expect(String(reply?.responseCode)).toStartWith(digit);
  // RFC 2034 section 4: the enhanced code is of the same class.
  expect(reply?.message).toMatch(new RegExp(`^${digit}\\.\\d\\.\\d{1,2} Because\\.$`));
});

test('a full disk and a fault of ours end by themselves too, and tell nothing of their cause', () => {
  const full = refusalFor(new StoreFullError('/var/lib/postrider: ENOSPC'));
  expect([full?.responseCode, full?.message.slice(0, 6)]).toEqual([452, '4.3.1 ']);
  expect(full?.message).not.toContain('/var');
  expect(refusalFor(new Error('secret'))).toBeNull();
  expect([FAULT.responseCode, FAULT.message.slice(0, 6)]).toEqual([451, '4.3.0 ']);
});

test('a text is one line of printable ASCII that fits a reply line of 512 octets', () => {
  expect(replyText('5.6.0', 'Grüße\r\n250 OK')).toBe('5.6.0 Gr?e?250 OK');
  const long = new SmtpRefusal(554, '5.6.0', 'x'.repeat(1_000));
  expect(`554 ${long.message}\r\n`.length).toBeLessThanOrEqual(512);
  expect(long.message).toStartWith('5.6.0 xxx');
});

test.each([
  ['unauthorized', '535 5.7.8'],
  ['forbidden', '550 5.7.1'],
  ['not_found', '550 5.1.1'],
  ['validation_failed', '554 5.6.0'],
  ['domain_not_verified', '550 5.7.1'],
  ['from_domain_not_allowed', '550 5.7.1'],
  ['recipient_suppressed', '550 5.7.1'],
  ['recipient_not_confirmed', '550 5.7.1'],
  ['rate_limited', '450 4.7.1'],
  ['quota_exceeded', '450 4.7.1'],
  ['conflict', '554 5.5.0'],
  ['payment_required', '550 5.7.1'],
  ['account_paused', '550 5.7.1'],
  ['content_rejected', '554 5.6.0'],
  ['platform_halted', '452 4.3.1'],
  ['payload_too_large', '552 5.3.4'],
  ['length_required', '554 5.5.0'],
  ['idempotency_conflict', '554 5.5.0'],
  ['provider_error', '451 4.4.3'],
  ['internal_error', '451 4.3.0'],
] as const)('%s is %s', (code, said) => {
  const reply = refusalFor(new ApiError(code, 'x'));
  expect(`${reply?.responseCode} ${reply?.message}`).toBe(`${said} x`);
});

test('a text is cut at 480 characters, enhanced code included, and what is printable stays', () => {
  expect(replyText('5.6.0', 'x'.repeat(474))).toBe(`5.6.0 ${'x'.repeat(474)}`);
  expect(replyText('5.6.0', 'x'.repeat(475))).toBe(`5.6.0 ${'x'.repeat(474)}`);
  expect(replyText('5.6.0', ' !~')).toBe('5.6.0  !~');
  expect(replyText('5.6.0', 'a\t\x7fb')).toBe('5.6.0 a?b');
});

test('a refusal stays as it is', () => {
  const refusal = new SmtpRefusal(421, '4.7.0', 'x');
  expect(refusalFor(refusal)).toBe(refusal);
});

test('every refusal has its own code and enhanced code', () => {
  const codes = (Object.keys(REFUSALS) as ErrorCode[]).map((code) => {
    const reply = refusalFor(new ApiError(code, 'Because.'));
    return `${code} ${reply?.responseCode} ${reply?.message}`;
  });
  expect(codes.toSorted()).toEqual([
    'account_paused 550 5.7.1 Because.',
    'conflict 554 5.5.0 Because.',
    'content_rejected 554 5.6.0 Because.',
    'domain_not_verified 550 5.7.1 Because.',
    'forbidden 550 5.7.1 Because.',
    'from_domain_not_allowed 550 5.7.1 Because.',
    'idempotency_conflict 554 5.5.0 Because.',
    'internal_error 451 4.3.0 Because.',
    'length_required 554 5.5.0 Because.',
    'not_found 550 5.1.1 Because.',
    'payload_too_large 552 5.3.4 Because.',
    'payment_required 550 5.7.1 Because.',
    'platform_halted 452 4.3.1 Because.',
    'provider_error 451 4.4.3 Because.',
    'quota_exceeded 450 4.7.1 Because.',
    'rate_limited 450 4.7.1 Because.',
    'recipient_not_confirmed 550 5.7.1 Because.',
    'recipient_suppressed 550 5.7.1 Because.',
    'unauthorized 535 5.7.8 Because.',
    'validation_failed 554 5.6.0 Because.',
  ]);
});

test('what the client is told of a store that cannot be written, and of a fault of ours', () => {
  const errors = [StoreFullError, StoreAwayError, StoreUnconfirmedError].map(
    (kind) => new kind('x'),
  );
  const replies = [...errors.map((error) => refusalFor(error)), FAULT];
  expect(replies.map((reply) => `${reply?.responseCode} ${reply?.message}`)).toEqual([
    '452 4.3.1 This service is out of disk space. Try again later.',
    '452 4.3.0 The database of this service cannot be reached. Try again later.',
    '452 4.3.0 The database of this service has no second copy at the moment. Try again later.',
    '451 4.3.0 The service failed to handle this command. Try again later.',
  ]);
});
