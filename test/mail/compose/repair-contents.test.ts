/** Whatever the parts of a submitted message are, a parser that is not ours reads the same contents after the repair. */
import { expect, test } from 'bun:test';
import PostalMime from 'postal-mime';

import { repairSubmission, type Submission } from '../../../src/mail/compose/repair.ts';
import { toSevenBit } from '../../../src/mail/compose/seven-bit.ts';
import { hasLongLine, isSevenBit } from '../../../src/mail/mime/lines.ts';
import { attachmentBytes, readParts } from '../../../src/mail/mime/message-parts.ts';
import { splitMime } from '../../../src/mail/mime/tree.ts';
import { seeded, type Random } from '../random.ts';

const DEFAULTS = {
  messageId: '<new@mail.example.com>',
  date: new Date('2026-11-21T01:02:03Z'),
  ownNames: ['mail.example.com'],
};
const FROM = 'From: a@example.com\r\n';

function repair(message: string): Submission {
  const result = repairSubmission(Buffer.from(message, 'latin1'), DEFAULTS);
  if ('error' in result) throw new Error(result.error);
  return result;
}

/** A leaf of the tree: its name, its decoded bytes as Latin-1 text, and how it is written. */
interface Leaf {
  name: string;
  content: string;
  text: string;
}

function leafOf(random: Random, name: string): Leaf {
  const type = random.pick(['text/plain', 'TEXT/x-log', 'application/pdf', 'image/png']);
  const pieces = [
    'word ',
    '=',
    'ü'.repeat(2),
    '\r\n',
    '\r\n.\r\n',
    'x'.repeat(998),
    'é '.repeat(300),
  ];
  if (!/text/i.test(type)) pieces.push('\0');
  const said = Array.from({ length: 1 + random.int(8) }, () => random.pick(pieces)).join('');
  const content = Buffer.from(`${said}.`, 'utf8').toString('latin1');
  const encoding = random.pick(['', '7bit', '8bit', 'BINARY', 'base64', 'Base64']);
  const isBase64 = /base64/i.test(encoding);
  const body = isBase64 ? Buffer.from(content, 'latin1').toString('base64') : content;
  const fields = [
    `Content-Type: ${type}; charset=utf-8; name=${name}`,
    `Content-Disposition: attachment; filename=${name}`,
    ...(encoding === '' ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
  ];
  if (random.chance(0.5)) fields.reverse();
  return { name, content, text: `${fields.join('\r\n')}\r\n\r\n${body}` };
}

function treeOf(random: Random, depth: number, leaves: Leaf[]): string {
  const boundary = `b${depth}-${leaves.length}`;
  const parts = Array.from({ length: 1 + random.int(3) }, () => {
    if (depth < 3 && random.chance(0.3)) return treeOf(random, depth + 1, leaves);
    const leaf = leafOf(random, `f${leaves.length}.bin`);
    leaves.push(leaf);
    return leaf.text;
  });
  const type = `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n`;
  const preamble = random.pick(['', 'preamble\r\n', `${'p'.repeat(1_000)}\r\n`]);
  const inside = parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('');
  return `${type}${preamble}${inside}--${boundary}--${random.pick(['', '\r\nepilogue'])}`;
}

async function contentsOf(bytes: Buffer): Promise<Record<string, string>> {
  const { attachments } = await PostalMime.parse(bytes);
  return Object.fromEntries(
    attachments.map(({ filename, content }) => [
      filename ?? '',
      Buffer.from(content as ArrayBuffer)
        .toString('latin1')
        // The reader's own ends of the lines of text.
        .replace(/\r?\n/g, '\r\n')
        .replace(/(?:\r\n)+$/, ''),
    ]),
  );
}

/** The same as this service reads it for people. */
function ownContentsOf(bytes: Buffer): Record<string, string> {
  const { attachments } = readParts(bytes);
  expect(attachmentBytes(bytes, splitMime(bytes))).toBe(
    attachments.reduce((sum, one) => sum + one.content().length, 0),
  );
  return Object.fromEntries(
    attachments.map(({ filename, content }) => [
      filename,
      content()
        .toString('latin1')
        .replace(/(?:\r\n)+$/, ''),
    ]),
  );
}

test('random trees of parts keep their contents, also for servers that take ASCII alone', async () => {
  for (let seed = 60_000; seed < 60_150; seed += 1) {
    const random = seeded(seed);
    const leaves: Leaf[] = [];
    const isTree = random.chance(0.8);
    if (!isTree) leaves.push(leafOf(random, 'f0.bin'));
    const body = isTree ? treeOf(random, 0, leaves) : (leaves[0]?.text ?? '');
    const { bytes } = repair(`${FROM}MIME-Version: 1.0\r\n${body}`);
    const expected = Object.fromEntries(leaves.map(({ name, content }) => [name, content]));
    expect([seed, await contentsOf(bytes)]).toEqual([seed, expected]);
    expect([seed, hasLongLine(bytes), bytes.includes(0)]).toEqual([seed, false, false]);
    expect([seed, bytes.subarray(-2).toString()]).toEqual([seed, '\r\n']);
    expect([seed, ownContentsOf(bytes)]).toEqual([seed, expected]);
    const ascii = toSevenBit(bytes);
    if (ascii === null) throw new Error(`${seed}: it cannot be written in ASCII`);
    expect([seed, isSevenBit(ascii), hasLongLine(ascii)]).toEqual([seed, true, false]);
    expect([seed, await contentsOf(ascii)]).toEqual([seed, expected]);
    expect([seed, ownContentsOf(ascii)]).toEqual([seed, expected]);
    expect(repair(bytes.toString('latin1')).bytes.equals(bytes)).toBe(true);
  }
}, 60_000);

const long = 'x'.repeat(999);

test.each([
  ['message/delivery-status', `${'x'.repeat(998)}\r\nx`],
  ['message/rfc822', `${'x'.repeat(998)}\r\nx`],
  ['multipart/mixed', `${'x'.repeat(998)}\r\nx`],
])('what is of the type %s is cut, never encoded', (type, body) => {
  const text = repair(`${FROM}Content-Type: ${type}\r\n\r\n${long}\r\n`).bytes.toString();
  expect(text).toEndWith(`\r\n\r\n${body}\r\n`);
  expect(text).not.toContain('Content-Transfer-Encoding');
  const inside = `--b\r\nContent-Type: ${type}\r\n\r\n`;
  const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n';
  const around = repair(`${FROM}${head}${inside}${long}\r\n--b--\r\n`).bytes.toString();
  expect(around).toEndWith(`${inside}${body}\r\n--b--\r\n`);
});

test('outside of the parts a line of 998 bytes stays whole, one of 1,997 becomes three', () => {
  const full = 'f'.repeat(998);
  const text = `${full}\r\n${full}${full}f\r\n`;
  const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n';
  const { bytes } = repair(`${FROM}${head}--b\r\n\r\nx\r\n--b--\r\n${text}`);
  expect(bytes.toString()).toEndWith(`--b--\r\n${full}\r\n${full}\r\n${full}\r\nf\r\n`);
});

test('what is not fit for any server is encoded for one that takes ASCII alone too', () => {
  const message = (body: string): string | undefined =>
    toSevenBit(Buffer.from(`${FROM}\r\n${body}\r\n`))?.toString();
  expect(message('a\0b')).toContain('\r\n\r\na=00b\r\n');
  expect(message(long)).toContain('Content-Transfer-Encoding: quoted-printable\r\n');
  expect(message('plain')).toBe(`${FROM}\r\nplain\r\n`);
});

test('a part is encoded whole, however long', async () => {
  const content = 'ü'.repeat(200_000);
  const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n';
  for (const [name, encoding, body] of [
    ['a.bin', '8bit', Buffer.from(content).toString('latin1')],
    ['b.bin', 'base64', Buffer.from(content).toString('base64')],
  ] as const) {
    const fields = `Content-Disposition: attachment; filename=${name}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
    for (const message of [
      `${FROM}${fields}${body}`,
      `${FROM}${head}--b\r\n${fields}${body}\r\n--b--`,
    ]) {
      const contents = await contentsOf(repair(message).bytes);
      expect(Object.keys(contents)).toEqual([name]);
      expect(contents[name] === Buffer.from(content).toString('latin1')).toBe(true);
    }
  }
});

/** In ASCII, where that is possible. */
const ascii = (...lines: string[]): string | undefined =>
  toSevenBit(Buffer.from([...lines, ''].join('\r\n'), 'latin1'))?.toString('latin1');

test('a signed part is not changed wherever it stands, one that is only called so is', () => {
  const inner = (type: string): string[] => [
    '--b',
    `Content-Type: ${type}; boundary=s`,
    '',
    '--s',
    '',
    '\xfc',
    '--s--',
    '--b--',
  ];
  const head = ['From: a@example.com', 'Content-Type: multipart/mixed; boundary=b', ''];
  expect(ascii(...head, ...inner('multipart/signed'))).toBeUndefined();
  expect(ascii(...head, ...inner('multipart/mixed'))).toContain('=FC');
});

test('for ASCII as many fields, parts and levels are read as a submitted message may have', () => {
  const fields = Array.from({ length: 1_999 }, (_, at) => `X-${at}: y`);
  const text = ascii(...fields, 'Content-Transfer-Encoding: 8bit', '', '\xfc') ?? '';
  expect(text.split('\r\n').slice(0, 1_999)).toEqual(fields);
  expect(text).not.toContain('8bit');
  const folded = ['X-Long: a', ...Array.from({ length: 1_000 }, () => ` ${'x'.repeat(200)}`)];
  expect(ascii(...folded, '', 'b')?.split('\r\n')).toEqual([...folded, '', 'b', '']);
  const head = 'Content-Type: multipart/mixed; boundary=b';
  const parts = Array.from({ length: 999 }, () => ['--b', '', '\xfc']).flat();
  const encoded = ascii(head, '', ...parts, '--b--');
  expect(encoded?.match(/^Content-Transfer-Encoding: quoted-printable\r$/gm)).toHaveLength(999);
  let nested = ['Content-Type: text/plain', '', '\xfc'];
  for (let level = 0; level < 50; level += 1) {
    const type = `Content-Type: multipart/mixed; boundary=l${level}`;
    nested = [type, '', `--l${level}`, ...nested, `--l${level}--`];
  }
  expect(ascii(...nested)).toContain('\r\n\r\n=FC\r\n');
});

test.each([
  ['text/plain', '8bit', 'quoted-printable'],
  ['TEXT/html', '7bit', 'quoted-printable'],
  ['text/plain', 'BASE64', 'base64'],
  ['text/plain', 'base64', 'base64'],
  ['application/pdf', '8bit', 'base64'],
  ['application/text', 'quoted-printable', 'base64'],
  ['x-text/plain', '8bit', 'base64'],
  ['x-message/plain', '8bit', 'base64'],
  ['image/svg+xml', 'Base64', 'base64'],
])('a part of the type %s in %s is encoded anew in %s', (type, from, to) => {
  const body = from.toLowerCase() === 'base64' ? Buffer.from(long).toString('base64') : long;
  const part = `Content-Type: ${type}\r\nContent-Transfer-Encoding: ${from}\r\n\r\n${body}\r\n`;
  const head = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n';
  for (const message of [`${FROM}${part}`, `${FROM}${head}${part}--b--\r\n`]) {
    const text = repair(message).bytes.toString();
    expect(text.match(/^Content-Transfer-Encoding: .*$/gm)).toEqual([
      `Content-Transfer-Encoding: ${to}`,
    ]);
  }
});
