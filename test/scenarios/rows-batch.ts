/**
 * Clauses of the contract about batches and idempotency.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const batch = (t: Target, body: unknown, headers: Record<string, string> = {}): Promise<Sent> =>
  t.ask({ path: '/emails/batch', key: t.send, body, headers });

const read = (t: Target, id: string): Promise<Sent> =>
  t.ask({ path: `/emails/${id}`, key: t.full });

export const BATCH: readonly Row[] = [
  {
    clause: 'C5.1',
    says: 'a batch is an array of 1 to 100 emails',
    async run(t) {
      for (const body of [[], {}, Array.from({ length: 101 }, () => email(t)), 'x', null]) {
        expectError(await batch(t, body), 422, 'validation_failed');
      }
      const full = await batch(
        t,
        Array.from({ length: 100 }, () => email(t)),
      );
      expect(full.json.data).toHaveLength(100);
      expect(full.json.errors).toBeUndefined();
    },
  },
  {
    clause: 'C5.3',
    says: 'strict: one invalid email stops the whole batch',
    async run(t) {
      const subject = `strict ${Date.now()}`;
      const sent = await batch(t, [
        email(t, { subject }),
        email(t, { subject, to: 'bad' }),
        { subject },
      ]);
      expectError(sent, 422, 'validation_failed');
      expect(issuePaths(sent)).toEqual(['[1].to', '[2].from', '[2].to']);
      const list = await t.ask({ path: `/emails?q=${encodeURIComponent(subject)}`, key: t.full });
      expect(list.json.data).toEqual([]);
    },
  },
  {
    clause: 'C5.3',
    says: 'permissive: the valid emails are sent, the others listed with their index',
    async run(t) {
      const sent = await batch(
        t,
        [
          email(t),
          email(t, { subject: '' }),
          email(t, { from: 'a@nowhere.example.net' }),
          email(t),
        ],
        { 'x-batch-validation': 'permissive' },
      );
      expect(sent.status).toBe(200);
      expect(sent.json.data).toHaveLength(2);
      expect(sent.json.errors).toEqual([
        {
          index: 1,
          message: expect.any(String),
          code: 'validation_failed',
          name: 'validation_error',
        },
        {
          index: 2,
          message: expect.any(String),
          code: 'from_domain_not_allowed',
          name: 'validation_error',
        },
      ]);
    },
  },
  {
    clause: 'C5.5',
    says: 'x-batch-validation with any other value is refused, 422',
    async run(t) {
      const sent = await batch(t, [email(t)], { 'x-batch-validation': 'loose' });
      expectError(sent, 422, 'validation_failed');
    },
  },
  {
    clause: 'C5.2',
    says: 'cc, bcc, reply_to as text or {email, name}; headers; a subject of at least one character',
    async run(t) {
      const sent = await batch(t, [
        email(t, {
          from: { email: `hello@${t.domain}`, name: 'Shöp' },
          to: { email: 'delivered@sandbox.test' },
          cc: 'Ann <delivered+cc@sandbox.test>',
          bcc: [{ email: 'delivered+bcc@sandbox.test', name: 'B' }],
          reply_to: { email: 'r@example.com', name: 'R' },
          headers: { 'X-Order': '17', 'List-Unsubscribe': '<https://example.com/u>' },
          text: undefined,
        }),
      ]);
      expect(sent.status).toBe(200);
      const found = await read(t, sent.json.data[0].id);
      expect(found.json).toMatchObject({
        from: `Shöp <hello@${t.domain}>`,
        to: ['delivered@sandbox.test'],
        cc: ['Ann <delivered+cc@sandbox.test>'],
        bcc: ['B <delivered+bcc@sandbox.test>'],
        reply_to: ['R <r@example.com>'],
      });
      const content = await t.ask({ path: `/emails/${sent.json.data[0].id}/body`, key: t.full });
      expect(content.json.headers).toEqual({
        'X-Order': '17',
        'List-Unsubscribe': '<https://example.com/u>',
      });
    },
  },
  {
    clause: 'C7.7',
    says: 'content of attachments as base64, Buffer object or integers; content_type follows from the file name',
    async run(t) {
      const attachments = [
        { filename: 'a.txt', content: Buffer.from('one').toString('base64') },
        { filename: 'b.pdf', content: { type: 'Buffer', data: [116, 119, 111] } },
        { filename: 'c.bin', content: [51], contentType: 'image/png', inline_content_id: 'logo' },
      ];
      const sent = await batch(t, [email(t, { attachments })]);
      expect(sent.status).toBe(200);
      const path = `/emails/${sent.json.data[0].id}/attachments`;
      const { data } = (await t.ask({ path, key: t.full })).json;
      const seen = data.map((one: Record<string, unknown>) => [
        one['filename'],
        one['content_type'],
        one['content_id'],
        one['size'],
      ]);
      expect(seen).toEqual([
        ['a.txt', 'text/plain', null, 3],
        ['b.pdf', 'application/pdf', null, 3],
        ['c.bin', 'image/png', 'logo', 1],
      ]);
      const link = new URL(data[1].download_url);
      const bytes = await t.ask({ path: link.pathname + link.search });
      expect(bytes.text).toBe('two');
    },
  },
  {
    clause: 'C5.7',
    says: 'an attachment by path is refused in a batch; a bad one is invalid_attachment',
    async run(t) {
      const linked = await batch(t, [
        email(t, { attachments: [{ filename: 'a', path: 'https://example.com/a' }] }),
      ]);
      expectError(linked, 422, 'validation_failed', 'invalid_attachment');
      expect(issuePaths(linked)).toEqual(['[0].attachments[0].path']);
      for (const content of [
        'not base64!',
        'YWJjZ',
        [256],
        [-1],
        [1.5],
        { type: 'Buffer', data: ['x'] },
        7,
      ]) {
        const sent = await batch(t, [email(t, { attachments: [{ filename: 'a', content }] })]);
        expectError(sent, 422, 'validation_failed', 'invalid_attachment');
        expect(issuePaths(sent)[0]).toStartWith('[0].attachments[0].content');
      }
    },
  },
  {
    clause: 'C7.4',
    says: 'names and values of tags: 1 to 256 letters, digits, underscores and hyphens',
    async run(t) {
      for (const tags of [
        { 'a b': 'c' },
        { a: 'ü' },
        { a: '' },
        { a: 'x'.repeat(257) },
        { a: 1 },
      ]) {
        expectError(await batch(t, [email(t, { tags })]), 422, 'validation_failed');
      }
      const good = { ['a-_9'.padEnd(256, 'x')]: 'v'.repeat(256) };
      expect((await batch(t, [email(t, { tags: good })])).status).toBe(200);
      expect((await batch(t, [email(t, { tags: [{ name: 'a', value: 'b' }] })])).status).toBe(200);
    },
  },
  {
    clause: 'C7.3',
    says: 'at most 50 recipients over to, cc and bcc',
    async run(t) {
      const many = (count: number, word: string): string[] =>
        Array.from({ length: count }, (_, at) => `delivered+${word}${at}@sandbox.test`);
      const over = email(t, { to: many(20, 'a'), cc: many(20, 'b'), bcc: many(11, 'c') });
      // Whatever the reason, the issue says which email of the batch it is.
      for (const before of [0, 1]) {
        const sent = await batch(t, [...Array.from({ length: before }, () => email(t)), over]);
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)).toEqual([`[${before}].to`]);
      }
      const fit = email(t, { to: many(20, 'a'), cc: many(20, 'b'), bcc: many(10, 'c') });
      expect((await batch(t, [fit])).status).toBe(200);
    },
  },
  {
    clause: 'C6.1',
    says: 'an idempotency key has 1 to 256 characters',
    async run(t) {
      for (const key of ['', 'x'.repeat(257)]) {
        const sent = await batch(t, [email(t)], { 'idempotency-key': key });
        expectError(sent, 400, 'validation_failed', 'invalid_idempotency_key');
      }
    },
  },
  {
    clause: 'C6.3',
    says: 'a replayed response says so in Idempotent-Replayed; another body is a conflict',
    async run(t) {
      for (const path of ['/emails/batch', '/emails', '/email/send']) {
        const headers = { 'idempotency-key': `${path} ${Date.now()} ${'k'.repeat(200)}` };
        const body = path.endsWith('batch') ? [email(t), email(t)] : email(t);
        const first = await t.ask({ path, key: t.send, body, headers });
        expect(first.headers.get('idempotent-replayed')).toBeNull();
        const second = await t.ask({ path: `/v1${path}`, key: t.full, body, headers });
        expect([second.status, second.text]).toEqual([first.status, first.text]);
        expect(second.headers.get('idempotent-replayed')).toBe('true');
        const changed = path.endsWith('batch') ? [email(t)] : email(t, { subject: 'Other' });
        const conflict = await t.ask({ path, key: t.send, body: changed, headers });
        expectError(conflict, 409, 'idempotency_conflict', 'invalid_idempotent_request');
      }
    },
  },
];
