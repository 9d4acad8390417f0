/**
 * Clauses of the contract about domains and API keys.
 */
import { expect } from 'bun:test';
import type { Row } from './row.ts';
import { expectError, issuePaths, type Target } from './target.ts';

const fresh = (word: string): string => `${word}-${Date.now()}-${Math.floor(Math.random() * 1e6)}`;
const remove = (t: Target, key: string, path: string) => t.ask({ path, method: 'DELETE', key });

export const RESOURCES: readonly Row[] = [
  {
    clause: 'C10.2',
    says: 'a new domain comes with the two records to publish',
    async run(t) {
      const name = `${fresh('d')}.example.com`;
      const made = await t.ask({
        path: '/domains',
        key: t.other,
        body: { name: name.toUpperCase(), region: 'mars', customReturnPath: 'x', tls: 'enforced' },
      });
      expect(made.status).toBe(201);
      expect(made.json).toMatchObject({
        object: 'domain',
        name,
        domain: name,
        status: 'pending',
        region: 'us-east-1',
        capabilities: { sending: 'enabled', receiving: 'disabled' },
        verified_at: null,
        last_checked_at: null,
      });
      expect(
        made.json.records.map((row: Record<string, unknown>) => [row['record'], row['type']]),
      ).toEqual([
        ['DKIM', 'TXT'],
        ['SPF', 'CNAME'],
      ]);
      for (const row of made.json.records) {
        expect(row).toMatchObject({ ttl: 'Auto', status: 'not_started', required: true });
        expect(row.name).toEndWith(name);
      }
      const found = await t.ask({ path: `/domains/${made.json.id}`, key: t.other });
      expect(found.json).toEqual(made.json);
    },
  },
  {
    clause: 'C10.2',
    says: 'domain is read as name; one of the two is required',
    async run(t) {
      const domain = `${fresh('d')}.example.com`;
      const made = await t.ask({ path: '/domains', key: t.other, body: { domain } });
      expect([made.status, made.json.name]).toEqual([201, domain]);
      const neither = await t.ask({ path: '/domains', key: t.other, body: {} });
      expectError(neither, 422, 'validation_failed', 'missing_required_field');
      const both = await t.ask({
        path: '/domains',
        key: t.other,
        body: { name: 'a.example.com', domain },
      });
      expectError(both, 422, 'validation_failed');
    },
  },
  {
    clause: 'C10.11',
    says: 'a public suffix, an IP address or no domain at all is refused',
    async run(t) {
      for (const name of [
        'com',
        'co.uk',
        '192.0.2.1',
        '[::1]',
        'a b.example.com',
        'a@b.example',
        'x',
        5,
      ]) {
        const sent = await t.ask({ path: '/domains', key: t.other, body: { name } });
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)).toEqual(['name']);
      }
    },
  },
  {
    clause: 'C10.12',
    says: 'a domain twice in one account is 409 conflict; two accounts may both add it',
    async run(t) {
      const body = { name: `${fresh('d')}.example.com` };
      expect((await t.ask({ path: '/domains', key: t.other, body })).status).toBe(201);
      expectError(
        await t.ask({ path: '/domains', key: t.other, body }),
        409,
        'conflict',
        'invalid_parameter',
      );
      expect((await t.ask({ path: '/domains', key: t.full, body })).status).toBe(201);
    },
  },
  {
    clause: 'C10.6',
    says: 'domains are listed whole, without paging',
    async run(t) {
      const { json } = await t.ask({ path: '/domains', key: t.full });
      expect(Object.keys(json).sort()).toEqual(['data', 'has_more', 'object']);
      expect(json).toMatchObject({ object: 'list', has_more: false });
      expect(json.data[0]).not.toHaveProperty('records');
      expect(json.data[0]).not.toHaveProperty('object');
      expect(json.data[0]).toHaveProperty('last_checked_at');
    },
  },
  {
    clause: 'C10.7',
    says: 'a check says dns_ready, ses_verified and, for each record, found; DMARC is among them',
    async run(t) {
      const made = await t.ask({
        path: '/domains',
        key: t.other,
        body: { name: `${fresh('v')}.example.net` },
      });
      const path = `/domains/${made.json.id}/verify`;
      const checked = await t.ask({ path, method: 'POST', key: t.other });
      expect(checked.status).toBe(200);
      expect(checked.json).toMatchObject({
        object: 'domain',
        id: made.json.id,
        status: 'pending',
        dns_ready: false,
        ses_verified: false,
      });
      expect(
        checked.json.records.map((row: Record<string, unknown>) => [
          row['record'],
          row['found'],
          row['required'],
        ]),
      ).toEqual([
        ['DKIM', false, true],
        ['SPF', false, true],
        ['DMARC', false, false],
      ]);
    },
  },
  {
    clause: 'C10.10',
    says: 'a deleted domain is revoked',
    async run(t) {
      const made = await t.ask({
        path: '/domains',
        key: t.other,
        body: { name: `${fresh('x')}.example.com` },
      });
      const path = `/domains/${made.json.id}`;
      const removed = await remove(t, t.other, path);
      expect(removed.json).toEqual({
        object: 'domain',
        id: made.json.id,
        deleted: true,
        status: 'revoked',
      });
      expectError(await remove(t, t.other, path), 404, 'not_found');
      expectError(await t.ask({ path, key: t.other }), 404, 'not_found');
    },
  },
  {
    clause: 'C10.10',
    says: 'a deleted domain sends nothing any more; its name can be added again',
    async run(t) {
      const name = `${fresh('gone')}.example.com`;
      const body = { from: `a@${name}`, to: 'delivered@sandbox.test', subject: 's', text: 't' };
      const codeOfSend = async () =>
        (await t.ask({ path: '/emails', key: t.other, body })).json.code;
      const made = await t.ask({ path: '/domains', key: t.other, body: { name } });
      expect(await codeOfSend()).toBe('domain_not_verified');
      await remove(t, t.other, `/domains/${made.json.id}`);
      expect(await codeOfSend()).toBe('from_domain_not_allowed');
      const again = await t.ask({ path: '/domains', key: t.other, body: { name } });
      expect([again.status, again.json.id === made.json.id]).toEqual([201, false]);
      expect(again.json.records[0].name).not.toBe(made.json.records[0].name);
      expect(await codeOfSend()).toBe('domain_not_verified');
    },
  },
  {
    clause: 'C11.2',
    says: 'a new key shows token and key once; it may only send unless asked otherwise',
    async run(t) {
      const made = await t.ask({ path: '/api-keys', key: t.other, body: { name: 'Shop' } });
      expect(made.status).toBe(201);
      expect(Object.keys(made.json).sort()).toEqual(
        'created_at id key last4 name permission prefix scope token'.split(' '),
      );
      expect(made.json).toMatchObject({
        name: 'Shop',
        permission: 'sending_access',
        scope: 'send',
      });
      expect(made.json.token).toBe(made.json.key);
      expect(made.json.token).toStartWith(made.json.prefix);
      expect(made.json.token).toEndWith(made.json.last4);
      const list = await t.ask({ path: '/api-keys', key: t.other });
      expect(list.text).not.toContain(made.json.token);
      const row = list.json.data.find(({ id }: { id: string }) => id === made.json.id);
      expect(Object.keys(row).sort()).toEqual(
        'created_at id last4 last_used_at name permission prefix revoked_at scope'.split(' '),
      );
    },
  },
  {
    clause: 'C11.2',
    says: 'scope is read as permission; domain_id is refused; names have 1 to 60 characters',
    async run(t) {
      const make = (body: object) => t.ask({ path: '/api-keys', key: t.other, body });
      expect((await make({ name: 'a', scope: 'full' })).json.permission).toBe('full_access');
      expect((await make({ name: 'ü'.repeat(60) })).status).toBe(201);
      for (const [body, path] of [
        [{ name: 'a', domain_id: 'x' }, 'domain_id'],
        [{ name: 'a', permission: 'root' }, 'permission'],
        [{ name: 'a', permission: 'full_access', scope: 'send' }, 'scope'],
        [{ name: 'a'.repeat(61) }, 'name'],
        [{ name: '' }, 'name'],
        [{ name: 'a\nb' }, 'name'],
        [{ name: 7 }, 'name'],
        [{}, 'name'],
      ] as const) {
        const sent = await make(body);
        expectError(sent, 422, 'validation_failed');
        expect(issuePaths(sent)).toEqual([path]);
      }
    },
  },
  {
    clause: 'C11.5',
    says: 'a deleted key is revoked, and stops at once',
    async run(t) {
      const { json } = await t.ask({
        path: '/api-keys',
        key: t.other,
        body: { name: 'gone', scope: 'full' },
      });
      expect((await t.ask({ path: '/domains', key: json.token })).status).toBe(200);
      const removed = await remove(t, t.other, `/api-keys/${json.id}`);
      expect(removed.json).toEqual({
        object: 'api_key',
        id: json.id,
        deleted: true,
        status: 'revoked',
      });
      expectError(
        await t.ask({ path: '/domains', key: json.token }),
        401,
        'unauthorized',
        'invalid_api_key',
      );
      const list = await t.ask({ path: '/api-keys', key: t.other });
      const row = list.json.data.find(({ id }: { id: string }) => id === json.id);
      expect(row.revoked_at).not.toBeNull();
    },
  },
];
