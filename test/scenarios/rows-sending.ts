/**
 * Sentences about the three sending routes.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const read = (t: Target, id: string): Promise<Sent> =>
  t.ask({ path: `/emails/${id}`, key: t.full });

export const SENDING: readonly Row[] = [
  {
    section: 'Sending',
    says: 'POST /email/send answers 202 with SendResult (id, status)',
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
    section: 'decisions: Sending',
    says: 'POST /emails answers 200 with {id, status}',
    async run(t) {
      const sent = await t.ask({ path: '/emails', key: t.send, body: email(t) });
      expect([sent.status, Object.keys(sent.json)]).toEqual([200, ['id', 'status']]);
    },
  },
  {
    section: 'Sending',
    says: 'from, to and subject are required, and at least one of html or text',
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
    section: 'Sending',
    says: 'replyTo and tags (object) are kept by POST /email/send',
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
    section: 'Sending',
    says: 'cc, bcc, attachments, scheduled sending or batch on POST /emails are refused explicitly, not dropped',
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
    section: 'decisions: Sending',
    says: 'Fields a sending route does not know are refused by name; null and empty lists are nothing',
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
    section: 'Sending',
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
    section: 'What the service does',
    says: 'A sandbox send returns status sent and is delivered at once',
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
    section: 'decisions: Sandbox',
    says: 'Recipients at sandbox.test are simulated by local part, whatever the key',
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
    section: 'decisions: Sending',
    says: 'A custom header may not carry CR, LF or NUL, and may not replace what the service writes itself',
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
    section: 'decisions: Sending',
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
