/** Chunks of DATA give their memory back when they are copied, and no byte of a message is lost by it. */
import { expect, test } from 'bun:test';

import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { ByteBudget } from '../../src/flow/byte-budget.ts';
import { readMessage, type ReadMessage } from '../../src/smtp/read-message.ts';
import { releaseChunk, releaseCopied } from '../../src/smtp/release-chunks.ts';

const MIB = 1024 * 1024;

/** Feeds `wire` to a parser in DATA, cut into `sizes` one after the other; what was read, and the chunks as the socket had them. */
async function receive(
  wire: Buffer,
  sizes: readonly number[],
  largeBytes = 64 * MIB,
): Promise<{ message: ReadMessage; chunks: Buffer[]; commands: string[] }> {
  const parser = new SMTPStream();
  releaseCopied(parser);
  const commands: string[] = [];
  parser.oncommand = (command, next) => {
    commands.push(command.toString());
    next?.();
  };
  const share = new ByteBudget({ large: largeBytes, small: MIB }).open('');
  const message = readMessage(parser.startDataMode(), 14 * MIB, share);
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < wire.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    const chunk = Buffer.concat([wire.subarray(at, at + size)]);
    at += size;
    chunks.push(chunk);
    // Behind the end of the message the parser waits until it may continue.
    if (!parser.write(chunk)) {
      await Promise.race([message, new Promise((resolve) => parser.once('drain', resolve))]);
    }
  }
  const result = await message;
  parser.continue();
  while (commands.length === 0) await new Promise((resolve) => setImmediate(resolve));
  return { message: result, chunks, commands };
}

/** Lines of which some begin with dots, as they are and as they are sent. */
function content(seed: number, bytes: number): { plain: Buffer; wire: Buffer } {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  const lines: string[] = [];
  for (let left = bytes; left > 0;) {
    const line = '.'.repeat(Math.max(0, next(12) - 8)) + 'x'.repeat(next(900));
    lines.push(line);
    left -= line.length + 2;
  }
  const end = (list: string[]): string => `${list.join('\r\n')}\r\n`;
  const stuffed = lines.map((line) => (line.startsWith('.') ? `.${line}` : line));
  return { plain: Buffer.from(end(lines)), wire: Buffer.from(`${end(stuffed)}.\r\nNOOP\r\n`) };
}

test('a message comes whole through chunks of every size, with what follows it', async () => {
  const first = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  for (let seed = first; seed < first + 60; seed += 1) {
    const { plain, wire } = content(seed, 1 + ((seed * 7_919) % 400_000));
    const sizes = [1 + ((seed * 31) % 70_000), 3, 1_500, 16_384, 1 + (seed % 5), 40_000];
    const { message, commands } = await receive(wire, sizes);
    expect([seed, message.totalBytes, Buffer.concat(message.parts).equals(plain)]).toEqual([
      seed,
      plain.length,
      true,
    ]);
    expect([seed, commands]).toEqual([seed, ['NOOP']]);
  }
});

test.each([
  ['kept', 64 * MIB],
  ['dropped', 0],
])('chunks of a large message are released when they are %s', async (_, largeBytes) => {
  const { wire } = content(7, 4 * MIB);
  const { chunks, message } = await receive(wire, [16_384], largeBytes);
  expect(message.isOverBudget).toBe(largeBytes === 0);
  const kept = chunks.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  // The first one was not copied: there was nothing to put before it.
  expect(kept).toBeLessThan(100_000);
});

test('what smtp-server gives out is released when the next chunk is there', async () => {
  const given: Buffer[] = [];
  const parser = new SMTPStream();
  releaseCopied(parser);
  const stream = parser.startDataMode();
  stream.on('data', (chunk: Buffer) => given.push(chunk));
  const share = new ByteBudget().open('');
  const message = readMessage(stream, 14 * MIB, share);
  parser.write(content(9, 2 * MIB).wire.subarray(0, 1));
  for (let left = 128; left > 0; left -= 1) {
    if (!parser.write(Buffer.alloc(16_384, 'x'))) {
      await new Promise((resolve) => parser.once('drain', resolve));
    }
  }
  parser.write('\r\n.\r\n');
  expect((await message).totalBytes).toBeGreaterThan(128 * 16_384);
  const kept = given.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
  expect(kept).toBeLessThan(200_000);
  share.release();
});

test('a block that small buffers are cut from is left alone', () => {
  const pool = Buffer.from(new ArrayBuffer(Buffer.poolSize));
  releaseChunk(pool.subarray(0, 2_000));
  expect(pool.length).toBe(Buffer.poolSize);
  const own = Buffer.from(new ArrayBuffer(20_000));
  releaseChunk(own.subarray(0, 2_000));
  expect(own.length).toBe(0);
});
