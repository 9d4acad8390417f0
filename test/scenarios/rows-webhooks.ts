/**
 * Clauses of the contract about webhook endpoints and suppressions.
 */
import { expect } from 'bun:test';
import type { Sent } from '../api/bench.ts';
import type { Row } from './row.ts';
import { expectError, issuePaths, type Target } from './target.ts';

const fresh = (word: string): string => `${word}-${Date.now()}-${Math.floor(Math.random() * 1e6)}`;
const remove = (t: Target, path: string): Promise<Sent> =>
  t.ask({ path, method: 'DELETE', key: t.other });
const hook = (t: Target, over: object = {}): Promise<Sent> =>
  t.ask({
    path: '/webhooks',
    key: t.other,
    body: { endpoint: `https://${fresh('h')}.example.com/in`, ...over },
  });

export const WEBHOOKS: readonly Row[] = [
  {
    clause: 'C12.2',
    says: 'a new endpoint shows its secret once, in both spellings; later reads have none',
    async run(t) {
      const made = await hook(t, { events: ['email.sent', 'email.opened'] });
      expect(made.status).toBe(201);
      expect(Object.keys(made.json).sort()).toEqual(
        'created_at endpoint events id object secret signing_secret url'.split(' '),
      );
      expect(made.json.signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/);
      expect(made.json.secret).toBe(made.json.signing_secret);
      const found = await t.ask({ path: `/webhooks/${made.json.id}`, key: t.other });
      expect(found.json).toEqual({
        object: 'webhook',
        id: made.json.id,
        url: made.json.url,
        endpoint: made.json.url,
        events: ['email.sent', 'email.opened'],
        status: 'active',
        failure_count: 0,
        last_failure_at: null,
        created_at: made.json.created_at,
      });
      const removed = await remove(t, `/webhooks/${made.json.id}`);
      expect(removed.json).toEqual({
        object: 'webhook',
        id: made.json.id,
        deleted: true,
        status: 'deleted',
      });
    },
  },
  {
    clause: 'C12.2',
    says: 'an endpoint is a public https URL; events are of the allowed names',
    async run(t) {
      for (const [body, path] of [
        [{ endpoint: 'http://a.example.com/' }, 'endpoint'],
        [{ endpoint: 'https://10.0.0.1/' }, 'endpoint'],
        [{ endpoint: 'https://u:p@a.example.com/' }, 'endpoint'],
        [{ endpoint: 'nonsense' }, 'endpoint'],
        [{ endpoint: 'https://a.example.com/\n' }, 'endpoint'],
        [{ endpoint: 'https://a.example.com/a\tb' }, 'endpoint'],
        [{ endpoint: ' https://a.example.com/' }, 'endpoint'],
        [{ url: 'https://a.example.com/\0' }, 'endpoint'],
        [{ endpoint: 'https://a.example.com/', events: ['email.received'] }, 'events[0]'],
        [{ endpoint: 'https://a.example.com/', events: 'email.sent' }, 'events'],
        [{ events: [] }, 'endpoint'],
      ] as const) {
        const sent = await t.ask({ path: '/webhooks', key: t.other, body });
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)).toEqual([path]);
      }
    },
  },
  {
    clause: 'C12.12',
    says: 'an endpoint is changed, enabled, tested, replayed and given a new secret',
    async run(t) {
      const made = await hook(t);
      const path = `/webhooks/${made.json.id}`;
      const off = await t.ask({
        path,
        method: 'PATCH',
        key: t.other,
        body: { status: 'disabled', events: ['email.bounced'] },
      });
      expect(off.json).toMatchObject({
        id: made.json.id,
        status: 'disabled',
        events: ['email.bounced'],
      });
      const on = await t.ask({ path: `${path}/enable`, method: 'POST', key: t.other });
      expect(on.json).toEqual({ id: made.json.id, status: 'active' });
      const tried = await t.ask({ path: `${path}/test`, method: 'POST', key: t.other });
      expect(tried.json).toMatchObject({ ok: false, error: expect.any(String) });
      const list = await t.ask({ path: `${path}/deliveries?limit=1`, key: t.other });
      expect(list.json.data[0]).toMatchObject({
        event_type: 'webhook.test',
        ok: false,
        attempt: 1,
      });
      const again = await t.ask({
        path: `${path}/replay`,
        key: t.other,
        body: { since: new Date().toISOString() },
      });
      expect(again.json).toEqual({ id: made.json.id, replayed: 0 });
      const rotated = await t.ask({ path: `${path}/rotate-secret`, method: 'POST', key: t.other });
      expect(rotated.json.signing_secret).not.toBe(made.json.signing_secret);
      await remove(t, path);
    },
  },
  {
    clause: 'C12.5',
    says: 'at most 10 endpoints in an account',
    async run(t) {
      const made: string[] = [];
      for (;;) {
        const sent = await hook(t);
        if (sent.status !== 201) {
          expectError(sent, 403, 'forbidden', 'invalid_access');
          break;
        }
        made.push(sent.json.id);
        expect(made.length).toBeLessThanOrEqual(10);
      }
      const { json } = await t.ask({ path: '/webhooks', key: t.other });
      expect([json.data.length, json.has_more]).toEqual([10, false]);
      for (const id of made) await remove(t, `/webhooks/${id}`);
    },
  },
  {
    clause: 'C14.1',
    says: 'a new suppression: email, reason, created_at; the address in lower case',
    async run(t) {
      const name = fresh('Ann');
      const made = await t.ask({
        path: '/suppressions',
        key: t.other,
        body: { email: `${name}@Example.COM` },
      });
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({
        email: `${name}@example.com`.toLowerCase(),
        reason: 'manual',
        created_at: expect.any(String),
      });
      const found = await t.ask({
        path: `/suppressions/${encodeURIComponent(`${name}@example.com`)}`,
        key: t.other,
      });
      expect(found.json.email).toBe(made.json.email);
    },
  },
  {
    clause: 'C14.3',
    says: 'manual suppressions alone can be removed; others answer 403',
    async run(t) {
      for (const reason of ['hard_bounce', 'complaint', 'unsubscribe']) {
        const email = `${fresh(reason)}@example.com`;
        await t.ask({ path: '/suppressions', key: t.other, body: { email, reason } });
        expectError(await remove(t, `/suppressions/${email}`), 403, 'forbidden', 'invalid_access');
      }
      const email = `${fresh('manual')}@example.com`;
      await t.ask({ path: '/suppressions', key: t.other, body: { email, reason: 'manual' } });
      const removed = await remove(t, `/suppressions/${encodeURIComponent(email)}`);
      expect(removed.json).toMatchObject({ email, status: 'removed' });
      expectError(await remove(t, `/suppressions/${email}`), 404, 'not_found');
      expectError(await remove(t, '/suppressions/no-address'), 404, 'not_found');
    },
  },
  {
    clause: 'C14.4',
    says: 'a batch of removals with one that may not go removes none',
    async run(t) {
      const [manual, bounced] = [`${fresh('m')}@example.com`, `${fresh('b')}@example.com`];
      await t.ask({ path: '/suppressions', key: t.other, body: { email: manual } });
      await t.ask({
        path: '/suppressions',
        key: t.other,
        body: { email: bounced, reason: 'hard_bounce' },
      });
      const emails = [manual, bounced];
      const path = '/suppressions/batch/remove';
      expectError(await t.ask({ path, key: t.other, body: { emails } }), 403, 'forbidden');
      expect((await t.ask({ path: `/suppressions/${manual}`, key: t.other })).status).toBe(200);
      const alone = await t.ask({
        path,
        key: t.other,
        body: { emails: [manual, 'x@example.com'] },
      });
      expect(alone.json.data).toMatchObject([{ email: manual, deleted: true }]);
    },
  },
  {
    clause: 'C14.2',
    says: 'after is the last address of a page, and works when its row has gone',
    async run(t) {
      const word = fresh('page');
      const emails = [0, 1, 2].map((at) => `${word}.${at}@example.com`);
      for (const email of emails)
        await t.ask({ path: '/suppressions', key: t.other, body: { email } });
      const first = await t.ask({ path: `/suppressions?q=${word}&limit=2`, key: t.other });
      expect(first.json).toMatchObject({ has_more: true, next: emails[1] });
      await remove(t, `/suppressions/${emails[1]}`);
      const rest = await t.ask({
        path: `/suppressions?q=${word}&limit=2&after=${encodeURIComponent(first.json.next)}`,
        key: t.other,
      });
      expect(rest.json.data.map(({ email }: { email: string }) => email)).toEqual([emails[0]]);
    },
  },
];
