/**
 * Clauses of the contract about every answer: paths, headers, authentication, errors, versioning.
 */
import { expect } from 'bun:test';
import { gzipSync } from 'node:zlib';
import type { Row } from './row.ts';
import { email, expectError, issuePaths } from './target.ts';

const NO_SUCH_ID = '01913c7e-89ab-7cde-8f01-23456789abcd';

/** A body in two chunks, without a known length. */
function streamOf(text: string): ReadableStream {
  const parts = [text.slice(0, 10), text.slice(10)];
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(1);
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(part));
    },
  });
}

export const GENERAL: readonly Row[] = [
  {
    clause: 'C1.2',
    says: 'each route also answers without /v1',
    async run(t) {
      const plain = await t.ask({ path: '/domains', key: t.full });
      const prefixed = await t.ask({ path: '/v1/domains', key: t.full });
      expect([plain.status, prefixed.text]).toEqual([200, plain.text]);
    },
  },
  {
    clause: 'C1.3',
    says: 'a closing slash and // in a path are read as /',
    async run(t) {
      for (const path of ['/v1/domains/', '//v1//domains', '/domains/', '//domains//']) {
        expect((await t.ask({ path, key: t.full })).json.object).toBe('list');
      }
    },
  },
  {
    clause: 'C1.4',
    says: 'each response has X-Request-Id',
    async run(t) {
      const seen = new Set<string | null>();
      for (const path of ['/domains', '/nothing', '/v1/emails/x', '/openapi.json', '/docs']) {
        seen.add((await t.ask({ path, key: t.full })).headers.get('x-request-id'));
      }
      expect(seen.size).toBe(5);
      for (const id of seen) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    },
  },
  {
    clause: 'C1.5',
    says: 'an X-Request-Id that the client sends is not used',
    async run(t) {
      const headers = { 'x-request-id': NO_SUCH_ID };
      const sent = await t.ask({ path: '/domains', key: t.full, headers });
      expect(sent.headers.get('x-request-id')).not.toBe(NO_SUCH_ID);
    },
  },
  {
    clause: 'C2.8',
    says: 'without a key, or with a wrong one: 401 unauthorized',
    async run(t) {
      expectError(await t.ask({ path: '/domains' }), 401, 'unauthorized', 'missing_api_key');
      const wrong = await t.ask({ path: '/domains', key: 'pr_live_0000000000000000000000000000' });
      expectError(wrong, 401, 'unauthorized', 'invalid_api_key');
      for (const authorization of ['Basic abc', 'Bearer', t.full, `Bearer ${t.full}x`]) {
        const sent = await t.ask({ path: '/domains', headers: { authorization } });
        expectError(sent, 401, 'unauthorized', 'invalid_api_key');
      }
    },
  },
  {
    clause: 'C2.9',
    says: 'what belongs to another account is not found',
    async run(t) {
      const made = await t.ask({ path: '/emails', key: t.full, body: email(t) });
      for (const path of [`/emails/${made.json.id}`, `/email/${made.json.id}`]) {
        expect((await t.ask({ path, key: t.full })).status).toBe(200);
        expectError(await t.ask({ path, key: t.other }), 404, 'not_found', 'not_found');
      }
    },
  },
  {
    clause: 'C2.9',
    says: 'what an account has is neither listed nor found nor removed by another',
    async run(t) {
      const word = `mine${Date.now()}`;
      const make = async (path: string, body: object): Promise<string> => {
        const made = await t.ask({ path, key: t.full, body });
        expect(made.status).toBeLessThan(300);
        return path === '/suppressions' ? made.json.email : made.json.id;
      };
      const sent = await t.ask({ path: '/emails', key: t.full, body: email(t, { subject: word }) });
      const own = [
        ['/emails', sent.json.id],
        ['/logs', sent.headers.get('x-request-id')],
        ['/domains', await make('/domains', { name: `${word}.example.com` })],
        ['/api-keys', await make('/api-keys', { name: word })],
        ['/webhooks', await make('/webhooks', { url: `https://${word}.example.com/` })],
        ['/suppressions', await make('/suppressions', { email: `${word}@example.com` })],
      ] as const;
      for (const [path, id] of own) {
        const find = async (key: string) => (await t.ask({ path, key })).text.includes(`"${id}"`);
        expect([path, await find(t.full), await find(t.other)]).toEqual([path, true, false]);
        if (path !== '/api-keys') {
          expectError(await t.ask({ path: `${path}/${id}`, key: t.other }), 404, 'not_found');
        }
        if (path === '/emails' || path === '/logs') continue;
        const gone = { path: `${path}/${id}`, method: 'DELETE' };
        expectError(await t.ask({ ...gone, key: t.other }), 404, 'not_found', 'not_found');
        expect((await t.ask({ ...gone, key: t.full })).status).toBe(200);
      }
    },
  },
  {
    clause: 'C3.9',
    says: 'a known path with another method: 405 method_not_allowed, with Allow',
    async run(t) {
      const sent = await t.ask({ path: '/v1/emails', method: 'DELETE', key: t.full });
      expectError(sent, 405, 'not_found', 'method_not_allowed');
      expect(sent.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS');
      expectError(await t.ask({ path: '/usage', method: 'PUT', body: {} }), 405, 'not_found');
    },
  },
  {
    clause: 'C1.6',
    says: 'each response, on each path, is a JSON object, never 204',
    async run(t) {
      expectError(await t.ask({ path: '/' }), 404, 'not_found', 'not_found');
      expectError(await t.ask({ path: '/v2/emails', key: t.full }), 404, 'not_found');
      expectError(await t.ask({ path: '/%ff%00', key: t.full }), 404, 'not_found');
      const options = await t.ask({ path: '/v1/emails', method: 'OPTIONS' });
      expect([options.status, options.json.allow]).toEqual([
        200,
        ['POST', 'GET', 'HEAD', 'OPTIONS'],
      ]);
      const head = await t.ask({ path: '/v1/domains', method: 'HEAD', key: t.full });
      expect([head.status, head.text]).toEqual([200, '']);
    },
  },
  {
    clause: 'C3.8',
    says: '400 for a body that is not JSON, and for invalid UTF-8',
    async run(t) {
      for (const raw of ['{', 'from=a', '{"a":1}x', "{'a':1}", Buffer.from([0x7b, 0xff, 0x7d])]) {
        const sent = await t.ask({ path: '/emails', key: t.send, raw });
        expectError(sent, 400, 'validation_failed', 'validation_error');
      }
      const packed = await t.ask({
        path: '/emails',
        key: t.send,
        raw: gzipSync(JSON.stringify(email(t))),
        headers: { 'content-encoding': 'gzip' },
      });
      expectError(packed, 400, 'validation_failed', 'validation_error');
      expect(issuePaths(packed)).toEqual(['Content-Encoding']);
    },
  },
  {
    clause: 'C3.8',
    says: 'a validation error lists each issue in detail, all at once',
    async run(t) {
      const sent = await t.ask({
        path: '/emails',
        key: t.send,
        body: { from: 'nobody', to: [`a@${t.domain}`, 'bad', 7], html: 5, extra: 1 },
      });
      expectError(sent, 422, 'validation_failed', 'missing_required_field');
      expect(issuePaths(sent).sort()).toEqual([
        'extra',
        'from',
        'html',
        'subject',
        'to[1]',
        'to[2]',
      ]);
    },
  },
  {
    clause: 'C17.4',
    says: 'a body without Content-Length is 411',
    async run(t) {
      const sent = await t.ask({
        path: '/emails',
        key: t.send,
        raw: streamOf(JSON.stringify(email(t))),
      });
      expectError(sent, 411, 'length_required', 'validation_error');
    },
  },
  {
    clause: 'D13',
    says: 'an empty POST has no body and is fine; a body on GET or DELETE is ignored',
    async run(t) {
      const verify = { path: `/domains/${NO_SUCH_ID}/verify`, method: 'POST', key: t.full };
      expectError(await t.ask({ ...verify, raw: '' }), 404, 'not_found');
      expectError(await t.ask(verify), 404, 'not_found');
      const removed = { path: `/domains/${NO_SUCH_ID}`, method: 'DELETE', key: t.full, raw: '{' };
      expectError(await t.ask(removed), 404, 'not_found');
    },
  },
  {
    clause: 'C20.1',
    says: 'calls for what the service does not have are refused in words',
    async run(t) {
      for (const [method, path, word] of [
        ['GET', '/audiences', 'audiences'],
        ['POST', '/broadcasts', 'broadcasts'],
        ['GET', `/templates/${NO_SUCH_ID}`, 'templates'],
        ['POST', `/emails/${NO_SUCH_ID}/cancel`, 'scheduled'],
        ['PATCH', `/emails/${NO_SUCH_ID}`, 'scheduled'],
        ['GET', '/emails/receiving', 'receive'],
        ['GET', '/emails/metrics', 'metrics'],
        ['POST', '/domains/claim', 'claimed'],
        ['GET', '/contacts/imports', 'contacts'],
      ] as const) {
        const sent = await t.ask({
          path,
          method,
          key: t.full,
          ...(method === 'POST' && { body: {} }),
        });
        expectError(sent, 404, 'not_found', 'not_found');
        expect(sent.json.message).toContain(word);
      }
    },
  },
  {
    clause: 'C2.10',
    says: 'the OpenAPI document and the reference page need no key',
    async run(t) {
      const document = await t.ask({ path: '/openapi.json' });
      expect(document.json.paths['/emails/batch'].post.requestBody).toBeDefined();
      const page = await t.ask({ path: '/docs' });
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      const style = /<link rel="stylesheet" href="([^"]+)"/.exec(page.text)?.[1] ?? '';
      expect(style).toStartWith('/');
      const served = await t.ask({ path: style });
      expect(served.headers.get('content-type')).toStartWith('text/css');
      expect(page.text).not.toContain('<script');
    },
  },
];
