/** What a person sees of a message: its texts, its attachments, and images inside its HTML as far as they fit. */
import { expect, test } from 'bun:test';

import {
  attachmentBytes,
  readHead,
  readParts,
  withInlineImages,
  type PartAttachment,
} from '../../../src/mail/mime/message-parts.ts';
import { splitMime } from '../../../src/mail/mime/tree.ts';

const BYTES_MAX = 8_000_000;

/** An image that says it has so many bytes; `decoded` counts how often somebody wants them. */
function image(contentId: string | null, byteLength: number, contentType = 'image/png') {
  const decoded: string[] = [];
  const part: Omit<PartAttachment, 'filename'> = {
    contentId,
    contentType,
    byteLength,
    content() {
      decoded.push(contentId ?? '');
      return Buffer.from(contentId ?? '');
    },
  };
  return { part, decoded };
}

const urlOf = (contentId: string): string =>
  `data:image/png;base64,${Buffer.from(contentId).toString('base64')}`;

test('images are put in up to a limit for all of them together', () => {
  const images = [image('a', BYTES_MAX - 10), image('b', 11), image('c', 10), image('d', 1)];
  const html = images.map(({ part }) => `<img src="cid:${part.contentId}">`).join('');
  const shown = withInlineImages(
    html,
    images.map(({ part }) => part),
  );
  expect(shown).toBe(
    `<img src="${urlOf('a')}"><img src="cid:b"><img src="${urlOf('c')}"><img src="cid:d">`,
  );
  // What is left out is not even decoded.
  expect(images.map(({ decoded }) => decoded.length)).toEqual([1, 0, 1, 0]);
});

test('an image that is named many times is put in until sixteen million characters are added', () => {
  const content = Buffer.alloc(3_000_000);
  const part = { ...image('a', content.length).part, content: () => content };
  const small = image('b', 1).part;
  const html = `${'<img src="cid:a">'.repeat(200)}<img src="cid:b"><img src="cid:a">`;
  const shown = withInlineImages(html, [part, small]);
  // Each is four million characters and what stands before its base64.
  const url = `data:image/png;base64,${content.toString('base64')}`;
  const expected = `${`<img src="${url}">`.repeat(3)}${'<img src="cid:a">'.repeat(197)}<img src="${urlOf('b')}"><img src="cid:a">`;
  expect(shown === expected).toBe(true);
});

test('only images are put in, and only where their Content-ID is named', () => {
  const parts = [image('page', 1, 'text/html'), image(null, 1), image('logo', 1)];
  const html = `<a href="cid:page"></a><p style="background:url(CID:logo)">cid:none</p>`;
  const shown = withInlineImages(
    html,
    parts.map(({ part }) => part),
  );
  expect(shown).toBe(html.replace('CID:logo', urlOf('logo')));
});

const PNG = Buffer.from('an image');
const WHOLE = Buffer.from(
  [
    'From: =?UTF-8?Q?B=C3=BCro?= <a@sender.example>',
    'To: ann@receiver.example',
    'Subject: =?UTF-8?B?R3LDvMOfZQ==?=',
    'Content-Type: multipart/mixed; boundary=m',
    '',
    'Nobody reads what stands before the first part.',
    '--m',
    'Content-Type: text/plain; name=note.txt',
    'Content-Disposition: attachment',
    '',
    'an attached text',
    '--m',
    'Content-Type: multipart/alternative; boundary=a',
    '',
    '--a',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=FC=DFe',
    '--a',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Hello</p>',
    '--a--',
    '--m',
    'Content-Type: image/png',
    'Content-Disposition: inline; filename="=?UTF-8?Q?gr=C3=BCn.png?="',
    'Content-Id: <logo>',
    'Content-Transfer-Encoding: base64',
    '',
    PNG.toString('base64'),
    '--m',
    'Content-Type: text/plain',
    '',
    'a second text',
    '--m--',
    '',
  ].join('\r\n'),
);

