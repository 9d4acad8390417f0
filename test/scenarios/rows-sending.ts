/**
 * Clauses of the contract about the three sending routes.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const read = (t: Target, id: string): Promise<Sent> =>
  t.ask({ path: `/emails/${id}`, key: t.full });

export const SENDING: readonly Row[] = [
  {
    clause: 'C4.1',
    says: 'POST /email/send answers 202 with id and status',
    async run(t) {
      const sent = await t.ask({ path: '/email/send', key: t.send, body: email(t) });
      expect(sent.status).toBe(202);
      expect(sent.json).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        status: expect.any(String),
      });
    },
  },
  {
    clause: 'C4.3',
    says: 'POST /emails answers 200 with id and status',
    async run(t) {
      const sent = await t.ask({ path: '/emails', key: t.send, body: email(t) });
      expect([sent.status, Object.keys(sent.json)]).toEqual([200, ['id', 'status']]);
    },
  },
  {
    clause: 'C4.1',
    says: 'from, to, subject and one of html and text are required',
    async run(t) {
      for (const path of ['/email/send', '/emails']) {
        const sent = await t.ask({ path, key: t.send, body: {} });
        expectError(sent, 422, 'validation_failed', 'missing_required_field');
        expect(issuePaths(sent)).toEqual(['from', 'to', 'subject', 'html']);
        const bare = await t.ask({ path, key: t.send, body: email(t, { text: undefined }) });
        expectError(bare, 422, 'validation_failed', 'missing_required_field');
      }
    },
  },
  {
    clause: 'C4.1',
    says: 'POST /email/send keeps replyTo and tags as an object',
    async run(t) {
      const body = email(t, {
        replyTo: ['a@example.com', 'B <b@example.com>'],
        tags: { kind: 'receipt' },
      });
      const sent = await t.ask({ path: '/email/send', key: t.send, body });
      const found = await read(t, sent.json.id);
      expect(found.json.reply_to).toEqual(['a@example.com', 'B <b@example.com>']);
      expect(found.json.tags).toEqual([{ name: 'kind', value: 'receipt' }]);
      const older = await t.ask({ path: `/email/${sent.json.id}`, key: t.full });
      expect(older.json.tags).toEqual({ kind: 'receipt' });
    },
  },
  {
    clause: 'C4.4',
    says: 'POST /emails refuses cc, bcc, attachments, scheduling and batches in words',
    async run(t) {
      for (const [field, value] of [
        ['cc', 'a@example.com'],
        ['bcc', ['a@example.com']],
        ['attachments', [{ filename: 'a', content: 'YQ==' }]],
        ['scheduled_at', 'in 1 hour'],
        ['template', { id: 'x' }],
        ['topic_id', 'x'],
      ] as const) {
        const sent = await t.ask({
          path: '/emails',
          key: t.send,
          body: email(t, { [field]: value }),
        });
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)).toEqual([field]);
      }
      const list = await t.ask({ path: '/emails', key: t.send, body: [email(t)] });
      expectError(list, 422, 'validation_failed');
      expect(list.json.message).toContain('/emails/batch');
    },
  },
  {
    clause: 'C1.13',
    says: 'a sending route refuses unknown fields by name; null and empty lists count as absent',
    async run(t) {
      const unknown = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { colour: 'red' }),
      });
      expectError(unknown, 422, 'validation_failed', 'validation_error');
      expect(issuePaths(unknown)).toEqual(['colour']);
      const nothing = email(t, {
        cc: null,
        bcc: [],
        attachments: [],
        scheduled_at: null,
        html: null,
        from: { email: `hello@${t.domain}`, name: null },
        to: [{ email: 'delivered@sandbox.test', name: null }],
        reply_to: { email: 'help@example.com', name: null },
      });
      expect((await t.ask({ path: '/emails', key: t.send, body: nothing })).status).toBe(200);
      const nobody = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { to: [null, { email: null }], reply_to: 'a@x.example, b@x.example' }),
      });
      expectError(nobody, 422, 'validation_failed', 'missing_required_field');
      expect(nobody.json.detail.issues).toEqual([
        { path: 'to[1].email', message: 'Missing `to[1].email` field.' },
        {
          path: 'to[0]',
          message:
            'to[0] must be an address: "a@example.com", "Name <a@example.com>" or {email, name}.',
        },
        { path: 'reply_to', message: 'reply_to must be one address, not a list.' },
      ]);
    },
  },
  {
    clause: 'C4.6',
    says: 'the domain of from must be verified',
    async run(t) {
      const elsewhere = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { from: 'a@nowhere.example.net' }),
      });
      expectError(elsewhere, 403, 'from_domain_not_allowed', 'validation_error');
      const name = `pending-${Date.now()}.example.com`;
      await t.ask({ path: '/domains', key: t.full, body: { name } });
      const pending = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { from: `a@${name}` }),
      });
      expectError(pending, 403, 'domain_not_verified', 'validation_error');
    },
  },
  {
    clause: 'C19.1',
    says: 'a sandbox send is sent and delivered at once',
    async run(t) {
      const body = email(t, { from: 'any@unverified.example.net', to: 'someone@example.com' });
      const sent = await t.ask({ path: '/emails', key: t.test, body });
      expect(sent.json.status).toBe('sent');
      const found = await read(t, sent.json.id);
      expect(found.json.last_event).toBe('delivered');
      const types = found.json.events.map(({ type }: { type: string }) => type);
      expect(types).toContain('email.sent');
      expect(types).toContain('email.delivered');
    },
  },
  {
    clause: 'C19.3',
    says: 'addresses at sandbox.test simulate an outcome, whatever the key',
    async run(t) {
      for (const [name, status] of [
        ['delivered', 'delivered'],
        ['bounced+label', 'bounced'],
        ['complained', 'complained'],
        ['failed', 'failed'],
        ['suppressed', 'suppressed'],
      ] as const) {
        const body = email(t, { to: `${name}@sandbox.test` });
        const sent = await t.ask({ path: '/emails', key: t.send, body });
        expect((await read(t, sent.json.id)).json.status).toBe(status);
      }
      const strange = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { to: 'nobody@sandbox.test' }),
      });
      expectError(strange, 422, 'validation_failed');
    },
  },
  {
    clause: 'C7.9',
    says: 'a custom header carries no CR, LF or NUL and replaces nothing that the service writes',
    async run(t) {
      for (const headers of [
        { 'X-A': 'b\r\nBcc: x@example.com' },
        { 'X-A': 'b\0' },
        { 'X A': 'b' },
        { From: 'x@example.com' },
        { 'content-type': 'text/html' },
        { 'DKIM-Signature': 'x' },
        { 'X-A': 5 },
      ]) {
        const sent = await t.ask({ path: '/emails', key: t.send, body: email(t, { headers }) });
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)[0]).toStartWith('headers.');
      }
    },
  },
  {
    clause: 'C7.13',
    says: 'a suppressed recipient is left out; when none is left the status is suppressed',
    async run(t) {
      const address = `quiet-${Date.now()}@example.com`;
      await t.ask({ path: '/suppressions', key: t.full, body: { email: address } });
      const alone = await t.ask({
        path: '/emails',
        key: t.send,
        body: email(t, { to: address.toUpperCase() }),
      });
      expect(alone.json.status).toBe('suppressed');
      const found = await read(t, alone.json.id);
      expect(found.json.last_event).toBe('suppressed');
      expect(found.json.events.map(({ type }: { type: string }) => type)).toContain(
        'email.suppressed',
      );
    },
  },
];
