/**
 * Malformed MIME and reports (docs/reliability.md R23; Stalwart CVE-2026-26312, CVE-2025-61600): no
 * reader of what others wrote throws, hangs or grows without bound.
 */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArf } from '../../../src/mail/reports/arf.ts';
import { parseDsn } from '../../../src/mail/reports/dsn.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { decodeBody, decodeWords } from '../../../src/mail/mime/text.ts';
import { MIME_LIMITS, partsOf, splitMime } from '../../../src/mail/mime/tree.ts';
import { repairSubmission } from '../../../src/mail/compose/repair.ts';
import { randomText, seeded, type Random } from '../random.ts';

const SEED = 50_000;
const MUTANTS = 240;
const MS_PER_64_KIB = 50;
const DEFAULTS = { messageId: '<1@mail.example.com>', date: new Date(0), ownNames: [] };

const FOLDER = join(import.meta.dir, 'samples');
const REPORTS = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.eml'))
  .map((name) => readFileSync(join(FOLDER, name)));

const HEADER = 'From: MAILER-DAEMON@example.com\r\nSubject: failure notice\r\n';

function multipart(boundary: string, inside: string): string {
  return `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n${inside}\r\n--${boundary}--\r\n`;
}

function nested(depth: number): string {
  let opening = '';
  for (let level = 0; level < depth; level += 1) {
    opening += `Content-Type: multipart/mixed; boundary="b${level}"\r\n\r\n--b${level}\r\n`;
  }
  return HEADER + opening + 'Content-Type: text/plain\r\n\r\ndeep\r\n';
}

const SHAPES: [name: string, text: string][] = [
  ['nothing', ''],
  ['one CRLF', '\r\n'],
  ['a header without an end', HEADER],
  ['1,000 nested multiparts', nested(1_000)],
  [
    '10,000 parts',
    HEADER + multipart('b', Array.from({ length: 10_000 }, () => '\r\nx').join('\r\n--b\r\n')),
  ],
  ['the boundary of its parent', HEADER + multipart('b', multipart('b', multipart('b', 'x')))],
  [
    'boundaries that are prefixes of each other',
    HEADER + multipart('b', multipart('bb', multipart('bbb', 'x'))),
  ],
  ['a boundary of spaces', HEADER + multipart('   ', 'x')],
  ['an empty boundary', HEADER + multipart('', 'x')],
  ['a boundary of 10,000 characters', HEADER + multipart('b'.repeat(10_000), 'x')],
  [
    '65,536 delimiters',
    `${HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n'.repeat(65_536)}`,
  ],
  [
    '65,536 near delimiters',
    `${HEADER}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--bb\r\n'.repeat(65_536)}`,
  ],
  ['messages within messages', `${HEADER}Content-Type: message/rfc822\r\n\r\n`.repeat(1_000)],
  ['an unknown charset', `${HEADER}Content-Type: text/plain; charset=klingon\r\n\r\n\xff\xfe`],
  [
    'a charset of 100,000 characters',
    `${HEADER}Content-Type: text/plain; charset=${'x'.repeat(100_000)}\r\n\r\nx`,
  ],
  ['100,000 header fields', `${'X: y\r\n'.repeat(100_000)}\r\nx`],
  ['one header field of 1 MiB', `Subject: ${'x'.repeat(1_048_576)}\r\n\r\nx`],
  ['a header folded 100,000 times', `Subject: x\r\n${' y\r\n'.repeat(100_000)}\r\nx`],
  ['a name of 1 MiB', `${'x'.repeat(1_048_576)}: y\r\n\r\nx`],
  ['1 MiB of spaces before a header end', `Subject: ${' '.repeat(1_048_576)}x\r\n\r\nx`],
  ['1 MiB of parameters', `${HEADER}Content-Type: text/plain${'; a=b'.repeat(200_000)}\r\n\r\nx`],
  [
    '1 MiB of open quotation marks',
    `${HEADER}Content-Type: text/plain; a="${'\\"'.repeat(500_000)}\r\n\r\nx`,
  ],
  ['encoded words without end', `${HEADER}Subject: ${'=?utf-8?Q?'.repeat(50_000)}\r\n\r\nx`],
  [
    'From with 10,000 nested comments',
    `From: ${'('.repeat(10_000)}a${')'.repeat(10_000)} a@example.com\r\n\r\nx`,
  ],
  ['From with 10,000 groups', `From: ${'g:'.repeat(10_000)}a@example.com;\r\n\r\nx`],
  [
    'To with 100,000 addresses',
    `From: a@example.com\r\nTo: ${'a@example.com, '.repeat(100_000)}\r\n\r\nx`,
  ],
  [
    'quoted-printable of spaces',
    `${HEADER}Content-Transfer-Encoding: quoted-printable\r\n\r\nThis is the qmail-send program${' '.repeat(1_048_576)}x`,
  ],
  [
    'base64 of nonsense',
    `${HEADER}Content-Transfer-Encoding: base64\r\n\r\n${'!=A=@'.repeat(100_000)}`,
  ],
  [
    'qmail with 50,000 addresses',
    `${HEADER}\r\nThis is the qmail-send program\r\n${'<a@example.com>:\r\n550 x\r\n'.repeat(50_000)}`,
  ],
  [
    'HTML of open tags',
    `${HEADER}Content-Type: text/html\r\n\r\nThis is the qmail-send program ${'<p <'.repeat(200_000)}`,
  ],
  ['1 MiB of introductions', `${HEADER}\r\n${'Your message was '.repeat(60_000)}`],
  [
    'a report of 100,000 groups',
    `${HEADER}Content-Type: message/delivery-status\r\n\r\n${'Action: failed\r\n\r\n'.repeat(100_000)}`,
  ],
  [
    'a report of one endless field',
    `${HEADER}Content-Type: message/delivery-status\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; ${'550 '.repeat(250_000)}`,
  ],
  [
    'a feedback report of 100,000 fields',
    `${HEADER}Content-Type: message/feedback-report\r\n\r\n${'Feedback-Type: abuse\r\n'.repeat(100_000)}`,
  ],
  ['CRs only', 'From: a@example.com\r\rx\r'.repeat(1_000)],
  ['NULs', '\0'.repeat(100_000)],
  ['one line of 8 MiB', `From: a@example.com\r\n\r\n${'x'.repeat(8_388_608)}`],
];

