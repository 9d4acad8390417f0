/**
 * Requests whose bodies do not come, on the compiled binary: one address has only so many under way, they hold only so
 * much of the byte budget, and both are given back when their connections end.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { BinaryAppliance } from '../rig/binary.ts';

const MOST = 6;
const MIB = 1024 * 1024;

let appliance: BinaryAppliance;
const open = new Set<Socket>();

beforeAll(async () => {
  appliance = await BinaryAppliance.start({ config: `requests_per_address = ${MOST}` });
});
afterAll(async () => {
  end();
  await appliance.stop();
});

/** Ends every connection that is open. */
function end(): void {
  for (const socket of open) socket.destroy();
  open.clear();
}

/** Sends a head that declares `bytes` and the first byte of the body. `answer`: what comes back, once something does. */
function begin(bytes: number): { answer: Promise<string> } {
  const socket = connect(Number(new URL(appliance.url).port), '127.0.0.1');
  open.add(socket);
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('error', () => resolve('reset'));
    socket.on('data', (data: Buffer) => {
      text += data.toString();
      if (/\r\n\r\n[^]*\}/.test(text)) resolve(text);
    });
  });
  socket.write(
    `POST /emails HTTP/1.1\r\nHost: rig.test\r\nAuthorization: Bearer ${appliance.made.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n{`,
  );
  return { answer };
}

/** Resolves with the first answer of new requests of `bytes` that is as `expected`; what is under way takes a moment. */
async function until(expected: RegExp, bytes: number): Promise<string> {
  for (const last = Date.now() + 20_000; Date.now() < last; await Bun.sleep(50)) {
    const text = await Promise.race([begin(bytes).answer, Bun.sleep(500).then(() => '')]);
    if (expected.test(text)) return text;
  }
  throw new Error(`no answer was like ${expected.source}`);
}

/** Resolves when whole requests are served again. */
async function served(): Promise<void> {
  for (const last = Date.now() + 20_000; Date.now() < last; await Bun.sleep(50)) {
    // Refused for its shape, after its body was read: a limit would say 429 or 503.
    const response = await appliance.api('POST', '/emails', { text: 'x'.repeat(8 * MIB) });
    if (response.status === 422) return;
  }
  throw new Error('whole requests are not served again');
}

test('one address has only so many requests under way, and its next ones when those have ended', async () => {
  for (let at = 0; at < MOST; at += 1) begin(1_000);
  const refused = await until(/^HTTP\/1\.1 429 /, 1_000);
  expect(refused).toContain('rate_limited');
  expect(refused).toMatch(/\r\nRetry-After: \d+\r\n/i);
  end();
  await served();
}, 60_000);

test('bodies that do not come hold a part of the byte budget, and give it back', async () => {
  // An account gets half of the 96 MiB: three of these, and no fourth.
  for (let at = 0; at < 3; at += 1) begin(14 * 1_000_000);
  const refused = await until(/^HTTP\/1\.1 503 /, 14 * 1_000_000);
  expect(refused).toContain('platform_halted');
  expect(refused).toMatch(/\r\nRetry-After: \d+\r\n/i);
  end();
  await served();
}, 60_000);
