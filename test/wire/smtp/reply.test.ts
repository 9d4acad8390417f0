/**
 * Reading replies: lines and codes, enhanced codes, bounds, and whatever a server may throw at us.
 */
import { describe, expect, test } from 'bun:test';
import { formatReply, printable, ReplyFault, ReplyReader } from '../../../src/wire/smtp/reply.ts';
import type { ReplyLines } from '../../../src/wire/smtp/reply.ts';
import { seeded } from '../../mail/random.ts';

const SEED = 5321;
/** The bounds of docs/reliability.md R64; not read from the source, so that a change of it is seen. */
const MAX_LINE_BYTES = 2_048;
const MAX_REPLY_LINES = 100;
const MAX_REPLY_BYTES = 65_536;

function read(text: string | Buffer, chunkBytes = Number.POSITIVE_INFINITY): ReplyLines[] {
  const bytes = Buffer.from(text);
  const reader = new ReplyReader();
  const replies: ReplyLines[] = [];
  const step = Math.min(chunkBytes, bytes.length);
  for (let at = 0; at < bytes.length; at += step) {
    reader.push(bytes.subarray(at, at + step), (reply) => replies.push(reply));
  }
  return replies;
}

describe('replies', () => {
  const table: [text: string, code: number, enhanced: string | null, words: string][] = [
    ['250 ok\r\n', 250, null, 'ok'],
    ['250 k\r\n', 250, null, 'k'],
    ['509 k\r\n', 509, null, 'k'],
    ['290 k\r\n', 290, null, 'k'],
    ['250-\r\n250 ok\r\n', 250, null, 'ok'],
    ['250\r\n', 250, null, ''],
    ['250 \r\n', 250, null, ''],
    ['250 2.1.5 fine\r\n', 250, '2.1.5', 'fine'],
    ['550 5.1.1\r\n', 550, '5.1.1', ''],
    ['550-5.1.1 No such\r\n550 5.1.1 user\r\n', 550, '5.1.1', 'No such user'],
    // The class says something else than the reply code: not believed (RFC 2034 section 4).
    ['450 5.1.1 odd\r\n', 450, null, '5.1.1 odd'],
    ['550 4.2.2 odd\r\n', 550, null, '4.2.2 odd'],
    ['550 5.7.026 zeros\r\n', 550, '5.7.26', 'zeros'],
    ['550 5.1 short\r\n', 550, null, '5.1 short'],
    ['554 5.7.1234 long\r\n', 554, null, '5.7.1234 long'],
    ['554 5.1234.7 long\r\n', 554, null, '5.1234.7 long'],
    ['554 5.123.456 whole\r\n', 554, '5.123.456', 'whole'],
    ['554-Sorry, 5.7.1 is\r\n554 not in front\r\n', 554, null, 'Sorry, 5.7.1 is not in front'],
    ['554-5.7.1 a\r\n554 5.7.1   b\r\n', 554, '5.7.1', 'a b'],
    ['554-5.7.1   apart\r\n554-bare\r\n554 5.7.2 \r\n', 554, '5.7.1', 'apart bare'],
    ['220 bare\n', 220, null, 'bare'],
    ['250 a\u0000b\u001b[31mc\u0085d\u2028e\r\n', 250, null, 'a b [31mc d e'],
    ['550 5.1.1 größer\r\n', 550, '5.1.1', 'größer'],
  ];
  for (const [text, code, enhanced, words] of table) {
    test(JSON.stringify(text), () => {
      const expected = [{ code, enhanced, text: words }];
      expect(read(text)).toMatchObject(expected);
      expect(read(text, 1)).toMatchObject(expected);
    });
  }

  test('bytes that are not UTF-8 become replacement characters', () => {
    const [reply] = read(
      Buffer.concat([Buffer.from('550 '), Buffer.of(0xe9, 0xff), Buffer.from('\r\n')]),
    );
    expect(reply?.text).toBe('\ufffd\ufffd');
  });

  test('several at once, and the rest is kept', () => {
    const reader = new ReplyReader();
    const codes: number[] = [];
    reader.push(Buffer.from('250 a\r\n250-b\r\n250 c\r\n35'), (reply) => codes.push(reply.code));
    expect(codes).toEqual([250, 250]);
    expect(reader.isMidReply).toBe(true);
    reader.push(Buffer.from('4 go\r\n'), (reply) => codes.push(reply.code));
    expect(codes).toEqual([250, 250, 354]);
    expect(reader.isMidReply).toBe(false);
  });

  test('printed for people', () => {
    expect(formatReply({ code: 550, enhanced: '5.1.1', text: 'No' })).toBe('550 5.1.1 No');
    expect(formatReply({ code: 250, enhanced: null, text: '' })).toBe('250');
  });
});

test('what is no reply is quoted by its first forty characters, in one line', () => {
  expect(() => read(`\u0007nonsense ${'x'.repeat(40)}\r\n`)).toThrow(
    `not an SMTP reply: "?nonsense ${'x'.repeat(30)}"`,
  );
  expect(() => read('short\r\n250 ok\r\n')).toThrow('not an SMTP reply: "short"');
  for (const empty of ['\r\n', '\n']) {
    expect(() => read(empty)).toThrow('not an SMTP reply: ""');
  }
});

