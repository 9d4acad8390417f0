/**
 * What clients that mean harm can do to the HTTP listener of the binary: dripping heads and bodies beside an honest
 * client, uploads that are refused by their head, and every shape of two lengths.
 *
 * docs/reliability.md R31 to R33. POSTRIDER_SLOW_HEADS and POSTRIDER_SLOW_BODIES change how many drip.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';

import { BinaryAppliance } from '../rig/binary.ts';

const HEADS = Number(process.env['POSTRIDER_SLOW_HEADS'] ?? 500);
const BODIES = Number(process.env['POSTRIDER_SLOW_BODIES'] ?? 200);
const DRIP_MS = 5_000;
const HEAD_CUT_MS = 30_000;
const BODY_CUT_MS = 60_000;
const HONEST_P99_MS = 200;

let appliance: BinaryAppliance;
beforeAll(async () => {
  appliance = await BinaryAppliance.start();
});
afterAll(() => appliance.stop());

function head(rest: string): string {
  return (
    `POST /emails HTTP/1.1\r\nHost: rig.test\r\nAuthorization: Bearer ${appliance.made.key}\r\n` +
    `Content-Type: application/json\r\n${rest}\r\n`
  );
}

/** Sends `start`, then a byte of `drip` at a time; how long it was let, in milliseconds. */
function dripping(start: string, drip: string): Promise<number> {
  return new Promise((resolve) => {
    const began = Date.now();
    const socket = connect(Number(new URL(appliance.url).port), '127.0.0.1');
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.write(start);
    let at = 0;
    const timer = setInterval(() => {
      socket.write(drip[at % drip.length] ?? '');
      at += 1;
    }, DRIP_MS);
    socket.on('close', () => {
      clearInterval(timer);
      resolve(Date.now() - began);
    });
  });
}

/** Sends bytes and gives what came back, and whether the connection was closed with it. */
function exchange(bytes: string): Promise<{ text: string; isClosed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(appliance.url).port), '127.0.0.1');
    let text = '';
    const end = (isClosed: boolean): void => {
      resolve({ text, isClosed });
      socket.destroy();
    };
    const limit = setTimeout(() => end(false), 5_000);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (/"request_id"/.test(text)) end(false);
    });
    socket.on('close', () => {
      clearTimeout(limit);
      end(true);
    });
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

test('dripping heads and bodies are cut, and an honest client does not notice', async () => {
  const heads = Array.from({ length: HEADS }, () => dripping('', head('X-Slow: yes\r\n')));
  const bodies = Array.from({ length: BODIES }, () =>
    dripping(head('Content-Length: 5000\r\n'), ' '),
  );
  const drips = { areOver: false };
  const all = Promise.all([Promise.all(heads), Promise.all(bodies)]).finally(() => {
    drips.areOver = true;
  });
  const waits: number[] = [];
  while (!drips.areOver) {
    const began = performance.now();
    const answer = await appliance.api('POST', '/emails', {}, { connection: 'close' });
    expect([422, 429]).toContain(answer.status);
    await answer.arrayBuffer();
    waits.push(performance.now() - began);
    await Bun.sleep(20);
  }
  const [headCuts, bodyCuts] = await all;
  waits.sort((one, other) => one - other);
  expect(Math.max(...headCuts)).toBeLessThan(HEAD_CUT_MS);
  expect(Math.max(...bodyCuts)).toBeLessThan(BODY_CUT_MS);
  expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(HONEST_P99_MS);
}, 120_000);

test.each([
  ['a body of 1 GiB', 'Content-Length: 1073741824\r\n', 413, 'payload_too_large'],
  ['one that asks first', 'Content-Length: 1073741824\r\nExpect: 100-continue\r\n', 413, 'payload'],
  ['a body without a length', 'Transfer-Encoding: chunked\r\n', 411, 'length_required'],
])('%s is refused by its head alone', async (_, rest, status, code) => {
  const { text } = await exchange(head(rest));
  expect(text).toContain(`HTTP/1.1 ${status} `);
  expect(text).toContain('"request_id"');
  expect(text).toContain(code);
});

/** Two lengths, or one that two readers read differently (RFC 9112 section 6.3). */
const AMBIGUOUS = [
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: 5, 6',
  'Content-Length: +5',
  'Content-Length: -5',
  'Content-Length: 0x5',
  'Content-Length: 5 5',
  'Content-Length: 5;',
  'Content-Length: ',
  'Content-Length: 5\x00',
  'Content-Length : 5',
  'Content-Length: 5\r\n Content-Length: 6',
  'Content-Length: 99999999999999999999',
  'Content-Length: 5\r\nTransfer-Encoding: chunked',
  'Content-Length:\t5\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Transfer-Encoding: CHUNKED\r\nContent-Length: 5',
  'Content_Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 5',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: \x00chunked',
  'Transfer-Encoding: chunked\x0c',
  ' Transfer-Encoding: chunked',
  'X: y\r\n Transfer-Encoding: chunked',
  'X: y\n Transfer-Encoding: chunked',
];

test.each(AMBIGUOUS)('%j ends the connection with 400', async (lines) => {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: rig.test\r\n\r\n';
  const { text, isClosed } = await exchange(head(`${lines}\r\n`) + `0\r\n\r\n${hidden}`);
  expect([text.match(/HTTP\/1\.1 \d+/g), isClosed]).toEqual([['HTTP/1.1 400'], true]);
});
