/**
 * Bad input on the routes for sending, domains, keys and webhooks, on the compiled binary: a clear JSON error that names
 * the field, never a 5xx. Compiled, because a minified binary would silently skip the checks of queries.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { BinaryAppliance } from '../rig/binary.ts';

interface ErrorBody {
  statusCode: number;
  name: string;
  message: string;
  code: string;
  request_id: string;
  detail?: { issues?: { path: string; message: string }[] };
}

const GOOD = { from: 'a@example.org', to: 'b@example.net', subject: 's', text: 't' };
const SOME_ID = '01a1fc2d-05de-7000-80f2-bbb5a45d7527';

let appliance: BinaryAppliance;
let sendingKey = '';

beforeAll(async () => {
  appliance = await BinaryAppliance.start();
  const made = await appliance.json(['key', 'create', '--account', 'default', '--name', 'sender']);
  sendingKey = String(made['token']);
});

afterAll(() => appliance.stop());

async function refused(answer: Response): Promise<ErrorBody> {
  expect(answer.headers.get('content-type')).toStartWith('application/json');
  const body = (await answer.json()) as ErrorBody;
  expect(body.statusCode).toBe(answer.status);
  expect(body.request_id).toBe(answer.headers.get('x-request-id') ?? 'none');
  expect(body.message.length).toBeGreaterThan(5);
  return body;
}

describe('the response names each fault of the body', () => {
  /** Method and path, body, status, code, and the paths of all issues. */
  const rows: [string, unknown, number, string, string[]][] = [
    ['POST /email/send', {}, 422, 'validation_failed', ['from', 'html', 'subject', 'to']],
    ['POST /email/send', { ...GOOD, text: undefined }, 422, 'validation_failed', ['html']],
    ['POST /email/send', { ...GOOD, colour: 'red' }, 422, 'validation_failed', ['colour']],
    ['POST /email/send', { ...GOOD, to: [] }, 422, 'validation_failed', ['to']],
    ['POST /email/send', { ...GOOD, tags: { 'a b': 'x' } }, 422, 'validation_failed', ['tags']],
    ['POST /emails', { ...GOOD, from: 'nobody' }, 422, 'validation_failed', ['from']],
    [
      'POST /emails',
      { ...GOOD, to: ['b@example.net', 'x@@y'] },
      422,
      'validation_failed',
      ['to[1]'],
    ],
    [
      'POST /emails',
      { ...GOOD, subject: 'a\r\nBcc: x@y.z' },
      422,
      'validation_failed',
      ['subject'],
    ],
    ['POST /emails', { ...GOOD, cc: 'c@example.net' }, 422, 'validation_failed', ['cc']],
    [
      'POST /emails',
      { ...GOOD, scheduled_at: 'tomorrow' },
      422,
      'validation_failed',
      ['scheduled_at'],
    ],
    [
      'POST /emails',
      { ...GOOD, headers: { 'X-A': 'a\nb' } },
      422,
      'validation_failed',
      ['headers'],
    ],
    ['POST /emails', [GOOD], 422, 'validation_failed', ['']],
    ['POST /emails', GOOD, 403, 'from_domain_not_allowed', []],
    ['POST /domains', {}, 422, 'validation_failed', ['name']],
    ['POST /domains', { name: 'co.uk' }, 422, 'validation_failed', ['name']],
    ['POST /domains', { name: '192.0.2.1' }, 422, 'validation_failed', ['name']],
    ['POST /domains', { name: 'mail.rig.test' }, 422, 'validation_failed', ['name']],
    ['POST /domains', { name: 7 }, 422, 'validation_failed', ['name']],
    [`POST /domains/${SOME_ID}/verify`, undefined, 404, 'not_found', []],
    ['DELETE /domains/nonsense', undefined, 404, 'not_found', []],
    ['POST /api-keys', {}, 422, 'validation_failed', ['name']],
    ['POST /api-keys', { name: 'x'.repeat(61) }, 422, 'validation_failed', ['name']],
    ['POST /api-keys', { name: 'x', permission: 'all' }, 422, 'validation_failed', ['permission']],
    ['POST /api-keys', { name: 'x', domain_id: SOME_ID }, 422, 'validation_failed', ['domain_id']],
    [`DELETE /api-keys/${SOME_ID}`, undefined, 404, 'not_found', []],
    ['POST /webhooks', {}, 422, 'validation_failed', ['endpoint']],
    ['POST /webhooks', { endpoint: 'http://example.com' }, 422, 'validation_failed', ['endpoint']],
    ['POST /webhooks', { endpoint: 'https://127.0.0.1/' }, 422, 'validation_failed', ['endpoint']],
    [
      'POST /webhooks',
      { endpoint: 'https://192.0.2.7/', events: ['x'] },
      422,
      'validation_failed',
      ['events'],
    ],
    [`DELETE /webhooks/${SOME_ID}`, undefined, 404, 'not_found', []],
    [`GET /emails/${SOME_ID}`, undefined, 404, 'not_found', []],
    ['GET /emails?limit=1000', undefined, 422, 'validation_failed', ['limit']],
    ['GET /emails?limit=ten', undefined, 422, 'validation_failed', ['limit']],
    ['GET /no/such/route', undefined, 404, 'not_found', []],
    ['PUT /domains', undefined, 405, 'not_found', []],
  ];

  test.each(rows)('%s %j', async (route, body, status, code, paths) => {
    const [method = '', path = ''] = route.split(' ');
    for (const prefix of ['', '/v1']) {
      const error = await refused(await appliance.api(method, prefix + path, body));
      expect([error.statusCode, error.code]).toEqual([status, code]);
      const found = error.detail?.issues?.map((issue) => issue.path).toSorted() ?? [];
      expect(found.length).toBe(paths.length);
      for (const [index, wanted] of paths.entries()) expect(found[index]).toStartWith(wanted);
    }
  });
});

