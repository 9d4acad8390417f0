/**
 * The body of DATA: dots, the end, and what is refused.
 */
import { describe, expect, spyOn, test } from 'bun:test';
import { dotStuff, inspectMessage, OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import { seeded } from '../../mail/random.ts';

const SEED = 5321;

function transfer(message: string): string {
  const bytes = Buffer.from(message);
  const facts = inspectMessage(bytes);
  expect(facts.isClean).toBe(true);
  return dotStuff(bytes, facts.dots).toString();
}

describe('dots', () => {
  const table: [message: string, transferred: string][] = [
    ['', '.\r\n'],
    ['a', 'a\r\n.\r\n'],
    ['a\r\n', 'a\r\n.\r\n'],
    ['.', '..\r\n.\r\n'],
    ['.\r\n', '..\r\n.\r\n'],
    ['.a\r\n..b\r\nc.d.\r\n', '..a\r\n...b\r\nc.d.\r\n.\r\n'],
    ['a\r\n.\r\nb', 'a\r\n..\r\nb\r\n.\r\n'],
    ['\r\n\r\n', '\r\n\r\n.\r\n'],
  ];
  for (const [message, transferred] of table) {
    test(JSON.stringify(message), () => {
      expect(transfer(message)).toBe(transferred);
    });
  }
});

test('a large message is inspected and made ready once for all its recipients', () => {
  const large = new OutgoingMessage(Buffer.alloc(300_000, '.a\r\n'), null);
  const body = large.body();
  expect(body.equals(dotStuff(large.bytes, inspectMessage(large.bytes).dots))).toBe(true);
  expect(large.body()).toBe(body);
  expect(large.facts).toBe(large.facts);
  expect(new OutgoingMessage(large.bytes, null).body()).not.toBe(body);
  const small = new OutgoingMessage(Buffer.alloc(3_000, '.a\r\n'), null);
  expect(small.body().equals(dotStuff(small.bytes, inspectMessage(small.bytes).dots))).toBe(true);
  expect(small.body()).not.toBe(small.body());
});

test.each([
  [262_143, false],
  [262_144, true],
])('of a message of %i bytes what is transferred is kept: %p', async (size, isKept) => {
  const bytes = Buffer.alloc(size, 'x');
  const message = new OutgoingMessage(bytes, null);
  expect(message.body() === message.body()).toBe(isKept);
  const prepared = await OutgoingMessage.prepare(bytes, null);
  expect(prepared.body() === prepared.body()).toBe(isKept);
  const data = Buffer.from('A: b\r\n\r\n.\r\n');
  expect((await OutgoingMessage.prepare(data.subarray(0, -3), data)).body()).toBe(data);
});

test('a large message of dots alone is made ready in steps, and the event loop goes on between', async () => {
  const bytes = Buffer.alloc(3_000_000, '.\r\n');
  let ticks = 0;
  const tick = (): void => {
    ticks += 1;
    other = setImmediate(tick);
  };
  let other = setImmediate(tick);
  const message = await OutgoingMessage.prepare(bytes, null);
  clearImmediate(other);
  expect(ticks).toBeGreaterThan(10);
  // Nothing is left to be made when it is asked for.
  const made = spyOn(Buffer, 'allocUnsafe');
  message.body();
  expect(made).not.toHaveBeenCalled();
  made.mockRestore();
  const once = new OutgoingMessage(bytes, null);
  expect(message.facts).toEqual(once.facts);
  expect(message.facts.dots).toBe(1_000_000);
  expect(message.body().equals(once.body())).toBe(true);
  expect(message.body()).toBe(message.body());
});

test('a large message is copied in steps, and the event loop goes on between', async () => {
  const bytes = Buffer.alloc(12_000_000, 'x');
  let ticks = 0;
  const tick = (): void => {
    ticks += 1;
    other = setImmediate(tick);
  };
  let other = setImmediate(tick);
  const message = await OutgoingMessage.prepare(bytes, null);
  clearImmediate(other);
  expect(ticks).toBeGreaterThan(5);
  expect(message.body().equals(dotStuff(bytes, 0))).toBe(true);
  // Further apart than one step, and closer.
  const dots = Buffer.alloc(5_000_000, 'y');
  for (const at of [0, 1_500_000, 1_500_010, 4_999_990]) dots.write('\n.', at);
  const stuffed = dots.toString('latin1').replaceAll('\n.', '\n..');
  expect(dotStuff(dots, 4).toString('latin1') === `${stuffed}\r\n.\r\n`).toBe(true);
});

test.each([1_000, 300_000])(
  'the final dot behind a message of %i bytes is used where no line begins with one',
  async (size) => {
    for (const line of ['a.\r\n', '.a\r\n']) {
      const dotted = Buffer.concat([Buffer.alloc(4 * size, line), Buffer.from('.\r\n')]);
      const bytes = dotted.subarray(0, -3);
      const made = new OutgoingMessage(bytes, null, dotted);
      const prepared = await OutgoingMessage.prepare(bytes, null, dotted);
      for (const message of [made, prepared]) {
        expect(message.body() === dotted).toBe(line === 'a.\r\n');
        expect(message.body().equals(new OutgoingMessage(bytes, null).body())).toBe(true);
        expect(message.facts).toEqual(inspectMessage(bytes));
      }
    }
  },
);

test('data at hand are transferred as they are', () => {
  const data = Buffer.from('A: b\r\n\r\nc\r\n.\r\n');
  const message = new OutgoingMessage(data.subarray(0, -3), data);
  expect(message.body()).toBe(data);
  expect(message.facts).toEqual(inspectMessage(message.bytes));
});

describe('what is not clean', () => {
  for (const text of ['a\nb', '\n', 'a\r', 'a\rb', '\r\r\n', 'a\r\n\n', '\n\r']) {
    test(JSON.stringify(text), () => {
      expect(inspectMessage(Buffer.from(text)).isClean).toBe(false);
    });
  }
});

test('8-bit bytes are seen wherever they stand', () => {
  expect(inspectMessage(Buffer.from('plain ~\u007f')).hasEightBit).toBe(false);
  expect(inspectMessage(Buffer.from('é plain')).hasEightBit).toBe(true);
  expect(inspectMessage(Buffer.from('plain é')).hasEightBit).toBe(true);
});

test(`2,000 random messages: one end of data, and the receiver gets back what was sent (seed ${SEED})`, () => {
  const source = seeded(SEED);
  const random = (below: number): number => source.int(below);
  const pieces = ['.', '.', '\r\n', '\r\n', 'a', 'é', '..', '\0', ' '];
  for (let round = 0; round < 2000; round++) {
    const message = Array.from({ length: random(30) }, () => pieces[random(pieces.length)]).join(
      '',
    );
    const transferred = transfer(message);
    expect(transferred.indexOf('\r\n.\r\n')).toBe(
      transferred === '.\r\n' ? -1 : transferred.length - 5,
    );
    const received = transferred.slice(0, -3).replace(/(^|\r\n)\./g, '$1');
    const ended = message === '' || message.endsWith('\r\n') ? message : `${message}\r\n`;
    expect(received).toBe(ended);
  }
});
