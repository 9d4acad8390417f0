/**
 * Clauses of the contract about reading emails, logs and usage.
 */
import { expect } from 'bun:test';
import type { Row } from './row.ts';
import { email, expectError, issuePaths, type Target } from './target.ts';

const send = async (t: Target, over: Record<string, unknown> = {}): Promise<string> => {
  const sent = await t.ask({ path: '/emails', key: t.full, body: email(t, over) });
  return String(sent.json.id);
};

export const READING: readonly Row[] = [
  {
    clause: 'C9.5',
    says: 'each field of an email is always there',
    async run(t) {
      const id = await send(t);
      const { json } = await t.ask({ path: `/v1/emails/${id}`, key: t.full });
      const fields =
        'object id from to cc bcc reply_to subject html text tags status last_event failure_reason ' +
        'message_id scheduled_at created_at log_id events';
      for (const field of fields.split(' ')) expect(json).toHaveProperty(field);
      expect(json).toMatchObject({
        object: 'email',
        cc: null,
        html: null,
        text: 'Thank you.',
        scheduled_at: null,
        message_id: expect.stringMatching(/^<[^@]+@[^>]+>$/),
      });
      expect(json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    },
  },
  {
    clause: 'C9.5',
    says: 'log_id is the request that sent it, and the log has it',
    async run(t) {
      const sent = await t.ask({ path: '/emails', key: t.send, body: email(t) });
      const found = await t.ask({ path: `/emails/${sent.json.id}`, key: t.full });
      expect(found.json.log_id).toBe(sent.headers.get('x-request-id'));
      const log = await t.ask({ path: `/logs/${found.json.log_id}`, key: t.full });
      expect(log.json).toMatchObject({
        id: found.json.log_id,
        method: 'POST',
        path: '/emails',
        status: 200,
        message_id: sent.json.id,
        key_scope: 'send',
      });
      expect(log.json.request_body).toContain('Your receipt');
      expect(log.json.response_body).toContain(sent.json.id);
    },
  },
  {
    clause: 'C8.12',
    says: 'events have type, occurred_at and payload, an object as text or null; failure_reason',
    async run(t) {
      const id = await send(t, { to: 'failed@sandbox.test' });
      const { json } = await t.ask({ path: `/emails/${id}`, key: t.full });
      expect(json.status).toBe('failed');
      expect(json.failure_reason).toBeString();
      for (const event of json.events) {
        expect(Object.keys(event).sort()).toEqual(['occurred_at', 'payload', 'type']);
        expect(event.type).toStartWith('email.');
        expect(new Date(event.occurred_at).toISOString()).toBe(event.occurred_at);
        if (event.payload !== null) expect(JSON.parse(event.payload)).toBeObject();
      }
      const last = json.events.find(({ type }: { type: string }) => type === 'email.failed');
      expect(JSON.parse(last.payload).recipient).toBe('failed@sandbox.test');
      const fine = await t.ask({ path: `/emails/${await send(t)}`, key: t.full });
      expect(fine.json.failure_reason).toBeNull();
    },
  },
  {
    clause: 'C9.2',
    says: 'default page sizes: 50 for emails and logs, 100 for suppressions, 20 for the older list',
    async run(t) {
      const body = Array.from({ length: 60 }, () => email(t));
      await t.ask({ path: '/emails/batch', key: t.full, body });
      const emails = Array.from(
        { length: 100 },
        (_, at) => `default-${Date.now()}-${at}@example.com`,
      );
      const add = { path: '/suppressions/batch/add', key: t.full };
      await t.ask({ ...add, body: { emails } });
      await t.ask({ ...add, body: { emails: ['one-more@example.com'] } });
      const sizes = async (path: string): Promise<[number, boolean]> => {
        const { json } = await t.ask({ path, key: t.full });
        return [json.data.length, json.has_more];
      };
      expect(await sizes('/emails')).toEqual([50, true]);
      expect((await sizes('/emails?limit=100'))[0]).toBeGreaterThanOrEqual(60);
      expect(await sizes('/suppressions')).toEqual([100, true]);
      expect((await sizes('/suppressions?limit=500'))[0]).toBeGreaterThanOrEqual(101);
      for (let read = 0; read < 52; read += 1) await t.ask({ path: '/nothing', key: t.full });
      expect(await sizes('/logs')).toEqual([50, true]);
      const older = await t.ask({ path: '/email', key: t.full });
      expect(older.json.emails).toHaveLength(20);
    },
  },
  {
    clause: 'C9.3',
    says: 'rows have from_addr and to_addr beside the other fields',
    async run(t) {
      const id = await send(t);
      const { json } = await t.ask({ path: '/emails?limit=1', key: t.full });
      expect(json.data[0]).toMatchObject({
        id,
        from: `Shop <hello@${t.domain}>`,
        from_addr: `hello@${t.domain}`,
        to_addr: 'delivered@sandbox.test',
        last_event: json.data[0].status,
      });
      for (const field of ['cc', 'bcc', 'reply_to', 'message_id', 'scheduled_at', 'object']) {
        expect(json.data[0]).toHaveProperty(field);
      }
    },
  },
  {
    clause: 'C17.6',
    says: 'next goes into after, until has_more is false; newest first',
    async run(t) {
      const subject = `pages ${Date.now()}`;
      const ids: string[] = [];
      for (let at = 0; at < 5; at += 1) ids.push(await send(t, { subject }));
      const seen: string[] = [];
      let after = '';
      for (;;) {
        const path = `/emails?limit=2&q=${encodeURIComponent(subject)}${after}`;
        const { json } = await t.ask({ path, key: t.full });
        seen.push(...json.data.map(({ id }: { id: string }) => id));
        if (json.has_more === false) {
          expect(json.next).toBeNull();
          break;
        }
        expect(json.next).toBe(seen.at(-1));
        after = `&after=${json.next}`;
      }
      expect(seen).toEqual(ids.toReversed());
    },
  },
  {
    clause: 'C17.7',
    says: 'before pages the other way',
    async run(t) {
      const subject = `before ${Date.now()}`;
      const ids: string[] = [];
      for (let at = 0; at < 4; at += 1) ids.push(await send(t, { subject }));
      const path = `/emails?limit=2&q=${encodeURIComponent(subject)}&before=${ids[0]}`;
      const { json } = await t.ask({ path, key: t.full });
      expect(json.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[1]]);
      expect(json.has_more).toBe(true);
    },
  },
  {
    clause: 'C9.2',
    says: 'q looks in subject, to and from; status filters',
    async run(t) {
      const word = `w${Date.now()}`;
      const id = await send(t, {
        subject: `Order ${word} ready`,
        to: `bounced+${word}@sandbox.test`,
      });
      for (const q of [`order ${word}`, `bounced+${word}@`, word.toUpperCase()]) {
        const found = await t.ask({ path: `/emails?q=${encodeURIComponent(q)}`, key: t.full });
        expect(found.json.data.map((row: { id: string }) => row.id)).toEqual([id]);
      }
      const smile = await send(t, { subject: `${word.replace('w', 'p')} 📦🙂 is on its way` });
      for (const q of ['📦🙂', `${word.slice(1)} 📦`, '🙂 is ON']) {
        const found = await t.ask({ path: `/emails?q=${encodeURIComponent(q)}`, key: t.full });
        expect(found.json.data.map((row: { id: string }) => row.id)).toContain(smile);
      }
      const bounced = await t.ask({ path: `/emails?q=${word}&status=bounced`, key: t.full });
      expect(bounced.json.data).toHaveLength(1);
      const delivered = await t.ask({ path: `/emails?q=${word}&status=delivered`, key: t.full });
      expect(delivered.json.data).toEqual([]);
      const opened = await t.ask({ path: '/emails?status=opened', key: t.full });
      expect(opened.json).toEqual({ object: 'list', has_more: false, next: null, data: [] });
    },
  },
  {
    clause: 'C17.7',
    says: 'a malformed cursor or number is 422, never ignored',
    async run(t) {
      for (const [query, path] of [
        ['limit=0', 'limit'],
        ['limit=101', 'limit'],
        ['limit=ten', 'limit'],
        ['limit=', 'limit'],
        ['limit=1e1', 'limit'],
        ['limit=1&limit=2', 'limit'],
        ['after=abc', 'after'],
        ['before=%27', 'before'],
        ['status=sending', 'status'],
        ['q=%00', 'q'],
      ] as const) {
        const sent = await t.ask({ path: `/emails?${query}`, key: t.full });
        expectError(sent, 422, 'validation_failed', 'validation_error');
        expect(issuePaths(sent)).toContain(path);
      }
      for (const path of [
        '/email?page=0',
        '/email?limit=101',
        '/logs?status=3',
        '/logs?method=X',
      ]) {
        expectError(await t.ask({ path, key: t.full }), 422, 'validation_failed');
      }
      for (const path of ['/suppressions?limit=501', '/suppressions?after=nobody']) {
        expectError(await t.ask({ path, key: t.full }), 422, 'validation_failed');
      }
    },
  },
  {
    clause: 'C9.10',
    says: 'the older list: {emails, page, limit}, newest first; camelCase times',
    async run(t) {
      const id = await send(t, { to: 'suppressed@sandbox.test' });
      const list = await t.ask({ path: '/email?page=1&limit=1', key: t.full });
      expect(list.json).toMatchObject({ page: 1, limit: 1, emails: [{ id, status: 'failed' }] });
      const second = await t.ask({ path: '/email?page=2&limit=1', key: t.full });
      expect(second.json.emails[0].id).not.toBe(id);
      const plain = await t.ask({ path: '/email', key: t.full });
      expect([plain.json.page, plain.json.limit]).toEqual([1, 20]);
      const one = await t.ask({ path: `/email/${id}`, key: t.full });
      expect(Object.keys(one.json).sort()).toEqual(
        'createdAt from html id status subject tags text to updatedAt'.split(' '),
      );
      expect(one.json).toMatchObject({ html: '', text: 'Thank you.', status: 'failed' });
    },
  },
  {
    clause: 'C9.7',
    says: 'the body: archived, html, text, headers, attachments',
    async run(t) {
      const id = await send(t, { html: '<p>ü</p>', headers: { 'X-A': 'b' } });
      const { json } = await t.ask({ path: `/emails/${id}/body`, key: t.full });
      expect(json).toEqual({
        archived: true,
        html: '<p>ü</p>',
        text: 'Thank you.',
        headers: { 'X-A': 'b' },
        attachments: [],
      });
    },
  },
  {
    clause: 'C9.1',
    says: 'a sending-only key reads no email',
    async run(t) {
      const id = await send(t);
      for (const path of [
        '/emails',
        `/emails/${id}`,
        `/emails/${id}/body`,
        `/email/${id}`,
        '/email',
      ]) {
        expectError(await t.ask({ path, key: t.send }), 403, 'forbidden', 'restricted_api_key');
      }
    },
  },
  {
    clause: 'C15.1',
    says: 'the log filters by path, by status or its class, and by method',
    async run(t) {
      await t.ask({ path: '/emails/nothing-here', key: t.full });
      const found = await t.ask({
        path: '/logs?q=nothing-here&status=4&method=get&limit=1',
        key: t.full,
      });
      expect(found.json.data[0]).toMatchObject({
        path: '/emails/nothing-here',
        status: 404,
        method: 'GET',
      });
      const exact = await t.ask({ path: '/logs?q=nothing-here&status=404', key: t.full });
      expect(exact.json.data.length).toBeGreaterThan(0);
      const none = await t.ask({ path: '/logs?q=nothing-here&status=2', key: t.full });
      expect(none.json.data).toEqual([]);
      const smtp = await t.ask({ path: '/logs?q=/logs&method=SMTP', key: t.full });
      expect(smtp.json.data).toEqual([]);
      // Every method that a row can have can be asked for.
      for (const method of ['HEAD', 'PUT', 'OPTIONS', 'PATCH', 'DELETE']) {
        const sent = await t.ask({ path: '/logs', method, key: t.full });
        const path = `/logs?q=/logs&method=${method.toLowerCase()}&limit=1`;
        const rows = await t.ask({ path, key: t.full });
        expect(rows.json.data[0]).toMatchObject({
          id: sent.headers.get('x-request-id'),
          method,
          status: sent.status,
        });
      }
    },
  },
  {
    clause: 'C15.2',
    says: 'request bodies of writes only; no secret reaches a row',
    async run(t) {
      const made = await t.ask({ path: '/api-keys', key: t.full, body: { name: 'logged' } });
      const id = made.headers.get('x-request-id');
      const log = await t.ask({ path: `/logs/${id}`, key: t.full });
      expect(log.json.response_body).toContain('[hidden]');
      expect(log.text).not.toContain(made.json.token);
      const list = await t.ask({ path: '/api-keys', key: t.full });
      const reading = await t.ask({
        path: `/logs/${list.headers.get('x-request-id')}`,
        key: t.full,
      });
      expect(reading.json.request_body).toBeNull();
    },
  },
  {
    clause: 'C3.2',
    says: 'the request_id of an error finds its row in the log',
    async run(t) {
      const refused = await t.ask({ path: '/emails', key: t.send, body: { subject: 'half' } });
      const log = await t.ask({ path: `/logs/${refused.json.request_id}`, key: t.full });
      expect(log.json).toMatchObject({
        status: 422,
        path: '/emails',
        request_body: '{"subject":"half"}',
      });
    },
  },
  {
    clause: 'C16.1',
    says: 'period, periodDays 30, plan, usage and counts',
    async run(t) {
      const { json } = await t.ask({ path: '/usage', key: t.full });
      expect(json.period).toBe(new Date().toISOString().slice(0, 7));
      expect(json.periodDays).toBe(30);
      expect(Object.keys(json.plan).sort()).toEqual(
        'dailyLimit id includedEmails logRetentionDays maxDomains overageSenPerThousand ratePerSecond'.split(
          ' ',
        ),
      );
      expect(Object.keys(json.usage).sort()).toEqual(
        'includedEmails overage overageBlocks overageCapSen overageChargedSen percent usedThisMonth'.split(
          ' ',
        ),
      );
      expect(json.counts.delivered).toBeGreaterThan(0);
      expect(json.counts).toHaveProperty('complained');
    },
  },
];
