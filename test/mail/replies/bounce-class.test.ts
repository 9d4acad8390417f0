/** Known replies get their class, and only those that speak of the address suppress it. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROVIDER_ROWS } from '../../../src/mail/replies/bounce-providers.ts';
import type { BounceClass, BounceSubType } from '../../../src/mail/replies/bounce-row.ts';
import { GENERAL_ROWS } from '../../../src/mail/replies/bounce-table.ts';
import { classifyReply, enhancedIn } from '../../../src/mail/replies/bounce-class.ts';
import { randomText, seeded } from '../random.ts';

type Row = [
  reply: string,
  bounceClass: BounceClass,
  subType: BounceSubType,
  does: 'suppresses' | 'keeps',
];

/** Lines of class, subType, whether it suppresses, and the reply. */
const REPLIES: Row[] = readFileSync(join(import.meta.dir, 'replies.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [bounceClass, subType, does, reply] = line.split('\t');
    return [reply, bounceClass, subType, does] as Row;
  });

const PARTS = /^(\d{3})[ -]?(?:([245]\.\d+\.\d+) ?)?(.*)$/s;

function classificationOf(reply: string, stage = 'rcpt'): ReturnType<typeof classifyReply> {
  const match = PARTS.exec(reply);
  return classifyReply({
    code: Number(match?.[1]),
    enhanced: match?.[2] ?? null,
    text: match?.[3] ?? '',
    stage,
  });
}

test.each(REPLIES)('%s', (reply, bounceClass, subType, does) => {
  const classification = classificationOf(reply);
  expect([classification.class, classification.subType, classification.isSuppressing]).toEqual([
    bounceClass,
    subType,
    does === 'suppresses',
  ]);
  expect(classification.isPermanent).toBe(reply.startsWith('5'));
  expect(classification.bounceType).toBe(reply.startsWith('5') ? 'Permanent' : 'Transient');
});

test('what is temporary never suppresses, nor a refusal before a recipient was named', () => {
  for (const [reply] of REPLIES) {
    const temporary = reply.replace(/^5/, '4').replace(/ 5\.(\d+\.\d+)/, ' 4.$1');
    expect([temporary, classificationOf(temporary).isSuppressing]).toEqual([temporary, false]);
    for (const stage of ['connect', 'banner', 'ehlo', 'starttls', 'auth', 'mail']) {
      expect([reply, stage, classificationOf(reply, stage).isSuppressing]).toEqual([
        reply,
        stage,
        false,
      ]);
    }
  }
});

test('with an enhanced code, only the six codes about the address suppress', () => {
  const allowed = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']);
  for (const [reply] of REPLIES) {
    for (let subject = 0; subject < 8; subject += 1) {
      for (let detail = 0; detail < 35; detail += 1) {
        const enhanced = `5.${subject}.${detail}`;
        if (enhanced === '5.0.0') continue;
        const text = reply.slice(4).replace(/#?[45]\.\d+\.\d+/g, '');
        const classification = classifyReply({ code: 550, enhanced, text, stage: 'rcpt' });
        if (classification.isSuppressing) expect(allowed.has(enhanced)).toBe(true);
      }
    }
  }
});

test('every provider in the table has a hint with its own link', () => {
  const reply = (text: string): string | null => classificationOf(text, 'rcpt').hint;
  expect(reply("550 5.7.1 weren't sent (S3140) outlook.com")).toContain(
    'https://olcsupport.office.com/',
  );
  expect(reply('421 RP-001 Outlook.com exceeded the rate limit')).toContain(
    'https://olcsupport.office.com/',
  );
  expect(reply('421 4.7.0 [TSS04] deferred')).toContain('https://senders.yahooinc.com/');
  expect(reply('421 4.7.28 unusual rate of unsolicited mail gsmtp')).toContain(
    'https://support.google.com/',
  );
  expect(reply('550 blocked using zen.spamhaus.org')).toContain('https://check.spamhaus.org/');
  for (const row of PROVIDER_ROWS.filter((row) => row.class === 'reputation')) {
    expect([row.source, row.hint === null]).toEqual([row.source, false]);
  }
});

test('each reply has the hint and the provider that hints.txt gives it, any other has none', () => {
  const told: [reply: string, hint: string, provider: string][] = [];
  let hint = '';
  for (const line of readFileSync(join(import.meta.dir, 'hints.txt'), 'utf8').split('\n')) {
    if (line.startsWith('* ')) hint = line.slice(2);
    const [provider = '', reply] = line.split('\t');
    if (reply !== undefined) told.push([reply, hint, provider]);
  }
  const found = REPLIES.map(([reply]): (typeof told)[number] => {
    const { hint: said, provider } = classificationOf(reply);
    return [reply, said ?? '-', provider ?? '-'];
  }).filter(([, said, provider]) => said !== '-' || provider !== '-');
  const byReply = (a: string[], b: string[]): number => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1);
  expect(found.toSorted(byReply)).toEqual(told.toSorted(byReply));
});

