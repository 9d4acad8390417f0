/**
 * What adapters of frameworks send unasked, as they were seen to send it: empty values, headers of mail libraries.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const post = (t: Target, path: string, body: unknown): Promise<Sent> =>
  t.ask({ path, key: t.send, body });
const read = async (t: Target, sent: Sent): Promise<Sent['json']> => {
  expect([sent.status, sent.text]).toEqual([200, expect.any(String)]);
  const id = sent.json.id ?? sent.json.data[0].id;
  return (await t.ask({ path: `/emails/${id}`, key: t.full })).json;
};

export const ADAPTERS: readonly Row[] = [
  {
    clause: 'C7.11',
    says: 'empty headers, cc, bcc, reply_to, attachments and tags count as absent on both routes',
    async run(t) {
      for (const over of [
        { headers: [] },
        { cc: '', bcc: '', reply_to: '' },
        { cc: [], bcc: [], reply_to: [], replyTo: [], tags: [], attachments: [] },
        { replyTo: '', scheduled_at: '', topic_id: '' },
        { reply_to: '', replyTo: 'help@example.com' },
      ]) {
        const expected = 'replyTo' in over && over.replyTo.length > 0 ? [over.replyTo] : [];
        for (const [path, body] of [
          ['/emails', email(t, over)],
          ['/emails/batch', [email(t, over)]],
        ] as const) {
          const found = await read(t, await post(t, path, body));
          expect([found.cc ?? [], found.bcc ?? [], found.reply_to ?? []]).toEqual([
            [],
            [],
            expected,
          ]);
        }
      }
      const older = await post(t, '/email/send', email(t, { headers: [], replyTo: '', cc: '' }));
      expect(older.status).toBe(202);
      for (const headers of [['X-A: b'], '', 5]) {
        const sent = await post(t, '/emails', email(t, { headers }));
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual(['headers']);
      }
    },
  },
  {
    clause: 'C7.11',
    says: 'an empty html or text beside the other is absent; where nothing is left the email is refused',
    async run(t) {
      const plain = await read(t, await post(t, '/emails', email(t, { html: '' })));
      expect([plain.html, plain.text]).toEqual([null, 'Thank you.']);
      const rich = { html: '<p>Hi</p>', text: '' };
      expect((await read(t, await post(t, '/emails', email(t, rich)))).html).toBe('<p>Hi</p>');
      for (const [empty, path] of [
        [{ html: '', text: '' }, 'html'],
        [{ html: '', text: null }, 'html'],
        [{ text: '' }, 'text'],
      ] as const) {
        for (const route of ['/emails', '/email/send']) {
          const sent = await post(t, route, email(t, empty));
          expectError(sent, 422, 'validation_failed', 'validation_error');
          expect(issuePaths(sent)).toEqual([path]);
        }
        const batch = await post(t, '/emails/batch', [email(t, empty)]);
        expect(issuePaths(batch)).toEqual([`[0].${path}`]);
      }
      // An item of a batch needs neither (C5.2).
      const bare = await post(t, '/emails/batch', [email(t, { text: undefined })]);
      expect(bare.status).toBe(200);
    },
  },
  {
    clause: 'C7.14',
    says: 'a Reply-To header is taken as reply_to, once; another one is refused with both names',
    async run(t) {
      const only = { headers: { 'Reply-To': 'Help <help@example.com>, b@example.com' } };
      const found = await read(t, await post(t, '/emails', email(t, only)));
      expect(found.reply_to).toEqual(['Help <help@example.com>', 'b@example.com']);
      const twice = {
        reply_to: ['Jörg Help <Help@Example.com>'],
        headers: { 'reply-to': '=?utf-8?Q?J=C3=B6rg?= Help <Help@example.com>' },
      };
      const once = await read(t, await post(t, '/emails/batch', [email(t, twice)]));
      expect(once.reply_to).toEqual(['Jörg Help <Help@example.com>']);
      for (const value of [
        'other@example.com',
        'b@example.com, help@example.com',
        'nobody',
        '<>',
      ]) {
        const body = email(t, { reply_to: 'help@example.com', headers: { 'REPLY-TO': value } });
        const sent = await post(t, '/emails', body);
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual(['headers.REPLY-TO']);
      }
      const other = await post(
        t,
        '/emails',
        email(t, { replyTo: 'help@example.com', headers: { 'Reply-To': 'x@example.com' } }),
      );
      expect(other.json.message).toContain('headers.Reply-To');
      expect(other.json.message).toContain('replyTo');
    },
  },
  {
    clause: 'C7.15',
    says: 'Date and Return-Path are ignored, a well-formed Message-ID is the message_id',
    async run(t) {
      const headers = {
        date: 'Sat, 21 Nov 2026 01:02:03 +0000',
        'Return-Path': '<bounces@elsewhere.example>',
        'message-id': '<order-7.1@shop.example.com>',
        'X-Order': '7',
      };
      const sent = await post(t, '/emails', email(t, { headers }));
      const found = await read(t, sent);
      expect(found.message_id).toBe('<order-7.1@shop.example.com>');
      const body = await t.ask({ path: `/emails/${sent.json.id}/body`, key: t.full });
      expect(body.json.headers).toEqual({ 'X-Order': '7' });
      // Nothing says that it is unique.
      const again = await read(t, await post(t, '/emails', email(t, { headers })));
      expect([again.message_id, again.id === found.id]).toEqual([found.message_id, false]);
      for (const value of [
        'order-7@shop.example.com',
        '<order 7@shop.example.com>',
        '<order-7>',
        '<a@b@c>',
        '<.a@b>',
        '<"a"@b>',
        '<ä@b>',
        '<a@b> (c)',
        `<${'a'.repeat(500)}@b>`,
      ]) {
        const bad = await post(t, '/emails', email(t, { headers: { 'Message-ID': value } }));
        expectError(bad, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(bad)).toEqual(['headers.Message-ID']);
      }
      const two = { 'Message-ID': '<a@b>', 'message-id': '<c@d>' };
      const twice = await post(t, '/emails', email(t, { headers: two }));
      expect(issuePaths(twice)).toEqual(['headers.message-id']);
    },
  },
  {
    clause: 'C7.15',
    says: 'a Message-ID that names another email of this service is refused',
    async run(t) {
      const { message_id: messageId } = await read(t, await post(t, '/emails', email(t)));
      for (const value of [messageId, messageId.toUpperCase()]) {
        const headers = { 'Message-ID': value };
        const sent = await post(t, '/emails', email(t, { headers }));
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual(['headers.Message-ID']);
        const batch = await post(t, '/emails/batch', [email(t), email(t, { headers })]);
        expect(issuePaths(batch)).toEqual(['[1].headers.Message-ID']);
      }
    },
  },
  {
    clause: 'C7.16',
    says: 'Sender is written where its domain is a verified one of the account',
    async run(t) {
      const headersOf = async (value: string): Promise<unknown> => {
        const sent = await post(t, '/emails', email(t, { headers: { sender: value } }));
        expect([sent.status, value]).toEqual([200, value]);
        return (await t.ask({ path: `/emails/${sent.json.id}/body`, key: t.full })).json.headers;
      };
      const robot = `"Robot, of the shop" <robot@${t.domain}>`;
      expect(await headersOf(robot)).toEqual({ Sender: robot });
      // RFC 5322 section 3.6.2: not where it says what From says.
      expect(await headersOf(`hello@${t.domain.toUpperCase()}`)).toEqual({});
      const elsewhere = email(t, { headers: { Sender: 'robot@nowhere.example.net' } });
      const refused = await post(t, '/emails', elsewhere);
      expectError(refused, 403, 'from_domain_not_allowed', 'validation_error');
      expect(refused.json.message).toContain('Sender');
      const name = `unproven-${Date.now()}.example.com`;
      await t.ask({ path: '/domains', key: t.full, body: { name } });
      const pending = email(t, { headers: { Sender: `robot@${name}` } });
      expectError(await post(t, '/emails', pending), 403, 'domain_not_verified');
      for (const value of ['nobody', `a@${t.domain}, b@${t.domain}`]) {
        const sent = await post(t, '/emails', email(t, { headers: { Sender: value } }));
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual(['headers.Sender']);
      }
    },
  },
  {
    clause: 'C7.4',
    says: 'constructor and prototype are ordinary tag names; a refused tag says the allowed characters',
    async run(t) {
      const names = ['constructor', 'prototype', 'toString'];
      const pairs = names.map((name) => ({ name, value: 'a' }));
      const object = { constructor: 'a', prototype: 'a', toString: 'a' };
      for (const tags of [pairs, object]) {
        const found = await read(t, await post(t, '/emails', email(t, { tags })));
        expect(found.tags).toEqual(pairs);
        const older = await t.ask({ path: `/email/${found.id}`, key: t.full });
        expect(Object.entries(older.json.tags)).toEqual(names.map((name) => [name, 'a']));
      }
      for (const [tags, path] of [
        [{ kind: 'a b' }, 'tags.kind'],
        [{ kind: '' }, 'tags.kind'],
        [{ 'a b': 'c' }, 'tags.a b'],
        [[{ name: 'kind', value: 'é' }], 'tags[0].value'],
        [[{ name: 'a.b', value: 'c' }], 'tags[0].name'],
        [[{ name: '__proto__', value: 'c' }], 'tags[0].name'],
      ] as const) {
        const sent = await post(t, '/emails', email(t, { tags }));
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(sent.json.detail.issues).toEqual([
          {
            path,
            message: expect.stringContaining('ASCII letters, digits, underscores and hyphens'),
          },
        ]);
      }
    },
  },
  {
    clause: 'C4.5',
    says: 'the refusal of cc, bcc and attachments names the key to set and the batch route',
    async run(t) {
      for (const over of [
        { cc: 'a@example.com' },
        { bcc: ['a@example.com'] },
        { attachments: [{ filename: 'a', content: 'YQ==' }] },
      ]) {
        const sent = await post(t, '/emails', email(t, over));
        expectError(sent, 422, 'validation_failed');
        expect(sent.json.message).toContain('[api] single_send = "full"');
        expect(sent.json.message).toContain('POST /emails/batch');
      }
    },
  },
  {
    clause: 'C18.3',
    says: 'POST /email answers as POST /emails does',
    async run(t) {
      for (const over of [{}, { cc: 'a@example.com' }, { text: undefined }, { colour: 'red' }]) {
        const [older, newer] = await Promise.all(
          ['/email', '/emails'].map((path) => post(t, path, email(t, over))),
        );
        expect(older?.status).toBe(newer?.status ?? 0);
        expect(Object.keys(older?.json)).toEqual(Object.keys(newer?.json));
        expect(older?.json.message).toEqual(newer?.json.message);
      }
      const sent = await t.ask({ path: '/v1/email', key: t.send, body: email(t) });
      expect(await read(t, sent)).toMatchObject({ object: 'email', text: 'Thank you.' });
      expectError(await t.ask({ path: '/email', key: null, body: email(t) }), 401, 'unauthorized');
    },
  },
  {
    clause: 'C10.13',
    says: 'PATCH /domains/{id}: what changes nothing succeeds, all else is refused with the reason',
    async run(t) {
      const { json } = await t.ask({ path: '/domains', key: t.full });
      const { id } = json.data[0];
      const change = (body: unknown, key = t.full): Promise<Sent> =>
        t.ask({ path: `/domains/${id}`, method: 'PATCH', key, body });
      for (const body of [
        {},
        { open_tracking: false, click_tracking: false, tls: 'opportunistic' },
        { capabilities: { sending: 'enabled', receiving: 'disabled' } },
        { open_tracking: null, tracking_subdomain: '' },
      ]) {
        const sent = await change(body);
        expect([sent.status, sent.json]).toEqual([200, { object: 'domain', id }]);
      }
      for (const [body, path, words] of [
        [{ open_tracking: true }, 'open_tracking', 'does not track'],
        [{ click_tracking: true }, 'click_tracking', 'does not track'],
        [{ tracking_subdomain: 'links' }, 'tracking_subdomain', 'does not track'],
        [{ tls: 'enforced' }, 'tls', 'DANE'],
        [{ tls: 'none' }, 'tls', 'opportunistic'],
        [{ capabilities: { receiving: 'enabled' } }, 'capabilities.receiving', 'does not receive'],
        [{ capabilities: { sending: 'disabled' } }, 'capabilities.sending', 'remove the domain'],
        [{ colour: 'red' }, 'colour', 'not a field'],
      ] as const) {
        const sent = await change(body);
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect([issuePaths(sent), sent.json.message]).toEqual([
          [path],
          expect.stringContaining(words),
        ]);
      }
      expectError(await change({}, t.other), 404, 'not_found');
      expectError(await change({}, t.send), 403, 'forbidden');
    },
  },
  {
    clause: 'C10.14',
    says: 'a domain whose return paths would be too long is refused',
    async run(t) {
      const labels = ['a', 'b'].map((letter) => letter.repeat(63)).join('.');
      // Of the 256 octets of a path, `<b-<32>-<16>@send.` and `>` are 59 (RFC 5321 section 4.5.3.1.3).
      const name = (length: number): string =>
        `${'d'.repeat(length - labels.length - '.example.com'.length - 1)}.${labels}.example.com`;
      const add = (length: number): Promise<Sent> =>
        t.ask({ path: '/domains', key: t.other, body: { name: name(length) } });
      const made = await add(197);
      expect([made.status, made.json.name?.length]).toEqual([201, 197]);
      for (const length of [198, 200]) {
        const sent = await add(length);
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toEqual(['name']);
        expect(sent.json.message).toContain('return paths');
      }
      await t.ask({ path: `/domains/${made.json.id}`, method: 'DELETE', key: t.other });
    },
  },
];