describe('before the body', () => {
  const send = (init: RequestInit): Promise<Response> => fetch(`${appliance.url}/emails`, init);
  const json = { 'content-type': 'application/json' };

  test('no key, a wrong key, a key without the permission', async () => {
    const none = await refused(await send({ method: 'POST', body: '{}', headers: json }));
    expect([none.statusCode, none.code, none.name]).toEqual([
      401,
      'unauthorized',
      'missing_api_key',
    ]);
    const wrong = await refused(
      await appliance.api('POST', '/emails', GOOD, { authorization: 'Bearer pr_live_nope' }),
    );
    expect([wrong.statusCode, wrong.code, wrong.name]).toEqual([
      401,
      'unauthorized',
      'invalid_api_key',
    ]);
    const authorization = `Bearer ${sendingKey}`;
    for (const path of ['/domains', '/api-keys', '/webhooks', '/emails']) {
      const refusal = await refused(await appliance.api('GET', path, undefined, { authorization }));
      expect([path, refusal.statusCode, refusal.name]).toEqual([path, 403, 'restricted_api_key']);
    }
  });

  test('a body that is not JSON, and bytes that are not UTF-8', async () => {
    const headers = { ...json, authorization: `Bearer ${appliance.made.key}` };
    for (const body of ['{"from":', 'null', new Uint8Array([0x22, 0xff, 0x22])]) {
      const error = await refused(await send({ method: 'POST', body, headers }));
      expect(error.code).toBe('validation_failed');
      expect([400, 422]).toContain(error.statusCode);
    }
  });

  test('a revoked key is refused at once', async () => {
    const made = await appliance.json(['key', 'create', '--account', 'default', '--name', 'short']);
    const authorization = `Bearer ${String(made['token'])}`;
    const before = await refused(await appliance.api('POST', '/emails', GOOD, { authorization }));
    expect(before.statusCode).toBe(403);
    await appliance.json(['key', 'revoke', String(made['id'])]);
    const after = await refused(await appliance.api('POST', '/emails', GOOD, { authorization }));
    expect(after.statusCode).toBe(401);
  });
});

test('none of these requests was logged as a fault', () => {
  expect(appliance.log.items.filter(({ level }) => level === 'error')).toEqual([]);
});
