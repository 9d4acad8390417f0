/** A report is split and decoded once, however many recipients it names, and in time linear in its size. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MimePart } from '../../../src/mail/mime/tree.ts';
import { InboundMessage } from '../../../src/mail/reports/inbound-message.ts';
import { readReport } from '../../../src/mail/reports/read-report.ts';

const SOURCES = join(import.meta.dir, '../../../src/mail/reports');
const RETURN_PATH = 'b-0192f3a47c117b3e9f20c1d2e3f4a5b6-0123456789abcdef@send.example.com';

/** Counts each decoding. */
class Counted extends InboundMessage {
  readonly decoded: string[] = [];

  protected override decode(part: MimePart): Buffer {
    this.decoded.push(part.contentType);
    return super.decode(part);
  }
}

/** A report in which each of `count` recipients sends its reader to the text for the reason. */
function report(count: number, line: string): Buffer {
  const text = line.repeat(Math.floor((count * 525) / line.length));
  const groups = Array.from(
    { length: count },
    (_, index) => `Final-Recipient: rfc822; u${index}@receiver.example\r\nAction: failed\r\n\r\n`,
  );
  return Buffer.from(
    [
      'From: MAILER-DAEMON@receiver.example',
      'Content-Type: multipart/report; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      `<u7@receiver.example>: the mailbox is gone\r\n${text}`,
      '--b',
      'Content-Type: message/delivery-status',
      '',
      `Reporting-MTA: dns; receiver.example\r\n\r\n${groups.join('')}--b`,
      'Content-Type: message/rfc822',
      '',
      `Return-Path: <${RETURN_PATH}>\r\nMessage-ID: <1@mail.example.com>\r\n\r\nhello`,
      '--b--',
      '',
    ].join('\r\n'),
  );
}

const LINES: [what: string, line: string][] = [
  ['escapes', `${'=41'.repeat(24)}=\r\n`],
  ['empty lines', '\r\n'],
  ['addresses', 'a@b.c\r\n'],
];

test.each(LINES)('499 recipients and a text of %s: each part is decoded once', (_, line) => {
  const message = new Counted(report(499, line));
  const result = readReport(message);
  expect(result?.kind).toBe('bounce');
  if (result?.kind !== 'bounce') return;
  // Fifty are read (docs/decisions.md D145).
  expect(result.report.recipients).toHaveLength(50);
  expect(result.report.messageId).toBe('<1@mail.example.com>');
  expect(result.report.returnPaths).toEqual([RETURN_PATH]);
  expect(result.report.recipients[7]?.diagnostic).toStartWith('<u7@receiver.example>: the mailbox');
  expect(message.decoded.toSorted()).toEqual([
    'message/delivery-status',
    'message/rfc822',
    'text/plain',
  ]);
});

test.each(LINES)('499 recipients and a text of %s are read in linear time', (_, line) => {
  const bytes = report(499, line);
  const runs = Array.from({ length: 3 }, () => {
    const begin = performance.now();
    readReport(new InboundMessage(bytes));
    return performance.now() - begin;
  });
  // Work that was quadratic took 4 s on an idle machine and near a minute on a busy one; this takes 15 to 30 ms.
  expect(Math.min(...runs)).toBeLessThan(300);
});

test('nothing that no reader wants is decoded', () => {
  const message = new Counted(Buffer.from('From: ann@example.com\r\nSubject: hello\r\n\r\nhello'));
  expect(readReport(message)).toBeNull();
  expect(message.decoded).toEqual([]);
});

test('the parts and texts of a message are the same objects at every look', () => {
  const message = new Counted(report(3, 'word\r\n'));
  const part = message.part(/^text\/plain$/);
  if (part === undefined) throw new Error('no text part');
  expect(message.body(part)).toBe(message.body(part));
  expect(message.readableText).toContain('the mailbox is gone\nword\n');
  expect(message.returnPaths).toBe(message.returnPaths);
  expect(message.decoded).toEqual(['text/plain']);
});