describe('no replies', () => {
  const faults = [
    'hello\r\n',
    '25\r\n',
    '2500 ok\r\n',
    '250ok\r\n',
    '150 x\r\n',
    '2/0 x\r\n',
    '2:0 x\r\n',
    '25/ x\r\n',
    '25: x\r\n',
    '650 x\r\n',
    ' 250 x\r\n',
    '\r\n',
    '\u0000250 x\r\n',
    'HTTP/1.1 400 Bad Request\r\n',
    '250-a\r\n550 b\r\n',
  ];
  for (const text of faults) {
    test(JSON.stringify(text), () => {
      expect(() => read(text)).toThrow(ReplyFault);
      expect(() => read(text, 1)).toThrow(ReplyFault);
    });
  }
});

describe('bounds', () => {
  test('a line of the longest length passes, one byte more does not', () => {
    const longest = `250 ${'x'.repeat(MAX_LINE_BYTES - 5)}\r\n`;
    expect(read(longest)).toHaveLength(1);
    expect(() => read(`250 ${'x'.repeat(MAX_LINE_BYTES - 4)}\r\n`)).toThrow('longer than');
  });

  test('a line that never ends is refused as soon as it is too long', () => {
    expect(() => read('x'.repeat(MAX_LINE_BYTES + 1), 100)).toThrow(
      'a reply line is longer than 2048 bytes',
    );
  });

  test('a line of the longest length may come without its last byte at first', () => {
    const longest = `250 ${'x'.repeat(MAX_LINE_BYTES - 5)}\r\n`;
    expect(read(longest, MAX_LINE_BYTES)).toHaveLength(1);
  });

  test('the number of lines is bounded', () => {
    const lines = (n: number): string => `${'250-x\r\n'.repeat(n - 1)}250 x\r\n`;
    expect(read(lines(MAX_REPLY_LINES))).toHaveLength(1);
    expect(() => read(lines(MAX_REPLY_LINES + 1))).toThrow('longer than');
    expect(() => read('250-x\r\n'.repeat(MAX_REPLY_LINES + 1))).toThrow(
      'a reply is longer than 100 lines or 65536 bytes',
    );
  });

  test('the bytes of a reply are bounded', () => {
    const line = `250-${'x'.repeat(1000)}\r\n`;
    const lines = Math.ceil(MAX_REPLY_BYTES / line.length) + 1;
    expect(lines).toBeLessThan(MAX_REPLY_LINES);
    expect(() => read(line.repeat(lines))).toThrow('longer than');
  });

  test('a reply of exactly the most bytes passes, one more does not', () => {
    const most = `250-${'x'.repeat(1_018)}\r\n`.repeat(63) + `250 ${'x'.repeat(1_018)}\r\n`;
    expect(most).toHaveLength(MAX_REPLY_BYTES);
    expect(read(most)).toHaveLength(1);
    expect(read(most.repeat(2))).toHaveLength(2);
    expect(() => read(most.replace('\r\n', 'x\r\n'))).toThrow('longer than');
  });

  test('each reply has its own: a session of many messages is not cut off', () => {
    const reply = `250-${'x'.repeat(100)}\r\n250 ok\r\n`;
    expect(read(reply.repeat(5_000))).toHaveLength(5_000);
  });
});

test(`30,000 mutated streams: a reply or a ReplyFault, nothing else, however they are cut (seed ${SEED})`, () => {
  const source = seeded(SEED);
  const random = (below: number): number => source.int(below);
  const seeds = [
    '250 ok\r\n',
    '250-a\r\n250 b\r\n',
    '550 5.1.1 no\r\n',
    '354 \r\n',
    '421-\r\n421\r\n',
  ];
  for (let round = 0; round < 30_000; round++) {
    const bytes = Buffer.from((seeds[random(seeds.length)] ?? '').repeat(1 + random(3)));
    for (let i = random(4); i > 0; i--) bytes[random(bytes.length)] = random(256);
    const outcome = (step: number): unknown => {
      try {
        return read(bytes, step);
      } catch (error) {
        expect(error).toBeInstanceOf(ReplyFault);
        return 'fault';
      }
    };
    expect(outcome(1 + random(5))).toEqual(outcome(bytes.length));
  }
});

test('a reader is inside a reply from its first byte to the end of its last line', () => {
  const reader = new ReplyReader();
  const states = ['', '2', '50-a\r\n', '250 b\r', '\n', '250 whole\r\n', '250-c\r\n'].map(
    (text) => {
      reader.push(Buffer.from(text), () => undefined);
      return reader.isMidReply;
    },
  );
  expect(states).toEqual([false, true, true, true, false, false, true]);
});

test('what is shown of a reply has no control characters, and none of the white space around it', () => {
  expect(printable('\r\n a\u0000\u0007b\u2028c \u009f')).toBe('a b c');
});
