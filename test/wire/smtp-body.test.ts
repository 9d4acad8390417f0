/**
 * The body of DATA: dots, the end, and what is refused.
 */
import { describe, expect, test } from 'bun:test';
import { bodyOf, dotStuff, inspectMessage } from '../../src/wire/smtp-body.ts';
import { seeded } from '../mail/random.ts';

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

test('a large message is made ready once for all its recipients', () => {
  const [large, small] = [Buffer.alloc(300_000, '.a\r\n'), Buffer.alloc(3_000, '.a\r\n')];
  const { dots } = inspectMessage(large);
  const body = bodyOf(large, dots);
  expect(body.equals(dotStuff(large, dots))).toBe(true);
  expect(bodyOf(large, dots)).toBe(body);
  expect(bodyOf(Buffer.from(large), dots)).not.toBe(body);
  const { dots: few } = inspectMessage(small);
  expect(bodyOf(small, few).equals(dotStuff(small, few))).toBe(true);
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