test('no reader splits the message again: only the attached original is split, and only by its own reader', () => {
  const splitting = readdirSync(SOURCES).filter((file) =>
    /\b(?:splitMime|decodeBody|partsOf)\b/.test(readFileSync(join(SOURCES, file), 'utf8')),
  );
  expect(splitting.toSorted()).toEqual(['inbound-message.ts', 'report-fields.ts']);
  const fields = readFileSync(join(SOURCES, 'report-fields.ts'), 'utf8');
  expect(fields.match(/splitMime\(/g)).toHaveLength(1);
});

test('return paths are found anywhere in the first MiB, in any case, twenty of them', () => {
  const path = (at: number): string =>
    `B-${at.toString(16).padStart(32, '0')}-0123456789abcdef@Send.example.com`;
  const found = (text: string) => new InboundMessage(Buffer.from(text)).returnPaths;
  expect(found(`To: <${path(1)}>\r\n\r\n${path(1).toLowerCase()} x${path(2)}`)).toEqual([
    path(1).toLowerCase(),
  ]);
  const many = Array.from({ length: 25 }, (_, at) => path(at)).join('\r\n');
  expect(found(many)).toHaveLength(20);
  const filler = ' '.repeat(1_048_576 - path(1).length);
  expect(found(`${filler}${path(1)}`)).toHaveLength(1);
  expect(found(`${filler}${' '.repeat(path(1).length)}${path(1)}`)).toEqual([]);
});

test.each([
  ['text/plain', 'a <b> &lt;\r\nc', 'a <b> &lt;\nc'],
  ['text/html', '<p>a</p>b<br/>c<DIV x="y">d</DIV>', '\na\nb\nc\nd\n'],
  ['text/html', 'a<b>b</b>&lt;c@d&gt;&nbsp;&amp;lt;', 'a b <c@d> &lt;'],
  ['text/html', '<ann@receiver.example> <i>', '<ann@receiver.example>  '],
  ['text/html', '<pre>a</pre><drop>b<list>c', ' a  b c'],
  ['text/html', '<p class="x">a</p><TR>b<li>c', '\na\n\nb\nc'],
  ['text/html', '<p\n<b>a<b\n<p>c', '<p\n a<b\n\nc'],
  ['text/html', `<p ${'y'.repeat(999)}>a<i ${'y'.repeat(998)}>b`, '\na b'],
  ['text/html', `<p ${'y'.repeat(1_000)}>a`, `<p ${'y'.repeat(1_000)}>a`],
  ['text/html', `<i ${'y'.repeat(999)}>b`, `<i ${'y'.repeat(999)}>b`],
  ['text/plain', 'a\rb\nc', 'a\rb\nc'],
  ['image/png', 'a', ''],
])('%s: %j is read as %j', (type, text, shown) => {
  const message = new InboundMessage(Buffer.from(`Content-Type: ${type}\r\n\r\n${text}`));
  expect(message.readableText).toBe(shown);
});

test('plain text is read before HTML, wherever they stand; header words are decoded', () => {
  const message = new InboundMessage(
    Buffer.from(
      [
        'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
        'Content-Type: multipart/alternative; boundary=b',
        '',
        '--b',
        'Content-Type: text/html',
        '',
        '<p>html</p>',
        '--b',
        'Content-Type: text/plain; charset=iso-8859-1',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'pl=E4in',
        '--b--',
      ].join('\r\n'),
    ),
  );
  expect(message.readableText).toBe('pläin');
  expect([message.words('subject'), message.words('from'), message.field('from')]).toEqual([
    'Grüße',
    '',
    null,
  ]);
});

const part = (type: string, ...body: string[]): InboundMessage =>
  new InboundMessage(Buffer.from([`Content-Type: ${type}`, '', ...body].join('\r\n'), 'latin1'));

test.each([
  ['text/plain; charset=iso-8859-1', 'caf\u00e9', 'caf\u00e9'],
  ['text/plain; charset=windows-1251', '\u00cf\u00f0', '\u041f\u0440'],
  ['text/plain; charset=utf-8', '\u00c3\u00a9', '\u00e9'],
  ['text/plain', '\u00c3\u00a9', '\u00e9'],
  ['text/html', '<p>\u00c3\u00a9</p> 1 &lt;2&gt;&nbsp;&amp;c', '\n\u00e9\n 1 <2> &c'],
  ['text/html', '<a@x.example><i>x</i>', '<a@x.example> x '],
  ['image/png', 'x', ''],
])('the readable text of %s: %s', (type, body, text) => {
  expect(part(type, body).readableText).toBe(text);
});

test('what is itself in parts is no text, whatever its type says', () => {
  const inner = ['--b', 'Content-Type: text/html', '', '<b>in</b>', '--b--'];
  expect(part('multipart/mixed; boundary=b', ...inner).readableText).toBe(' in ');
});

test('of several parts of one type the first is read', () => {
  const two = (type: string): InboundMessage => {
    const leaf = (text: string): string[] => ['--b', `Content-Type: ${type}`, '', text];
    return part('multipart/mixed; boundary=b', ...leaf('one'), ...leaf('two'), '--b--');
  };
  expect([two('text/html').readableText, two('text/plain').readableText]).toEqual(['one', 'one']);
  const message = two('message/delivery-status');
  const first = message.part(/delivery-status$/);
  expect(first && message.text(first)).toBe('one');
});

test('of the domain of a return path 253 characters are taken', () => {
  const local = RETURN_PATH.split('@')[0] ?? '';
  const path = `${local}@${'d.'.repeat(126)}e`;
  expect(new InboundMessage(Buffer.from(`${path}f`)).returnPaths).toEqual([path]);
});

test('a return path that the first MiB ends within is cut there, and one behind it is not found', () => {
  const at = (end: number): readonly string[] =>
    new InboundMessage(Buffer.from(`${RETURN_PATH}x`.padStart(end + 1, ' '))).returnPaths;
  expect(at(1_048_576)).toEqual([RETURN_PATH]);
  expect(at(1_048_577)).toEqual([RETURN_PATH.slice(0, -1)]);
});
