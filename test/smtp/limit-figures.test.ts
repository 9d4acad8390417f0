/** What one session and all of them may use, as docs/reliability.md and the RFCs say it. */
import { expect, test } from 'bun:test';

import { INBOUND_LIMITS, REPORT_BYTES, SUBMISSION_LIMITS } from '../../src/smtp/limits.ts';

const MINUTE = 60_000;

test('submission: a thousand sessions of a quarter of an hour, messages as large as a request', () => {
  expect(SUBMISSION_LIMITS).toEqual({
    connections: 1_000,
    sessionMs: 15 * MINUTE,
    idleMs: 5 * MINUTE,
    messageBytes: 14_680_064,
  });
});

test('port 25: a thousand sessions of ten minutes, a hundred recipients, reports of 32 MiB', () => {
  expect(INBOUND_LIMITS).toEqual({
    connections: 1_000,
    sessionMs: 10 * MINUTE,
    idleMs: 5 * MINUTE,
    messageBytes: 33_554_432,
    recipients: 100,
  });
  expect(REPORT_BYTES).toBe(1_048_576);
});