test('the provider is named', () => {
  expect(classificationOf('550 5.1.1 does not exist NoSuchUser - gsmtp').provider).toBe('Gmail');
  expect(classificationOf('550 5.7.1 (S3150)').provider).toBe('Outlook');
  expect(classificationOf('421 4.7.0 [TSS04] deferred').provider).toBe('Yahoo');
  expect(classificationOf('550 5.7.1 [CS01] support.apple.com').provider).toBe('Apple');
  expect(classificationOf('550 5.1.1 User unknown').provider).toBeNull();
});

test('a report counts by its status where the reply code says otherwise', () => {
  const expired = classifyReply({
    code: 550,
    enhanced: '4.4.7',
    text: 'QUEUE.Expired; message expired',
    stage: 'report',
  });
  expect([expired.class, expired.bounceType, expired.isSuppressing]).toEqual([
    'network',
    'Transient',
    false,
  ]);
  const exim = classifyReply({
    code: 550,
    enhanced: '5.0.0',
    text: 'No such user here',
    stage: 'report',
  });
  expect([exim.class, exim.bounceType, exim.isSuppressing]).toEqual([
    'recipient',
    'Permanent',
    true,
  ]);
  const nothing = classifyReply({ code: 0, enhanced: null, text: 'it came back', stage: 'report' });
  expect([nothing.class, nothing.bounceType, nothing.isSuppressing]).toEqual([
    'unknown',
    'Undetermined',
    false,
  ]);
});

test('enhanced codes are found behind other words, not in addresses', () => {
  expect(enhancedIn('sorry (#5.1.1)')).toBe('5.1.1');
  expect(enhancedIn('host [192.5.1.1] says no')).toBeNull();
  expect(enhancedIn('5.1.1.22')).toBeNull();
  expect(enhancedIn('nothing')).toBeNull();
});

test('every row names its source and can be reached', () => {
  for (const row of [...PROVIDER_ROWS, ...GENERAL_ROWS]) {
    expect(row.source.length).toBeGreaterThan(8);
    expect(row.text !== null || row.enhanced !== null || row.codes !== null).toBe(true);
  }
});

test('every row decides some reply of the table', () => {
  const decided = new Set(
    REPLIES.map(([reply]) => {
      const [, code, enhanced, text = ''] = PARTS.exec(reply) ?? [];
      const said =
        enhanced === undefined || enhanced.endsWith('.0.0') ? enhancedIn(text) : enhanced;
      return [...PROVIDER_ROWS, ...GENERAL_ROWS].find(
        (row) =>
          (row.codes?.includes(Number(code)) ?? true) &&
          (row.enhanced?.test(said ?? '') ?? true) &&
          (row.text?.test(text) ?? true),
      );
    }),
  );
  const idle = [...PROVIDER_ROWS, ...GENERAL_ROWS].filter((row) => !decided.has(row));
  expect(idle.map(({ source, codes, text }) => [source, codes, String(text)])).toEqual([]);
});

test('the case of letters does not matter, but for codes that providers write in capitals', () => {
  const code = /\bDY-00\d\b|\[TSS?\d\d\]|\[GL\d\d\]|\bOFR_\d{3}\b|\bLPN\d{3}_\d{3}\b|\bCXBL\b/;
  for (const [reply] of REPLIES) {
    const expected = classificationOf(reply);
    expect([reply, classificationOf(reply.toUpperCase())]).toEqual([reply, expected]);
    if (code.test(reply)) continue;
    expect([reply, classificationOf(reply.toLowerCase())]).toEqual([reply, expected]);
  }
});

test('hostile texts are classified at once', () => {
  const random = seeded(77);
  const texts = [
    'a'.repeat(1e6),
    'mailbox '.repeat(1e5),
    'user exceeded '.repeat(1e5),
    'from address reject'.repeat(1e5),
    ' '.repeat(1e6),
    'quota over '.repeat(1e5),
    ...Array.from({ length: 200 }, () => randomText(random, 200)),
  ];
  const begin = performance.now();
  for (const text of texts) classifyReply({ code: 550, enhanced: null, text, stage: 'rcpt' });
  expect((performance.now() - begin) / texts.length).toBeLessThan(20);
});

test.each([
  ['x - gsmtp', 'Gmail'],
  ['see https://support.google.com/mail', 'Gmail'],
  ['x outlook.com x', 'Outlook'],
  ['x HOTMAIL.com', 'Outlook'],
  ['x.office365.com', 'Outlook'],
  ['live.com', 'Outlook'],
  ['mta7.am0.yahoodns.net', 'Yahoo'],
  ['senders.yahooinc.com', 'Yahoo'],
  ['yahoo.com', 'Yahoo'],
  ['aol.com', 'Yahoo'],
  ['icloud.com', 'Apple'],
  ['support.apple.com', 'Apple'],
  ['me.com', 'Apple'],
  ['welcome.com', null],
  ['alive.com', null],
  ['nothing', null],
])('whose words %j are: %p', (text, provider) => {
  expect(classifyReply({ code: 599, enhanced: null, text, stage: 'rcpt' }).provider).toBe(provider);
});