test('the first text and the first HTML that are no attachments are the message, all else is attached', () => {
  const parts = readParts(WHOLE);
  expect(parts).toMatchObject({ subject: 'Grüße', from: 'Büro <a@sender.example>' });
  expect(parts.to).toBe('ann@receiver.example');
  expect(parts.text).toBe('Grüße');
  expect(parts.html).toBe('<p>Hello</p>');
  expect(
    parts.attachments.map(({ filename, contentType, contentId, content }) => [
      filename,
      contentType,
      contentId,
      content().toString(),
    ]),
  ).toEqual([
    ['note.txt', 'text/plain', null, 'an attached text'],
    ['grün.png', 'image/png', 'logo', 'an image'],
    ['unnamed', 'text/plain', null, 'a second text'],
  ]);
  expect(parts.attachments[1]?.byteLength).toBe(PNG.toString('base64').length);
  expect(attachmentBytes(WHOLE, splitMime(WHOLE))).toBe(16 + PNG.length + 13);
  expect(readHead(WHOLE)).toEqual({ subject: 'Grüße', from: 'Büro <a@sender.example>' });
});

test('a message of one part, and one without any text', () => {
  const html = readParts(Buffer.from('Content-Type: text/html\r\n\r\n<b>x</b>'));
  expect(html).toMatchObject({ html: '<b>x</b>', text: null, subject: '', attachments: [] });
  const file = readParts(Buffer.from('Content-Type: application/pdf\r\n\r\nx'));
  expect(file).toMatchObject({ html: null, text: null, attachments: [{ filename: 'unnamed' }] });
});

test('a forwarded message is attached whole, and nothing in it is text of the one around it', () => {
  const inner = 'Subject: inner\r\nContent-Type: text/html\r\n\r\n<p>inside</p>';
  const message = [
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'outside',
    '--b',
    'Content-Type: message/rfc822',
    'Content-Disposition: attachment; filename=forwarded.eml',
    '',
    inner,
    '--b--',
    '',
  ].join('\r\n');
  const { text, html, attachments } = readParts(Buffer.from(message));
  expect([text, html]).toEqual(['outside', null]);
  const found = attachments.map(({ filename, contentType, content }) => [
    filename,
    contentType,
    content().toString(),
  ]);
  expect(found).toEqual([['forwarded.eml', 'message/rfc822', inner]]);
  expect(attachmentBytes(Buffer.from(message), splitMime(Buffer.from(message)))).toBe(inner.length);
});

