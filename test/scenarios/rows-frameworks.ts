/**
 * Bodies as the mailers of frameworks make them, read from their sources: Symfony's bridge, Laravel, django-anymail.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const post = (t: Target, over: object): Promise<Sent> =>
  t.ask({ path: '/emails/batch', key: t.send, body: [email(t, { ...over })] });

async function read(t: Target, over: object): Promise<{ email: Sent['json']; headers: unknown }> {
  const sent = await post(t, over);
  expect([sent.status, sent.text]).toEqual([200, expect.any(String)]);
  const path = `/emails/${sent.json.data[0].id}`;
  const [found, body] = [
    await t.ask({ path, key: t.full }),
    await t.ask({ path: `${path}/body`, key: t.full }),
  ];
  return { email: found.json, headers: body.json.headers };
}

export const FRAMEWORKS: readonly Row[] = [
  {
    clause: 'C7.17',
    says: 'a header may have a list of values, each of which makes a field (django-anymail)',
    async run(t) {
      const found = await read(t, { headers: { 'X-Tag': ['welcome', 'new user'], 'X-A': ['b'] } });
      expect(found.headers).toEqual({ 'X-Tag': 'welcome, new user', 'X-A': 'b' });
      for (const [headers, path] of [
        [{ 'X-Tag': ['a', 5] }, '[0].headers.X-Tag[1]'],
        [{ 'X-Tag': ['a', 'b\r\nBcc: c@example.com'] }, '[0].headers.X-Tag'],
        [{ 'X-Tag': [['a']] }, '[0].headers.X-Tag[0]'],
        [{ 'Message-ID': ['<a@b>', '<c@d>'] }, '[0].headers.Message-ID'],
        [{ 'X-Tag': Array.from({ length: 101 }, () => 'a') }, '[0].headers'],
      ] as const) {
        const sent = await post(t, { headers });
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual([path]);
      }
      expect((await read(t, { headers: { 'X-Tag': [] } })).headers).toEqual({});
    },
  },
  {
    clause: 'C7.17',
    says: 'encoded words in names and header values are read, and hide nothing (Symfony, django-anymail)',
    async run(t) {
      const found = await read(t, {
        to: '=?utf-8?q?Doe=2C_J=C3=B6rg?= <delivered@sandbox.test>',
        cc: ['"=?utf-8?b?w4RubmU=?=" <delivered+c@sandbox.test>', '=?x <delivered+x@sandbox.test>'],
        headers: {
          'X-Customer': '=?utf-8?Q?J=C3=B6rg_M=C3=BC?=\r\n =?utf-8?Q?ller?= (7)',
          'X-Literal': 'a =? b ?=',
          'X-Mixed': 'Jörg =?utf-8?Q?x?=',
        },
      });
      expect(found.email).toMatchObject({
        to: ['"Doe, Jörg" <delivered@sandbox.test>'],
        cc: ['Änne <delivered+c@sandbox.test>', '=?x <delivered+x@sandbox.test>'],
      });
      expect(found.headers).toEqual({
        'X-Customer': 'Jörg Müller (7)',
        'X-Literal': 'a =? b ?=',
        'X-Mixed': 'Jörg =?utf-8?Q?x?=',
      });
      for (const [over, path] of [
        [{ to: '=?utf-8?q?a=0D=0AX=3A_y?= <delivered@sandbox.test>' }, '[0].to'],
        [{ headers: { 'X-A': '=?utf-8?q?a=0D=0ABcc=3A_x?=' } }, '[0].headers.X-A'],
        [{ headers: { 'X-A': '=?utf-8?q?a=00?=' } }, '[0].headers.X-A'],
        [{ headers: { 'X-A': 'a\r\n b' } }, '[0].headers.X-A'],
        [{ headers: { 'X-A': '=?utf-8?q?a?=\r\nBcc: =?utf-8?q?b?=' } }, '[0].headers.X-A'],
      ] as const) {
        const sent = await post(t, over);
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual([path]);
      }
    },
  },
  {
    clause: 'C7.14',
    says: 'a Reply-To header may add names and further addresses to reply_to (Symfony sends the first alone)',
    async run(t) {
      const both = 'Help <help@example.com>, =?utf-8?Q?B=C3=BCro?= <b@example.com>';
      const found = await read(t, { reply_to: 'help@example.com', headers: { 'Reply-To': both } });
      expect(found.email.reply_to).toEqual(['Help <help@example.com>', 'Büro <b@example.com>']);
      const named = {
        reply_to: 'Help <help@example.com>',
        headers: { 'Reply-To': 'help@example.com' },
      };
      expect((await read(t, named)).email.reply_to).toEqual(['Help <help@example.com>']);
      const other = { reply_to: 'b@example.com', headers: { 'Reply-To': both } };
      expect(issuePaths(await post(t, other))).toEqual(['[0].headers.Reply-To']);
    },
  },
  {
    clause: 'C7.5',
    says: 'an item of a list of tags may be a single pair (Symfony)',
    async run(t) {
      const found = await read(t, { tags: [{ 'X-Tag': 'welcome' }, { name: 'a', value: 'b' }] });
      expect(found.email.tags).toEqual([
        { name: 'X-Tag', value: 'welcome' },
        { name: 'a', value: 'b' },
      ]);
      for (const [tags, path] of [
        [[{ name: 'a' }], '[0].tags[0].value'],
        [[{ value: 'a' }], '[0].tags[0].name'],
        [[{ a: 'b', c: 'd' }], '[0].tags[0].name'],
        [[{ 'X-Tag': 'a b' }], '[0].tags[0].value'],
        [[{}], '[0].tags[0].name'],
      ] as const) {
        const sent = await post(t, { tags });
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)[0]).toBe(path);
      }
    },
  },
  {
    clause: 'C7.18',
    says: 'the content of an attachment may be a calendar as text (Laravel)',
    async run(t) {
      const calendar = 'BEGIN:VCALENDAR\r\nSUMMARY:Jörg\r\nEND:VCALENDAR\r\n';
      const file = (content: string) => ({
        attachments: [
          { filename: 'meet.ics', content_type: 'text/calendar; method=REQUEST', content },
        ],
      });
      const sent = await post(t, file(calendar));
      expect([sent.status, sent.text]).toEqual([200, expect.any(String)]);
      const path = `/emails/${sent.json.data[0].id}/attachments`;
      const { json } = await t.ask({ path, key: t.full });
      const url = new URL(json.data[0].download_url);
      const found = await t.ask({ path: `${url.pathname}${url.search}`, key: null });
      expect(found.text).toBe(calendar);
      for (const content of ['Dear BEGIN:VCALENDAR', 'BEGIN:VCARD']) {
        const other = await post(t, file(content));
        expectError(other, 422, 'validation_failed', 'invalid_attachment');
        expect(issuePaths(other)).toEqual(['[0].attachments[0].content']);
      }
    },
  },
];
