/** The time of each stage, shortened for somebody who waits, and the time of a body by its length. */
import { expect, test } from 'bun:test';

import {
  PRODUCTION_DEADLINES,
  STAGES,
  bodyDeadlineMs,
  withMaxStage,
} from '../../../src/wire/smtp/deadlines.ts';

test('each stage has its time (RFC 5321 section 4.5.3.2, docs/reliability.md R12)', () => {
  const minutes = { banner: 5, ehlo: 5, starttls: 5, handshake: 2, ehlo2: 5, auth: 5 };
  const later = { mail: 5, rcpt: 5, data: 2, body: 3, dot: 10 };
  const inMs = Object.fromEntries(
    Object.entries({ ...minutes, ...later }).map(([stage, count]) => [stage, count * 60_000]),
  );
  expect({ ...PRODUCTION_DEADLINES }).toEqual({
    connect: 30_000,
    ...inMs,
    rset: 20_000,
    quit: 5_000,
    bodyBytesPerSecond: 500,
  } as never);
});

test('shortened, no stage is longer than was asked, and none gets longer', () => {
  const short = withMaxStage(PRODUCTION_DEADLINES, 20_000);
  for (const stage of STAGES) {
    expect([stage, short[stage]]).toEqual([stage, stage === 'quit' ? 5_000 : 20_000]);
  }
  expect(short.bodyBytesPerSecond).toBe(500);
  expect(PRODUCTION_DEADLINES.dot).toBe(600_000);
});

test('a body has the time of a block, and a second for each 500 bytes', () => {
  const ms = [0, 1, 500, 501, 10_000_000].map((bytes) =>
    bodyDeadlineMs(PRODUCTION_DEADLINES, bytes),
  );
  expect(ms).toEqual([180_000, 180_002, 181_000, 181_002, 20_180_000]);
});