/** One of the reports, or a shape, with some bytes changed, cut, doubled or swapped. */
function mutant(random: Random): Buffer {
  const shape = Buffer.from(random.pick(SHAPES.slice(0, 16))[1].slice(0, 50_000), 'latin1');
  let bytes = Buffer.from(random.chance(0.8) ? random.pick(REPORTS) : shape);
  for (let count = 1 + random.int(8); count > 0; count -= 1) {
    const at = random.int(bytes.length + 1);
    const to = at + random.int(200);
    const [before, middle, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, to),
      bytes.subarray(to),
    ];
    bytes = random.pick([
      () => before,
      () => Buffer.concat([before, after]),
      () => Buffer.concat([before, middle, middle, middle, after]),
      () => Buffer.concat([after, before]),
      () => Buffer.concat([before, Buffer.from(randomText(random, 10)), after]),
      () =>
        Buffer.concat([
          before,
          Buffer.from(Array.from({ length: 20 }, () => random.int(256))),
          after,
        ]),
      () => Buffer.concat([before, Buffer.from('\r\n\r\n'), middle, after]),
      () =>
        Buffer.from(
          bytes.toString('latin1').replaceAll('\r\n', random.pick(['\n', '\r', '\r\r\n'])),
          'latin1',
        ),
    ])();
  }
  return bytes;
}

/** Milliseconds that every reader together takes; the better of two, since the machine is shared. */
function readAll(bytes: Buffer): number {
  const once = (): number => {
    const begin = performance.now();
    parseDsn(new InboundMessage(bytes));
    parseArf(new InboundMessage(bytes));
    decodeWords(bytes.toString('latin1', 0, 65_536));
    const repaired = repairSubmission(bytes, DEFAULTS);
    if (!('error' in repaired))
      expect(repaired.bytes.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n|\0/);
    return performance.now() - begin;
  };
  const first = once();
  return first < allowedMs(bytes) ? first : Math.min(first, once());
}

function allowedMs(bytes: Buffer): number {
  // Four readers, and something for what does not depend on the size.
  return 50 + (4 * MS_PER_64_KIB * bytes.length) / 65_536;
}

test.each(SHAPES)('%s', (_, text) => {
  const bytes = Buffer.from(text, 'latin1');
  expect(readAll(bytes)).toBeLessThan(allowedMs(bytes));
  const parts = partsOf(splitMime(bytes));
  expect(parts.length).toBeLessThanOrEqual(MIME_LIMITS.parts);
  for (const part of parts) {
    expect(part.fields.length).toBeLessThanOrEqual(MIME_LIMITS.fields);
    expect(
      part.start <= part.bodyStart &&
        part.bodyStart <= part.bodyEnd &&
        part.bodyEnd <= bytes.length,
    ).toBe(true);
  }
});

test('multiparts deeper than the limit are leaves', () => {
  let part = splitMime(Buffer.from(nested(1_000)));
  let depth = 0;
  while (part.children[0] !== undefined) {
    part = part.children[0];
    depth += 1;
  }
  expect(depth).toBe(MIME_LIMITS.depth);
  expect(part.contentType).toBe('multipart/mixed');
});

test('white space at the end of a quoted-printable line was added in transit', () => {
  const bytes = Buffer.from(
    'Content-Transfer-Encoding: quoted-printable\r\n\r\na=20 \t\r\nb=  \r\nc\r\n',
  );
  expect(decodeBody(bytes, splitMime(bytes)).toString()).toBe('a \r\nbc\r\n');
});

test(`${MUTANTS} mutants of real reports (seed ${SEED})`, () => {
  for (let seed = SEED; seed < SEED + MUTANTS; seed += 1) {
    const bytes = mutant(seeded(seed));
    const tookMs = readAll(bytes);
    expect([seed, tookMs < allowedMs(bytes)]).toEqual([seed, true]);
  }
}, 60_000);

test('25 MiB of header costs little time and memory', () => {
  const bytes = Buffer.from(
    `From: a@example.com\r\n${'X-Filler: some text that fills a line of header\r\n'.repeat(540_000)}`,
  );
  expect(bytes.length).toBeGreaterThan(25 * 1_048_576);
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  const begin = performance.now();
  parseDsn(new InboundMessage(bytes));
  parseArf(new InboundMessage(bytes));
  const tookMs = performance.now() - begin;
  expect(tookMs).toBeLessThan(allowedMs(bytes));
  expect(process.memoryUsage().rss - before).toBeLessThan(10 * bytes.length);
});
