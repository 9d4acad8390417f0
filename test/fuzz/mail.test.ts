/**
 * Fuzzing of what reads other people's mail: addresses, headers, MIME, replies, reports, submissions
 * (docs/reliability.md R24).
 */
import { expect } from 'bun:test';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatAddress, parseAddress } from '../../src/mail/header/address.ts';
import { parseAddressList } from '../../src/mail/header/address-list.ts';
import { parseArf } from '../../src/mail/reports/arf.ts';
import { classifyReply } from '../../src/mail/replies/bounce-class.ts';
import { parseDsn } from '../../src/mail/reports/dsn.ts';
import { InboundMessage } from '../../src/mail/reports/inbound-message.ts';
import { checkHeaderValue, encodeText, writeField } from '../../src/mail/header/headers.ts';
import { decodeText, decodeWords } from '../../src/mail/mime/text.ts';
import { MIME_LIMITS, parseContentType, partsOf, splitMime } from '../../src/mail/mime/tree.ts';
import { repairSubmission } from '../../src/mail/compose/repair.ts';
import { fuzz } from './fuzzing.ts';

const MAIL = join(import.meta.dir, '../mail');
const REPORTS = join(MAIL, 'reports/samples');

function lines(file: string): string[] {
  return readFileSync(join(MAIL, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

const ADDRESSES = lines('header/addresses.tsv').map((line) =>
  String(JSON.parse(line.split('\t')[1] ?? '""')),
);
const REPLIES = lines('replies/replies.tsv').map((line) => line.split('\t')[3] ?? '');
const SAMPLES = readdirSync(REPORTS).filter((name) => name.endsWith('.eml'));
const read = (name: string): string => readFileSync(join(REPORTS, name), 'latin1');
const MESSAGES = SAMPLES.map(read);
const isArf = (name: string): boolean => name.startsWith('arf-');

fuzz('address', {
  corpus: ADDRESSES,
  read(text) {
    const mailbox = parseAddress(text);
    if (!('error' in mailbox)) expect(parseAddress(formatAddress(mailbox))).toEqual(mailbox);
    for (const entry of parseAddressList(text).mailboxes) {
      expect(parseAddress(formatAddress(entry))).toEqual(entry);
    }
  },
});

fuzz('header', {
  corpus: [...ADDRESSES, ...REPLIES],
  read(text) {
    decodeWords(text);
    if (checkHeaderValue(text) !== null) return;
    expect(writeField('X', encodeText(text, 3))).toMatch(/^X:(?:[^\r\n]{0,997}\r\n[ \t]?)+$/);
  },
});

fuzz('MIME', {
  corpus: MESSAGES,
  read(text) {
    const bytes = Buffer.from(text, 'latin1');
    const parts = partsOf(splitMime(bytes));
    expect(parts.length).toBeLessThanOrEqual(MIME_LIMITS.parts);
    for (const part of parts) decodeText(bytes, part);
    parseContentType(text.slice(0, 2_000));
  },
});

fuzz('reply of a server, classified', {
  corpus: REPLIES,
  read(text) {
    const classification = classifyReply({ code: 550, enhanced: null, text, stage: 'rcpt' });
    if (classification.isSuppressing) expect(classification.class).toBe('recipient');
  },
});

fuzz('delivery report', {
  corpus: SAMPLES.filter((name) => !isArf(name)).map(read),
  read(text) {
    parseDsn(new InboundMessage(Buffer.from(text, 'latin1')));
  },
});

fuzz('complaint report', {
  corpus: SAMPLES.filter(isArf).map(read),
  read(text) {
    parseArf(new InboundMessage(Buffer.from(text, 'latin1')));
  },
});

fuzz('submission', {
  corpus: MESSAGES,
  read(text) {
    const result = repairSubmission(Buffer.from(text, 'latin1'), {
      messageId: '<1@x.example>',
      date: new Date(0),
      ownNames: [],
    });
    if ('error' in result) return;
    const again = repairSubmission(result.bytes, {
      messageId: '<2@x.example>',
      date: new Date(1),
      ownNames: [],
    });
    // What was repaired once is sound.
    expect('error' in again ? again.error : again.bytes.equals(result.bytes)).toBe(true);
  },
});
