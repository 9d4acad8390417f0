/**
 * Mutation fuzzing of what reads other people's bytes: addresses, headers, reports (reliability C3, goal 24).
 *
 * Short by default; FUZZ_SECONDS makes it longer. The seed is printed with a failure and repeats it.
 */
import { expect, test } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '../../src/mail/address.ts';
import { parseAddressList } from '../../src/mail/address-list.ts';
import { parseArf } from '../../src/mail/arf.ts';
import { classifyReply } from '../../src/mail/bounce-class.ts';
import { parseDsn } from '../../src/mail/dsn.ts';
import { checkHeaderValue, encodeText, writeField } from '../../src/mail/headers.ts';
import { decodeWords } from '../../src/mail/mime-text.ts';
import { repairSubmission } from '../../src/mail/repair.ts';
import { seeded, type Random } from './random.ts';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 1);
const MAX_MS = 1_000;

const REPORTS = join(import.meta.dir, 'reports');
const lines = (file: string): string[] =>
  readFileSync(join(import.meta.dir, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

const ADDRESSES = lines('addresses.tsv').map(
  (line) => JSON.parse(line.split('\t')[1] ?? '""') as string,
);
const REPLIES = lines('replies.tsv').map((line) => line.split('\t')[3] ?? '');
const MESSAGES = readdirSync(REPORTS)
  .filter((name) => name.endsWith('.eml'))
  .map((name) => readFileSync(join(REPORTS, name), 'latin1'));

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  '"',
  '\\',
  '<',
  '>',
  '@',
  ':',
  ';',
  ',',
  '(',
  ')',
  '=?',
  '?=',
  '=',
  '--',
  ' ',
  '\t',
  'ü',
  '🎉',
  '\ud800',
  '\u2028',
  '%',
  '\x7f',
  '=\r\n',
  '=?utf-8?B?',
  '5.1.1',
  '550 ',
];

function mutate(random: Random, corpus: readonly string[]): string {
  let text = random.pick(corpus);
  for (let count = 1 + random.int(6); count > 0; count -= 1) {
    const at = random.int(text.length + 1);
    const size = random.int(random.chance(0.2) ? 400 : 6);
    const rest = text.slice(at + size);
    text = random.pick([
      () => text.slice(0, at) + rest,
      () => text.slice(0, at) + random.pick(TOKENS) + text.slice(at),
      () => text.slice(0, at) + random.pick(TOKENS).repeat(1 + random.int(200)) + rest,
      () => text.slice(0, at) + text.slice(at, at + size).repeat(3) + rest,
      () => text.slice(0, at) + String.fromCharCode(random.int(256)) + rest,
      () => text.slice(0, at) + random.pick(corpus).slice(0, 2_000) + rest,
    ])();
  }
  return text;
}

const TARGETS: [name: string, corpus: readonly string[], read: (text: string) => void][] = [
  [
    'address',
    ADDRESSES,
    (text) => {
      const mailbox = parseAddress(text);
      if (!('error' in mailbox)) expect(parseAddress(formatAddress(mailbox))).toEqual(mailbox);
      for (const entry of parseAddressList(text).mailboxes) {
        expect(parseAddress(formatAddress(entry))).toEqual(entry);
      }
    },
  ],
  [
    'header',
    [...ADDRESSES, ...REPLIES],
    (text) => {
      decodeWords(text);
      if (checkHeaderValue(text) !== null) return;
      expect(writeField('X', encodeText(text, 3))).toMatch(/^X:(?:[^\r\n]{0,997}\r\n[ \t]?)+$/);
    },
  ],
  [
    'reply',
    REPLIES,
    (text) => {
      const verdict = classifyReply({ code: 550, enhanced: null, text, stage: 'rcpt' });
      if (verdict.isSuppressing) expect(verdict.class).toBe('recipient');
    },
  ],
  [
    'report',
    MESSAGES,
    (text) => {
      const bytes = Buffer.from(text, 'latin1');
      parseDsn(bytes);
      parseArf(bytes);
    },
  ],
  [
    'submission',
    MESSAGES,
    (text) => {
      const result = repairSubmission(Buffer.from(text, 'latin1'), {
        messageId: '<1@x.example>',
        date: new Date(0),
      });
      if ('error' in result) return;
      const again = repairSubmission(result.bytes, {
        messageId: '<2@x.example>',
        date: new Date(1),
      });
      // What was mended once is sound.
      expect('error' in again ? again.error : again.bytes.equals(result.bytes)).toBe(true);
    },
  ],
];

test.each(TARGETS)(
  '%s',
  (_, corpus, read) => {
    const until = performance.now() + (SECONDS * 1_000) / TARGETS.length;
    for (let seed = 1; performance.now() < until; seed += 1) {
      const text = mutate(seeded(seed), corpus);
      const begin = performance.now();
      try {
        read(text);
      } catch (problem) {
        throw new Error(`seed ${seed}: ${JSON.stringify(text.slice(0, 2_000))}`, {
          cause: problem,
        });
      }
      expect([seed, performance.now() - begin < MAX_MS]).toEqual([seed, true]);
    }
  },
  SECONDS * 2_000 + 10_000,
);
