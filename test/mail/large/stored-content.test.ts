/** A stored message in its parts: fields as the sender spelled them, decoded, and every attachment with all that is known of it. */
import { expect, test } from 'bun:test';

import { readContent } from '../../../src/mail/large/stored-content.ts';

const lines = (...all: string[]): Buffer => Buffer.from(all.join('\r\n'), 'latin1');

test('fields that a sender can set, in their order and spelling, with their words decoded', () => {
  const { headers, text, html, attachments } = readContent(
    lines(
      'DKIM-Signature: v=1',
      'From: a@sender.example',
      'X-Own : one',
      'x-OWN: =?utf-8?q?zw=C3=B6lf?=',
      'Subject: s',
      'X-Folded: two',
      '\tthree',
      'X-Empty:',
      'MIME-Version: 1.0',
      'Content-Language: de',
      'List-Unsubscribe: <https://sender.example/u>',
      'Content-Type: text/plain',
      '',
      'X-Body: no field',
    ),
  );
  expect(headers).toEqual([
    ['X-Own', 'one'],
    ['x-OWN', 'zwölf'],
    ['X-Folded', 'two\tthree'],
    ['X-Empty', ''],
    ['List-Unsubscribe', '<https://sender.example/u>'],
  ]);
  expect([text, html, attachments]).toEqual(['X-Body: no field', null, []]);
});

test('fields of a long header are all read', () => {
  const fields = Array.from({ length: 290 }, (_, at) => `X-${at}: ${'y'.repeat(100)}`);
  expect(readContent(lines(...fields, '', 'x')).headers).toHaveLength(290);
});

test('all that is known of attachments, whatever shows them', () => {
  const content = readContent(
    lines(
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<img src="cid:logo">',
      '--b',
      'Content-Type: image/png; name=l.png',
      'Content-ID: <logo>',
      'Content-Transfer-Encoding: base64',
      '',
      'AP8=',
      '--b',
      'Content-Type: application/pdf',
      'Content-Disposition: attachment; filename=a.pdf',
      '',
      'pdf',
      '--b--',
    ),
  );
  expect(content).toEqual({
    html: '<img src="cid:logo">',
    text: null,
    headers: [],
    attachments: [
      {
        filename: 'l.png',
        contentType: 'image/png',
        contentId: 'logo',
        content: Buffer.from([0, 255]),
      },
      {
        filename: 'a.pdf',
        contentType: 'application/pdf',
        contentId: null,
        content: Buffer.from('pdf'),
      },
    ],
  });
});