test('a long text is read to its end, in every encoding', () => {
  const long = `${'ü'.repeat(200_000)}.`;
  const bytes = Buffer.from(long);
  for (const [encoding, body] of [
    ['8bit', bytes.toString('latin1')],
    ['base64', bytes.toString('base64')],
    ['quoted-printable', `${'=C3=BC'.repeat(200_000)}.`],
  ] as const) {
    for (const kind of ['text', 'html'] as const) {
      const type = kind === 'html' ? 'text/html' : 'text/plain';
      const head = `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
      expect(readParts(Buffer.from(head + body, 'latin1'))[kind] === long).toBe(true);
    }
  }
});

test.each([
  ['Content-Disposition: ATTACHMENT; FILENAME=a.txt', 'a.txt'],
  ['Content-Disposition: attachment; filename=a.txt ; size=1', 'a.txt'],
  ['Content-Disposition: attachment; filename = "a b.txt"', 'a b.txt'],
  ['Content-Disposition: attachment; filename=""; x="y"', 'unnamed'],
  ['Content-Disposition: attachment; filename=; x="y"', 'unnamed'],
  ['Content-Disposition: attachment', 'unnamed'],
  // RFC 2231, as Python and Apple Mail write it: in front of the name for older readers, or behind it.
  ["Content-Disposition: attachment; filename*=utf-8''%C3%9Cber%20sicht.pdf", 'Über sicht.pdf'],
  ["Content-Disposition: attachment; FILENAME*=ISO-8859-1'de'%fc%DF.txt; size=1", 'üß.txt'],
  ["Content-Disposition: attachment; filename=u.txt; filename*=utf-8''%C3%BC.txt", 'ü.txt'],
  ["Content-Disposition: attachment; filename*=utf-8''%C3%BC.txt; filename=u.txt", 'ü.txt'],
  ["Content-Disposition: attachment; filename*=''%C3%BC.txt", 'ü.txt'],
  ["Content-Disposition: attachment; filename*=\"UTF-8''%C3%BC 'a'.txt\"", "ü 'a'.txt"],
  ['Content-Disposition: attachment; filename*=a%20b.txt', 'a b.txt'],
  ["Content-Disposition: attachment; filename*=utf-8''100%.txt", '100%.txt'],
  ["Content-Disposition: attachment; filename*=utf-8''; filename=u.txt", 'u.txt'],
  // In pieces, which may come in any order and need not all be encoded (section 4.1).
  ["Content-Disposition: attachment; filename*0*=utf-8''%C3; filename*1*=%BC.txt", 'ü.txt'],
  [
    'Content-Disposition: attachment; filename*1=" 50%20.pdf"; filename*0*=utf-8\'\'%C3%BC',
    'ü 50%20.pdf',
  ],
  ['Content-Disposition: attachment; filename*0=a; filename*1=b; filename*3=c', 'ab'],
  ['Content-Disposition: attachment; filename*0=a; filename*0=b', 'a'],
  ['Content-Disposition: attachment; filename*0="a\'b\'c 10%41.txt"', "a'b'c 10%41.txt"],
  ['Content-Disposition: attachment; filename*="a b\'c\'d.txt"', "a b'c'd.txt"],
  ["Content-Disposition: attachment; filename*=utf-8''a.txt ; x=y", 'a.txt'],
  ['Content-Disposition: attachment; filename*0=a; filename*2=b; filename*3=c', 'a'],
  [
    `Content-Disposition: attachment; ${Array.from({ length: 12 }, (_, at) => `filename*${at}=${at}`).join('; ')}`,
    '01234567891011',
  ],
  ["Content-Disposition: attachment; filename*=KOI8-R'ru-RU'%D0%D2.txt", 'пр.txt'],
  ["Content-Disposition: attachment; x-filename*=utf-8''a; xfilename*=utf-8''b", 'unnamed'],
  ['Content-Disposition: attachment; filename*1=b; filename=u.txt', 'u.txt'],
  // By Content-Type alone.
  ["Content-Type: image/png; name*=UTF-8''%C3%BC.png", 'ü.png'],
  ["Content-Type: image/png; name=u.png; name*0*=UTF-8''%C3; name*1*=%BC.png", 'ü.png'],
  ["Content-Type: image/png; filename*=UTF-8''a.png; x-name*=UTF-8''b.png", 'unnamed'],
  [
    "Content-Type: image/png; name*=UTF-8''t.png\r\nContent-Disposition: attachment; filename=d.png",
    'd.png',
  ],
])('%s: attached as %s', (field, name) => {
  const { text, attachments } = readParts(Buffer.from(`${field}\r\n\r\nx`));
  expect([text, attachments.map(({ filename }) => filename)]).toEqual([null, [name]]);
});

test('a part that names an attachment without being one is the message', () => {
  const field = 'Content-Disposition: inline; filename="attachment"';
  expect(readParts(Buffer.from(`${field}\r\n\r\nx`))).toMatchObject({ text: 'x', attachments: [] });
});

test('only the brackets around a Content-ID are taken away', () => {
  const idOf = (value: string): unknown =>
    readParts(Buffer.from(`Content-Type: a/b\r\nContent-Id: ${value}\r\n\r\nx`)).attachments[0]
      ?.contentId;
  expect(['<a<b>c>', 'a', 'a<b>c'].map(idOf)).toEqual(['a<b>c', 'a', 'a<b>c']);
});

test('an attachment is given whole, however long', () => {
  const long = Buffer.from(`Content-Type: a/b\r\n\r\n${'x'.repeat(262_145)}`);
  expect(readParts(long).attachments[0]?.content()).toHaveLength(262_145);
  expect(attachmentBytes(long, splitMime(long))).toBe(262_145);
});

test('an image is put in whatever quotes it stands in, and nothing that is only called one', () => {
  const parts = [image('logo', 1).part, image('other', 1, 'x-image/png').part];
  const html = `<img src='cid:logo'><img src="cid:logo"><p style="background:url(cid:logo)">`;
  const put = html.replaceAll('cid:logo', urlOf('logo'));
  expect(withInlineImages(`${html}<img src="cid:other">`, parts)).toBe(
    `${put}<img src="cid:other">`,
  );
});

test('where an image is named ends at white space, and begins at a word', () => {
  const parts = [image('logo', 1).part, image('', 1).part];
  const html = '<img src=cid:logo alt=x><p>acid:logo cid: x</p>';
  expect(withInlineImages(html, parts)).toBe(html.replace('cid:logo alt', `${urlOf('logo')} alt`));
});
